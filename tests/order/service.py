"""Readers under a virtual clock, in front of the live agenda or of the oracle; golden cases."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracle.service_broker import PriorityTable

from fairlead import Agenda

Row = dict[str, Any]
FILE = Path(__file__).parent.parent / "golden" / "service-broker.toml"
SECOND, MILLI = 1_000_000, 1000
"""Microseconds."""


class Live:
    """The agenda, as the tests speak to it.

    `conversations`: a group is a conversation that begins with its first item and does not end, as
    in the document.
    """

    def __init__(self, order: Row, weights: Row, *, conversations: bool = True) -> None:
        self.agenda = Agenda(**order, weights=weights)
        self.conversations = conversations

    def arrive(self, group: str, item: Any, now: int, tenant: str = "", **more: Any) -> None:
        if group and self.conversations:
            self.agenda.begin(group, tenant=tenant)
        self.agenda.send(group, item, Fraction(now, SECOND), tenant=tenant, **more)

    def prioritise(self, group: str, now: int, priority: int | None = None) -> bool:
        return self.agenda.prioritise(group, Fraction(now, SECOND), priority)

    def take(self, now: int) -> Any:
        return self.agenda.take(Fraction(now, SECOND))

    def receive(self, work: Any) -> Any:
        return next(work, None)

    def finish(self, work: Any) -> None:
        work.accept()

    def rollback(self, work: Any) -> None:
        work.release()


class Oracle:
    """The oracle, as the tests speak to it; it knows no default priority."""

    def __init__(self, order: Row, weights: Row, *, conversations: bool = True) -> None:
        self.default = order.get("default_priority", 100)
        step = int(order.get("ageing", 0) * 1_000_000)
        self.table = PriorityTable(
            order.get("discipline", "priority"), step, weights, conversations=conversations
        )
        self.receive = self.table.receive
        self.finish = self.table.finish
        self.rollback = self.table.rollback
        self.arrive = self.table.arrive

    def prioritise(self, group: str, now: int, priority: int | None = None) -> bool:
        return self.table.prioritise(group, now, self.default if priority is None else priority)

    def take(self, now: int) -> Any:
        return self.table.take()


ENGINES = {"live": Live, "oracle": Oracle}


class Started(NamedTuple):
    """A reader has begun with an item."""

    item: str
    at: int
    reader: int


@dataclass
class Reader:
    """One reader: what it works on, and until when."""

    number: int
    work: Any = None
    item: Any = None
    through: int = 0


@dataclass
class Case:
    """One golden case, its rows written out; times in microseconds."""

    name: str
    rows: list[Row]
    expect: Row
    readers: int = 1
    service: int = 2000 * MILLI
    order: Row = field(default_factory=dict)
    weights: Row = field(default_factory=dict)
    rolled_back: list[tuple[int, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return self.name


def run(engine: Any, case: Case) -> list[Started]:
    """Let the readers work until nothing is left."""
    readers = [Reader(number + 1) for number in range(case.readers)]
    rows, failures = list(case.rows), sorted(case.rolled_back)
    started: list[Started] = []
    while times := [
        *(row["at"] for row in rows[:1]),
        *(at for at, _ in failures[:1]),
        *(reader.through for reader in readers if reader.work is not None),
    ]:
        now = min(times)
        while failures and failures[0][0] == now:
            _, item = failures.pop(0)
            (reader,) = (reader for reader in readers if reader.item == item)
            engine.rollback(reader.work)
            reader.work = reader.item = None
        for reader in readers:
            if reader.work is not None and reader.through == now:
                reader.item = engine.receive(reader.work)
                if reader.item is None:
                    engine.finish(reader.work)
                    reader.work = None
                else:
                    reader.through = now + case.service
                    started.append(Started(reader.item, now, reader.number))
        while rows and rows[0]["at"] == now:
            _arrives(engine, rows.pop(0))
        for reader in readers:
            if reader.work is None:
                reader.work = engine.take(now)
                if reader.work is not None:
                    reader.item = engine.receive(reader.work)
                    reader.through = now + case.service
                    started.append(Started(reader.item, now, reader.number))
    return started


def _arrives(engine: Any, row: Row) -> None:
    if row.get("type") == "SetPriority":
        engine.prioritise(row["group"], row["at"], row.get("priority"))
        return
    more = {key: row[key] for key in ("priority", "tenant", "cost") if key in row}
    engine.arrive(row.get("group", ""), row["item"], row["at"], **more)


def cases() -> list[Case]:
    """The golden cases, in the order of their file."""
    with FILE.open("rb") as file:
        return [_case(table) for table in tomllib.load(file)["case"]]


def _case(table: Row) -> Case:
    requests = table.pop("requests", None)
    rows = list(_requests(**requests)) if requests else table.pop("rows")
    service = table.pop("service_ms", 2000) * MILLI
    failures = [(each["at_ms"] * MILLI, each["item"]) for each in table.pop("rolled_back", [])]
    timed = [{**row, "at": row["at_ms"] * MILLI} for row in rows]
    return Case(**table, rows=timed, service=service, rolled_back=failures)


def _requests(count: int, every_ms: int, each: int, priority: int | str) -> Iterator[Row]:
    """The document's requests, each tenth followed by SetPriority in the same transaction."""
    for i in range(count):
        at = i * every_ms
        yield {"at_ms": at, "group": f"dialog {i}", "item": str(i)}
        if i % each == 0:
            raised = i if priority == "number" else priority
            yield {
                "at_ms": at,
                "group": f"dialog {i}",
                "type": "SetPriority",
                "priority": raised,
            }


def written_out(taken: str) -> list[str]:
    """The items that "0 80 1-3" stands for."""
    found = []
    for word in taken.split():
        first, dash, last = word.partition("-")
        found += [str(i) for i in range(int(first), int(last) + 1)] if dash else [word]
    return found
