"""The engines behind one function each: (clusters, messages, changes) -> decisions in order.

A decision is (destination or None, outcome, sequence); a message for several destinations is one
for each of them, by name. Messages are dicts with `id`, `time` in seconds and routing attributes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from fairlead import Balancer, Change, Cluster, Decision, EventRow, JournalRow, route
from fairlead.replay import replay

Row = dict[str, Any]
Decided = list[tuple[str | None, str, int | None]]
Engine = Callable[[dict[str, Any], list[Row], list[Row]], Decided]


def micros(seconds: float | Decimal | Fraction) -> int:
    """Whole microseconds."""
    return round(Fraction(str(seconds)) * 1_000_000)


def cluster_of(plain: dict[str, Any]) -> Cluster:
    return Cluster.from_dict(plain, default_name="cluster")


def changes_of(changes: list[Row]) -> list[Change]:
    return [
        Change(c["target"], c["attribute"], c.get("value"), c["time"], f"change {k}")
        for k, c in enumerate(changes, 1)
    ]


def in_order(messages: list[Row]) -> list[Row]:
    return sorted(messages, key=lambda m: (micros(m["time"]), str(m["id"]).encode()))


class Deliveries:
    """Completions to come, for a balancer that has no clock of its own."""

    def __init__(self, balancer: Balancer, *clusters: dict[str, Any]) -> None:
        self.balancer = balancer
        self.speeds = {
            (cluster.get("name", "cluster"), d["name"]): Fraction(str(d.get("speed", 1)))
            for cluster in clusters
            for d in cluster.get("destination", [])
        }
        self.due: list[tuple[int, int, Decision]] = []
        self.sent = 0

    def until(self, now: int) -> None:
        """Let everything happen that comes up to and at this time."""
        self.before(now + 1)
        self.settle(now)
        self.balancer.at(Fraction(now, 1_000_000))

    def before(self, time: int) -> None:
        while (due := self.balancer.next_change()) is not None and micros(due) < time:
            self.settle(micros(due))
            self.balancer.at(due)

    def settle(self, until: int) -> None:
        while self.due and self.due[0][0] <= until:
            decision = self.due.pop(0)[2]
            for copy in decision.copies:
                self.balancer.completed(decision, copy.destination)

    def send(self, decision: Decision, now: int, service_time: Any) -> None:
        speed = self.speeds.get((decision.cluster, decision.destination or ""))
        if speed is None or service_time is None:
            return
        work = Fraction(micros(service_time)) / speed
        self.sent += 1
        self.due.append((now + int(work + Fraction(1, 2)), self.sent, decision))
        self.due.sort(key=lambda each: each[:2])

    def apply(self, step: list[Change]) -> None:
        self.before(step[0].micros)
        self.settle(step[0].micros)
        self.balancer.apply(step)
        for change in step:
            name, _, owner = change.target.removeprefix("destination:").partition("@")
            meant = {each for each in self.speeds if each[1] == name and owner in ("", each[0])}
            if change.attribute == "speed":
                self.speeds |= dict.fromkeys(meant, Fraction(str(change.value)))
            if change.attribute == "state" and change.value == "failed":
                self.due = [
                    each for each in self.due if (each[2].cluster, each[2].destination) not in meant
                ]


def live(cluster: dict[str, Any], messages: list[Row], changes: list[Row]) -> Decided:
    """The balancer, fed with messages and changes in the order of time."""
    decided = decisions([cluster], [cluster_of(cluster)], in_order(messages), changes_of(changes))
    return [copy for copies in decided for copy in copies]


def decisions(
    plain: Sequence[dict[str, Any]],
    clusters: Sequence[Cluster],
    messages: Sequence[Row],
    changes: Sequence[Change],
    journal: Callable[[JournalRow | EventRow], object] | None = None,
    balancer: Any = None,
) -> Iterator[Decided]:
    """The decisions of a live balancer on messages in order, which complete by their clock.

    `balancer`: another one than that of `clusters`, with the same verbs.
    """
    balancer = balancer or Balancer(clusters, journal=journal)
    deliveries = Deliveries(balancer, *plain)
    waiting = sorted(changes, key=lambda change: change.micros)
    now = 0
    for message in messages:
        now = max(now, micros(message["time"]))
        while waiting and waiting[0].micros <= now:
            at = waiting[0].micros
            deliveries.apply([change for change in waiting if change.micros == at])
            waiting = [change for change in waiting if change.micros != at]
        deliveries.until(now)
        decision = balancer.choose(message)
        names = [copy.destination for copy in decision.copies] or [None]
        yield [(name, decision.outcome, decision.sequence) for name in names]
        deliveries.send(decision, now, message.get("service_time"))


def journal(plain: dict[str, Any], messages: list[Row], changes: list[Row]) -> list[JournalRow]:
    """The decisions in the journal of a live balancer, which is fed like `live`."""
    return [row for row in whole_journal(plain, messages, changes) if isinstance(row, JournalRow)]


def whole_journal(
    plain: dict[str, Any], messages: list[Row], changes: list[Row]
) -> list[JournalRow | EventRow]:
    """The same with what happened between the decisions."""
    rows: list[JournalRow | EventRow] = []
    clusters, happened = [cluster_of(plain)], changes_of(changes)
    deque(decisions([plain], clusters, in_order(messages), happened, rows.append), maxlen=0)
    return rows


def table(messages: list[Row]) -> pa.Table:
    """The messages as a table, in the order given."""
    names = list(dict.fromkeys(name for m in messages for name in m))
    columns: dict[str, Any] = {}
    for name in names:
        values = [m.get(name) for m in messages]
        if name == "time":
            columns[name] = pa.array([micros(v) for v in values], pa.timestamp("us"))
        elif name == "service_time":
            columns[name] = pa.array([None if v is None else float(v) for v in values])
        else:
            columns[name] = pa.array([_text(v) for v in values], pa.string())
    return pa.table(columns)


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def compiled(cluster: dict[str, Any], messages: list[Row], changes: list[Row]) -> Decided:
    """The compiled engine on a table in memory."""
    if not messages:
        return []
    found = route(table(messages), cluster_of(cluster), changes_of(changes))
    return [
        (row["destination"], row["outcome"], row["sequence"])
        for row in found.select(["destination", "outcome", "sequence"]).to_pylist()
    ]


def replayed(cluster: dict[str, Any], messages: list[Row], changes: list[Row]) -> Decided:
    """A replay of messages that take half a second each: the first attempt of each."""
    rows = [{"service_time": 0.5, **message} for message in messages]
    found = replay(table(rows), cluster_of(cluster), changes_of(changes))
    return [
        (row["destination"], row["outcome"], row["sequence"])
        for row in found.to_pylist()
        if row["attempt"] == 1
    ]


Scenario = tuple[dict[str, Any], list[Row], list[Row]]


def together(scenarios: Sequence[Scenario]) -> tuple[list[Cluster], list[Row], list[Change]]:
    """Many scenarios as one table: each a cluster of its own, its ids and times its own."""
    clusters, rows, changes = [], [], []
    for k, (plain, messages, happened) in enumerate(scenarios):
        own = f"case-{k}"
        named = {plain.get("name", "cluster"), "", None}
        clusters.append(Cluster.from_dict({**plain, "name": own}, default_name=own))
        for message in messages:
            given = message.get("cluster")
            elsewhere = own if given in named else f"{own} {given}"
            rows.append({**message, "id": f"{k:04d}/{message['id']}", "cluster": elsewhere})
        for change in changes_of(happened):
            target = own if change.attribute == "reset" else f"{change.target}@{own}"
            changes.append(replace(change, target=target))
    return clusters, rows, changes


def on_spark(
    spark: Any, scenarios: Sequence[Scenario], *, partitions: int = 3, rows_a_block: int = 4_000
) -> list[Decided]:
    """The pipeline, on one table that lies in no particular order."""
    from fairlead.pipeline.dispatch import prepare
    from fairlead.runs.options import Options

    clusters, rows, changes = together(scenarios)
    for row in rows[:1]:
        row.setdefault("service_time", 0)  # a column is asked for, even if nobody needs it
    frame = spark.createDataFrame(table(rows[::-1])).repartition(partitions)
    ready = prepare(frame, clusters, changes, Options(rows_a_block=rows_a_block))
    decided = ready.decisions().select("id", "destination", "outcome", "sequence").collect()
    ready.release()
    found: dict[str, Decided] = {}
    for row in decided:
        copy = (row["destination"], row["outcome"], row["sequence"])
        found.setdefault(row["id"], []).append(copy)
    assert set(found) == {row["id"] for row in rows}
    for copies in found.values():
        copies.sort(key=lambda copy: (copy[0] or "").encode())
    return [
        [copy for m in in_order(messages) for copy in found[f"{k:04d}/{m['id']}"]]
        for k, (_, messages, _) in enumerate(scenarios)
    ]
