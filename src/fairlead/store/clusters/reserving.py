"""Reserve turns of a cluster: a run of many messages has them before they are published.

It takes one short transaction. Whoever chooses meanwhile goes on behind the turns.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from fairlead.store.clusters.changing import make_due
from fairlead.store.clusters.events import moment, set_row, write_choice_run
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.state import (
    EXACT,
    NOBODY,
    ChoiceRun,
    ClusterRow,
    Running,
    Version,
    at_turn,
    forward,
    read_choice_run,
    read_row,
)
from fairlead.store.database.port import Database
from fairlead.store.queues.sending import check_limit
from fairlead.store.queues.settings import read_queue

SLACK: Final = 10_000
"""So many turns others may take between a look and the reservation, and nothing is made again."""
STRIDE: Final = 65_536
"""After so many turns it is written down where the cluster stands, for explanations."""


class PreparedTurns(NamedTuple):
    """Choices that were made ahead, before anybody is kept waiting."""

    version: int
    first: int
    """The turn with which they begin."""
    choices: list[int]


class Reservation(NamedTuple):
    """Turns of a cluster that belong to a run."""

    cluster: str
    version: int
    first: int
    choices: list[int]
    """The destination of each turn, by its id. NOBODY: there is none, and none is counted."""

    @property
    def has_destinations(self) -> bool:
        """Whether the messages go anywhere."""
        return NOBODY not in self.choices[:1]


def can_reserve(database: Database, name: str) -> bool:
    """Whether a cluster's turns can be reserved: plain SQL knows its rule, and each is counted."""
    row = read_row(database, name, "cluster")
    return bool(row.rule) and row.allocation == EXACT


def prepare(database: Database, memory: ClusterMemory, name: str, count: int) -> PreparedTurns:
    """Make so many choices ahead, and some more, from where the cluster stands now."""
    row = read_row(database, name, "cluster")
    version = memory.version(database, row)
    return PreparedTurns(
        row.version, row.turn, _choices(_now(database, version, row), count + SLACK)
    )


def reserve(
    database: Database,
    memory: ClusterMemory,
    prepared: PreparedTurns,
    *,
    run: int,
    name: str,
    count: int,
    clock: int | None,
    actor: str,
) -> Reservation:
    """Reserve so many turns of a cluster, in the transaction that runs.

    `run`: the number of the one that is being brought. Where there is nobody, none is reserved.
    Raises QueueFullError where a queue would hold too many messages.
    """
    row = read_row(database, name, "lock_cluster")
    now = moment(database, row, clock)
    if row.due is not None and row.due <= now:
        make_due(database, name, now, actor)
        row = read_row(database, name, "lock_cluster")
    version = memory.version(database, row)
    cluster = _now(database, version, row)
    ahead = row.turn - prepared.first
    if row.version == prepared.version and ahead + count <= len(prepared.choices):
        choices = prepared.choices[ahead : ahead + count]
    else:
        choices = _choices(cluster, count)
    if not count or NOBODY in choices[:1]:
        return Reservation(name, row.version, row.turn, choices)
    _check_limits(database, version, choices, clock)
    for begin in range(0, count, STRIDE):
        if begin:
            _write(database, row, version, row.turn + begin, cluster, now)
        forward(cluster, choices[begin : begin + STRIDE])
    _write(database, row, version, row.turn + count, cluster, now)
    set_row(database, row._replace(first=row.turn + count, taken=0))
    database.run(
        "add_reserved",
        number=run,
        cluster=row.id,
        stamp=row.stamp,
        first=row.first,
        taken=row.taken,
        behind=row.turn + count,
    )
    return Reservation(name, row.version, row.turn, choices)


def _now(database: Database, version: Version, row: ClusterRow) -> Running:
    return at_turn(version, read_choice_run(database, row, row.first), row.taken)


def _choices(cluster: Running, count: int) -> list[int]:
    """The next choices of a cluster; it stays where it stands."""
    state = cluster.runtime.cluster
    members = state.eligible(()).members
    if not members:
        return [NOBODY] * count
    rule = cluster.runtime.partitions[()].cluster.rule.scheduled(members)
    assert rule is not None  # noqa: S101 - a rule that plain SQL knows has a schedule
    return [cluster.version.ids[member] for member in rule.copy().upcoming(members, count)]


def _write(
    database: Database, row: ClusterRow, version: Version, turn: int, cluster: Running, now: int
) -> None:
    run = ChoiceRun(turn, version.number, 0, cluster.state(), cluster.choices())
    write_choice_run(database, row.id, run, now)


def _check_limits(
    database: Database, version: Version, choices: list[int], clock: int | None
) -> None:
    """Raises QueueFullError where a queue would hold more than it may."""
    to_queue: Counter[str] = Counter()
    for id_, messages in Counter(choices).items():
        destination, _, own = version.rows()[id_]
        to_queue[own or destination] += messages
    for name, messages in to_queue.items():
        queue = read_queue(database, name, clock)
        if queue is not None:
            check_limit(database, queue, messages)
