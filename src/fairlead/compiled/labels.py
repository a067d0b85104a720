"""Codes for what a message can be told: an outcome, or a destination with its address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.balance.message import OUTCOMES, ROUTED
from fairlead.balance.policy import Effect, Policy


class Codes:
    """All codes of a run: first the outcomes, then (destination, address) pairs by cluster."""

    def __init__(self) -> None:
        """The outcomes only."""
        self.destination: list[str | None] = [None] * len(OUTCOMES)
        self.address: list[str | None] = [None] * len(OUTCOMES)
        self.outcome: list[str] = list(OUTCOMES)

    def labels(self, policy: Policy[Any, Any, Any], steps: Iterable[Sequence[Effect]]) -> Labels:
        """Add a cluster: its destinations, with each address that they ever have."""
        found = Labels()
        for member, name in enumerate(policy.members):
            self._add(found, member, name, policy.address(member))
        index = {name: member for member, name in enumerate(policy.members)}
        for effects in steps:
            for ref, attribute, value in effects:
                if ref is not None and attribute == "address":
                    address = str(value) or None
                    self._add(found, index[ref.name], ref.name, address)
        return found

    def _add(self, labels: Labels, member: int, name: str, address: str | None) -> None:
        if (member, address) not in labels.codes:
            labels.codes[member, address] = len(self.outcome)
            self.destination.append(name)
            self.address.append(address)
            self.outcome.append(ROUTED)


class Labels:
    """One cluster's part of the codes."""

    def __init__(self) -> None:
        """None yet."""
        self.codes: dict[tuple[int, str | None], int] = {}

    def code(self, member: int, address: str | None) -> int:
        """The code of a member at its present address."""
        return self.codes[member, address]
