"""Sequences of integers: lists in the live balancer, int64 arrays in the compiled engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

INT64_END = 1 << 63


class Indexes(Protocol):
    """Integers that are only read."""

    def __getitem__(self, place: int, /) -> int: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[int]: ...


class Ints(Indexes, Protocol):
    """Integers that may be written: a list, or an array of int64."""

    def __setitem__(self, place: int, value: int, /) -> None: ...


def independent(state: Any) -> Any:  # noqa: ANN401 - a NamedTuple of the rule's own
    """The same state, each sequence of it a list of its own, of Python integers."""
    return type(state)(*(list(map(int, field)) for field in state))
