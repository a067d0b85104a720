"""How often each message was given in vain, as far as this server knows.

The store counts how often a group was given back. Which of its messages were given meanwhile, only
the server knows that had it. What others had of a group (a server that is gone, a program in Python
or SQL) may have been any of it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from fairlead.store.queues.taken_group import TakenGroup

MOST: Final = 100_000
"""So many messages are remembered; the groups that came back first are forgotten first."""


class GroupDeliveries(Struct):
    """What is known of a group that was taken."""

    before: int
    """So often it had been given back when it was taken."""
    others: int
    """So often by others, of whom is not known what they gave of it."""
    counts: dict[int, int]
    """Numbers of messages → how often each was given here, and came back."""

    def of(self, number: int, *, is_new: bool = False) -> int:
        """So often a message was given in vain. `is_new`: whether nobody else can have had it."""
        return self.counts.get(number, 0) + (0 if is_new else self.others)

    def failed(self, number: int) -> int:
        """A message was given in vain once more; how often by now."""
        self.counts[number] = self.counts.get(number, 0) + 1
        return self.of(number)

    def delivered(self, number: int) -> None:
        """A message comes back that may not have been looked at; it was delivered all the same."""
        if not self.of(number):
            self.counts[number] = 1


class DeliveryCounts:
    """Those of the groups that one server has given back."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._groups: dict[int, tuple[GroupDeliveries, int]] = {}
        """Each with how much it counts for."""
        self._size = 0

    def taken(self, held: TakenGroup) -> GroupDeliveries:
        """What is known of a group that was just taken."""
        back = held.attempt - 1
        known = self._forget(held.id)
        if known is None:
            return GroupDeliveries(back, back, {})
        others = back  # somebody else has accepted something meanwhile, and it was counted anew
        if back >= known.before:
            others = known.others + max(back - known.before - 1, 0)
        return GroupDeliveries(back, others, known.counts)

    def gave_back(self, group: int, known: GroupDeliveries) -> None:
        """A group goes back, or what is left of it."""
        self._forget(group)  # what was settled in a transaction that failed goes back twice
        size = len(known.counts) + 1
        self._groups[group] = known, size
        self._size += size
        while self._size > MOST:
            self._forget(next(iter(self._groups)))

    def _forget(self, group: int) -> GroupDeliveries | None:
        known, size = self._groups.pop(group, (None, 0))
        self._size -= size
        return known
