"""Stores that released versions made are upgraded, and go on as they were."""

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

from fairlead import Store
from fairlead.cli.app import run
from fairlead.errors import StoreError
from fairlead.store.database.statements import afterwards, migrations
from tests.stores import fresh_url, made_url

Open = Callable[..., Store]
RELEASED = Path(__file__).parent / "released"
NOW = 1_795_422_600.0
"""Soon after these stores were left."""


@pytest.fixture(params=range(1, len(migrations("sqlite"))))
def version(request: pytest.FixtureRequest) -> int:
    """The version of the schema from which the upgrade begins; 0.1.0 has the first."""
    found: int = request.param
    return found


@pytest.fixture
def url(dialect: str, version: int) -> str:
    """Of a store as 0.1.0 has left it, with what is between its schema and this version."""
    found = fresh_url(dialect)
    script = (RELEASED / f"0.1.0-{dialect}.sql").read_text(encoding="utf-8")
    script = "\n".join([script, *migrations(dialect)[1:version]])
    if dialect == "sqlite":
        with sqlite3.connect(found.removeprefix("sqlite:///")) as file:
            file.executescript(script)
        file.close()
    else:
        with psycopg.connect(found) as connection:
            connection.execute(script.encode())
    return found


@pytest.fixture
def store(url: str, version: int, opened: Open) -> Store:
    """The same, upgraded."""
    found = opened(url, upgrade=True, clock=lambda: NOW)
    assert found.upgraded == (version, len(migrations(url.partition(":")[0])))
    found.recover()
    return found


def test_it_is_refused_until_it_is_upgraded(url: str, version: int, opened: Open) -> None:
    words = rf"found version {version} .* `fairlead store upgrade` leads there"
    with pytest.raises(StoreError, match=words):
        opened(url)
    assert run(["store", "upgrade", "--store", url]) == 0
    opened(url)


ON_SQLITE = (
    "SELECT m.type, m.name, c.name FROM sqlite_schema m LEFT JOIN pragma_table_info(m.name) c "
    "WHERE m.name LIKE 'fairlead%' ORDER BY 1, 2, 3"
)
ON_POSTGRESQL = (
    "SELECT c.relkind::text, c.relname::text, a.attname::text FROM pg_class c "
    "LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relname !~ '^tickets_[0-9]' UNION ALL "
    "SELECT 'function', p.oid::regprocedure::text, '' FROM pg_proc p "
    "WHERE p.pronamespace = 'fairlead'::regnamespace ORDER BY 1, 2, 3"
)


def schema_of(url: str) -> list[tuple[str, str, str]]:
    """Its tables, indexes, views, triggers and functions, with the columns that they have."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            return file.execute(ON_SQLITE).fetchall()
    with psycopg.connect(url) as connection:
        return connection.execute(ON_POSTGRESQL).fetchall()


def test_its_schema_is_that_of_a_new_store(store: Store, url: str, dialect: str) -> None:
    with store.transaction() as tx:  # what programs of the version before need, the next one drops
        for script in afterwards(dialect, len(migrations(dialect))):
            tx.execute(script)
    made, upgraded = schema_of(made_url(dialect)), schema_of(url)
    assert len(made) > 100
    assert upgraded == made


def test_nothing_is_wrong_with_it(store: Store) -> None:
    assert store.check() == []


def test_its_messages_are_given_in_their_order(store: Store) -> None:
    got = {}
    for queue in ("orders", "aged", "shared", "x", "y"):
        got[queue] = []
        while work := store.take(queue):
            got[queue].append((work.group, [message.body for message in work]))
            work.accept()
    assert got["orders"] == [
        ("customer-1", [{"n": 1}, {"n": 4}, "meanwhile"]),
        ("customer-0", [{"n": 0}, {"n": 3}]),
        ("customer-2", [{"n": 2}, {"n": 5}]),
        ("", ["alone"]),
        ("", [b"\x00\xff"]),
        ("customer-9", ["not wanted"]),
    ]
    assert got["aged"] == [("a", [1]), ("b", [2])]
    assert sorted(got["shared"]) == [("g1", [1]), ("g2", [2]), ("g3", [3])]
    assert [len(got[queue]) for queue in ("x", "y")] == [3, 3]
    assert [(dead.reason, dead.body) for dead in store.dead("small")] == [("it is bad", "bad")]
    assert [each.why for each in store.later("small")] == ["released"]
    assert [each.why for each in store.later("orders")] == ["delayed"]


def test_its_clusters_choose_on(store: Store, dialect: str) -> None:
    assert [store.next_destination("pool").sequence for _ in range(3)] == [9, 10, 11]
    assert store.next_destination("ring", group="g0").destination == "a"
    assert {store.publish("busy", 0).destination for _ in range(2)} == {"x", "y"}
    if dialect == "postgresql":
        chosen = Counter(store.next_destination("tickets").destination for _ in range(6))
        assert chosen == {"t1": 4, "t2": 2}
    last = [event for event in store.journal() if event.kind == "decided"][-1]
    assert store.decision(last.position).explain()


def test_its_dialogs_go_on(store: Store) -> None:
    got = []
    while work := store.take("shop"):
        for message in work:
            got.append((message.type, message.body))
            if message.type == "Order" and message.conversation is not None:
                message.conversation.end()
        work.accept()
    assert got.count(("Order", {"n": 1})) == 1
    assert {type_ for type_, _ in got} >= {"Order", "Error"}
    assert next(store.take("client") or iter(())).type == "Confirmation"


def test_its_known_ids_are_known(store: Store) -> None:
    before = [each.messages for each in store.queues() if each.queue == "orders"]
    assert store.send("orders", {"n": 0}, id="o-0", group="customer-0") == "o-0"
    assert [each.messages for each in store.queues() if each.queue == "orders"] == before


class Load:
    """Programs of plain SQL that send and take while something else happens."""

    def __init__(self, url: str) -> None:
        """`url`: of the store."""
        self.url = url
        self.sent: list[str] = []
        self.done: list[str] = []
        self.failed: list[str] = []
        self._stop = threading.Event()
        calls = [partial(self._send, 0), partial(self._send, 1), self._take, self._take]
        self._threads = [threading.Thread(target=self._guarded, args=[call]) for call in calls]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def go_on(self, messages: int) -> None:
        """Until so many more messages were sent."""
        until = len(self.sent) + messages
        while len(self.sent) < until and not self.failed:
            self._stop.wait(0.001)

    def _guarded(self, call: Callable[[psycopg.Connection[Any]], None]) -> None:
        try:
            with psycopg.connect(self.url, autocommit=True) as connection:
                while not self._stop.is_set():
                    call(connection)
        except psycopg.Error as error:
            self.failed.append(str(error))

    def _send(self, sender: int, connection: psycopg.Connection[Any]) -> None:
        number = sum(key.startswith(f"{sender}-") for key in self.sent)
        key = f"{sender}-{number}"
        values = [key, f"g{number % 7}", key]
        connection.execute("SELECT fairlead.send('load', %s::text, %s, id => %s)", values)
        self.sent.append(key)

    def _take(self, connection: psycopg.Connection[Any]) -> None:
        rows = connection.execute("SELECT token, number, id FROM fairlead.take('load')").fetchall()
        if rows:
            self.done += [row[2] for row in rows]  # before others can take what comes after it
            values = [rows[0][0], [row[1] for row in rows]]
            connection.execute("SELECT fairlead.settle(%s, 'accepted', %s)", values)


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_it_is_upgraded_while_its_own_functions_send_and_take(
    url: str, version: int, opened: Open
) -> None:
    with Load(url) as load:
        load.go_on(50)
        store = opened(url, upgrade=True)
        assert store.upgraded == (version, len(migrations("postgresql")))
        load.go_on(50)
    assert load.failed == []
    while work := store.take("load", wait=0.2):  # a group waits a moment for who is sending to it
        load.done += [message.id for message in work]
        work.accept()
    assert sorted(load.done) == sorted(load.sent)
    for sender in "01":
        numbers = [int(key[2:]) for key in load.done if key.startswith(sender)]
        for group in range(7):
            mine = [number for number in numbers if number % 7 == group]
            assert mine == sorted(mine)
    store.recover()
    assert store.check() == []
