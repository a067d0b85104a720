"""A body that is not what its format says: refused, or a dead letter by itself.

The library sends none. Here one stands in the table, as if a login that does not ask the library
had written it there, or the database had let through JSON for which Python has no value.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import AsyncStore, Store
from fairlead.store.queues.bodies import JSON, TEXT
from tests.store.roles import store_with_roles

Open = Callable[..., Store]
POISON = [
    (JSON, b"not json"),
    (JSON, b"1e400"),
    (JSON, b'"\\ud800"'),
    (TEXT, b"\xff\xfe"),
    (3, b"what"),
]
QUEUES = {
    "plain": "",
    "fair": "weights = { a = 2 }",
    "limited": "[[queue.limit]]\nin_work = 5",
}


def spoil(url: str, key: str, found: tuple[int, bytes] = POISON[0]) -> None:
    """Make the body of a message, or of a delayed one, one that cannot be read."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as file:
            for table in ("messages", "delayed"):
                file.execute(
                    f"UPDATE fairlead_{table} SET format = ?, body = ? WHERE key = ?",  # noqa: S608
                    (*found, key),
                )
        file.close()
        return
    with psycopg.connect(url) as connection:
        for table in (b"messages", b"delayed"):
            connection.execute(
                b"UPDATE fairlead.%s SET format = %%s, body = %%s WHERE key = %%s" % table,
                (*found, key),
            )


def given(store: Store, queue: str) -> list[Any]:
    """All that is given, until nothing is left."""
    found = []
    while (work := store.take(queue)) is not None:
        with work:
            found.append([message.body for message in work])
    return found


@pytest.mark.parametrize("poison", POISON)
def test_a_body_that_cannot_be_read_is_a_dead_letter_alone(
    store: Store, url: str, poison: tuple[int, bytes]
) -> None:
    for key in ("a", "b", "c"):
        store.send("q", f"good {key}", id=key)
    spoil(url, "a", poison)
    assert given(store, "q") == [["good b"], ["good c"]]
    (dead,) = store.dead("q")
    assert (dead.id, dead.body) == ("a", poison[1])
    assert "that can be read" in dead.reason
    (status,) = store.queues()
    assert (status.messages, status.working, status.dead) == (0, 0, 1)


def test_other_messages_of_its_group_are_given_in_their_order_and_bear_no_blame(
    store: Store, url: str
) -> None:
    for key in ("a", "b", "c"):
        store.send("q", key, group="g", id=key)
    spoil(url, "b")
    work = store.take("q")
    assert work is not None
    assert [each.body for each in work] == ["a", "c"]
    work.release(error="later")
    group = store.group("q", "g")
    assert group is not None
    assert group.failures == 1
    assert [each.id for each in store.dead("q")] == ["b"]
    assert given(store, "q") == [["a", "c"]]


def test_a_group_of_such_bodies_ends(store: Store, url: str) -> None:
    for key in ("a", "b"):
        store.send("q", key, group="g", id=key)
        spoil(url, key)
    assert store.take("q") is None
    assert [each.id for each in store.dead("q")] == ["a", "b"]
    store.send("q", "c", group="g")
    assert given(store, "q") == [["c"]]


def test_one_that_is_read_later_waits_for_the_next_take(store: Store, url: str) -> None:
    store.send_many("q", [{"body": k, "group": "g", "id": f"{k}"} for k in range(150)])
    spoil(url, "120")
    found = [body for bodies in given(store, "q") for body in bodies]
    assert found == [k for k in range(150) if k != 120]
    assert [each.id for each in store.dead("q")] == ["120"]


@pytest.mark.parametrize("kind", QUEUES)
def test_it_is_so_on_queues_of_every_kind_and_where_many_are_taken(
    store: Store, url: str, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "q.toml").write_text(f"[[queue]]\nname = 'q'\n{QUEUES[kind]}\n")
    store.declare(tmp_path / "q.toml")
    for key in ("a", "b", "c", "d"):
        store.send("q", key, id=key, tenant="a" if kind == "fair" else None)
    for key in ("a", "c"):
        spoil(url, key)
    works = store.take_many("q", 10)
    assert [[each.body for each in work] for work in works] == [["b"], ["d"]]
    for work in works:
        work.accept()
    assert store.take("q") is None
    assert [each.id for each in store.dead("q")] == ["a", "c"]
    assert not list(store.check())


def test_tasks_and_transactions_meet_none(store: Store, url: str, dialect: str) -> None:
    for key in ("a", "b", "c", "d", "e", "f"):
        store.send("q", key, id=key)
    for key in ("a", "c", "e"):
        spoil(url, key)

    async def task() -> list[Any]:
        async with await AsyncStore.open(url) as other:
            work = await other.take("q")
            assert work is not None
            async with work:
                return [each.body async for each in work]

    assert asyncio.run(task()) == ["b"]
    claim = store.claim(60)
    with store.transaction() as tx:
        (held,) = tx.take_now("q", claim)
    assert [each.body for each in held.messages] == ["d"]
    if dialect == "postgresql":
        with store.transaction() as tx:
            work = tx.take("q")
            assert work is not None
            assert [each.body for each in work] == ["f"]
            work.accept()
        assert [each.id for each in store.dead("q")] == ["a", "c", "e"]


def test_an_operator_sees_the_bytes(store: Store, url: str) -> None:
    store.send("q", "x", id="a")
    spoil(url, "a")
    assert [each.body for each in store.peek("q")] == [b"not json"]


@pytest.mark.parametrize("poison", [POISON[0], POISON[3]])
def test_a_sender_who_does_not_ask_the_library_is_refused(poison: tuple[int, bytes]) -> None:
    url_of = store_with_roles()
    many = (
        "SELECT o_state FROM fairlead._try_send_many('q', '{NULL}', '{NULL}', '{NULL}', '{NULL}', "
        "'{NULL}', '{1}', '{NULL}', '{NULL}', ARRAY[%s::bigint], %s, '{1}', ARRAY[%s], 'x')"
    )
    one = (
        "SELECT o_state FROM fairlead._try_send('q', %s, %s, NULL, NULL, NULL, NULL, NULL, 1, "
        "NULL, NULL, 'x')"
    )
    inside = 4 | 8 | poison[0] | 2 << 4 | len(poison[1]) << 32
    with psycopg.connect(url_of("sender"), autocommit=True) as sender:
        for format_, body in (poison, (inside, b"no" + poison[1])):
            assert sender.execute(one, (format_, body)).fetchall() == [("FL001",)]
            assert sender.execute(many, (format_, body, len(body))).fetchall() == [("FL001",)]
        end = sender.execute("SELECT fairlead.begin_dialog('Client', 'Shop', 'Orders')").fetchone()
        assert end is not None
        say = "SELECT o_state FROM fairlead._try_say(%s, 'Order', %s, %s, NULL, NULL, 'x')"
        assert sender.execute(say, (end[0], *poison)).fetchall() == [("FL001",)]


def test_a_text_with_a_null_character_is_given_and_hides_no_row(opened: Open) -> None:
    url_of = store_with_roles()
    store = opened(url_of("owner"))
    text = "a\0b\\000\\\0é"
    with opened(url_of("sender")) as sender:
        sender.send("q", text, id="x")
        sender.send("q", "y", delay=3600)
    with opened(url_of("worker")) as worker:
        work = worker.take("q")
        assert work is not None
        assert [each.body for each in work] == [text]
        work.reject("why")
    for role in ("worker", "operator", "viewer"):
        with psycopg.connect(url_of(role)) as connection:
            rows = connection.execute(
                "SELECT body_text, body FROM fairlead.dead_letters"
            ).fetchall()
            assert rows == [(None, text.encode())]
            rows = connection.execute("SELECT body_text FROM fairlead.delayed_messages").fetchall()
            assert rows == [("y",)]
    store.requeue("q")
    with psycopg.connect(url_of("worker")) as connection:
        rows = connection.execute("SELECT body_text, body FROM fairlead.take('q')").fetchall()
        assert rows == [(None, text.encode())]
