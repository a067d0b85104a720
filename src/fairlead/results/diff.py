"""How two runs over the same messages differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Move:
    """Messages that went to one destination and now go to another (None: to none)."""

    before: str | None
    after: str | None
    messages: int
    cluster_before: str = ""
    """Whose destination it was; "" for none, and where the runs do not both have clusters."""
    cluster_after: str = ""


@dataclass(frozen=True)
class Balance:
    """What one destination got, and gets now."""

    destination: str | None
    before: int
    after: int
    cluster: str = ""
    """Whose destination it is; "" for none, and where the runs do not both have clusters."""


@dataclass(frozen=True)
class Diff:
    """How two runs differ: counts of messages and groups."""

    before: int
    """Messages of the first run."""
    after: int
    """Messages of the second."""
    both: int
    """Messages that both have."""
    only_before: int
    """Messages that the second has not."""
    only_after: int
    """Messages that the first has not."""
    moved: int
    """Of both: to another destination, to none, or from none."""
    no_longer_routed: int
    """Of both: routed before, and not now."""
    newly_routed: int
    """Of both: not routed before, and now."""
    groups: int
    """Groups that have messages in both; 0 where neither run has the column."""
    groups_moved: int
    """Groups whose messages go to other destinations than before."""
    sooner: int = 0
    later: int = 0
    """Of both, where both are replays: those that start sooner than before, and later."""
    started: int = 0
    """Of both: started before and now."""
    mean_delay: float = 0.0
    """Seconds by which they start later than before, on average; negative: sooner."""
    destinations: list[Balance] = field(default_factory=list)
    """The greatest difference first."""
    moves: list[Move] = field(default_factory=list)
    """The most frequent first."""

    def to_dict(self) -> dict[str, Any]:
        """For a file of JSON."""
        return asdict(self)
