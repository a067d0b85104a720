"""What a replay found, scenario by scenario: what `comparison.json` holds.

Times in whole microseconds, waits in seconds. A message waits from its time until its
last attempt, the one that counts, starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from fairlead.errors import UserError
from fairlead.results.summary import Changes, Made


@dataclass(frozen=True)
class Waits:
    """How long messages waited, in seconds; of those that were started.

    From when a message was sent until the attempt that counts, its last, was started.
    """

    name: str
    """Of the destination, priority or tenant; "" for all."""
    messages: int
    mean: float
    p50: float
    p90: float
    p99: float
    """A wait that a message had, at most 0.2 % away from the exact percentile."""
    max: float


@dataclass(frozen=True)
class Longest:
    """The message that waited longest, in seconds."""

    id: str
    group: str
    destination: str
    wait: float


@dataclass(frozen=True)
class WorkerResult:
    """A destination's readers (ibm-mq: a channel's, at its queue manager)."""

    cluster: str
    destination: str
    messages: int
    """Attempts that started."""
    busy: float
    """Seconds that were worked."""
    utilisation: float | None
    """Of the time of its readers, from the first arrival to the last finish, also while it is down
    or failed; None: they are shared with other destinations."""


@dataclass(frozen=True)
class QueueLength:
    """How many messages waited, the mean of each bin of `width` from `start` on."""

    start: int
    width: int
    waiting: list[float]


@dataclass(frozen=True)
class WaitsOverTime:
    """How long messages waited that were sent in each bin of `width` from `start` on, in seconds.

    At most 3.2 % above the exact percentiles; None where nobody was started.
    """

    start: int
    width: int
    messages: list[int]
    """How many of them were started."""
    p50: list[float | None]
    p99: list[float | None]


@dataclass(frozen=True)
class Use:
    """Which part of their time all readers together worked, in each bin of `width` from `start` on.

    None where there is no reader.
    """

    start: int
    width: int
    utilisation: list[float | None]


@dataclass(frozen=True)
class Window:
    """A time that somebody named, from its start to its end (microseconds), which is outside."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class ScenarioResult:
    """What became of the messages in one scenario."""

    name: str
    messages: int
    """That arrived: given more or less traffic, not as many as were read."""
    outcomes: dict[str, int]
    """Rows by outcome; an attempt that is followed by another one has one of its own."""
    waiting: int
    """Messages that still waited, or were never started, when nothing more happened."""
    redeliveries: int
    """Attempts after the first."""
    failovers: int
    """Messages that were released by a destination that failed."""
    waits: Waits
    by_destination: list[Waits]
    by_priority: list[Waits]
    by_tenant: list[Waits]
    """Those with the most messages."""
    workers: list[WorkerResult]
    queue: QueueLength | None
    """None: no message arrived, or neither rows nor a page were asked for."""
    groups: int
    groups_out_of_order: int
    """Of which a later message started before an earlier one, over all destinations."""
    digest: str | None
    """Of the rows; None: neither they nor a page were asked for."""
    waits_over_time: WaitsOverTime | None = None
    """None as `queue`."""
    use: Use | None = None
    """None as `queue`."""
    longest: Longest | None = None
    """None: no message was started."""
    by_phase: list[Waits] = field(default_factory=list)
    """Of the messages sent between two changes, in order; called by when the phase begins
    (microseconds), "" for the first. Nothing where nothing changes."""
    by_window: list[Waits] = field(default_factory=list)
    """Of the messages sent in each named window, in their order."""
    folder: str = ""
    """Below the run's, with its `decisions/`."""
    changes: Changes | None = None
    """What happened to its clusters, in words."""
    differs: list[str] = field(default_factory=list)
    """What was set for it, in words; nothing: the cluster file as it is, or nobody said it."""

    @property
    def worst(self) -> Waits | None:
        """The waits of the phase with the longest p99; None: nothing changes."""
        return max(self.by_phase, key=lambda each: each.p99, default=None)

    @property
    def utilisation(self) -> float | None:
        """Of all readers together; None where not all are known."""
        workers = [worker for worker in self.workers if worker.utilisation]
        available = sum(
            worker.busy / worker.utilisation for worker in workers if worker.utilisation
        )
        return sum(worker.busy for worker in workers) / available if available else None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All scenarios of a replay."""

    read: int
    rejected: int
    rejections: dict[str, int]
    scenarios: list[ScenarioResult]
    seconds: float = 0.0
    made: Made | None = None
    """What a report tells of the run itself; None: nobody asked."""
    windows: list[Window] = field(default_factory=list)

    @property
    def for_report(self) -> Made:
        """What the run was made with. Raises UserError where nobody asked for it."""
        if self.made is None:
            raise UserError(
                "comparison: found no made, allowed: the comparison of a run that made a report "
                "(without --no-report)"
            )
        return self.made

    def to_dict(self) -> dict[str, Any]:
        """For comparison.json."""
        plain = asdict(self)
        if self.made is None:
            del plain["made"]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Comparison:
        """The comparison that `to_dict` gave.

        Raises UserError where something is missing or another.
        """
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise UserError(f"comparison: {error}") from None
