"""What a take does on the way, it does in portions, and others write between them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import psycopg
import pytest

from fairlead import Store
from tests.stores import made_url

MOST = 400
"""A portion, and what is read at once."""
COUNTS = {
    "dead": {
        "sqlite": "SELECT count(*) FROM fairlead_dead",
        "postgresql": "SELECT count(*) FROM fairlead.dead",
    },
    "free": {
        "sqlite": "SELECT count(*) FROM fairlead_groups WHERE state <> 2",
        "postgresql": "SELECT count(*) FROM fairlead.groups WHERE state <> 2",
    },
}
TAKES_AND_DIES = """
import os, sys
from fairlead import Store
store = Store.open(sys.argv[1])
assert len(store.take_many("jobs", 900)) == 900
os._exit(1)
"""


def counted(store: Store, what: str) -> int:
    """How many others see, once what is written is committed."""
    with store._connection() as database:
        ((found,),) = database.execute(COUNTS[what][database.dialect]).fetchall()
    return int(found)


def watched(
    monkeypatch: pytest.MonkeyPatch, owner: object, verb: str, other: Store, what: str
) -> list[int]:
    """By how much each transaction of a verb changes what others see."""
    found: list[int] = []
    plain = getattr(owner, verb)

    def told(*args: Any, **more: Any) -> Any:
        before = counted(other, what)
        try:
            return plain(*args, **more)
        finally:
            found.append(counted(other, what) - before)

    monkeypatch.setattr(owner, verb, told)
    return found


@pytest.mark.parametrize("group", [None, "kim"])
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_expired_messages_are_put_away_in_portions(
    dialect: str, group: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    url = made_url(dialect)
    with Store.open(url, clock=lambda: now) as store, Store.open(url) as other:
        store.send_many("jobs", [{"body": k, "group": group, "expires": 10} for k in range(900)])
        store.send("jobs", "new", group=group)
        now = 11.0
        risen = watched(monkeypatch, store, "_take_portion", other, "dead")
        work = store.take("jobs")
        assert work is not None
        assert [message.body for message in work] == ["new"]
        work.accept()
        assert store.take("jobs") is None
        assert sum(risen) == 900
        assert max(risen) <= MOST


def test_plain_sql_puts_expired_messages_away_in_portions() -> None:
    url = made_url("postgresql")
    with Store.open(url, clock=lambda: 0.0) as store:
        store.send_many("jobs", [{"body": k, "expires": 10} for k in range(900)])
        store.send("jobs", "new")
        with psycopg.connect(url, autocommit=True) as database:
            rows: list[Any] = []
            calls = 0
            while not rows:
                before = counted(store, "dead")
                rows = database.execute("SELECT id FROM fairlead.take('jobs')").fetchall()
                assert counted(store, "dead") - before <= MOST
                calls += 1
        assert len(rows) == 1
        assert calls == 900 // 150 + 1, "each message and its group count"


def test_plain_sql_gives_no_expired_message_of_a_long_group() -> None:
    url = made_url("postgresql")
    with Store.open(url, clock=lambda: 0.0) as store:
        batch = [{"body": k, "group": "kim", "expires": 10} for k in range(250)]
        store.send_many("jobs", batch)
        store.send("jobs", "new", group="kim", id="n")
        with psycopg.connect(url, autocommit=True) as database:
            rows = database.execute("SELECT id FROM fairlead.take('jobs', most => 100)").fetchall()
        assert rows == [("n",)]


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_the_groups_of_the_dead_come_back_in_portions(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = made_url(dialect)
    with Store.open(url) as store, Store.open(url) as other:
        store.send_many("jobs", [{"body": k} for k in range(900)])
        subprocess.run([sys.executable, "-c", TAKES_AND_DIES, url], check=False)
        risen = watched(monkeypatch, store._leases, "_take_back_portion", other, "free")
        while not (found := store.take_many("jobs", 900)):
            pass  # until the server knows that it is gone
        assert len(found) == 900
        assert sum(risen) == 900
        assert max(risen) <= MOST
