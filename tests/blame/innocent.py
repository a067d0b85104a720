"""Cells in which a reader has failed, or the store, and no message."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import MessageError, StaleWorkError, StoreError
from fairlead.store.workers.handlers import function
from fairlead.store.workers.handling import Handling, handle
from tests.blame.cells import (
    AMQP,
    ASYNC,
    QUEUE,
    SERVER,
    SQL,
    STORE,
    TAKE,
    WORK,
    World,
    cell,
    wait_until,
)
from tests.blame.failed import is_back, received, say, taken, took_in_sql
from tests.store.test_lost_sessions import END_ALL

RELEASED = "`release()` without an error"


@cell(RELEASED, STORE)
def _(world: World, store: Store) -> None:
    world.took(store).release()


@cell(RELEASED, ASYNC)
async def _(world: World, store: Any) -> None:
    await (await taken(store)).release()


@cell("`settle(token, 'released')` without a reason", SQL)
def _(world: World, sql: Any) -> None:
    token, _ = took_in_sql(sql)
    sql.execute("SELECT fairlead.settle(%s, 'released')", [token])


@cell("`released`, `modified` without `delivery-failed`, or its link ends", AMQP, real=True)
def _(world: World, served: Any) -> None:
    connection, receiver = received(served, 1)
    receiver.release(delivered=False)
    say(connection)
    receiver.close()
    again = connection.create_receiver(QUEUE, credit=1)
    again.receive(timeout=10)
    again.close()
    wait_until(lambda: is_back(world))
    connection.close()


STOPPED = "a process is told to stop"


@cell(f"{STOPPED}: it says `store.stopping()`, and ends", STORE)
def _(world: World, store: Store) -> None:
    world.took(store)
    store.stopping()
    store.close()


@cell(f"{STOPPED}: it says `store.stopping()`, and ends", ASYNC)
async def _(world: World, store: Any) -> None:
    await taken(store)
    await store.stopping()


@cell("a block `with work:` ends by `KeyboardInterrupt`, or by a cancelled task", STORE)
def _(world: World, store: Store) -> None:
    with pytest.raises(KeyboardInterrupt), world.took(store):
        raise KeyboardInterrupt


@cell("a block `with work:` ends by `KeyboardInterrupt`, or by a cancelled task", ASYNC)
async def _(world: World, store: Any) -> None:
    held = asyncio.Event()

    async def block() -> None:
        async with await taken(store):
            held.set()
            await asyncio.sleep(600)

    task = asyncio.create_task(block())
    await held.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


HANDLERS = """
import time
def wait(message):
    print(message.body, flush=True)
    time.sleep(600)
handlers = {"q": wait}
"""
MAIN = "from fairlead.cli import main; main()"


@cell(f"{STOPPED} (SIGTERM)", WORK, real=True)
def _(world: World, url: str) -> None:
    (world.folder / "shop.py").write_text(HANDLERS)
    command = [sys.executable, "-c", MAIN, "work", "shop:handlers", "--grace", "0"]
    with subprocess.Popen(command, cwd=world.folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@cell(f"{STOPPED} (SIGTERM)", AMQP, real=True)
def _(world: World, served: Any) -> None:
    received(served, 4)  # and the server ends


@cell("a server is killed, or its session at the database stays away", AMQP, real=True)
def _(world: World, served: Any) -> None:
    from tests.serve.running import Running

    server = Running(world.url)
    receiver = server.connect().create_receiver(QUEUE, credit=4)
    for _ in range(4):
        receiver.receive(timeout=10)
    server.end(signal.SIGKILL)


NOTHING = "a block over work that never asked for a message, or a rejection of nothing"


@cell(NOTHING, STORE)
def _(world: World, store: Store) -> None:
    work = world.took(store, 0)
    with pytest.raises(MessageError, match="nothing of it given"):
        work.reject("no")
    with pytest.raises(MessageError, match="nothing of it given"), work:
        pass


@cell(NOTHING, ASYNC)
async def _(world: World, store: Any) -> None:
    work = await taken(store, 0)
    with pytest.raises(MessageError, match="nothing of it given"):
        await work.reject("no")
    with pytest.raises(MessageError, match="nothing of it given"):
        async with work:
            pass


@cell("`settle` says of nothing that it was given, and accepts or rejects it", SQL)
def _(world: World, sql: Any) -> None:
    token, _ = took_in_sql(sql)
    for outcome in ("accepted", "rejected"):
        with pytest.raises(psycopg.DatabaseError) as refused:
            sql.execute("SELECT fairlead.settle(%s, %s)", [token, outcome])
        assert refused.value.sqlstate == "FL001"
    sql.execute("SELECT fairlead.settle(%s, 'released')", [token])


STALE = "work is settled by one who does not hold it any more"


@cell(STALE, STORE)
def _(world: World, store: Store) -> None:
    work, other = world.took(store), world.open()
    (held,) = other.working(QUEUE)
    held.release()
    other.close()
    for settle in (work.accept, work.reject, lambda: work.release(error="no")):
        with pytest.raises(StaleWorkError):
            settle()


@cell(STALE, ASYNC)
async def _(world: World, store: Any) -> None:
    work = await taken(store)
    await (await store.working(QUEUE))[0].release()
    for settle in (work.accept, work.reject, lambda: work.release(error="no")):
        with pytest.raises(StaleWorkError):
            await settle()


@cell(STALE, SQL)
def _(world: World, sql: Any) -> None:
    token, given = took_in_sql(sql)
    sql.execute("SELECT fairlead.settle(%s, 'released')", [token])
    for outcome in ("accepted", "rejected", "released"):
        with pytest.raises(psycopg.DatabaseError) as refused:
            sql.execute("SELECT fairlead.settle(%s, %s, %s)", [token, outcome, given])
        assert refused.value.sqlstate == "FL003"


@cell("`take` cannot print what it took", TAKE, real=True)
def _(world: World, url: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    subprocess.run([sys.executable, "-c", MAIN, "take", QUEUE], stdout=writing, check=False)
    os.close(writing)


# -------- the store has failed

FAILS = "the store cannot do something: `StoreError` in a block, or in a function"


@cell(FAILS, STORE)
def _(world: World, store: Store) -> None:
    with pytest.raises(StoreError, match="away"), world.took(store):
        raise StoreError("away")


@cell(FAILS, ASYNC)
async def _(world: World, store: Any) -> None:
    with pytest.raises(StoreError, match="away"):
        async with await taken(store):
            raise StoreError("away")


@cell(FAILS, WORK)
def _(world: World, url: str) -> None:
    def fail(message: Any) -> None:
        raise StoreError("away")

    with world.open() as store:
        work = store.take(QUEUE)
        assert work is not None
        handle(store, work, function("here", fail), Handling())


ENDED = "only the session ends by which a process says that it lives"


def end_sessions(world: World) -> None:
    with psycopg.connect(world.url, autocommit=True) as admin:
        admin.execute(END_ALL)
    world.store._leases._looked.clear()
    assert world.store.take(QUEUE, group="g") is None


@cell(ENDED, STORE, done=("first", "second"), on=SERVER, real=True)
def _(world: World, store: Store) -> None:
    work = world.took(store)
    end_sessions(world)
    work.accept()


@cell(ENDED, ASYNC, done=("first", "second"), on=SERVER, real=True)
async def _(world: World, store: Any) -> None:
    work = await taken(store)
    await asyncio.to_thread(end_sessions, world)
    await work.accept()


@cell(ENDED, AMQP, done=("first",), on=SERVER, real=True)
def _(world: World, served: Any) -> None:
    connection, receiver = received(served, 1)
    end_sessions(world)
    receiver.accept()
    say(connection)
    connection.close()
    wait_until(lambda: is_back(world))


@cell("a backup is restored, and `fairlead store recover` is run", STORE)
def _(world: World, store: Store) -> None:
    world.took(store)
    world.store.recover()


@cell("a backup is restored, and `fairlead store recover` is run", ASYNC)
async def _(world: World, store: Any) -> None:
    await taken(store)
    await asyncio.to_thread(world.store.recover)
