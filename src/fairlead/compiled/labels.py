"""Codes for what a message can be told: an outcome or a destination, and who gets it as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.balance.change import ResolvedChange
from fairlead.balance.decision import Copy, copies
from fairlead.balance.message import OUTCOMES, ROUTED
from fairlead.balance.state import AnyState
from fairlead.errors import ConfigError

MOST_CODES = 1 << 31


class Codes:
    """All codes of a run.

    A label is an outcome, or a destination at an address; a crowd is a set of destinations that
    get a message whoever is chosen, the first crowd being nobody. A code is both in one number:
    `label + size * crowd`.
    """

    def __init__(self) -> None:
        """The outcomes only, and nobody as well."""
        self.destination: list[str | None] = [None] * len(OUTCOMES)
        self.address: list[str | None] = [None] * len(OUTCOMES)
        self.outcome: list[str] = list(OUTCOMES)
        self.crowds: list[tuple[Copy, ...]] = [()]
        self._labels: dict[Copy, int] = {}
        self._crowds: dict[tuple[Copy, ...], int] = {(): 0}

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self.outcome)

    @property
    def codes(self) -> int:
        """How many codes there are. Raises ConfigError where they are too many."""
        found = self.size * len(self.crowds)
        if found >= MOST_CODES:
            raise ConfigError(
                f"cluster: found {self.size} destinations and {len(self.crowds)} different sets "
                f"of them that get a message, allowed: less than {MOST_CODES} in all"
            )
        return found

    def add(self, cluster: AnyState, steps: Iterable[Sequence[ResolvedChange]]) -> None:
        """Add a cluster: its destinations, with each address that they ever have."""
        for member, name in enumerate(cluster.members):
            self._add(Copy(name, cluster.address(member)))
        for changes in steps:
            for ref, attribute, value in changes:
                if ref is not None and attribute == "address":
                    self._add(Copy(ref.name, str(value) or None))

    def _add(self, each: Copy) -> None:
        if each not in self._labels:
            self._labels[each] = self.size
            self.destination.append(each.destination)
            self.address.append(each.address)
            self.outcome.append(ROUTED)

    def add_crowd(self, cluster: AnyState, also: Sequence[int]) -> None:
        """Add a set of destinations that get a message, at their addresses now."""
        crowd = copies(cluster, also)
        if crowd not in self._crowds:
            self._crowds[crowd] = len(self.crowds)
            self.crowds.append(crowd)

    def label(self, cluster: AnyState, member: int) -> int:
        """The label of a message for which this member is chosen now."""
        outcome = cluster.outcome_of(member)
        if outcome != ROUTED:
            return OUTCOMES.index(outcome)
        return self._labels[Copy(cluster.members[member], cluster.address(member))]

    def spelled(self, code: int) -> Sequence[tuple[str | None, str | None]]:
        """The destinations and addresses that a code stands for, by name; at least one row."""
        label, crowd = code % self.size, self.crowds[code // self.size]
        destination, address = self.destination[label], self.address[label]
        if destination is None:
            return [(None, None)]
        own = Copy(destination, address)
        return sorted({own, *crowd}, key=lambda each: each.destination.encode())

    def crowd(self, cluster: AnyState, also: Sequence[int]) -> int:
        """What adding this set to a label's code takes."""
        return self._crowds[copies(cluster, also)] * self.size if also else 0
