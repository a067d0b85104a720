"""Tasks that take or settle at one time do so in one transaction, and get what each would have."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import AsyncStore, Store
from fairlead.errors import StaleWorkError, StoreError
from fairlead.store.aio import lots
from fairlead.store.aio.lots import FEW, MOST, LoopLots
from fairlead.store.database import bridge
from tests.stores import made_url

TASKS = 60


@pytest.fixture
def url() -> str:
    return made_url("postgresql")


def tell(url: str, story: Callable[[AsyncStore], Any], **more: Any) -> Any:
    async def told() -> Any:
        async with await AsyncStore.open(url, **more) as store:
            return await story(store)

    return asyncio.run(told())


def lots_of(store: AsyncStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many were done in each transaction for many, from now on."""
    sizes: list[int] = []
    for name in ("_take_together", "_settle_together"):
        verb = getattr(store.plain, name)

        def counted(queue: str, each: list[Any], verb: Callable[..., Any] = verb) -> Any:
            sizes.append(len(each))
            return verb(queue, each)

        monkeypatch.setattr(store.plain, name, counted)
    return sizes


def test_many_tasks_get_each_message_once_and_in_few_transactions(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(store: AsyncStore) -> list[int]:
        sizes = lots_of(store, monkeypatch)
        await store.send_many("q", [{"body": n} for n in range(500)])
        done: list[Any] = []

        async def read() -> None:
            while work := await store.take("q"):
                async with work:
                    done.extend([message.body async for message in work])

        await asyncio.gather(*(read() for _ in range(TASKS)))
        assert sorted(done) == list(range(500))
        assert await store.queues() == [] or (await store.queues())[0].messages == 0
        assert max(sizes) > FEW
        return sizes

    sizes = tell(url, story)
    assert sum(sizes) > len(sizes) * FEW


SENT = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "b", "c"]), st.sampled_from(["", "x", "y"]), st.integers(0, 2)
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=15, deadline=None)
@given(sent=SENT, most=st.sampled_from([None, 2, 7]))
def test_groups_stay_in_order_and_limits_hold(
    sent: list[tuple[str | None, str, int]], most: int | None
) -> None:
    url = made_url("postgresql")
    with Store.open(url, create=True) as plain, TemporaryDirectory() as folder:
        plain.set_order("q", weights={"x": 2, "y": 1})
        if most is not None:
            file = Path(folder) / "queues.toml"
            file.write_text(f'[[queue]]\nname = "q"\n[[queue.limit]]\nin_work = {most}\n', "utf-8")
            plain.declare(file)

    async def story(store: AsyncStore) -> None:
        for n, (group, tenant, priority) in enumerate(sent):
            named = None if group is None else f"{group}{tenant}"
            await store.send("q", n, group=named, tenant=tenant, priority=priority)
        done: list[int] = []
        in_work: list[str] = []

        async def read() -> None:
            while work := await store.take("q"):
                assert not work.group or work.group not in in_work
                in_work.append(work.group)
                assert most is None or len(in_work) <= most
                async with work:
                    async for message in work:
                        done.append(message.body)
                        await asyncio.sleep(0)
                    in_work.remove(work.group)

        while len(done) < len(sent):
            await asyncio.gather(*(read() for _ in range(TASKS)))
        assert Counter(done) == Counter(range(len(sent)))
        for group, tenant in {(group, tenant) for group, tenant, _ in sent if group}:
            own = [n for n in done if sent[n][:2] == (group, tenant)]
            assert own == sorted(own)

    tell(url, story)


def test_whose_work_is_somebody_elses_is_told_and_the_others_are_not(url: str) -> None:
    async def story(store: AsyncStore) -> list[Any]:
        await store.send_many("q", [{"body": n} for n in range(30)])
        works = await store.take_many("q", 30)
        for work in works:
            assert [m.body async for m in work]
        with psycopg.connect(url, autocommit=True) as admin:
            lost = works[20].token
            sql = "UPDATE fairlead.groups SET token = token + 1000 WHERE token = %s"
            assert admin.execute(sql, (lost,)).rowcount == 1
        return await asyncio.gather(*(work.accept() for work in works), return_exceptions=True)

    found = tell(url, story)
    assert [type(each) for k, each in enumerate(found) if k != 20] == [type(None)] * 29
    assert isinstance(found[20], StaleWorkError)


def test_two_who_settle_the_same_group_are_told_apart(url: str) -> None:
    """The one whose lease was over asks at the same time as the one who has the group now."""

    async def story(store: AsyncStore) -> tuple[Any, Any]:
        await store.send("q", "body", group="g")
        stale = await store.take("q")
        assert stale is not None
        assert [m.body async for m in stale] == ["body"]
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("UPDATE fairlead.groups SET deadline = 1 WHERE name = 'g'")
        now = await store.take("q")
        assert now is not None
        await store.send_many("q", [{"body": n} for n in range(40)])
        others = await store.take_many("q", 40)
        for work in (now, *others):
            assert [m.body async for m in work]
        every = [*others[:20], stale, now, *others[20:]]
        found = await asyncio.gather(*(work.accept() for work in every), return_exceptions=True)
        assert [each for k, each in enumerate(found) if k not in (20, 21)] == [None] * 40
        return found[20], found[21]

    before, after = tell(url, story)
    assert isinstance(before, StaleWorkError)
    assert after is None


@pytest.mark.slow
def test_nobody_waits_for_what_another_one_needs(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        for n in range(40):
            await store.send("q", n, group=f"g{n}")
        works = await store.take_many("q", 40)
        for work in works:
            assert [m.body async for m in work]
        with psycopg.connect(url) as somebody:
            somebody.execute("SELECT 1 FROM fairlead.groups WHERE name = 'g20' FOR UPDATE")
            tasks = [asyncio.create_task(work.accept()) for work in works]
            began = time.monotonic()
            done, waiting = await asyncio.wait(tasks, timeout=10)
            while len(done) < 39:
                assert time.monotonic() - began < 10
                done, waiting = await asyncio.wait(tasks, timeout=0.1)
            assert waiting == {tasks[20]}
            somebody.rollback()
        await asyncio.gather(*tasks)
        assert (await store.queues())[0].messages == 0

    async def bounded(store: AsyncStore) -> None:
        await asyncio.wait_for(story(store), 60)

    tell(url, bounded)


def test_who_is_cancelled_takes_nothing_and_the_others_go_on(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.send_many("q", [{"body": n} for n in range(30)])
        tasks = [asyncio.create_task(store.take("q")) for _ in range(60)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        works = await asyncio.gather(*tasks, return_exceptions=True)
        held = [work for work in works if work is not None and not isinstance(work, BaseException)]
        rest = await store.take_many("q", 100)
        assert len(held) + len(rest) == 30
        assert len(held) >= 15
        assert sum(isinstance(work, asyncio.CancelledError) for work in works) == 30

    tell(url, story)


def test_where_the_server_is_away_everybody_is_told(url: str) -> None:
    async def story(store: AsyncStore) -> None:
        await store.send_many("q", [{"body": n} for n in range(40)])
        works = await store.take_many("q", 40)
        for work in works:
            assert [m.body async for m in work]

        def away() -> Any:
            raise StoreError("nobody is there")

        free = store.plain._connections._free
        store.plain._connections._free = away  # type: ignore[method-assign]
        found = await asyncio.gather(*(work.accept() for work in works), return_exceptions=True)
        assert {str(each) for each in found} == {"nobody is there"}
        assert len({id(each) for each in found}) == len(found)
        store.plain._connections._free = free  # type: ignore[method-assign]
        await asyncio.gather(*(work.accept() for work in works))
        assert (await store.queues())[0].messages == 0

    tell(url, story)


# -------- who waits for whom, without a database


class Told:
    """Verbs that only wait, and what was done by them."""

    def __init__(self) -> None:
        self.lots = LoopLots()
        self.alone: list[int] = []
        self.together: list[list[int]] = []

    def ask(self, item: int, seconds: float = 0.01, key: str = "k") -> asyncio.Task[str]:
        def alone() -> str:
            bridge.wait_for(asyncio.sleep(seconds))
            self.alone.append(item)
            return f"alone {item}"

        def together(items: list[int]) -> list[str]:
            self.together.append(items)
            bridge.wait_for(asyncio.sleep(seconds))
            return [f"together {each}" for each in items]

        verb = bridge.run_verb(lambda: self.lots.do(key, item, alone, together))
        return asyncio.create_task(verb)

    @property
    def nobody_waits(self) -> bool:
        return not self.lots._lines


def test_a_few_go_at_once_and_the_rest_one_lot_after_another() -> None:
    async def story() -> Told:
        told = Told()
        tasks = [told.ask(n) for n in range(FEW + MOST + 20)]
        found = await asyncio.gather(*tasks)
        first = [f"alone {n}" for n in range(FEW)]
        assert found == [*first, *(f"together {n}" for n in range(FEW, FEW + MOST + 20))]
        return told

    told = asyncio.run(story())
    assert [len(each) for each in told.together] == [MOST, 20]
    assert told.nobody_waits


def test_less_than_a_lot_go_each_by_themselves() -> None:
    async def story() -> Told:
        told = Told()
        await asyncio.gather(*(told.ask(n) for n in range(2 * FEW)))
        return told

    told = asyncio.run(story())
    assert sorted(told.alone) == list(range(2 * FEW))
    assert told.together == []
    assert told.nobody_waits


def test_a_slow_one_holds_up_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lots, "PATIENCE", 0.05)

    async def story() -> Told:
        told = Told()
        slow = [told.ask(n, seconds=3600) for n in range(FEW)]
        rest = [told.ask(n) for n in range(FEW, 4 * FEW)]
        await asyncio.wait_for(asyncio.gather(*rest), 30)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return told

    assert asyncio.run(story()).nobody_waits


def test_where_the_one_who_leads_is_cancelled_the_next_one_leads() -> None:
    async def story() -> Told:
        told = Told()
        first = [told.ask(n) for n in range(FEW)]
        rest = [told.ask(n) for n in range(FEW, FEW + 40)]
        await asyncio.sleep(0)
        for waiting in told.lots._lines.values():
            leader = waiting.places[0]
            leader.told.add_done_callback(lambda _: rest[0].cancel())
        found = await asyncio.gather(*first, *rest, return_exceptions=True)
        assert isinstance(found[FEW], asyncio.CancelledError)
        assert all(isinstance(each, str) for k, each in enumerate(found) if k != FEW)
        return told

    assert asyncio.run(story()).nobody_waits


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.booleans()), min_size=1, max_size=80
    )
)
def test_whoever_is_not_cancelled_gets_his_own_result(
    steps: list[tuple[str, int, bool]],
) -> None:
    async def story() -> Told:
        told, tasks = Told(), []
        for n, (key, turns, cancelled) in enumerate(steps):
            task = told.ask(n, seconds=turns / 10_000, key=key)
            for _ in range(turns):
                await asyncio.sleep(0)
            if cancelled:
                task.cancel()
            tasks.append(task)
        found = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
        for n, (each, (_, _, cancelled)) in enumerate(zip(found, steps, strict=True)):
            if not cancelled:
                assert each in (f"alone {n}", f"together {n}")
        return told

    assert asyncio.run(story()).nobody_waits
