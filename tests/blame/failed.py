"""Cells in which a message has failed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from typing import Any

import psycopg
import pytest

from fairlead import Reject, Store
from fairlead.cli.app import run
from fairlead.store.aio import sessions
from fairlead.store.queues import lease_holders_postgresql
from fairlead.store.queues.bodies import JSON
from fairlead.store.workers.handlers import function
from fairlead.store.workers.handling import Handling, handle
from tests.blame.cells import (
    AMQP,
    ASYNC,
    BESIDE,
    QUEUE,
    SERVER,
    SQL,
    STORE,
    TAKE,
    WORK,
    Boom,
    World,
    cell,
    wait_until,
)
from tests.store.sql import by_hand
from tests.store.test_lost_sessions import END_ALL

GIVEN = ("first", "second")
"""What was given of the group, when it fails."""


async def taken(store: Any, most: int = 2) -> Any:
    """The same of an AsyncStore."""
    work = await store.take(QUEUE)
    for _ in range(most):
        await anext(work)
    return work


RAISED = "a block `with work:` raises, but for `StoreError`"


@cell(RAISED, STORE, dead=GIVEN, cause="error")
def _(world: World, store: Store) -> None:
    with pytest.raises(Boom), world.took(store):
        raise Boom


@cell(RAISED, ASYNC, dead=GIVEN, cause="error")
async def _(world: World, store: Any) -> None:
    with pytest.raises(Boom):
        async with await taken(store):
            raise Boom


RELEASED = "`release(error=…)`"


@cell(RELEASED, STORE, dead=GIVEN, cause="error")
def _(world: World, store: Store) -> None:
    world.took(store).release(error="no")


@cell(RELEASED, ASYNC, dead=GIVEN, cause="error")
async def _(world: World, store: Any) -> None:
    await (await taken(store)).release(error="no")


IN_PART = "`release(error=…, done=1)`: the first was done"


@cell(IN_PART, STORE, dead=("second",), done=("first",), cause="error")
def _(world: World, store: Store) -> None:
    world.took(store).release(error="no", done=1)


@cell(IN_PART, ASYNC, dead=("second",), done=("first",), cause="error")
async def _(world: World, store: Any) -> None:
    await (await taken(store)).release(error="no", done=1)


def took_in_sql(sql: Any, given: int = 2) -> tuple[int, list[int]]:
    """The token, and the numbers of what is said to be given."""
    rows = sql.execute("SELECT token, number FROM fairlead.take('q')").fetchall()
    return rows[0][0], [number for _, number in rows[:given]]


@cell("`settle(token, 'released', given, reason => 'why')`", SQL, dead=GIVEN, cause="error")
def _(world: World, sql: Any) -> None:
    sql.execute("SELECT fairlead.settle(%s, 'released', %s, reason => 'no')", took_in_sql(sql))


@cell(
    "a function raises at the second message",
    WORK,
    dead=("second",),
    done=("first",),
    cause="error",
)
def _(world: World, url: str) -> None:
    def judge(message: Any) -> None:
        if message.body == "second":
            raise Boom

    with world.open() as store:
        work = store.take(QUEUE)
        assert work is not None
        handle(store, work, function("here", judge), Handling())


@cell(
    "the command of `--exec` ends otherwise than with 0",
    TAKE,
    dead=("second",),
    done=("first",),
    cause="error",
)
def _(world: World, url: str) -> None:
    assert run(["take", QUEUE, "--exec", "grep -qv second"]) == 4


LEASE = "a lease is over, and nobody has extended it"


@cell(LEASE, STORE, dead=("first",), cause="lease")
def _(world: World, store: Store) -> None:
    world.took(store)
    world.clock.now += 100
    assert world.store.take(QUEUE, group="nobody") is None


@cell(LEASE, ASYNC, dead=("first",), cause="lease")
async def _(world: World, store: Any) -> None:
    await taken(store)
    world.clock.now += 100
    assert await store.take(QUEUE, group="nobody") is None


@cell(LEASE, SQL, dead=("first",), cause="lease")
def _(world: World, sql: Any) -> None:
    took_in_sql(sql)
    now = str(int((world.clock.now + 100) * 10**6))
    sql.execute("SELECT set_config('fairlead.clock', %s, false)", [now])
    assert sql.execute("SELECT token FROM fairlead.take('q', 'nobody')").fetchall() == []


CLOSED = "a store is closed with work in hand"


@cell(CLOSED, STORE, dead=("first",), cause="process", real=True)
def _(world: World, store: Store) -> None:
    closed = world.open()
    world.took(closed)
    closed.close()


@cell(CLOSED, ASYNC, dead=("first",), cause="process", real=True)
async def _(world: World, store: Any) -> None:
    await taken(store)


KILLED = "its process dies, or is killed"


def killed(world: World, door: str) -> None:
    command = [sys.executable, "-m", "tests.blame.holder", door, world.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        process.kill()


@cell(KILLED, STORE, dead=("first",), cause="process", real=True)
def _(world: World, store: Store) -> None:
    killed(world, "plain")


@cell(KILLED, ASYNC, dead=("first",), cause="process", real=True)
async def _(world: World, store: Any) -> None:
    killed(world, "async")


HANDLERS = """
import os, signal
def die(message):
    os.kill(os.getpid(), signal.SIGKILL)
handlers = {"q": die}
"""


@cell(KILLED, WORK, dead=("first",), cause="process", real=True)
def _(world: World, url: str) -> None:
    (world.folder / "shop.py").write_text(HANDLERS)
    main = "from fairlead.cli import main; main()"
    command = [sys.executable, "-c", main, "work", "shop:handlers", "--until-empty"]
    assert subprocess.run(command, cwd=world.folder, check=False).returncode == -signal.SIGKILL


AWAY = "its session at the server stays away for half a minute"


def session_away(world: World) -> None:
    """For as long as others wait for it."""
    with psycopg.connect(world.url, autocommit=True) as admin:
        admin.execute(END_ALL)
    world.store._leases._looked.clear()
    assert world.store.take(QUEUE, group="nobody") is None


@cell(AWAY, STORE, dead=("first",), cause="process", on=SERVER, real=True)
def _(world: World, store: Store) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lease_holders_postgresql, "GRACE", 0)
        patched.setattr(lease_holders_postgresql, "ASK", 600)
        world.took(store)
        session_away(world)


@cell(AWAY, ASYNC, dead=("first",), cause="process", on=SERVER, real=True)
async def _(world: World, store: Any) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lease_holders_postgresql, "GRACE", 0)
        patched.setattr(sessions, "ASK", 600)
        await taken(store)
        await asyncio.to_thread(session_away, world)


def received(served: Any, count: int) -> tuple[Any, Any]:
    """A connection of a client's, and its receiver, which has so many messages in hand."""
    connection = served.connect()
    receiver = connection.create_receiver(QUEUE, credit=count)
    for _ in range(count):
        receiver.receive(timeout=10)
    return connection, receiver


def say(connection: Any) -> None:
    """Let a client send what it has settled: until it waits for something, it may keep that."""
    connection.create_sender("other").close()


def alone(world: World) -> None:
    """Nothing waits beside the group any more: what comes next is of it."""
    work, beside = world.took(world.store, 0), world.took(world.store, 1)
    beside.accept()
    work.release()


def is_back(world: World) -> bool:
    """Whether nobody has anything in hand."""
    (found,) = world.store.queues()
    return not found.working


@cell("`modified` with `delivery-failed`", AMQP, dead=("first",), cause="error", real=True)
def _(world: World, served: Any) -> None:
    connection, receiver = received(served, 1)
    (delivery,) = receiver.fetcher.unsettled
    delivery.local.failed = True
    receiver.release(delivered=True)
    say(connection)
    connection.close()
    wait_until(lambda: is_back(world))


@cell(
    "its transaction is rolled back",
    AMQP,
    dead=("second",),
    done=(BESIDE,),
    cause="error",
    real=True,
)
def _(world: World, served: Any) -> None:
    from proton.reactor import Container

    from tests.serve.test_transactions import Client

    alone(world)
    client = Client(served.url, 2, "abort", sends=0, takes_from=QUEUE)
    Container(client).run()
    assert client.seen == ["first", "second"]
    wait_until(lambda: is_back(world))


@cell("the connection of its receiver is lost", AMQP, dead=("first",), cause="process", real=True)
def _(world: World, served: Any) -> None:
    received(served, 4)
    served.hang_up()
    wait_until(lambda: not served.server.sessions)
    wait_until(lambda: is_back(world))


# -------- dead letters at once

REJECTED = "`reject`"


@cell(REJECTED, STORE, dead=GIVEN)
def _(world: World, store: Store) -> None:
    assert world.took(store).reject("no") != []


@cell(REJECTED, ASYNC, dead=GIVEN)
async def _(world: World, store: Any) -> None:
    assert await (await taken(store)).reject("no") != []


NAMED = "`reject` of one message"


@cell(NAMED, STORE, dead=("first",), done=("second",))
def _(world: World, store: Store) -> None:
    work = world.took(store, 1)
    work.reject("no", work._given[0])
    next(work)
    work.accept()


@cell(NAMED, ASYNC, dead=("first",), done=("second",))
async def _(world: World, store: Any) -> None:
    work = await taken(store, 0)
    await work.reject("no", await anext(work))
    await anext(work)
    await work.accept()


@cell("`raise Reject`", WORK, dead=("second",), done=("first", "third"))
def _(world: World, url: str) -> None:
    def judge(message: Any) -> None:
        if message.body == "second":
            raise Reject("no")

    with world.open() as store:
        work = store.take(QUEUE)
        assert work is not None
        handle(store, work, function("here", judge), Handling())


@cell("`settle(token, 'rejected', given)`", SQL, dead=GIVEN)
def _(world: World, sql: Any) -> None:
    sql.execute("SELECT fairlead.settle(%s, 'rejected', %s)", took_in_sql(sql))


@cell("`rejected`, or `modified` with `undeliverable-here`", AMQP, dead=("first",), real=True)
def _(world: World, served: Any) -> None:
    connection, receiver = received(served, 1)
    receiver.reject()
    say(connection)
    connection.close()
    wait_until(lambda: is_back(world))


EXPIRED = "its time is over (`expires`) before it is taken"
LATE = "late"


def sent_too_late(world: World) -> None:
    world.send(LATE, group="g", expires=0.001 if world.real else 5)
    world.clock.now += 6


@cell(EXPIRED, STORE, dead=(LATE,))
def _(world: World, store: Store) -> None:
    sent_too_late(world)
    world.took(store, 3).release()


@cell(EXPIRED, ASYNC, dead=(LATE,))
async def _(world: World, store: Any) -> None:
    await asyncio.to_thread(sent_too_late, world)
    await (await taken(store, 3)).release()


@cell(EXPIRED, SQL, dead=(LATE,))
def _(world: World, sql: Any) -> None:
    sent_too_late(world)
    sql.execute("SELECT set_config('fairlead.clock', %s, false)", [world.micros])
    token, numbers = took_in_sql(sql, 9)
    assert len(numbers) == 3
    sql.execute("SELECT fairlead.settle(%s, 'released')", [token])


@cell(EXPIRED, AMQP, dead=(LATE,), real=True)
def _(world: World, served: Any) -> None:
    sent_too_late(world)
    connection, _ = received(served, 4)
    connection.close()
    wait_until(lambda: is_back(world))


UNREADABLE = "its body is not what its format says"
SPOILT = b"not json"
ODD = (JSON, SPOILT, "spoilt")


def send_spoilt(world: World) -> None:
    """As if a login that does not ask the library had written it."""
    world.store.send(QUEUE, "x", group="g", id="spoilt")
    by_hand(world.url, "UPDATE fairlead.messages SET format = %s, body = %s WHERE key = %s", *ODD)
    world.sent.append(SPOILT)


@cell(UNREADABLE, STORE, dead=(SPOILT,))
def _(world: World, store: Store) -> None:
    send_spoilt(world)
    world.took(store, 3).release()


@cell(UNREADABLE, ASYNC, dead=(SPOILT,))
async def _(world: World, store: Any) -> None:
    await asyncio.to_thread(send_spoilt, world)
    await (await taken(store, 3)).release()


@cell(UNREADABLE, AMQP, dead=(SPOILT,), real=True)
def _(world: World, served: Any) -> None:
    send_spoilt(world)
    connection, _ = received(served, 4)
    connection.close()
    wait_until(lambda: is_back(world))


ANOTHERS = "it was delayed for a group that is another tenant's by the time that it arrives"
THEIRS = "theirs"


def send_to_another_tenant(world: World) -> None:
    world.send(THEIRS, tenant="x", delay=5)
    world.clock.now += 10


@cell(ANOTHERS, STORE, dead=(THEIRS,))
def _(world: World, store: Store) -> None:
    send_to_another_tenant(world)
    world.took(store, 3).release()


@cell(ANOTHERS, ASYNC, dead=(THEIRS,))
async def _(world: World, store: Any) -> None:
    await asyncio.to_thread(send_to_another_tenant, world)
    await (await taken(store, 3)).release()


@cell(ANOTHERS, SQL, dead=(THEIRS,))
def _(world: World, sql: Any) -> None:
    send_to_another_tenant(world)
    sql.execute("SELECT set_config('fairlead.clock', %s, false)", [world.micros])
    token, _ = took_in_sql(sql)
    sql.execute("SELECT fairlead.settle(%s, 'released')", [token])
