"""Messages and the user's own rows in one transaction, however the user is connected."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.orm import Session

from fairlead import Store
from fairlead.errors import MessageError, StoreError
from fairlead.store.leasing import StoreWork
from tests.stores import fresh_url, made_url, scratch


class Client:
    """A connection of some kind: what is given to `join`, and how it runs, commits, rolls back."""

    def __init__(
        self,
        connection: Any,
        run: Callable[[str], Any],
        commit: Callable[[], Any],
        rollback: Callable[[], Any],
        begin: Callable[[], Any] = lambda: None,
    ) -> None:
        self.connection = connection
        self.run = run
        self.commit = commit
        self.rollback = rollback
        self.begin = begin


@contextmanager
def driver(url: str, **more: Any) -> Iterator[Client]:
    sqlite = url.startswith("sqlite")
    path = url.removeprefix("sqlite:///")
    made: Any = sqlite3.connect(path) if sqlite else psycopg.connect(url, **more)
    yield Client(made, made.execute, made.commit, made.rollback)
    made.close()


@contextmanager
def with_rows_as_tables(url: str) -> Iterator[Client]:
    if url.startswith("postgresql"):
        from psycopg.rows import dict_row

        with driver(url, row_factory=dict_row, cursor_factory=psycopg.ClientCursor) as found:
            yield found
        return
    with driver(url) as found:
        found.connection.row_factory = lambda cursor, row: {
            column[0]: value for column, value in zip(cursor.description, row, strict=True)
        }
        yield found


@contextmanager
def begun_at_once(url: str) -> Iterator[Client]:
    """A transaction that the user begins himself."""
    sqlite = url.startswith("sqlite")
    made: Any
    if sqlite:
        made = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    else:
        made = psycopg.connect(url, autocommit=True)

    def run(sql: str) -> Any:
        return made.execute(sql)

    yield Client(
        made,
        run,
        lambda: run("COMMIT"),
        lambda: run("ROLLBACK"),
        lambda: run("BEGIN IMMEDIATE" if sqlite else "BEGIN"),
    )
    made.close()


def engine(url: str) -> Any:
    if url.startswith("sqlite"):
        return sqlalchemy.create_engine(url)
    return sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(url))


@contextmanager
def core(url: str) -> Iterator[Client]:
    made = engine(url)
    with made.connect() as found:
        yield Client(
            found, lambda sql: found.execute(sqlalchemy.text(sql)), found.commit, found.rollback
        )
    made.dispose()


@contextmanager
def session(url: str) -> Iterator[Client]:
    made = engine(url)
    with Session(made) as found:
        yield Client(
            found, lambda sql: found.execute(sqlalchemy.text(sql)), found.commit, found.rollback
        )
    made.dispose()


@contextmanager
def django(url: str) -> Iterator[Client]:
    from django import setup
    from django.conf import settings
    from django.db import ConnectionHandler

    if not settings.configured:
        settings.configure(USE_TZ=True, LOGGING_CONFIG=None)
        setup()
    if url.startswith("sqlite"):
        database = {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": url.removeprefix("sqlite:///"),
        }
    else:
        database = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": urlsplit(url).path.removeprefix("/"),
            "USER": "postgres",
            "HOST": str(scratch() / "pg"),
        }
    found = ConnectionHandler({"default": database})["default"]
    found.set_autocommit(False)
    yield Client(found, lambda sql: found.cursor().execute(sql), found.commit, found.rollback)
    found.rollback()
    found.close()


CLIENTS = [driver, with_rows_as_tables, begun_at_once, core, session, django]


@pytest.fixture(params=CLIENTS, ids=lambda each: each.__name__)
def client(request: pytest.FixtureRequest, dialect: str, url: str) -> Iterator[Client]:
    with driver(url) as mine:
        mine.run("CREATE TABLE mine (value INTEGER)")
        mine.commit()
    with request.param(url) as found:
        yield found


def mine(url: str) -> list[int]:
    """The user's rows that were committed."""
    with driver(url) as found:
        return [value for (value,) in found.run("SELECT value FROM mine").fetchall()]


def taken(store: Store) -> StoreWork:
    work = store.take("q")
    assert work is not None
    return work


def test_a_commit_makes_both_visible_and_a_rollback_removes_both(
    client: Client, store: Store, url: str
) -> None:
    for value in (1, 2):
        client.begin()
        client.run(f"INSERT INTO mine VALUES ({value})")  # noqa: S608
        with store.join(client.connection) as tx:
            tx.send("q", value, group="g", id=str(value))
        client.commit()
        assert mine(url) == list(range(1, value + 1))
    client.begin()
    client.run("INSERT INTO mine VALUES (3)")
    with store.join(client.connection) as tx:
        tx.send("q", 3, group="g")
        assert tx.prioritise("q", "g", 7)
    client.rollback()
    assert mine(url) == [1, 2]
    assert store.waiting("q").ranks[0].priority is None
    work = taken(store)
    assert [message.body for message in work] == [1, 2]


def test_what_is_sent_first_in_a_transaction_is_undone_with_it(
    client: Client, store: Store, url: str
) -> None:
    client.begin()
    with store.join(client.connection) as tx:
        tx.send("q", 1)
    client.run("INSERT INTO mine VALUES (1)")
    client.rollback()
    assert mine(url) == []
    assert [event.kind for event in store.journal()] == []


def test_work_is_settled_with_the_users_rows(client: Client, store: Store, url: str) -> None:
    for value in range(3):
        store.send("q", value)
    for value, end in enumerate(("accept", "reject", "release")):
        work = taken(store)
        assert [message.body for message in work] == [value]
        client.begin()
        client.run(f"INSERT INTO mine VALUES ({value})")  # noqa: S608
        with store.join(client.connection) as tx:
            getattr(tx, end)(work=work)
            assert store.outcome(work.token) == "held"
        client.commit()
        assert store.outcome(work.token) == f"{end}ed".replace("eed", "ed")
    assert mine(url) == [0, 1, 2]
    assert [each.body for each in store.dead("q")] == [1]
    assert taken(store).attempt == 2


def test_work_that_was_accepted_but_for_one_message_was_accepted(store: Store) -> None:
    for value in range(2):
        store.send("q", value, group="g")
    work = taken(store)
    first, _ = work
    work.reject("why", first)
    work.accept()
    assert store.outcome(work.token) == "accepted"


def test_a_rollback_leaves_work_in_its_readers_hands(
    client: Client, store: Store, url: str
) -> None:
    store.send("q", 1)
    work = taken(store)
    next(work)
    client.begin()
    client.run("INSERT INTO mine VALUES (1)")
    with store.join(client.connection) as tx:
        tx.accept(work)
        tx.send("q", 2)
    client.rollback()
    assert mine(url) == []
    assert store.outcome(work.token) == "held"
    assert store.take("q") is None


def test_a_commit_inside_the_block_is_the_callers_own(
    client: Client, store: Store, url: str
) -> None:
    client.begin()
    client.run("INSERT INTO mine VALUES (1)")
    with store.join(client.connection) as tx:
        tx.send("q", 1)
        client.commit()
    assert mine(url) == [1]
    assert [message.body for message in taken(store)] == [1]


def accepted(client: Client, store: Store) -> StoreWork:
    """Work that is accepted in the user's transaction, which is open."""
    store.send("q", 1)
    work = taken(store)
    assert next(work).body == 1
    client.begin()
    client.run("INSERT INTO mine VALUES (1)")
    with store.join(client.connection) as tx:
        tx.accept(work)
    return work


def test_work_that_was_settled_and_rolled_back_can_be_settled(client: Client, store: Store) -> None:
    work = accepted(client, store)
    client.rollback()
    work.extend(60)
    work.accept()
    assert store.outcome(work.token) == "accepted"
    with pytest.raises(MessageError, match="it is settled already"):
        work.accept()


def test_work_that_was_settled_and_rolled_back_can_be_settled_in_the_next_transaction(
    client: Client, store: Store, url: str
) -> None:
    work = accepted(client, store)
    client.rollback()
    client.begin()
    client.run("INSERT INTO mine VALUES (2)")
    with store.join(client.connection) as tx:
        tx.accept(work)
    client.commit()
    assert mine(url) == [2]
    assert store.outcome(work.token) == "accepted"


def test_work_that_is_settled_in_an_open_transaction_is_not_settled_twice(
    client: Client, store: Store, url: str
) -> None:
    work = accepted(client, store)
    for again in (work.accept, work.extend, lambda: next(work)):
        with pytest.raises(MessageError, match="it is settled already"):
            again()  # type: ignore[operator]
    with (
        store.join(client.connection) as tx,
        pytest.raises(MessageError, match="it is settled already"),
    ):
        tx.accept(work)
    client.commit()
    assert mine(url) == [1]
    for again in (work.accept, work.extend, lambda: next(work)):
        with pytest.raises(MessageError, match="it is settled already"):
            again()  # type: ignore[operator]


def test_a_block_of_work_that_raises_after_a_rollback_releases_it(
    client: Client, store: Store
) -> None:
    store.send("q", 1)
    work = taken(store)

    def fail() -> None:
        with work:
            client.begin()
            client.run("INSERT INTO mine VALUES (1)")
            with store.join(client.connection) as tx:
                tx.accept(work)
            client.rollback()
            raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        fail()
    assert store.outcome(work.token) == "released"
    assert taken(store).attempt == 2


@pytest.mark.parametrize(
    "found", [None, 7, "sqlite:///x.db", object()], ids=lambda each: type(each).__name__
)
def test_what_is_no_connection_is_refused(store: Store, found: object) -> None:
    with pytest.raises(StoreError, match="connection: found") as refused, store.join(found):
        pass
    assert "\n" not in str(refused.value)


def test_a_connection_that_commits_by_itself_is_refused(store: Store, url: str) -> None:
    own: Any
    if url.startswith("sqlite"):
        own = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    else:
        own = psycopg.connect(url, autocommit=True)
    with pytest.raises(StoreError, match="found no transaction"), store.join(own):
        pass
    own.close()


def test_texts_of_another_kind_are_refused(store: Store) -> None:
    own = sqlite3.connect(made_url("sqlite").removeprefix("sqlite:///"))
    own.text_factory = bytes
    with pytest.raises(StoreError, match="text_factory"), store.join(own):
        pass
    own.close()


def other_database(url: str) -> str:
    """Another store of the same kind; on PostgreSQL one that was copied from the same template."""
    return made_url("sqlite" if url.startswith("sqlite") else "postgresql")


def test_a_connection_to_another_store_is_refused_and_both_are_named(
    store: Store, url: str
) -> None:
    with driver(other := other_database(url)) as client:
        with pytest.raises(StoreError) as refused, store.join(client.connection) as tx:
            tx.send("q", 1)
        client.commit()
    with Store.open(other) as elsewhere:
        assert elsewhere.queues() == store.queues() == []
        assert str(refused.value) == (
            f"connection: found another store's database, {elsewhere.place}, allowed: one to "
            f"{store.place}"
        )


def test_a_copy_of_a_sqlite_file_is_another_store(store: Store, url: str) -> None:
    if not url.startswith("sqlite"):
        pytest.skip("PostgreSQL's copies have other names, as the test above has")
    copy = f"{store.place}.copy"
    with driver(url) as client:
        client.run(f"VACUUM INTO '{copy}'")
    with (
        driver(f"sqlite:///{copy}") as client,
        pytest.raises(StoreError, match="another store's database"),
        store.join(client.connection),
    ):
        pass


def test_a_connection_to_a_database_without_a_store_is_refused(store: Store, url: str) -> None:
    dialect = "sqlite" if url.startswith("sqlite") else "postgresql"
    with driver(fresh_url(dialect)) as client:
        client.run("CREATE TABLE mine (value INTEGER)")
        client.commit()
        for value in (1, 2):
            client.run(f"INSERT INTO mine VALUES ({value})")  # noqa: S608
            with (
                pytest.raises(StoreError, match=r"in which there is no store, allowed: one to"),
                store.join(client.connection),
            ):
                pass
            client.commit()
        assert client.run("SELECT count(*) FROM mine").fetchall() == [(2,)]


def test_a_connection_that_joined_once_may_join_again(store: Store, url: str) -> None:
    with driver(url) as client:
        for value in range(3):
            with store.join(client.connection) as tx:
                tx.send("q", value)
            client.commit()
    assert store.queues()[0].messages == 3


def test_a_block_that_raises_has_done_nothing_and_the_rest_of_the_transaction_stays(
    client: Client, store: Store, url: str
) -> None:
    store.send("q", 0)
    work = taken(store)
    next(work)
    client.begin()
    client.run("INSERT INTO mine VALUES (1)")
    with pytest.raises(ZeroDivisionError), store.join(client.connection) as tx:  # noqa: PT012
        tx.send("q", 1)
        client.run("INSERT INTO mine VALUES (2)")
        tx.accept(work)
        raise ZeroDivisionError
    with store.join(client.connection) as tx:
        tx.send("q", 3)
    client.commit()
    assert mine(url) == [1]
    assert store.outcome(work.token) == "held"
    assert [message.body for message in taken(store)] == [3]


def test_a_block_that_ends_in_another_transaction_says_so(store: Store, url: str) -> None:
    with driver(url) as client:
        client.run("CREATE TABLE mine (n INTEGER)")
        client.commit()
        with (  # noqa: PT012
            pytest.raises((sqlite3.Error, psycopg.Error)) as ended,
            store.join(client.connection) as tx,
        ):
            tx.send("q", 1)
            client.commit()
            client.run("INSERT INTO mine VALUES (1)")
        assert "end it after the block" in ended.value.__notes__[0]


def test_the_stores_own_verbs_are_refused_at_once_inside_a_block_on_sqlite(
    client: Client, store: Store, url: str
) -> None:
    if not url.startswith("sqlite"):
        pytest.skip("several write at one time")
    client.begin()
    with store.join(client.connection) as tx:
        with pytest.raises(MessageError, match="allowed: the verbs of the transaction"):
            store.send("q", 1)
        with pytest.raises(MessageError, match="as do waiting, peek and promotion"):
            store.take("q")
        tx.send("q", 2)
    client.commit()
    store.send("q", 3)
    assert store.queues()[0].messages == 2


@pytest.mark.parametrize("client_of", [core, session], ids=["core", "session"])
def test_what_is_first_sent_by_sqlalchemys_connection_is_committed_with_it(
    client_of: Callable[[str], Any], store: Store, url: str
) -> None:
    with client_of(url) as client:
        with store.join(client.connection) as tx:
            tx.send("q", 1)
        client.commit()
    assert store.queues()[0].messages == 1
