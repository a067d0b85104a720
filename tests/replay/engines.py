"""Replays behind one function each: (cluster, messages, changes) -> rows, in order.

A row is one attempt of one message at one destination. Times are whole microseconds.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tests import engines
from tests.engines import Row, changes_of, cluster_of, in_order, micros
from tests.oracle.replay import Replay

from fairlead.compiled.classes import classified
from fairlead.compiled.intake.accepted import accepted
from fairlead.compiled.intake.rows import CheckedTable, validate
from fairlead.compiled.plan import Plan
from fairlead.replay import replay
from fairlead.replay.batch import Attempts, Traits
from fairlead.replay.columns import message_columns
from fairlead.replay.layout import NEVER, NONE
from fairlead.replay.replays import Replays
from fairlead.replay.words import CODED_WORDS

NOT_GIVEN = {"id", "time", "service_time", "priority", "tenant", "cost", "rollbacks"}


class Attempt(NamedTuple):
    """What became of a message, or of one attempt of it."""

    id: str
    attempt: int
    destination: str
    """"" where there is none."""
    outcome: str
    sequence: int | None
    reader: int | None
    start: int | None
    finish: int | None
    wait: int | None


def oracle(cluster: Row, messages: list[Row], changes: list[Row]) -> list[Attempt]:
    """The plain program."""
    found = Replay(cluster_of(cluster), changes_of(changes)).run(
        [_for_oracle(message) for message in in_order(messages)]
    )
    return sorted(
        Attempt(
            str(row["id"]),
            row["attempt"],
            row["destination"] or "",
            row["outcome"],
            row["sequence"],
            row["reader"],
            row["start"],
            row["finish"],
            _waited(row["since"], row["start"], row["finish"]),
        )
        for row in found
    )


def _for_oracle(message: Row) -> Row:
    row = {key: each for key, each in message.items() if key in NOT_GIVEN | {"group"}}
    return {
        **row,
        "time": micros(message["time"]),
        "service": micros(message["service_time"]),
        "control": message.get("type") == "SetPriority",
        "given": {key: each for key, each in message.items() if key not in NOT_GIVEN},
    }


def table(cluster: Row, messages: list[Row], changes: list[Row]) -> list[Attempt]:
    """What users call."""
    if not messages:
        return []
    found = replay(engines.table(messages[::-1]), cluster_of(cluster), changes_of(changes))
    return sorted(
        Attempt(
            row["id"],
            row["attempt"],
            row["destination"] or "",
            row["outcome"],
            row["sequence"],
            row["reader"],
            _micros(row["start"]),
            _micros(row["finish"]),
            None if row["wait"] is None else micros(row["wait"]),
        )
        for row in found.to_pylist()
    )


def _micros(moment: Any) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1_000_000)


class Kernel:
    """A replay whose inside can be looked at: fed in pieces, interpreted, by events alone."""

    def __init__(
        self,
        cluster: Row,
        messages: list[Row],
        changes: list[Row],
        *,
        interpreted: bool = False,
        by_events: bool = False,
    ) -> None:
        """`by_events`: also where nothing can overtake."""
        plan = Plan([cluster_of(cluster)], changes_of(changes))
        rows = engines.table(in_order(messages))
        taken = accepted(validate(CheckedTable(rows, None), plan, worked=True))
        rows = taken.table
        self.plan, codes = classified(rows, plan)
        self.columns = message_columns(taken, rows)
        self.batch = self.columns.batch(rows, self.plan, codes)
        self.ids = rows.column("id").to_pylist()
        traits = Traits() if by_events else self.columns.traits
        self.replays = Replays(self.plan, traits, interpreted=interpreted)
        (self.run,) = self.replays.runs

    def feed(self, start: int, stop: int) -> None:
        """Let messages arrive, by their places in order."""
        piece = self.batch.at(slice(start, stop))
        self.replays.feed(piece, self.columns.group_names, self.columns.tenant_names)

    def through(self, cuts: Sequence[int] = ()) -> list[Attempt]:
        """Everything, in pieces that end at `cuts`; what is over is fetched after each."""
        done = []
        places = [0, *sorted(cuts), len(self.ids)]
        for start, stop in pairwise(places):
            self.feed(start, stop)
            done.append(self.replays.done())
        self.replays.finish()
        return self.attempts(Attempts.together([*done, self.replays.done(), self.replays.left()]))

    def attempts(self, told: Attempts) -> list[Attempt]:
        names = self.plan.codes.destination
        return sorted(
            Attempt(
                self.ids[row.message],
                int(row.attempt),
                names[row.label] or "" if row.label != NONE else "",
                CODED_WORDS[row.outcome],
                _or_none(row.sequence, NONE),
                _or_none(row.reader, NONE),
                _or_none(row.start, NEVER),
                _or_none(row.finish, NEVER),
                _waited(int(row.since), _or_none(row.start, NEVER), _or_none(row.finish, NEVER)),
            )
            for row in map(Attempts._make, zip(*told._replace(outcome=told.ended()), strict=True))
        )


def _waited(since: int, start: int | None, finish: int | None) -> int | None:
    """Until it was started, or taken away."""
    until = finish if start is None else start
    return None if until is None else until - since


def _or_none(value: Any, none: int) -> int | None:
    return None if value == none else int(value)
