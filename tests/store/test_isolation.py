"""What loses messages in a transaction that sees only what was there when it began is refused."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
import sqlalchemy

from fairlead import Store
from fairlead.errors import StoreError
from tests.stores import made_url

Connect = Callable[..., Any]
LEVELS = ("REPEATABLE READ", "SERIALIZABLE")


@pytest.fixture
def url() -> str:
    return made_url("postgresql")


@pytest.fixture
def connected(url: str) -> Iterator[Connect]:
    """Connections of the user's own, in a transaction of a level that has looked at the queue."""
    with ExitStack() as stack:

        def connect(level: str) -> Any:
            found = stack.enter_context(psycopg.connect(url, autocommit=True))
            found.execute(f"BEGIN ISOLATION LEVEL {level}".encode())
            found.execute("SELECT count(*) FROM fairlead.groups").fetchall()
            return found

        yield connect


def left(store: Store) -> list[Any]:
    """What can still be taken."""
    found = []
    while work := store.take("q"):
        found += [message.body for message in work]
        work.accept()
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("verb", ["accept", "reject", "release"])
def test_work_is_not_settled_in_a_transaction_that_does_not_see_what_comes(
    level: str, verb: str, url: str, opened: Callable[..., Store], connected: Connect
) -> None:
    store = opened(url)
    store.send("q", "a", group="g")
    work = store.take("q")
    assert work is not None
    assert [message.body for message in work] == ["a"]
    mine = connected(level)
    store.send("q", "b", group="g")
    with pytest.raises(StoreError) as refused, store.join(mine) as tx:
        getattr(tx, verb)(work=work)
    said = f"found the isolation level {level.lower()}, allowed: read committed"
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    mine.execute("COMMIT")  # what else the user did there is not lost
    work.release()
    assert left(store) == ["a", "b"]


@pytest.mark.parametrize("level", LEVELS)
def test_plain_sql_neither_takes_nor_settles_there(
    level: str, url: str, opened: Callable[..., Store], connected: Connect
) -> None:
    store = opened(url)
    store.send("q", "a", group="g")
    store.send("q", "c", group="h")
    with psycopg.connect(url, autocommit=True) as other:
        (token, number) = other.execute(
            "SELECT token, number FROM fairlead.take('q')"
        ).fetchone() or (0, 0)
        mine = connected(level)
        store.send("q", "b", group="g")
        for call in (
            f"SELECT fairlead.settle({token}, 'accepted', '{{{number}}}')",
            "SELECT * FROM fairlead.take('q')",
        ):
            with pytest.raises(psycopg.Error, match="read committed") as refused:
                mine.execute(call.encode())
            assert refused.value.sqlstate == "FL007"
            mine.execute("ROLLBACK")
            mine = connected(level)
        mine.execute("ROLLBACK")
        other.execute(f"SELECT fairlead.settle({token}, 'accepted', '{{{number}}}')".encode())
    assert sorted(left(store)) == ["b", "c"]


@pytest.mark.parametrize("level", LEVELS)
def test_the_pure_form_does_not_take_there(
    level: str, url: str, opened: Callable[..., Store], connected: Connect
) -> None:
    store = opened(url)
    store.send("q", "a")
    mine = connected(level)
    with pytest.raises(StoreError, match="read committed"), store.join(mine) as tx:
        tx.take("q")
    mine.execute("ROLLBACK")
    assert left(store) == ["a"]


@pytest.mark.parametrize("level", LEVELS)
def test_no_ticket_is_drawn_there(
    level: str, url: str, opened: Callable[..., Store], connected: Connect
) -> None:
    from fairlead import Cluster

    store = opened(url)
    table = {"policy": "msmq", "store": {"allocation": "ticket"}}
    machines = [{"name": "a", "weight": 1}, {"name": "b", "weight": 1}]
    store.keep_clusters(
        [Cluster.from_dict({**table, "destination": machines}, default_name="pool")]
    )
    for _ in range(3):
        mine = connected(level)
        with pytest.raises(StoreError, match="read committed"), store.join(mine) as tx:
            tx.next_destination("pool")
        mine.execute("ROLLBACK")
    assert [store.next_destination("pool").destination for _ in range(4)] == ["a", "b", "a", "b"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_message_that_is_sent_there_waits_for_its_reader(
    level: str, url: str, opened: Callable[..., Store], connected: Connect
) -> None:
    store = opened(url)
    store.send("q", "a", group="g")
    mine = connected(level)
    with store.join(mine) as tx:
        tx.send("q", "b", group="g")
        tx.send("q", "c", group="new")
        tx.prioritise("q", "new")
    mine.execute("COMMIT")
    assert left(store) == ["c", "a", "b"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_session_of_sqlalchemy_with_such_a_level_is_told(
    level: str, url: str, opened: Callable[..., Store]
) -> None:
    store = opened(url)
    store.send("q", "a", group="g")
    work = store.take("q")
    assert work is not None
    next(work)
    engine = sqlalchemy.create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), isolation_level=level
    )
    with (
        engine.connect() as connection,
        pytest.raises(StoreError, match="read committed"),
        store.join(connection) as tx,
    ):
        tx.accept(work)
    engine.dispose()
    work.accept()


@pytest.mark.parametrize("level", LEVELS)
def test_the_default_level_of_a_database_is_not_the_stores(
    level: str, url: str, opened: Callable[..., Store]
) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        name = owner.info.dbname
        owner.execute(
            f"ALTER DATABASE {name} SET default_transaction_isolation = '{level.lower()}'".encode()
        )
    store = opened(url)
    for body in range(3):
        store.send("q", body, group="g")
    with store.take("q") or pytest.fail("nothing") as work:
        store.send("q", 3, group="g")
        assert [message.body for message in work] == [0, 1, 2, 3]
    store.send("q", 4)
    work = store.take("q", wait=0.01)
    assert work is not None
    with work.transaction() as tx:
        assert tx.execute("SHOW transaction_isolation").fetchone() == ("read committed",)
        tx.accept()
