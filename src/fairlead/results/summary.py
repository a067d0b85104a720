"""The summary of a run: what `summary.json` holds. Times and widths in microseconds.

The pipeline makes it, the command line prints it, the report draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from fairlead.balance.words.effective_policy import InWords
from fairlead.errors import UserError


@dataclass(frozen=True)
class Share:
    """What one destination got while the cluster did not change."""

    cluster: str
    subject: str | None
    """What the destination belongs to; a name can stand in several. None where it is in none."""
    destination: str
    weight: int | None
    expected: float | None
    """Its part of the weights of those that could be chosen; None where weights do not decide."""
    messages: int
    share: float
    """Its part of the cluster's rows that have a destination."""


@dataclass(frozen=True)
class Phase:
    """A time between two steps, in which the cluster did not change."""

    since: int | None
    """None: from the beginning."""
    follows: bool
    """Whether the step that began it followed of itself from earlier changes: a part of a slow
    start, the end of a fail-back delay."""
    messages: int
    rows: int
    """Rows of decisions: a message that goes to several destinations has one for each."""
    shares: list[Share]

    @property
    def routed(self) -> bool:
        """Whether any message has a destination."""
        return any(share.messages for share in self.shares)

    def busiest(self, most: int) -> list[Share]:
        """The shares with the most messages, the clusters one after another."""
        top = sorted(self.shares, key=lambda share: -share.messages)[:most]
        clusters = list(dict.fromkeys(share.cluster for share in self.shares))
        place = {cluster: k for k, cluster in enumerate(clusters)}
        return sorted(top, key=lambda share: place[share.cluster])


@dataclass(frozen=True)
class Series:
    """Rows of decisions in each bin; `cluster` and `name` None: all that have no series."""

    cluster: str | None
    subject: str | None
    name: str | None
    counts: list[int]


@dataclass(frozen=True)
class OverTime:
    """Decisions in bins of `width` from `start` on."""

    start: int
    width: int
    destinations: list[Series]
    """Those with the most messages, in the order of the file, and the others together."""
    outcomes: list[Series]
    levels: list[Series]
    """By cluster and priority, of the clusters with the most messages; without clusters where
    destinations have no priority, or all the same."""


@dataclass(frozen=True)
class Made:
    """What the run was made with."""

    messages: str
    """Where they came from."""
    command: str
    fairlead: str
    pyspark: str
    python: str


@dataclass(frozen=True)
class Period:
    """The first and the last time of a message that was decided."""

    first: int
    last: int


@dataclass(frozen=True)
class ChangeStep:
    """All changes of one time."""

    time: int
    changes: list[str]
    """The first of them, in words."""
    more: int
    """How many others."""


@dataclass(frozen=True)
class Changes:
    """What was changed; what followed of itself from that is not among it."""

    number: int
    times: int
    """At how many different times."""
    first: list[ChangeStep]


@dataclass(frozen=True)
class StreamCounts:
    """The messages of one cluster, and queue or subject, which `sequence` counts."""

    name: str
    messages: int


@dataclass(frozen=True)
class Streams:
    """How many streams there are, and those with the most messages."""

    number: int
    busiest: list[StreamCounts]


@dataclass(frozen=True)
class GroupCounts:
    """How many groups there are, and how many had messages on more than one destination."""

    number: int
    spread: int


@dataclass(frozen=True)
class Policies:
    """The effective policies in words, of the first clusters."""

    number: int
    shown: list[InWords]
    destinations: list[int]
    """How many destinations each of those shown has, of which the first are listed."""


@dataclass(frozen=True)
class ReportFacts:
    """Everything that only a report asks for."""

    made: Made
    period: Period | None
    over_time: OverTime | None
    around_changes: OverTime | None
    """The same in narrower bins, where the changes are close together in a long time."""
    changes: Changes
    streams: Streams
    groups: GroupCounts | None
    """None where the table has no groups."""
    policies: Policies


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a dispatch did."""

    read: int
    rejected: int
    outcomes: dict[str, int]
    """Rows by outcome; a message that goes to several destinations is a row for each."""
    rows: int
    """Rows of decisions."""
    digest: str
    phases: list[Phase]
    rejections: dict[str, int] = field(default_factory=dict)
    unknown_clusters: dict[str, int] = field(default_factory=dict)
    """Messages without a destination, by the cluster that they name and no file has; "": none."""
    seconds: float = 0.0
    blocks: int = 1
    facts: ReportFacts | None = None
    """What a report tells beyond this; None: nobody asked."""

    @property
    def decided(self) -> int:
        """Messages with a decision."""
        return self.read - self.rejected

    @property
    def several_each(self) -> bool:
        """Whether messages went to several destinations."""
        return self.rows != self.decided

    @property
    def for_report(self) -> ReportFacts:
        """The facts. Raises UserError where nobody asked for them."""
        if self.facts is None:
            raise UserError(
                "summary: found no facts, allowed: the summary of a run that made a report "
                "(without --no-report)"
            )
        return self.facts

    def to_dict(self) -> dict[str, Any]:
        """For summary.json."""
        plain = asdict(self)
        if self.facts is None:
            del plain["facts"]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Summary:
        """The summary that `to_dict` gave.

        Raises UserError where something is missing or another.
        """
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise UserError(f"summary: {error}") from None
