"""Golden cases: those of replays, and those of the order of work as far as a table can say them."""

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.order.service import MILLI, written_out
from tests.order.service import Case as OrderCase
from tests.order.service import cases as order_cases
from tests.replay.engines import Kernel, oracle, table

GOLDEN = Path(__file__).parent.parent / "golden" / "replay.toml"
Row = dict[str, Any]
CASES: list[Row] = tomllib.loads(GOLDEN.read_text(encoding="utf-8"))["case"]
ENGINES = {
    "table": table,
    "interpreted": lambda *case: Kernel(*case, interpreted=True).through(),
    "by events": lambda *case: Kernel(*case, by_events=True).through(),
    "oracle": oracle,
}
engines = pytest.mark.parametrize("engine", ENGINES)


@engines
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_golden(case: Row, engine: str) -> None:
    assert set(case) <= {"name", "cluster", "messages", "changes", "expect"}
    expect = case["expect"]
    assert set(expect) <= {"started", "ends", "picks"}
    messages = [_message(k, **row) for k, row in enumerate(case["messages"])]
    item = {
        message["id"]: row["item"] for message, row in zip(messages, case["messages"], strict=True)
    }
    changes = [{**row, "time": Fraction(row["at_ms"], 1000)} for row in case.get("changes", [])]
    found = ENGINES[engine](case["cluster"], messages, changes)
    if "started" in expect:
        began = [row for row in found if row.start is not None]
        lines = [f"{item[r.id]} {r.destination} {r.reader} {r.start // MILLI}" for r in began]
        assert sorted(lines) == sorted(expect["started"])
    if "picks" in expect:
        first = {row.id: row.destination or "-" for row in found if row.attempt == 1}
        assert "".join(first.values()) == expect["picks"].replace(" ", "")
    for name, ends in expect.get("ends", {}).items():
        rows = [row for row in found if item[row.id] == name]
        assert ", ".join(f"{row.outcome} {row.destination}".strip() for row in rows) == ends


def _message(place: int, item: str, at_ms: int, takes_ms: int, **more: Any) -> Row:
    times = {"time": Fraction(at_ms, 1000), "service_time": Fraction(takes_ms, 1000)}
    return {"id": f"{place:03}", **times, **more}


# --- the order of work ----------------------------------------------------------------------


def _can_be_said(case: OrderCase) -> bool:
    """In a table a reader fails at the end of its work, not at a time."""
    return all(at % case.service == 0 for at, _ in case.rolled_back)


@engines
@pytest.mark.parametrize("case", [*filter(_can_be_said, order_cases())], ids=str)
def test_golden_of_the_order(case: OrderCase, engine: str) -> None:
    failing = {item: 1 for _, item in case.rolled_back}
    messages = [_of_row(k, row, case, failing) for k, row in enumerate(case.rows)]
    order = {"discipline": "priority", **case.order, "weights": case.weights}
    destination = {"name": "A", "readers": case.readers}
    cluster = {"policy": "round-robin", "order": order, "destination": [destination]}
    item = {
        message["id"]: row.get("item") for message, row in zip(messages, case.rows, strict=True)
    }
    found = ENGINES[engine](cluster, messages, [])
    began = sorted((row for row in found if row.start is not None), key=lambda row: row.start or 0)
    if "taken" in case.expect:
        assert [item[row.id] for row in began] == written_out(case.expect["taken"])
    if "started" in case.expect:
        lines = [f"{item[row.id]} {row.start // MILLI} {row.reader}" for row in began]
        assert sorted(lines) == sorted(case.expect["started"])


def _of_row(place: int, row: Row, case: OrderCase, failing: dict[str, int]) -> Row:
    known = ("group", "type", "priority", "tenant", "cost")
    return {
        "id": f"{place:05}",
        "time": Fraction(row["at"], 1_000_000),
        "service_time": Fraction(case.service, 1_000_000),
        **{key: row[key] for key in known if key in row},
        **({"rollbacks": 1} if row.get("item") in failing else {}),
    }


def test_what_a_table_cannot_say() -> None:
    skipped = [case.name for case in order_cases() if not _can_be_said(case)]
    assert skipped == [
        "80 rolled back at 2100 ms is taken again at once",
        "a group can be raised while it is worked on, and is after a rollback",
        "a rollback of what nobody raised restores the place by arrival",
    ]
