"""Codes for a message's decision: an outcome or a destination, and who gets it as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from fairlead.balance.change import ResolvedChange
from fairlead.balance.decision import Copy, copies
from fairlead.balance.message import OUTCOMES, ROUTED
from fairlead.balance.state import AnyState
from fairlead.errors import ConfigError

MAX_CODES = 1 << 31


class Codes:
    """All codes of a run.

    A label is an outcome, or a destination at an address. Copies are a set of destinations that
    get a message whoever is chosen; the first set is empty. A code is both in one number:
    `label + size * place of the set`.
    """

    def __init__(self) -> None:
        """The outcomes only, and nobody as well."""
        self.destination: list[str | None] = [None] * len(OUTCOMES)
        self.address: list[str | None] = [None] * len(OUTCOMES)
        self.outcome: list[str] = list(OUTCOMES)
        self.copies: list[tuple[Copy, ...]] = [()]
        self._labels: dict[Copy, int] = {}
        self._copies: dict[tuple[Copy, ...], int] = {(): 0}

    @property
    def size(self) -> int:
        """How many labels there are."""
        return len(self.outcome)

    @property
    def codes(self) -> int:
        """How many codes there are. Raises ConfigError where they are too many."""
        count = self.size * len(self.copies)
        if count >= MAX_CODES:
            raise ConfigError(
                f"cluster: found {self.size} destinations and {len(self.copies)} different sets "
                f"of them that get a message, allowed: less than {MAX_CODES} in all"
            )
        return count

    def add(self, cluster: AnyState, steps: Iterable[Sequence[ResolvedChange]]) -> None:
        """Add a cluster: its destinations, with each address that they ever have."""
        for member, name in enumerate(cluster.members):
            self._add(Copy(name, cluster.address(member)))
        for changes in steps:
            for ref, attribute, value in changes:
                if ref is not None and attribute == "address":
                    self._add(Copy(ref.name, str(value) or None))

    def _add(self, copy: Copy) -> None:
        if copy not in self._labels:
            self._labels[copy] = self.size
            self.destination.append(copy.destination)
            self.address.append(copy.address)
            self.outcome.append(ROUTED)

    def add_copies(self, cluster: AnyState, recipients: Sequence[int]) -> None:
        """Add a set of destinations that get a message, at their addresses now."""
        destinations = copies(cluster, recipients)
        if destinations not in self._copies:
            self._copies[destinations] = len(self.copies)
            self.copies.append(destinations)

    def label(self, cluster: AnyState, member: int) -> int:
        """The label of a message for which this member is chosen now."""
        outcome = cluster.outcome_of(member)
        if outcome != ROUTED:
            return OUTCOMES.index(outcome)
        return self._labels[Copy(cluster.members[member], cluster.address(member))]

    def destinations_of(self, code: int) -> Sequence[tuple[str | None, str | None]]:
        """The destinations and addresses that a code stands for, by name; at least one row."""
        label, others = code % self.size, self.copies[code // self.size]
        destination, address = self.destination[label], self.address[label]
        if destination is None:
            return [(None, None)]
        copy = Copy(destination, address)
        return sorted({copy, *others}, key=lambda each: each.destination.encode())

    def copies_code(self, cluster: AnyState, recipients: Sequence[int]) -> int:
        """What is added to a label's code where these get the message as well."""
        return self._copies[copies(cluster, recipients)] * self.size if recipients else 0


def dictionary_column(words: Sequence[str | None], codes: pa.Array) -> pa.Array:
    """Codes as a dictionary-encoded column of words."""
    distinct = list(dict.fromkeys(word for word in words if word is not None))
    place = {word: k for k, word in enumerate(distinct)}
    at = pa.array([None if word is None else place[word] for word in words], pa.int32())
    return pa.DictionaryArray.from_arrays(at.take(codes), pa.array(distinct, pa.string()))
