"""A store on an event loop: tasks wait together, and give back what they do not finish."""

import asyncio
import inspect
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import psycopg
import pytest

from fairlead import AsyncStore, AsyncTransaction, Cluster, Store, Transaction
from fairlead.errors import MessageError, StaleWorkError, StoreError
from fairlead.store.aio.waking import Ears, Eyes
from fairlead.store.database import bridge
from tests.stores import made_url

WAIT = 60
"""Seconds; a task that is not woken would fail the test by waiting so long."""
OTHER = """
import sys
from fairlead import Store
with Store.open(sys.argv[1]) as store:
    for line in sys.stdin:
        store.send("q", line.strip())
"""
HOLDER = """
import asyncio, sys
from fairlead import AsyncStore
async def main():
    store = await AsyncStore.open(sys.argv[1])
    async with await store.take("q"):
        print("held", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""
Story = Callable[[AsyncStore], Awaitable[Any]]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return made_url(request.param)


def tell(url: str, story: Story, **more: Any) -> Any:
    """A story of one store, from its opening to its end."""

    async def told() -> Any:
        async with await AsyncStore.open(url, **more) as store:
            return await story(store)

    return asyncio.run(told())


async def bodies(work: Any) -> list[Any]:
    return [message.body async for message in work]


async def settled(task: "asyncio.Task[Any]") -> None:
    """Until a task that was cancelled has ended."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_each_verb_is_there_with_its_arguments() -> None:
    own = {
        Store: {"accept", "begin_dialog", "close", "conversation", "ends", "join", "journal"},
        Transaction: {"begin_dialog", "conversation", "accept", "reject", "release", "take"},
    }
    own[Store] |= {"take", "take_many", "transaction", "working", "open", "send_elsewhere"}
    inside = {
        Store: {"begin", "bound_to", "claim", "dialog_transaction", "extend", "has_ended", "holds"},
        Transaction: {"begun", "bind", "bound_to", "dialog_transaction", "end_conversation"},
    }
    inside[Store] |= {"is_of", "more", "receive", "settle", "state_of", "take_now", "even_if_full"}
    inside[Store] |= {"tend", "hold_for_others", "taking", "view_rows"}
    inside[Store] |= {"serve_queue_manager"}
    inside[Store] |= {"can_reserve", "prepare_turns", "staged_run", "held_clusters"}
    inside[Store] |= {"refuse_held"}
    inside[Transaction] |= {"finish", "forget_ended", "has_ended", "hold", "is_of", "leave", "more"}
    inside[Transaction] |= {"raise_far_end", "receive", "record", "say", "set_timer", "settled"}
    inside[Transaction] |= {
        "state_of",
        "undone_if_raised",
        "break_off",
        "execute",
        "settle",
        "renew",
        "take_now",
        "hold_clusters",
        "reserve_turns",
        "publish_staged",
    }
    for plain, awaited in ((Store, AsyncStore), (Transaction, AsyncTransaction)):
        for name, verb in inspect.getmembers(plain, inspect.isfunction):
            if name.startswith("_") or name in inside[plain]:
                continue
            other = getattr(awaited, name)
            if name not in own[plain]:
                assert inspect.signature(other) == inspect.signature(verb), name
                assert inspect.iscoroutinefunction(other), name
            assert other.__doc__, name


def test_tasks_wait_together_and_each_is_woken(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        async def one() -> Any:
            work = await store.take("q", wait=WAIT)
            assert work is not None
            async with work:
                return await bodies(work)

        tasks = [asyncio.create_task(one()) for _ in range(5)]
        for number in range(5):
            await asyncio.sleep(0.02)
            await store.send("q", number)
        async with asyncio.timeout(WAIT / 2):
            found = await asyncio.gather(*tasks)
        assert sorted(found) == [[number] for number in range(5)]

    tell(url, story)


@pytest.mark.costly
def test_another_process_wakes_a_task(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        other = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", OTHER, url], stdin=subprocess.PIPE, text=True
        )
        assert other.stdin is not None
        await store.set_limits("q")
        for number in range(3):
            waiting = asyncio.create_task(store.take("q", wait=WAIT))
            await asyncio.sleep(0.3)
            print(number, file=other.stdin, flush=True)
            async with asyncio.timeout(WAIT / 2):
                work = await waiting
            async with work:
                assert await bodies(work) == [str(number)]
        other.stdin.close()
        assert other.wait(WAIT) == 0

    tell(url, story)


def test_what_is_due_wakes_a_task_and_what_is_not_there_does_not(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.send("q", "later", delay=0.3)
        work = await store.take("q", wait=WAIT)
        assert work is not None
        assert await bodies(work) == ["later"]
        assert await store.take("q", wait=0.1) is None
        assert await store.ready("q", wait=0.1) is False
        await work.release()
        assert await store.ready("q", wait=WAIT) is True

    tell(url, story)


def test_a_task_that_waits_and_is_cancelled_has_taken_nothing(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.set_limits("q")
        for pause in (0, 0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05):
            sent = asyncio.create_task(store.send("q", "x"))
            waiting = asyncio.create_task(store.take("q", wait=WAIT))
            await asyncio.sleep(pause)
            waiting.cancel()
            taken = (await asyncio.gather(waiting, return_exceptions=True))[0]
            await sent
            if not isinstance(taken, asyncio.CancelledError):
                await taken.release()
            assert await store.working("q") == []
            (found,) = await store.take_many("q", 9)
            async with found:
                assert await bodies(found) == ["x"]

    tell(url, story)


def test_a_block_that_is_cancelled_as_it_begins_gives_its_work_back(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.send("q", "x", group="g")
        begins = asyncio.Event()

        async def block(within: AbstractAsyncContextManager[Any]) -> None:
            begins.set()
            async with within:
                await asyncio.sleep(WAIT)

        for turns in range(4):
            for kind in ("work", "transaction"):
                work = await store.take("q", lease=3600)
                assert work is not None, (turns, kind)
                within: Any = work if kind == "work" else work.transaction()
                task = asyncio.create_task(block(within))
                await begins.wait()
                for _ in range(turns):
                    await asyncio.sleep(0)
                await settled(task)
                begins.clear()
                assert await store.working("q") == []

    tell(url, story)


def test_a_block_that_is_cancelled_gives_its_work_back_and_nothing_has_failed(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.set_limits("q", max_failures=1)
        await store.send("q", "x", group="g")

        async def block() -> None:
            work = await store.take("q")
            assert work is not None
            async with work:
                await bodies(work)
                await asyncio.sleep(WAIT)

        async def transaction() -> None:
            work = await store.take("q")
            assert work is not None
            async with work.transaction() as tx:
                await bodies(work)
                await tx.send("q", "never")
                await asyncio.sleep(WAIT)

        for how in (block, transaction):
            task = asyncio.create_task(how())
            while not await store.working("q"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            await settled(task)
            assert await store.working("q") == []
        assert await store.dead("q") == []
        work = await store.take("q")
        assert work is not None
        assert work.attempt == 3
        async with work:
            assert await bodies(work) == ["x"]

    tell(url, story)


@pytest.mark.costly
def test_what_a_process_held_that_was_killed_is_taken_back_at_once(url: str) -> None:
    with Store.open(url) as store:
        store.send("q", "x", group="g")
        with subprocess.Popen([sys.executable, "-c", HOLDER, url], stdout=subprocess.PIPE) as held:
            assert held.stdout is not None
            assert held.stdout.readline() == b"held\n"
            assert store.take("q") is None
            held.kill()
        work = store.take("q", wait=30)
        assert work is not None
        assert work.attempt == 2


def test_ctrl_c_gives_work_back_and_nothing_has_failed(url: str) -> None:
    with Store.open(url) as store:
        store.set_limits("q", max_failures=1)
        store.send("q", "x", group="g")
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER, url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as held:
            assert held.stdout is not None
            assert held.stdout.readline() == b"held\n"
            held.send_signal(signal.SIGINT)
            held.wait(WAIT)
        assert store.working("q") == []
        assert store.dead("q") == []


def test_a_block_that_fails_is_a_failure(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.send("q", "x", group="g")
        work = await store.take("q")
        assert work is not None
        await bodies(work)
        with pytest.raises(ZeroDivisionError):
            async with work:
                raise ZeroDivisionError
        again = await store.take("q")
        assert again is not None
        assert again.attempt == 2
        with pytest.raises(StaleWorkError):
            async with store.transaction() as tx:
                await tx.accept(_forged(again, work))
        assert await bodies(again) == ["x"]
        await again.reject("enough")
        assert [each.reason for each in await store.dead("q")] == ["enough"]

    tell(url, story)


def _forged(now: Any, before: Any) -> Any:
    before.plain._settled = False
    return before


def test_many_tasks_share_few_connections(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.set_order("q")
        done: list[Any] = []

        async def one(number: int) -> None:
            work = await store.take("q", wait=WAIT)
            assert work is not None
            async with work, work.transaction() as tx:
                done.extend(await bodies(work))
                await tx.send("done", number)
                await tx.accept()

        async with asyncio.timeout(WAIT):
            taking = [asyncio.create_task(one(number)) for number in range(60)]
            await asyncio.gather(*(store.send("q", number) for number in range(60)))
            await asyncio.gather(*taking)
        assert sorted(done) == list(range(60))
        assert await connections(url, 4) <= 4

    tell(url, story, connections=3)


async def connections(url: str, most: int) -> int:
    """Of this store's, and none of them in a transaction; one that was closed goes in a moment."""
    if url.startswith("sqlite"):
        return 0
    for _ in range(100):
        if (found := await _connections(url)) <= most:
            break
        await asyncio.sleep(0.05)
    return found


async def _connections(url: str) -> int:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        found = await connection.execute(
            "SELECT state FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'fairlead'"
        )
        states = [state for (state,) in await found.fetchall()]
    assert not [state for state in states if state.startswith("idle in")]
    return len(states)


def test_no_connection_is_lost_where_tasks_are_cancelled(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        async def one() -> None:
            async with store.transaction() as tx:
                await tx.send("q", "never")
                await asyncio.sleep(WAIT)

        for pause in (0, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05):
            tasks = [asyncio.create_task(one()) for _ in range(4)]
            await asyncio.sleep(pause)
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert await store.take("q") is None
        await store.send("q", "x")
        assert await connections(url, 3) <= 3

    tell(url, story, connections=2)


def test_a_verb_of_the_stores_inside_a_transaction_is_refused(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        async with store.transaction() as tx:
            await tx.send("q", "x")
            with pytest.raises(MessageError, match="inside a transaction of the same"):
                await store.send("q", "y")
            with pytest.raises(MessageError, match="inside a transaction of the same"):
                async with store.transaction():
                    pass
        assert [each.messages for each in await store.queues()] == [1]

    tell(url, story)


def test_another_task_writes_while_a_transaction_is_open_or_after_it(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.set_limits("q")
        async with store.transaction() as tx:
            await tx.send("q", "first")
            other = asyncio.create_task(store.send("q", "second"))
            if url.startswith("sqlite"):
                await asyncio.sleep(0.05)
                assert not other.done()
            else:
                await other
            assert len(await store.queues()) == 1  # reading goes on
        await other
        assert [each.messages for each in await store.queues()] == [2]

    tell(url, story)


def test_a_statement_of_ones_own_gives_a_cursor(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        async with store.transaction() as tx:
            cursor = await tx.execute("SELECT 1 AS one UNION SELECT 2 ORDER BY one")
            assert [tuple(row) async for row in cursor] == [(1,), (2,)]
            cursor = await tx.execute("SELECT 3")
            assert tuple(await cursor.fetchone()) == (3,)
            assert await cursor.fetchall() == []

    tell(url, story)


def test_conversations_and_what_is_said_in_them(url: str, tmp_path: Any) -> None:
    (tmp_path / "talk.toml").write_text(
        '[[message_type]]\nname = "Word"\n[[contract]]\nname = "C"\nany = ["Word"]\n'
        '[[service]]\nname = "A"\nqueue = "a"\ncontracts = ["C"]\n'
        '[[service]]\nname = "B"\nqueue = "b"\ncontracts = ["C"]\n'
    )

    async def story(store: AsyncStore) -> None:
        await store.declare(tmp_path / "talk.toml")
        here = await store.begin_dialog("A", "B")
        await here.send("Word", "hello")
        work = await store.take("b")
        assert work is not None
        async with work.transaction() as tx:
            async for message in work:
                assert message.conversation is not None
                there = await tx.conversation(message.conversation)
                await there.send("Word", f"{message.body} too")
                await there.end()
            await tx.accept()
        answer = await here.take(wait=WAIT)
        assert answer is not None
        async with answer:
            said, ended = [(each.type, each.body) async for each in answer]
            assert said == ("Word", "hello too")
            assert ended[0] == "EndDialog"
        assert await here.state() == "ended-by-other"
        await here.end()
        async with store.transaction() as tx:
            begun = await tx.begin_dialog("A", "B")
        await begun.send("Word", "again")  # it is the store's by now
        assert len(await store.conversations()) == 1

    tell(url, story)


def test_destinations_are_chosen_and_counted(url: str, tmp_path: Any) -> None:
    (tmp_path / "pool.toml").write_text(
        'name = "pool"\npolicy = "msmq"\n'
        '[[destination]]\nname = "A"\nweight = 2\n[[destination]]\nname = "B"\nweight = 1\n'
    )

    async def story(store: AsyncStore) -> None:
        await store.load_clusters(tmp_path / "pool.toml")
        chosen = [(await store.next_destination("pool")).destination for _ in range(6)]
        assert sorted(chosen) == ["A"] * 4 + ["B"] * 2
        decided = await asyncio.gather(*(store.publish("pool", k) for k in range(30)))
        assert [each.destination for each in decided].count("A") == 20

    tell(url, story)


# -------- connections of the user's own


@pytest.fixture
def pg() -> str:
    return made_url("postgresql")


def test_a_connection_of_psycopgs_is_joined_and_its_owner_commits(pg: str) -> None:
    async def story(store: AsyncStore) -> None:
        async with await psycopg.AsyncConnection.connect(pg) as connection:
            async with store.join(connection) as tx:
                await tx.send("q", "x", group="g")
            assert await store.take("q") is None
            await connection.commit()
            work = await store.take("q")
            assert work is not None
            await bodies(work)
            async with store.join(connection) as tx:
                await tx.accept(work)
            await connection.commit()
            async with store.join(connection) as tx:
                await tx.send("q", "y")
                taken = await tx.take("q")
                assert taken is not None
                assert await bodies(taken) == ["y"]
                await tx.accept(taken)
            with pytest.raises(ZeroDivisionError):  # noqa: PT012
                async with store.join(connection) as tx:
                    await tx.send("q", "undone")
                    raise ZeroDivisionError
            await connection.commit()
        assert await store.take("q") is None
        with psycopg.connect(pg) as plain, pytest.raises(StoreError, match="AsyncConnection"):
            async with store.join(plain):
                pass

    tell(pg, story)


@asynccontextmanager
async def session_of_sqlalchemy(path: str) -> AsyncIterator[tuple[Any, Any, Any]]:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    aio = pytest.importorskip("sqlalchemy.ext.asyncio")
    engine = aio.create_async_engine(f"sqlite+aiosqlite:///{path}")
    async with aio.AsyncSession(engine) as made:
        yield made, lambda sql: made.execute(sqlalchemy.text(sql)), made.commit
    await engine.dispose()


@asynccontextmanager
async def connection_of_sqlalchemy(path: str) -> AsyncIterator[tuple[Any, Any, Any]]:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    aio = pytest.importorskip("sqlalchemy.ext.asyncio")
    engine = aio.create_async_engine(f"sqlite+aiosqlite:///{path}")
    async with engine.connect() as made:
        yield made, lambda sql: made.execute(sqlalchemy.text(sql)), made.commit
    await engine.dispose()


@asynccontextmanager
async def connection_of_aiosqlite(path: str) -> AsyncIterator[tuple[Any, Any, Any]]:
    async with pytest.importorskip("aiosqlite").connect(path) as made:
        yield made, made.execute, made.commit


@asynccontextmanager
async def connection_of_sqlite3(path: str) -> AsyncIterator[tuple[Any, Any, Any]]:
    made = sqlite3.connect(path)

    async def run(sql: str) -> None:
        made.execute(sql)

    async def commit() -> None:
        made.commit()

    yield made, run, commit
    made.close()


@pytest.mark.parametrize(
    "connected",
    [
        session_of_sqlalchemy,
        connection_of_sqlalchemy,
        connection_of_aiosqlite,
        connection_of_sqlite3,
    ],
)
def test_rows_are_written_before_a_join_while_another_task_wants_to_write(connected: Any) -> None:
    """Which waits until the rows are committed, and lets whoever commits them read meanwhile."""
    url = made_url("sqlite")
    path = url.removeprefix("sqlite:///")

    async def story(store: AsyncStore) -> None:
        async with connected(path) as (connection, run, commit):
            await run("CREATE TABLE mine (value INTEGER)")
            await commit()
            await run("INSERT INTO mine VALUES (1)")  # it has the database's lock
            other = asyncio.create_task(store.send("other", "x"))
            while not store._runner._turn.locked():  # type: ignore[attr-defined]  # noqa: ASYNC110
                await asyncio.sleep(0)
            async with store.join(connection) as tx:
                await tx.send("placed", "y")
                assert await store.queues() == []
                for verb in (store.send("placed", "z"), store.transaction().__aenter__()):
                    with pytest.raises(MessageError, match="inside a transaction"):
                        await verb
            await commit()
            await other
        assert [each.queue for each in await store.queues()] == ["other", "placed"]

    tell(url, story)


def test_a_join_that_is_cancelled_as_it_begins_is_left(url: str) -> None:
    if url.startswith("postgresql"):
        return  # it begins on the loop itself
    path = url.removeprefix("sqlite:///")

    async def story(store: AsyncStore) -> None:
        async with connection_of_aiosqlite(path) as (connection, run, commit):
            await run("CREATE TABLE mine (value INTEGER)")
            await commit()
            for turns in range(8):

                async def block() -> None:
                    async with store.join(connection):
                        await asyncio.sleep(WAIT)

                task = asyncio.create_task(block())
                for _ in range(turns + 1):
                    await asyncio.sleep(0)
                await settled(task)
                await connection.rollback()
                await store.send("q", "x")
                async with store.join(connection) as tx:
                    await tx.send("q", "y")
                await commit()

    tell(url, story)


def test_sessions_and_connections_of_sqlalchemys_are_joined(url: str) -> None:
    asyncio_of_sqlalchemy = pytest.importorskip("sqlalchemy.ext.asyncio")
    pytest.importorskip("aiosqlite")
    drivers = {"sqlite:": "sqlite+aiosqlite:", "postgresql:": "postgresql+psycopg:"}
    place = url
    for plain, driver in drivers.items():
        place = place.replace(plain, driver)

    async def story(store: AsyncStore) -> None:
        engine = asyncio_of_sqlalchemy.create_async_engine(place)
        async with asyncio_of_sqlalchemy.AsyncSession(engine) as session:
            async with session.begin(), store.join(session) as tx:
                await tx.send("q", "session", group="g")
            with pytest.raises(ZeroDivisionError):  # noqa: PT012
                async with session.begin(), store.join(session) as tx:
                    await tx.send("q", "never", group="g")
                    raise ZeroDivisionError
        async with engine.connect() as connection:
            async with store.join(connection) as tx:
                await tx.send("q", "connection", group="g")
            await connection.commit()
        await engine.dispose()
        work = await store.take("q")
        assert work is not None
        assert await bodies(work) == ["session", "connection"]

    tell(url, story)


def test_connections_to_sqlite_are_joined() -> None:
    aiosqlite = pytest.importorskip("aiosqlite")
    url = made_url("sqlite")
    path = url.removeprefix("sqlite:///")

    async def story(store: AsyncStore) -> None:
        plain = sqlite3.connect(path)
        async with store.join(plain) as tx:
            await tx.send("q", "plain", group="g")
            with pytest.raises(MessageError, match="inside a transaction of the same task"):
                await store.send("q", "nested")
        plain.commit()
        plain.close()
        async with aiosqlite.connect(path) as connection:
            async with store.join(connection) as tx:
                await tx.send("q", "aiosqlite", group="g")
            await connection.commit()
        work = await store.take("q")
        assert work is not None
        assert await bodies(work) == ["plain", "aiosqlite"]
        with pytest.raises(StoreError, match="allowed: a connection of sqlite3"):
            async with store.join(object()):
                pass

    tell(url, story)


# -------- opening and closing


def test_what_cannot_be_opened_says_so() -> None:
    async def opened(url: str, **more: Any) -> None:
        await AsyncStore.open(url, **more)

    for url, more, said in [
        ("mysql://x", {}, "allowed: sqlite"),
        ("sqlite:////nowhere/at/all.db", {}, "the folder must be there"),
        ("postgresql://nobody@localhost:1/none", {}, "postgresql://localhost:1/none"),
        (made_url("sqlite"), {"connections": 0}, "connections: found 0"),
    ]:
        with pytest.raises((StoreError, MessageError), match=said):
            asyncio.run(opened(url, **more))


def test_without_greenlet_one_line_says_what_to_install(pg: str) -> None:
    code = (
        "import sys, asyncio; sys.modules['greenlet'] = None\n"
        "from fairlead import AsyncStore\n"
        "from fairlead.errors import EnvironmentProblem\n"
        "try: asyncio.run(AsyncStore.open(sys.argv[1]))\n"
        "except EnvironmentProblem as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, pg], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "an AsyncStore on PostgreSQL needs greenlet: pip install 'fairlead[postgresql]'\n"
    )


def test_who_waits_is_told_when_the_store_is_closed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where he asks again while it is being closed, which takes a while."""

    async def story() -> None:
        store = await AsyncStore.open(url, create=True)
        await store.set_limits("q")
        waiting = [asyncio.create_task(store.take("q", wait=WAIT)) for _ in range(5)]
        waiting += [asyncio.create_task(store.ready("q", wait=WAIT)) for _ in range(5)]
        await asyncio.sleep(0.3)
        close = store.plain.close

        def slowly() -> None:
            close()
            bridge.pause(0.3)

        monkeypatch.setattr(store.plain, "close", slowly)
        async with asyncio.timeout(WAIT / 2):
            await store.close()
            found = await asyncio.gather(*waiting, return_exceptions=True)
        for each in found:
            assert not each or "found a store that is closed" in str(each)

    asyncio.run(story())


def test_a_session_that_is_closed_is_not_heard_any_more() -> None:
    """Else whoever listens would ask it again and again, and nobody else would ever go on."""

    async def story() -> None:
        async with await AsyncStore.open(made_url("postgresql")) as store:
            await store.ready("q", wait=0.01)
            waker = store._waker
            assert isinstance(waker, Ears)
            hearing = asyncio.create_task(waker._hear())
            await asyncio.sleep(0.1)
            await bridge.run_verb(waker._session.close)
            for each in (hearing, waker._hear()):
                with pytest.raises(StoreError, match="found a store that is closed"):
                    await asyncio.wait_for(each, WAIT / 2)

    asyncio.run(story())


def test_a_store_that_is_closed_says_so(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.set_limits("q")
        waiting = asyncio.create_task(store.take("q", wait=WAIT))
        await asyncio.sleep(0.2)
        await store.close()
        with pytest.raises(StoreError, match="found a store that is closed"):
            await store.send("q", "x")
        async with asyncio.timeout(30):
            with pytest.raises(StoreError, match="found a store that is closed"):
                await waiting

    async def told() -> None:
        await story(await AsyncStore.open(url))

    asyncio.run(told())


def test_what_a_stranger_notifies_deafens_no_task() -> None:
    url = made_url("postgresql")

    async def story(store: AsyncStore) -> list[Any]:
        await store.send("q", 0)
        async with await store.take("q") as work:
            got = await bodies(work)
        with psycopg.connect(url, autocommit=True) as stranger:
            (number,) = stranger.execute("SELECT id FROM fairlead.queues").fetchone() or ()
            for body in (1, 2):
                reading = asyncio.create_task(store.take("q", wait=WAIT))
                await asyncio.sleep(0.2)  # so that it waits by now
                for said in ("x", "-1"):
                    stranger.execute("SELECT pg_notify(%s, %s)", (f"fairlead_{number}", said))
                await asyncio.sleep(0.1)
                await store.send("q", body)
                async with await reading as work:
                    got += await bodies(work)
        return got

    assert tell(url, story) == [0, 1, 2]


def test_a_fault_of_the_one_that_listens_is_raised_by_all_that_wait(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Any) -> None:
        raise ZeroDivisionError("a fault")

    for kind in (Ears, Eyes):
        monkeypatch.setattr(kind, "_hear", broken)

    async def story(store: AsyncStore) -> list[Any]:
        await store.set_limits("q", max_failures=5)
        return await asyncio.gather(
            *(store.take("q", wait=WAIT) for _ in range(3)), return_exceptions=True
        )

    assert {type(each) for each in tell(url, story)} == {ZeroDivisionError}


def test_what_was_taken_goes_elsewhere(url: str) -> None:
    async def main() -> tuple[list[str], str | None]:
        async with await AsyncStore.open(url) as store:
            names = [{"name": name} for name in "ab"]
            await store.keep_clusters([Cluster.of("round-robin", name="farm", destination=names)])
            await store.publish("farm", "x", id="o-1")
            work = await store.take("a")
            assert work is not None
            assert [message.id async for message in work] == ["o-1"]
            await store.change("farm", "a", "state", "down")
            to = await store.send_elsewhere("farm", work)
            other = await store.take("b")
            assert other is not None
            message = await anext(other)
            await other.accept()
            return to, message.id

    assert asyncio.run(main()) == (["b"], "o-1")
