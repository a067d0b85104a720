"""A queue that holds as many messages as it may: by each way to send."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import MessageError, QueueFullError
from tests.store.sql import by_hand
from tests.stores import made_url

Send = Callable[..., Any]


def plainly(store: Store) -> Send:
    return lambda body, **more: store.send("q", body, **more)


def as_many(store: Store) -> Send:
    return lambda body, **more: store.send_many("q", [{"body": body, **more}])[0]


def in_a_transaction(store: Store) -> Send:
    def send(body: str, **more: Any) -> str:
        with store.transaction() as tx:
            return tx.send("q", body, **more)

    return send


def in_sql(store: Store) -> Send:
    url = store.url

    def send(body: str, **more: Any) -> str:
        named = {name: f"{value} s" if name == "delay" else value for name, value in more.items()}
        values = "".join(f", {name} => %s" for name in named)
        with psycopg.connect(url) as connection:
            try:
                found = connection.execute(
                    f"SELECT fairlead.send('q', %s::text{values})",
                    [body, *named.values()],
                ).fetchall()
            except psycopg.DatabaseError as error:
                kind = {"FL001": MessageError, "FL002": QueueFullError}[error.sqlstate or ""]
                raise kind(str(error).splitlines()[0]) from None
        return str(found[0][0])

    return send


WAYS = [(dialect, way) for dialect in ("sqlite", "postgresql") for way in (plainly, as_many)]
WAYS += [("sqlite", in_a_transaction), ("postgresql", in_a_transaction), ("postgresql", in_sql)]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{way[1].__name__}")
def store_and_send(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Send]]:
    """A queue that may hold two messages."""
    dialect, way = request.param
    with Store.open(made_url(dialect)) as store:
        store.set_limits("q", max_waiting=2)
        yield store, way(store)


def sent(store: Store) -> list[str]:
    return [event.id for event in store.journal() if event.kind == "sent"]


def test_a_message_that_is_known_is_no_message_too_many(
    store_and_send: tuple[Store, Send],
) -> None:
    store, send = store_and_send
    for key in ("a", "b"):
        assert send("body", id=key) == key
    assert send("body", id="a") == "a"
    with pytest.raises(MessageError, match="which another message had before"):
        send("other", id="a")
    with pytest.raises(QueueFullError, match="found more than 2 messages"):
        send("body", id="c")
    assert sent(store) == ["a", "b"]
    work = store.take("q")
    assert work is not None
    next(work)
    work.accept()
    assert send("body", id="c") == "c", "what was refused is not known"
    assert sent(store) == ["a", "b", "c"]


def test_messages_that_arrive_later_count(store_and_send: tuple[Store, Send]) -> None:
    store, send = store_and_send
    send("1", delay=1000)
    send("2")
    for more in ({}, {"delay": 1000}):
        with pytest.raises(QueueFullError):
            send("3", **more)
    assert [(each.messages, each.delayed) for each in store.queues()] == [(1, 1)]


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_of_many_messages_those_that_are_known_do_not_count(dialect: str) -> None:
    with Store.open(made_url(dialect)) as store:
        store.set_limits("q", max_waiting=2)
        every = [{"body": key, "id": key} for key in "abc"]
        assert store.send_many("q", every[:2]) == ["a", "b"]
        assert store.send_many("q", [*every[:2], *every[:2]]) == ["a", "b", "a", "b"]
        with pytest.raises(QueueFullError):
            store.send_many("q", every)
        work = store.take("q")
        assert work is not None
        next(work)
        work.accept()
        assert store.send_many("q", every) == ["a", "b", "c"]


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_what_a_queue_holds_is_counted_whatever_happens_to_it(dialect: str) -> None:
    with Store.open(made_url(dialect)) as store:
        store.send_many("q", [{"body": k, "group": "g"} for k in range(3)])
        store.send("q", 1, delay=1000)
        store.set_limits("q", max_waiting=5)
        assert room(store) == 1, "those that were there before count"
        store.send("q", 1, expires=1000)
        assert room(store) == 0
        work = store.take("q", group="g")
        assert work is not None
        next(work)
        work.accept()
        assert room(store) == 1, "one is done"
        work = store.take("q", group="g")
        assert work is not None
        assert [message.body for message in work] == [1, 2]
        work.reject("no")
        assert room(store) == 3, "dead letters do not count"
        store.requeue("q")
        assert room(store) == 1
        store.set_limits("q", max_waiting=None)
        store.send_many("q", [{"body": k} for k in range(300)])
        store.set_limits("q", max_waiting=400)
        assert room(store) == 96
        with pytest.raises(QueueFullError):
            store.send_many("q", [{"body": k} for k in range(97)])
        assert room(store) == 96, "what was rolled back does not count"


def room(store: Store) -> int:
    """So many messages can be sent, as is tried."""
    sent = 0
    try:
        with store.transaction() as tx:
            while True:
                try:
                    tx.send("q", 1)
                except QueueFullError:
                    raise UndoneError from None
                sent += 1
    except UndoneError:
        return sent


class UndoneError(Exception):
    """The transaction is rolled back."""


def test_senders_at_one_moment_do_not_wait_for_each_other_and_all_is_counted() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, ExitStack() as stack:
        store.set_limits("q", max_waiting=1000)
        connections = [stack.enter_context(psycopg.connect(url)) for _ in range(3)]
        for connection in connections:
            connection.execute("SET lock_timeout = '1s'")
        for _ in range(120):  # so many that they are summed up, by several at one time
            for connection in connections:
                connection.execute("SELECT fairlead.send('q', 'body')")
        for connection in connections:
            connection.commit()
        assert room(store) == 640
        rows = by_hand(url, "SELECT sum(change), count(*) FROM fairlead.length_changes")
        assert rows[0][0] == 360
        assert rows[0][1] < 360, "they were summed up"
