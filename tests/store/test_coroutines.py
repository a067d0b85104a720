"""Handlers that are coroutine functions: many in flight, all on one event loop."""

import asyncio
import time
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from fairlead import Reject, Service, Store
from fairlead.errors import MessageError
from fairlead.store.workers import coroutines
from fairlead.store.workers.activation import Readers
from fairlead.store.workers.handlers import Handler, function
from fairlead.store.workers.handling import Handling, handle
from fairlead.store.workers.serving import activated, of_service
from fairlead.store.workers.worker import Worker
from tests.store.test_service import DECLARED
from tests.store.test_worker import both, empty, until, working
from tests.stores import made_url


def handled(store: Store, call: Any, **more: Any) -> None:
    """One group of the queue `q`."""
    work = store.take("q")
    assert work is not None
    handle(store, work, function("here", call), Handling(**more))


@both
def test_what_a_coroutine_does_in_its_transaction_commits_with_the_group(dialect: str) -> None:
    with Store.open(made_url(dialect)) as store:
        with store.transaction() as tx:
            tx.execute("CREATE TABLE done (what TEXT)")
        store.send_many("q", [{"body": f"m{n}", "group": "g"} for n in range(3)])

        async def note(message: Any, tx: Any) -> None:
            await asyncio.sleep(0)
            await tx.execute(f"INSERT INTO done VALUES ('{message.body}')")  # noqa: S608
            await tx.send("next", message.body)
            if message.body == "m2":
                raise ZeroDivisionError

        handled(store, note)
        with store.transaction() as tx:
            assert [row[0] for row in tx.execute("SELECT what FROM done")] == ["m0", "m1"]
        assert {each.queue: each.messages for each in store.queues()} == {"q": 1, "next": 2}
        assert [each.group for each in store.later("q")] == ["g"]


@both
def test_a_coroutine_outside_a_transaction_fails_and_rejects_as_a_function_does(
    dialect: str,
) -> None:
    with Store.open(made_url(dialect)) as store:
        store.send_many("q", [{"body": body, "group": "g"} for body in ("good", "bad", "worse")])

        async def judge(message: Any) -> None:
            await asyncio.sleep(0)
            if message.body == "bad":
                raise Reject("no")
            if message.body == "worse":
                raise SystemExit(3)

        handled(store, judge, retry_delay=0)
        assert [each.body for each in store.dead("q")] == ["bad"]
        found = store.take("q")
        assert found is not None
        assert [message.body for message in found] == ["worse"]


def test_as_many_are_in_flight_as_there_are_threads_on_one_loop() -> None:
    with Store.open(made_url("sqlite")) as store:
        loops: set[object] = set()
        here = 0
        all_here = asyncio.Event()

        async def meet(message: Any) -> None:
            nonlocal here
            loops.add(asyncio.get_running_loop())
            here += 1
            if here == 8:
                all_here.set()
            async with asyncio.timeout(60):
                await all_here.wait()

        for number in range(8):
            store.send("q", number)
        worker = Worker(store, {"q": function("here", meet)}, Handling())
        worker.start(8, until_empty=True)
        until(lambda: not worker.busy)
        assert empty(store)
        assert len(loops) == 1


def test_threads_that_come_together_make_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    new, loops = asyncio.new_event_loop, []

    def slowly() -> asyncio.AbstractEventLoop:
        time.sleep(0.05)
        return new()

    monkeypatch.setattr(asyncio, "new_event_loop", slowly)
    coroutines._made.cache_clear()
    threads = [Thread(target=lambda: loops.append(coroutines.event_loop())) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(loops) == 8
    assert len(set(loops)) == 1


@pytest.mark.costly
@both
def test_a_service_answers_by_coroutines(dialect: str, tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(DECLARED)
    shop = Service("Orders/Shop", idle_timeout=0.1)

    @shop.on("Order")
    async def order(message: Any, tx: Any) -> None:
        here = await tx.conversation(message.conversation)
        await here.send("Confirmation", f"{message.body} at once")

    @shop.on("Later")
    async def later(message: Any) -> Any:
        await asyncio.sleep(0)
        assert await message.conversation.state() == "conversing"

        async def answer(tx: Any) -> None:
            here = await tx.conversation(message.conversation)
            await here.send("Confirmation", f"{message.body} later")
            await here.end()

        return answer

    with Store.open(made_url(dialect)) as store:
        store.declare(tmp_path / "shop.toml")
        client = store.begin_dialog("Orders/Client", "Orders/Shop")
        client.send("Order", "book")
        client.send("Later", "lamp")
        readers = Readers(store, Handling())
        for each in activated([of_service(shop)], store):
            readers.activate(each, until_empty=True)
        until(lambda: not readers.busy)
        said = client.take()
        assert said is not None
        assert [message.body for message in said][:2] == ["book at once", "lamp later"]


def test_what_is_left_behind_by_a_handler_can_do_nothing_any_more() -> None:
    with Store.open(made_url("sqlite")) as store:
        store.send("q", "x")
        kept: list[Any] = []

        async def keep(message: Any, tx: Any) -> None:
            kept.append(tx)

        handled(store, keep)
        with pytest.raises(MessageError, match="the handler has ended"):
            asyncio.run(kept[0].send("q", "too late"))


def test_a_worker_runs_them(tmp_path: Path) -> None:
    url = made_url("sqlite")
    module = (
        "import asyncio\n"
        "async def greet(message):\n"
        "    await asyncio.sleep(0.01)\n"
        "    print('hello', message.body, flush=True)\n"
        "handlers = {'q': greet}\n"
    )
    with Store.open(url) as store:
        for name in ("kim", "lee"):
            store.send("q", name)
        with working(tmp_path, url, module, "--threads", "2", "--until-empty") as command:
            assert command.ended() == 0
        assert empty(store)


def test_an_object_that_is_called_and_awaited_is_one_too() -> None:
    class Greets:
        async def __call__(self, message: Any) -> str:
            return f"hello {message}"

    found = function("here", Greets())
    assert isinstance(found, Handler)
    assert partial(found.call, "kim")() == "hello kim"
