"""What follows of itself: changes that earlier changes lead to, each at its time."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from fairlead.balance.objects import Ref


class LaterChange(NamedTuple):
    """An attribute takes a value at a time, in microseconds."""

    time: int
    attribute: str
    value: Any


class FollowUps:
    """What is still to come, by object. One object waits for one thing at a time."""

    def __init__(self) -> None:
        """Nothing is to come yet."""
        self._of: dict[Ref, list[LaterChange]] = {}

    def __contains__(self, ref: object) -> bool:
        return ref in self._of

    @property
    def next(self) -> int | None:
        """When the next thing is due; None if nothing is to come."""
        if not self._of:
            return None
        return min(laters[0].time for laters in self._of.values())

    def put(self, ref: Ref, laters: Iterable[LaterChange]) -> None:
        """This is to come of the object, in order of time, and nothing else."""
        self.drop(ref)
        self._of[ref] = list(laters)

    def drop(self, ref: Ref) -> None:
        """Nothing is to come of the object any more."""
        self._of.pop(ref, None)

    def take(self, time: int) -> list[tuple[Ref, LaterChange]]:
        """What is due up to and at this time, by time; at one time what was caused first."""
        due = [
            (ref, later)
            for ref, laters in self._of.items()
            for later in laters
            if later.time <= time
        ]
        for ref, _ in due:
            left = [later for later in self._of.get(ref, []) if later.time > time]
            if left:
                self._of[ref] = left
            else:
                self.drop(ref)
        return sorted(due, key=lambda each: each[1].time)

    def copy(self) -> Self:
        """The same, independent of this one."""
        other = copy.copy(self)
        other._of = {ref: list(laters) for ref, laters in self._of.items()}  # noqa: SLF001
        return other

    def dump(self) -> list[Any]:
        """As plain data."""
        return [[list(ref), [list(later) for later in laters]] for ref, laters in self._of.items()]

    def load(self, plain: Iterable[tuple[Sequence[str], Iterable[Sequence[Any]]]]) -> None:
        """Take over what `dump` gave."""
        self._of = {Ref(*ref): [LaterChange(*later) for later in laters] for ref, laters in plain}
