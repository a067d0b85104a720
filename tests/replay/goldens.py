"""Golden cases of replays, and those of the order of work as far as a table can say them."""

import tomllib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tests.order.service import MILLI, written_out
from tests.order.service import Case as OrderCase
from tests.order.service import cases as order_cases
from tests.replay.engines import Attempt

GOLDEN = Path(__file__).parent.parent / "golden" / "replay.toml"
Row = dict[str, Any]


class Golden(NamedTuple):
    """A case, as an engine takes it."""

    name: str
    cluster: Row
    messages: list[Row]
    changes: list[Row]
    items: dict[str, str | None]
    """What the case calls a message, by its id."""
    expect: Row

    def check(self, found: Sequence[Attempt]) -> None:
        """Whether that is what must come out; `found` by message and attempt."""
        assert set(self.expect) <= {"started", "ends", "picks", "taken", "began"}
        begun = [row for row in found if row.start is not None]
        if "started" in self.expect:
            lines = [f"{self.items[r.id]} {r.destination} {r.reader} {_ms(r)}" for r in begun]
            assert sorted(lines) == sorted(self.expect["started"])
        if "began" in self.expect:
            lines = [f"{self.items[r.id]} {_ms(r)} {r.reader}" for r in begun]
            assert sorted(lines) == sorted(self.expect["began"])
        if "taken" in self.expect:
            in_time = sorted(begun, key=lambda row: row.start or 0)
            assert [self.items[row.id] for row in in_time] == written_out(self.expect["taken"])
        if "picks" in self.expect:
            first = {row.id: row.destination or "-" for row in found if row.attempt == 1}
            assert "".join(first.values()) == self.expect["picks"].replace(" ", "")
        for name, ends in self.expect.get("ends", {}).items():
            rows = [row for row in found if self.items[row.id] == name]
            assert ", ".join(f"{r.outcome} {r.destination}".strip() for r in rows) == ends


def _ms(row: Attempt) -> int:
    return (row.start or 0) // MILLI


def goldens() -> list[Golden]:
    """All cases."""
    of_replays = tomllib.loads(GOLDEN.read_text(encoding="utf-8"))["case"]
    can_be_said = [case for case in order_cases() if case.name not in CANNOT_BE_SAID]
    return [*map(_of_replay, of_replays), *map(_of_order, can_be_said)]


CANNOT_BE_SAID = [
    case.name for case in order_cases() if any(at % case.service for at, _ in case.rolled_back)
]
"""In a table a reader fails at the end of its work, not at a time."""


def _of_replay(case: Row) -> Golden:
    assert set(case) <= {"name", "cluster", "messages", "changes", "expect"}
    messages = [_message(k, **row) for k, row in enumerate(case["messages"])]
    items = [row["item"] for row in case["messages"]]
    changes = [{**row, "time": Fraction(row["at_ms"], 1000)} for row in case.get("changes", [])]
    by_id = {message["id"]: item for message, item in zip(messages, items, strict=True)}
    return Golden(case["name"], case["cluster"], messages, changes, by_id, case["expect"])


def _message(place: int, item: str, at_ms: int, takes_ms: int, **more: Any) -> Row:
    times = {"time": Fraction(at_ms, 1000), "service_time": Fraction(takes_ms, 1000)}
    return {"id": f"{place:03}", **times, **more}


def _of_order(case: OrderCase) -> Golden:
    failing = {item: 1 for _, item in case.rolled_back}
    messages = [_of_row(k, row, case, failing) for k, row in enumerate(case.rows)]
    order = {"discipline": "priority", **case.order, "weights": case.weights}
    destination = {"name": "A", "readers": case.readers}
    cluster = {"policy": "round-robin", "order": order, "destination": [destination]}
    by_id = {m["id"]: row.get("item") for m, row in zip(messages, case.rows, strict=True)}
    names = {"started": "began"}
    expect = {names.get(name, name): value for name, value in case.expect.items()}
    return Golden(case.name, cluster, messages, [], by_id, expect)


def _of_row(place: int, row: Row, case: OrderCase, failing: dict[str, int]) -> Row:
    known = ("group", "type", "priority", "tenant", "cost")
    return {
        "id": f"{place:05}",
        "time": Fraction(row["at"], 1_000_000),
        "service_time": Fraction(case.service, 1_000_000),
        **{key: row[key] for key in known if key in row},
        **({"rollbacks": 1} if row.get("item") in failing else {}),
    }
