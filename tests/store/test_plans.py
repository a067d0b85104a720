"""Every statement that runs for each message finds its rows by an index, however many wait."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.store.statements import statements
from fairlead.store.store import Store
from tests.stores import made_url

HOT: dict[str, dict[str, Any]] = {
    "queue": {"name": "q"},
    "groups_by_name": {"queue": 1, "names": ["g1"]},
    "chores": {"queue": 1, "now": 1},
    "notices": {"queue": 1, "most": 10},
    "raises_of": {"ids": [1]},
    "wake_groups": {"queue": 1, "now": 1, "most": 10},
    "due_messages": {"queue": 1, "now": 1, "most": 10},
    "lapsed": {"queue": 1, "now": 1, "most": 10},
    "pick": {
        "queue": 1,
        "most": 10,
        "token": 1,
        "holder": 1,
        "taken": 1,
        "deadline": 1,
        "turn": 0,
    },
    "pick_named": {
        "queue": 1,
        "name": "g1",
        "token": 1,
        "holder": 1,
        "taken": 1,
        "deadline": 1,
        "turn": 0,
    },
    "pick_of_tenant": {
        "queue": 1,
        "tenant": "t",
        "token": 1,
        "holder": 1,
        "taken": 1,
        "deadline": 1,
        "turn": 0,
    },
    "lone_messages": {"ids": [1, 2]},
    "more_of": {"id": 1, "after": 0, "most": 10},
    "heads_of": {"ids": [1, 2]},
    "costs_of": {"ids": [1, 2]},
    "fence": {"ids": [1, 2]},
    "still_held": {"id": 1, "token": 1},
    "extend": {"id": 1, "token": 1, "deadline": 1},
    "drop_messages": {"ids": [1, 2]},
    "drop_lone": {"id": [1, 2]},
    "end_groups": {"ids": [1, 2]},
    "end_lone": {"id": [1, 2], "token": [1, 2]},
    "add_journal_taken": {"ids": [1, 2], "first": 1, "time": 1, "queue": "q", "actor": "a"},
    "add_journal_accepted": {"ids": [1, 2], "first": 1, "time": 1, "queue": "q", "actor": "a"},
    "next_tenant": {"queue": 1, "besides": ["x"]},
    "tenants": {"queue": 1, "names": ["t"]},
    "ready_of_tenant": {"queue": 1, "tenant": "t"},
    "look": {"name": "q"},
    "message_ids": {"queue": 1, "keys": ["k1"]},
    "journal": {
        "transaction": 0,
        "after": 1,
        "first": 0,
        "until": 10**9,
        "over": False,
        "most": 10,
    },
    "outcome": {"token": 1},
    "revision": {},
    "endpoint": {"handle": "h1"},
    "endpoints": {"ids": [1, 2]},
    "end_of": {"dialog": 1, "side": 1},
    "say": {"id": 1},
    "lock_open": {"id": 1},
    "fail_endpoint": {"id": 1},
    "end_endpoint": {"id": 1},
    "drop_endpoints": {"dialog": 1},
    "drop_ended": {"dialogs": [1, 2]},
    "dialogs": {"before": 1000, "most": 10},
    "drop_delayed": {"conversation": 1, "types": ["Error"], "after": 0},
    "drop_unread": {"conversation": 1, "given": [1]},
    "of_conversation": {"conversation": 1, "given": [1], "most": 10},
    "any_of_conversation": {"conversation": 1},
}
SMALL = {"CONSTANT", "queues", "schema", "sleepers", "k", "d", "h", "json_each"}
"""Tables that have few rows, and lists that are given."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store with enough in it that a table scan would not be the best plan."""
    with Store.open(made_url(request.param)) as store:
        store.set_order("q", weights={"t": 2})
        messages = [
            {"body": "b", "group": f"g{k % 2000}", "id": f"k{k}", "tenant": "t"}
            for k in range(6000)
        ]
        store.send_many("q", messages)
        store.send_many("q", [{"body": "b", "tenant": "t", "delay": 1000}] * 2000)
        for k in range(3000):
            if k < 1000:
                store.prioritise("q", f"g{k}")
        store.take_many("q", 1)
        common: dict[str, Any] = {"service": "s", "far_service": "f", "contract": "c", "queue": "q"}
        with store._writing() as database:
            for k in range(1, 2001):
                numbers = {"id": k, "handle": f"h{k}", "dialog": k - k % 2, "side": k % 2}
                more = {"group": f"g{k}", "began": 1, "lifetime": None}
                database.run("add_endpoint", **numbers, **more, **common)
                if k > 500:
                    database.run("end_endpoint", id=k)
        with store._connection() as database:
            database.execute("ANALYZE")
        yield store


@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_uses_an_index(store: Store, name: str) -> None:
    with store._connection() as database:
        lines = explained(database, name, HOT[name])
        database.rollback()
    scans = [line for line in lines if scanned(line) not in {"", *SMALL}]
    assert not scans, lines


def explained(database: Any, name: str, values: dict[str, Any]) -> list[str]:
    text = statements(database.dialect)[name]
    if database.dialect == "sqlite":
        bound = {key: str(value) for key, value in values.items()}
        rows = database.connection.execute(f"EXPLAIN QUERY PLAN {text}", bound).fetchall()
        return [row[3] for row in rows]
    from fairlead.store.postgresql import _bound

    connection = database.connection
    connection.execute("SET enable_seqscan = off")  # a scan that is left is one without an index
    rows = connection.execute(f"EXPLAIN {text}".encode(), _bound(values)).fetchall()
    connection.execute("RESET enable_seqscan")
    return [row[0] for row in rows]


def scanned(line: str) -> str:
    """The table that a line of a plan reads from end to end; "" where it does not."""
    found = re.search(r"SCAN (?:fairlead_)?(\w+)(.*)", line) or re.search(
        r"Seq Scan on (\w+)()", line
    )
    return found[1] if found and "USING" not in found[2] else ""
