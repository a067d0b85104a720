"""What happened in a store, as tables that `dispatch`, `replay`, `diff` and `explain` take."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from operator import attrgetter
from typing import Any, Final, NamedTuple

from fairlead.balance.change import PRESENT
from fairlead.balance.cluster import Cluster
from fairlead.balance.membership import joining_ref, with_destination
from fairlead.balance.message import SET_PRIORITY
from fairlead.balance.times import moment
from fairlead.errors import StoreError
from fairlead.rows import JOURNAL, REDELIVERED
from fairlead.store.journal.events import Event

NAMES: Final = frozenset({"name", "subject", "address", "queue", PRESENT})
"""What no change says of a destination that joins again, or says of it anyway."""


AT_A_TIME: Final = 4096
"""So many positions has each microsecond, where they follow from the time."""
OF_JOURNAL: Final = attrgetter(*JOURNAL)
"""The values of an event that every row of a journal has."""
SPOOL: Final = (
    "PRAGMA journal_mode = OFF",
    "CREATE TABLE decided (place INTEGER PRIMARY KEY, id TEXT, said TEXT, seconds)",
    "CREATE INDEX published ON decided (id)",
    "CREATE TABLE taken (token INTEGER PRIMARY KEY, time REAL)",
    "BEGIN",
)
"""Where the rows of decisions wait until all events are read."""


class MessageTable(NamedTuple):
    """A table of messages."""

    rows: list[dict[str, Any]]
    """As they came: `id`, `time`, `group`, `priority`, `tenant`, `cost`, `service_time`, `type`."""
    unfinished: int
    """Messages that were not accepted: nobody knows how long they take."""


def recorded(events: Iterable[Event], queue: str) -> MessageTable:
    """The messages of a queue, from the events of its store.

    `service_time` is that from when the group was taken to when it was accepted; the messages of
    one take share it alike. A raise is a row of type SetPriority.
    """
    came: dict[str, dict[str, Any]] = {}
    taken: dict[int | None, float] = {}
    shares: Counter[int | None] = Counter()
    done: dict[str, tuple[int | None, float]] = {}
    for event in (event for event in events if event.queue == queue):
        if event.kind == "raised":
            came[f"\0{event.position}"] = _row(event, f"raise-{event.position}", SET_PRIORITY)
        elif event.kind == "arrived" or (event.kind == "sent" and event.detail is None):
            came.setdefault(event.id, _row(event, event.id))
        elif event.kind == "taken":
            taken[event.token] = event.time
        elif event.kind in {"accepted", "rejected"} and event.id:
            shares[event.token] += 1
            if event.kind == "accepted":
                done[event.id] = event.token, event.time
    rows = []
    for key, row in came.items():
        if key in done:
            token, end = done[key]
            row["service_time"] = max(end - taken.get(token, end), 0) / shares[token]
        if key in done or row["type"]:
            rows.append(row)
    return MessageTable(rows, len(came) - len(rows))


def _row(event: Event, id_: str, type_: str | None = None) -> dict[str, Any]:
    return {
        "id": id_,
        "time": event.time,
        "group": event.group or None,
        "priority": event.priority,
        "tenant": event.tenant or None,
        "cost": event.cost or 1,
        "service_time": 0.0,
        "type": type_,
    }


def decisions(
    events: Iterable[Event], cluster: str, *, by_time: bool = False
) -> Iterator[dict[str, Any]]:
    """The decisions of a cluster, as rows of a journal: its messages are a table, too.

    All events are read before the first row is given: what becomes of a message stands far behind
    it. Meanwhile the rows are in a temporary file of SQLite's, which has no name.

    A message that had no id gets one from its place: `pool/17`. Where a message was published here
    with an id and accepted, `service_time` is from when it was taken. What was chosen again as a
    receiver had failed is left out: messages have not come twice. `by_time`: positions follow from
    the time, so that the decisions of several stores are one table. Raises StoreError.
    """
    try:
        with closing(sqlite3.connect("", isolation_level=None)) as rows:
            for statement in SPOOL:
                rows.execute(statement)
            _spool(rows, events, cluster, by_time=by_time)
            for text, seconds in rows.execute("SELECT said, seconds FROM decided ORDER BY place"):
                row = json.loads(text)
                yield row if seconds is None else {**row, "service_time": seconds}
    except sqlite3.Error as error:
        raise StoreError(f"{tempfile.gettempdir()}: temporary files: {error}") from None


def _spool(
    rows: sqlite3.Connection, events: Iterable[Event], cluster: str, *, by_time: bool
) -> None:
    """Write each decision down, and then how long its message took, if that was accepted."""
    position, place = -1, None
    for event in events:
        if event.kind == "decided" and event.cluster == cluster and event.detail != REDELIVERED:
            if place != (place := (event.stream, event.sequence)):
                position += 1
                if by_time:
                    position = max(position, moment(event.time, "time", StoreError) * AT_A_TIME)
            attributes = json.loads(event.said) if event.said else {}
            row = {**attributes, **dict(zip(JOURNAL, journal_row(event, position), strict=True))}
            rows.execute(
                "INSERT INTO decided (id, said) VALUES (?, ?)", (event.id, json.dumps(row))
            )
        elif event.kind == "taken":
            rows.execute("INSERT OR REPLACE INTO taken VALUES (?, ?)", (event.token, event.time))
        elif event.kind == "accepted" and event.id:
            began = rows.execute("SELECT time FROM taken WHERE token = ?", (event.token,))
            (start,) = began.fetchone() or (event.time,)
            seconds = max(event.time - start, 0)
            rows.execute("UPDATE decided SET seconds = ? WHERE id = ?", (seconds, event.id))


def journal_row(event: Event, position: int) -> tuple[Any, ...]:
    """A decision with the columns that every journal has, in their order.

    A message that had no id gets one from its place.
    """
    event = event._replace(
        position=position, id=event.id or f"{event.stream}/{event.sequence}", attempt=1
    )
    return OF_JOURNAL(event)


def changes(
    events: Iterable[Event], cluster: str, *, names_cluster: bool = False
) -> Iterator[dict[str, Any]]:
    """The changes of a cluster, as the rows of a file of changes.

    `names_cluster`: whether each target is named with its cluster, so that the changes of several
    stores are one table.

    What was added or removed has joined or left; a file then lists it with `present = false`, as
    that of `with_added` does.
    """
    every = [event for event in events if event.kind == "changed" and event.cluster == cluster]
    added = _added(every)
    for event in every:
        change = json.loads(event.detail or "{}")
        attribute, value = change["attribute"], change["value"]
        target = event.destination or cluster
        row: dict[str, Any] = {"time": event.time, "target": target}
        if names_cluster and event.destination:
            row["target"] = f"{target}@{cluster}"
        if attribute == "added":
            settings = added[target]
            for name in sorted(value.keys() - NAMES) if len(settings) > 1 else ():
                if any(table.get(name) != value[name] for table in settings):
                    yield {**row, "attribute": name, "value": value[name]}
        if attribute in {"added", "removed"}:
            value = attribute == "added" and value.get(PRESENT, True)
            attribute = PRESENT
        if attribute != "due":  # it follows of itself
            yield {**row, "attribute": attribute, "value": value}


def with_added(events: Iterable[Event], cluster: Cluster) -> Cluster:
    """The cluster with all that were ever added to it, as not present: as its file would be."""
    state = cluster.start()
    every = (event for event in events if event.kind == "changed" and event.cluster == cluster.name)
    latest = (settings[-1] for settings in _added(every).values())
    missing = [table for table in latest if joining_ref(state, table) not in state.objects]
    return with_destination(cluster, state, *missing).cluster if missing else cluster


def _added(events: Iterable[Event]) -> dict[str, list[dict[str, Any]]]:
    """Destination → the tables with which it was added, in their order."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        change = json.loads(event.detail or "{}")
        if change["attribute"] == "added":
            tables.setdefault(event.destination or "", []).append(change["value"])
    return tables
