"""Where a history's choices come from: a seed, or Hypothesis, which shrinks what fails."""

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

Drawn = TypeVar("Drawn")


class Draws(Protocol):
    """What draws a world and its steps."""

    def pick(self, options: Sequence[Drawn]) -> Drawn:
        """One of these; one that stands there twice comes twice as often."""
        ...

    def whole(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        ...


class Seeded:
    """A long history at little cost: the same one for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - not a secret

    def pick(self, options: Sequence[Drawn]) -> Drawn:
        return self.random.choice(options)

    def whole(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


class Shrinking:
    """Hypothesis draws; the first options and small numbers are the simplest."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def pick(self, options: Sequence[Drawn]) -> Drawn:
        drawn: Any = self.data.draw(st.sampled_from(options))
        return drawn  # type: ignore[no-any-return]

    def whole(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))
