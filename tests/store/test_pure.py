"""Take, work and settle in one transaction of the caller's: the pure form, on PostgreSQL."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from fairlead.errors import MessageError
from fairlead.store.store import Store
from tests.stores import made_url


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(made_url("postgresql")) as store:
        yield store


@pytest.fixture
def connection(store: Store) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(store.url) as connection:
        connection.execute("CREATE TABLE done (what text)")
        connection.commit()
        yield connection


def test_all_of_it_happens_or_nothing(store: Store, connection: "psycopg.Connection[Any]") -> None:
    store.send("q", "a", group="g")
    for commit in (False, True):
        with store.join(connection) as tx:
            work = tx.take("q")
            assert work is not None
            assert work.attempt == 1
            for message in work:
                tx.execute("INSERT INTO done VALUES (%s)", [message.body])
            tx.send("next", "b")
            assert store.take("q") is None, "its row is locked"
            with pytest.raises(MessageError, match="which has no lease"):
                work.extend()
            tx.accept(work)
        connection.commit() if commit else connection.rollback()
    assert connection.execute("SELECT what FROM done").fetchall() == [("a",)]
    assert store.take("q") is None
    assert store.take("next") is not None


def test_what_is_taken_is_settled_before_the_end(
    store: Store, connection: "psycopg.Connection[Any]"
) -> None:
    store.send("q", "a")
    with (
        pytest.raises(MessageError, match="found the end of its transaction"),
        store.join(connection) as tx,
    ):
        assert tx.take("q") is not None
    connection.rollback()
    work = store.take("q")
    assert work is not None
    assert work.attempt == 1


def test_it_is_refused_where_it_would_keep_others_waiting(
    store: Store, connection: "psycopg.Connection[Any]"
) -> None:
    store.send("shared", 1, tenant="x")
    with store.join(connection) as tx, pytest.raises(MessageError, match="its tenants share"):
        tx.take("shared")
    with Store.open(made_url("sqlite")) as other:
        other.send("q", 1)
        with other.transaction() as tx, pytest.raises(MessageError, match="SQLite"):
            tx.take("q")
