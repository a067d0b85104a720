"""What a search recommends: what `recommendation.json` holds. Waits in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from fairlead.errors import UserError
from fairlead.results.summary import Made


@dataclass(frozen=True)
class TriedCluster:
    """One cluster that was tried on the traffic of the search."""

    said: list[str]
    """What it sets, in words; nothing: as the file has it."""
    cost: float
    value: float
    """Of the target's measure; of what arrived before it was broken off."""
    met: bool
    seen: float
    """Which part of the traffic arrived before it was clear that the target is missed; 1: all."""
    frontier: bool = False
    """Whether nothing that costs as much or less waits as little."""


@dataclass(frozen=True)
class Held:
    """How a cluster does on traffic."""

    name: str
    cost: float
    value: float
    """Of the target's measure."""
    p50: float
    p99: float
    max: float
    messages: int
    unserved: int
    """That never started."""
    met: bool


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """What was searched for, and what was found."""

    target: str
    limit: float
    """Seconds."""
    found: bool
    """Whether `then` meets the target on the traffic of the search."""
    said: list[str]
    """What `then` sets, in words."""
    space: int
    """Points of the space."""
    budget: int
    tried: list[TriedCluster]
    """In the order in which they were tried; the first is the cluster as its file has it."""
    searched: int
    """Messages of the search, the earlier ones."""
    held_out: int
    """Messages that the search never saw, the later ones."""
    now: Held
    """The cluster as its file has it, on the held-out traffic."""
    then: Held
    """The recommended one, where nothing meets the target the nearest, on the held-out traffic.

    The file's own, where what the search found is worse on that traffic.
    """
    sure: float
    """Of samples of the held-out traffic, tenth by tenth, the part that meets the target."""
    tenths: int
    """Of ten equal parts of the held-out time, in how many the target is met."""
    why: list[Held]
    """On the held-out traffic: the recommended cluster with one setting as in the file."""
    breaks: list[Held]
    """On the held-out traffic: what if a destination is down, or there is more traffic."""
    seconds: float = 0.0
    made: Made | None = None
    notes: list[str] = field(default_factory=list)
    """What a reader must know of the search."""

    @property
    def met(self) -> bool:
        """Whether `then` meets the target: on the traffic of the search, and on the rest."""
        return self.found and self.then.met

    @property
    def everywhere(self) -> bool:
        """Whether there is no point of the space that was not tried."""
        return self.space <= self.budget

    @property
    def verdict(self) -> str:
        """What was found, in words that claim no more than was seen."""
        if self.met:
            return f"{self.target}: met by"
        if self.found:
            return (
                f"{self.target}: met on the traffic of the search, and missed on the rest; the "
                "nearest"
            )
        if self.everywhere:
            return f"nothing in this space meets {self.target}; the nearest"
        return (
            f"nothing was found that meets {self.target} in the {len(self.tried) - 1:,} of "
            f"{self.space:,} points that were tried; the nearest"
        )

    def to_dict(self) -> dict[str, Any]:
        """For recommendation.json."""
        plain = asdict(self)
        if self.made is None:
            del plain["made"]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Recommendation:
        """What `to_dict` gave. Raises UserError where something is missing or another."""
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise UserError(f"recommendation: {error}") from None
