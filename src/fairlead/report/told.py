"""What is told of a run: the plain data of `summary.json`, with types. Times in microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec


@dataclass(frozen=True)
class Share:
    """What one destination got while the cluster did not change."""

    cluster: str
    destination: str
    weight: int | None
    expected: float | None
    messages: int
    share: float


@dataclass(frozen=True)
class Phase:
    """A time between two changes; `since` None: from the beginning."""

    since: int | None
    messages: int
    shares: list[Share]


@dataclass(frozen=True)
class Series:
    """Messages in each bin; `name` None: everybody who has no series of their own."""

    cluster: str | None
    name: str | None
    counts: list[int]


@dataclass(frozen=True)
class OverTime:
    """Decisions in bins of `width` from `start` on."""

    start: int
    width: int
    destinations: list[Series]
    outcomes: list[Series]
    levels: list[Series]


@dataclass(frozen=True)
class Made:
    """What the run was made with."""

    messages: str
    command: str
    fairlead: str
    pyspark: str
    python: str


@dataclass(frozen=True)
class Period:
    """The first and the last time of a message."""

    first: int
    last: int


@dataclass(frozen=True)
class Step:
    """All changes of one time, the first of them in words."""

    time: int
    changes: list[str]
    more: int


@dataclass(frozen=True)
class Stream:
    """A stream and its messages."""

    name: str
    messages: int


@dataclass(frozen=True)
class Streams:
    """How many there are, and the busiest."""

    number: int
    busiest: list[Stream]


@dataclass(frozen=True)
class Groups:
    """How many there are, and how many had messages on more than one destination."""

    number: int
    spread: int


@dataclass(frozen=True)
class Listed:
    """A destination as its file has it."""

    name: str
    address: str
    weight: int | None


@dataclass(frozen=True)
class InWords:
    """A cluster's policy in words."""

    cluster: str
    policy: str
    about: str
    steps: list[str]
    note: str
    destinations: list[Listed]


@dataclass(frozen=True)
class Policies:
    """How many clusters there are, and the first of them."""

    number: int
    shown: list[InWords]
    destinations: list[int]


@dataclass(frozen=True)
class Facts:
    """What only a report asks for."""

    made: Made
    period: Period | None
    over_time: OverTime | None
    around_changes: OverTime | None
    steps: list[Step]
    streams: Streams
    groups: Groups | None
    policies: Policies


@dataclass(frozen=True)
class Run:
    """A dispatch, as its summary tells it."""

    read: int
    rejected: int
    outcomes: dict[str, int]
    rows: int
    """Rows of decisions: a message that goes to several destinations has one for each."""
    digest: str
    phases: list[Phase]
    rejections: dict[str, int]
    seconds: float
    facts: Facts
    blocks: int = field(default=1)

    @property
    def decided(self) -> int:
        """Messages with a decision."""
        return self.read - self.rejected

    @property
    def several_each(self) -> bool:
        """Whether messages went to several destinations."""
        return self.rows != self.decided

    @property
    def several_clusters(self) -> bool:
        """Whether a destination's name must be told with its cluster."""
        return self.facts.policies.number > 1


def of_plain(summary: Mapping[str, Any]) -> Run:
    """The same with types. Raises msgspec.ValidationError where something is missing."""
    return msgspec.convert(summary, Run)
