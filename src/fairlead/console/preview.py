"""What the last hour would have been under a change: its messages, decided again in memory.

The journal tells what the cluster has decided. The same messages go through the cluster as it is
now, and through the cluster with the change. The counts of its rule begin anew with the first one.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fairlead.balance.change import PRESENT, Change
from fairlead.balance.cluster import Cluster
from fairlead.balance.membership import (
    joining_ref,
    leaving_ref,
    with_destination,
    without_destination,
)
from fairlead.errors import MessageError
from fairlead.extras import need
from fairlead.store.clusters.shares import PoolShares
from fairlead.store.journal.events import Event
from fairlead.store.journal.export import decisions
from fairlead.store.store import Store

if TYPE_CHECKING:
    from fairlead.compiled.intake.rows import CheckedTable
    from fairlead.compiled.plan import Plan
    from fairlead.results.comparison import ScenarioResult

HOUR: Final = 3600.0
LONG_BEFORE: Final = 10 * 365 * 86_400
"""Seconds before the first message at which the cluster became what it is now: what follows of
itself from that, such as a slow start, is over."""
MOST: Final = 200_000
"""So many messages are decided again: the latest of that time."""
KINDS: Final = ("decided", "taken", "accepted")
"""Events of which the rows of decisions are made."""
PAGE: Final = 5_000
JOURNAL: Final = "the journal"
NOW, THEN = "now", "then"
Tell = Callable[[str, int, int], object]
"""Takes what is done, how much of it, and of how much."""


@dataclass(frozen=True)
class Proposal:
    """What would be changed, as the verbs of a store take it."""

    changes: list[tuple[str, str, Any]] = field(default_factory=list)
    """Target, attribute, value."""
    added: list[dict[str, Any]] = field(default_factory=list)
    """Tables of destinations."""
    removed: list[str] = field(default_factory=list)
    """Destinations."""


@dataclass(frozen=True)
class PreviewRequest:
    """Which change of a cluster is to be tried on which messages of the past."""

    cluster: str
    proposal: Proposal
    since: float
    """From when on, in seconds since 1970."""
    until: float
    """Before when."""
    most: int = MOST


@dataclass(frozen=True)
class PreviewedDestination:
    """What one destination got."""

    name: str
    recorded: int
    """As the journal has it."""
    now: int
    """With the cluster as it is now."""
    then: int
    """How many it would have got with the change."""


@dataclass(frozen=True)
class WaitsThen:
    """How long messages would have waited, in seconds."""

    messages: int
    """Those of which the store knows how long they took."""
    started: int
    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True)
class Preview:
    """What a change of a cluster would have done to the messages of the past."""

    cluster: str
    version: int
    """Of the cluster that it is about."""
    messages: int
    first: float
    """The time of the first of them, in seconds since 1970."""
    last: float
    cut: bool
    """Whether there were more, before these."""
    destinations: list[PreviewedDestination]
    nobody: tuple[int, int, int]
    """Without a destination: recorded, now, then."""
    waits: dict[str, WaitsThen] | None
    """By `now` and `then`; None: the store does not know how long any message took."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def plans(pool: PoolShares, proposal: Proposal, first: float) -> tuple[Plan, Plan]:
    """The cluster as it is now, and with the change from the first message on.

    Raises ChangeError, ConfigError for what the store would refuse, too.
    """
    from fairlead.compiled.plan import Plan

    cluster = Cluster.from_dict(pool.file, default_name=pool.name)
    before = [
        Change(target, attribute, value, first - LONG_BEFORE)
        for target, attribute, value in pool.since_file
    ]
    now = Plan([cluster], before)
    state = cluster.start()
    later = [Change(target, name, value, first) for target, name, value in proposal.changes]
    later += [
        Change(str(leaving_ref(state, name)), PRESENT, value=False, time=first)
        for name in proposal.removed
    ]
    for table in proposal.added:
        cluster = with_destination(cluster, cluster.start(), table).cluster
        joins = table.get(PRESENT, True)
        later.append(Change(str(joining_ref(state, table)), PRESENT, joins, first))
    if proposal.removed:
        without_destination(cluster, cluster.start(), *proposal.removed)  # refused, if none is left
    return now, Plan([cluster], [*before, *later])


def preview(store: Store, request: PreviewRequest, tell: Tell) -> Preview:
    """Read what was decided, and decide it again twice.

    Raises MessageError where nothing was decided, EnvironmentProblem without the extra `tables`,
    and what `plans` raises.
    """
    need("tables", "a preview")
    from fairlead.memory.files import read
    from fairlead.runs.files import kind_of

    pool = store.pool(request.cluster)
    plans(pool, request.proposal, request.since)
    with tempfile.TemporaryDirectory(prefix="fairlead-preview-") as place:
        folder = Path(place)
        rows = folder / "decided.jsonl"
        recorded = _write(store, request, rows, tell)
        now, then = plans(pool, request.proposal, recorded.first)
        table = read(str(rows), kind_of(str(rows), None, {}))
        tell("decide", 0, 2)
        decided = {NOW: _counts(table, now, folder / NOW)}
        tell("decide", 1, 2)
        decided[THEN] = _counts(table, then, folder / THEN)
        waits = None
        if recorded.timed:
            tell("replay", 0, 1)
            waits = _waits(table, {NOW: now, THEN: then}, folder / "replayed")
    counted = [recorded.counts, decided[NOW], decided[THEN]]
    names = dict.fromkeys(
        [*(machine.name for machine in pool.machines), *chain.from_iterable(counted)]
    )
    return Preview(
        cluster=request.cluster,
        version=pool.version,
        messages=recorded.messages,
        first=recorded.first,
        last=recorded.last,
        cut=recorded.cut,
        destinations=[
            PreviewedDestination(name, *(count[name] for count in counted))
            for name in names
            if name
        ],
        nobody=(recorded.counts[""], decided[NOW][""], decided[THEN][""]),
        waits=waits,
    )


@dataclass
class _Recorded:
    """What was written, row by row."""

    counts: Counter[str] = field(default_factory=Counter)
    """Rows of decisions by destination; "": none."""
    messages: int = 0
    first: float = 0.0
    last: float = 0.0
    cut: bool = False
    timed: bool = False
    """Whether the store knows how long any message took."""
    read: int = 0
    """Decisions that were read, before they are written."""


def _write(store: Store, request: PreviewRequest, file: Path, tell: Tell) -> _Recorded:
    """The rows of the decisions, as lines of JSON. Raises MessageError where there are none."""
    recorded, place = _Recorded(), None
    start, recorded.cut = _start(store, request)
    events = _events(store, request, start, tell, recorded)
    with file.open("w", encoding="utf-8") as lines:
        for written, row in enumerate(decisions(events, request.cluster), 1):
            print(json.dumps(row), file=lines)
            recorded.counts[row["destination"] or ""] += 1
            if written % PAGE == 0:
                tell("write", written, recorded.read)
            recorded.timed |= "service_time" in row
            if place != (place := row["position"]):
                recorded.messages += 1
            recorded.first = recorded.first or row["time"]
            recorded.last = row["time"]
    if not recorded.messages:
        raise MessageError(
            f"preview: found no decision of cluster {request.cluster!r} in that time, allowed: a "
            "cluster that has decided"
        )
    return recorded


def _start(store: Store, request: PreviewRequest) -> tuple[str | None, bool]:
    """The cursor after which the latest of the wanted decisions stand; whether some are left out.

    None: all from the time on are read.
    """
    count, before = 0, None
    while True:
        page = store.journal_back(
            before,
            PAGE,
            PAGE,
            cluster=request.cluster,
            kind="decided",
            start=request.since,
            end=request.until,
        )
        count += len(page.events)
        before = page.cursor
        if before is None:
            return None, False
        if count >= request.most:
            return before, True


def _events(
    store: Store, request: PreviewRequest, cursor: str | None, tell: Tell, recorded: _Recorded
) -> Iterator[Event]:
    """Those of which decisions are made, page by page: after a cursor, or from the time on."""
    start = request.since if cursor is None else None
    whole = int(request.until - request.since)
    while True:
        page = store.journal_ahead(cursor, PAGE, PAGE, kind=KINDS, start=start, end=request.until)
        recorded.read += sum(event.cluster == request.cluster for event in page.events)
        yield from page.events
        reached = page.looked_to or (page.events[-1].time if page.events else request.until)
        tell("read", min(max(int(reached - request.since), 0), whole), whole)
        cursor = page.cursor
        if cursor is None:
            return


def _counts(table: CheckedTable, plan: Plan, folder: Path) -> Counter[str]:
    """How many each destination gets; "": nobody."""
    from fairlead.memory.dispatch import MemoryOptions, run

    folder.mkdir()
    result = run(table, plan.clusters, plan.changes, folder, MemoryOptions(where=JOURNAL))
    counts: Counter[str] = Counter()
    for phase in result.summary.phases:
        for share in phase.shares:
            counts[share.destination] += share.messages
    counts[""] = result.summary.rows - counts.total()
    return counts


def _waits(
    table: CheckedTable, scenarios: Mapping[str, Plan], folder: Path
) -> dict[str, WaitsThen] | None:
    """How long messages wait in both, of those of which it is known how long they take."""
    from fairlead.memory.dispatch import MemoryOptions
    from fairlead.memory.replay import run
    from fairlead.runs.constants import NO_ROWS

    folder.mkdir()
    comparison = run(table, scenarios, folder, MemoryOptions(where=JOURNAL, rows=NO_ROWS))
    return {scenario.name: _told(scenario) for scenario in comparison.scenarios}


def _told(scenario: ScenarioResult) -> WaitsThen:
    waits = scenario.waits
    return WaitsThen(scenario.messages, waits.messages, waits.mean, waits.p50, waits.p99, waits.max)
