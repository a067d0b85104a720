"""A pool as its users see it: blocks that wait, work, fail, give up and are cancelled."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fairlead import Change, Cluster, Pool, PoolDecision
from fairlead.errors import (
    ChangeError,
    ConfigError,
    MessageError,
    NoDestinationError,
    PoolError,
    PoolTimeoutError,
)


def pool_of(policy: str = "fewest-pending", *, readers: int = 1, **more: Any) -> Pool:
    names = more.pop("names", ["a", "b"])
    rows = [
        {"name": name, "address": f"http://{name}", "readers": readers, **more.pop(name, {})}
        for name in names
    ]
    return Pool(Cluster.of(policy, name="gpus", destination=rows, **more))


class Blocks:
    """Threads that each hold a block until they are told to leave it."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.entered: list[str] = []
        self.decisions: dict[str, PoolDecision] = {}
        self.leave: dict[str, threading.Event] = {}
        self.threads: list[threading.Thread] = []

    def enter(self, name: str, **said: Any) -> None:
        """Begin a block in a thread of its own; returns when it is in work, or waits."""
        self.leave[name] = threading.Event()

        def work() -> None:
            with self.pool.acquire(id=name, **said) as decision:
                self.decisions[name] = decision
                self.entered.append(name)
                self.leave[name].wait()

        before = self.pool.counts()
        thread = threading.Thread(target=work)
        thread.start()
        self.threads.append(thread)
        until(lambda: _all(self.pool) > before.waiting + before.working)
        until(lambda: self.pool.counts().working == len(self.entered) - self.left)

    left = 0

    def end(self, name: str) -> None:
        """Leave it, and wait until whoever follows has entered."""
        self.leave[name].set()
        self.left += 1
        until(lambda: self.pool.counts().working == len(self.entered) - self.left)

    def end_all(self) -> None:
        for event in self.leave.values():
            event.set()
        for thread in self.threads:
            thread.join()


def _all(pool: Pool) -> int:
    counts = pool.counts()
    return counts.waiting + counts.working


def until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.001)


def test_a_block_works_where_the_policy_says() -> None:
    pool = pool_of("weighted", a={"weight": 2})
    got = []
    for _ in range(6):
        with pool.acquire() as decision:
            got.append((decision.destination, decision.address))
    assert got == [("a", "http://a"), ("b", "http://b"), ("a", "http://a")] * 2
    assert pool.counts().ended == {"routed": 6}


def test_so_many_blocks_are_in_work_as_there_are_readers() -> None:
    pool = pool_of(names=["a"], readers=2)
    blocks = Blocks(pool)
    for name in ("x", "y", "z"):
        blocks.enter(name)
    assert blocks.entered == ["x", "y"]
    assert [blocks.decisions[name].reader for name in ("x", "y")] == [1, 2]
    blocks.end("x")
    assert blocks.entered == ["x", "y", "z"]
    assert blocks.decisions["z"].reader == 1
    blocks.end_all()


def test_priorities_go_first_and_groups_in_their_order() -> None:
    pool = pool_of(names=["a"], order={"discipline": "priority"})
    blocks = Blocks(pool)
    blocks.enter("first")
    blocks.enter("kim-1", group="kim")
    blocks.enter("lee", group="lee")
    blocks.enter("kim-2", group="kim", priority=200)
    assert str(pool.waiting()["a"]).startswith("2 waiting, 1 worked on\n  1. kim: 2 items")
    for name in ("first", "kim-1", "kim-2", "lee"):
        blocks.end(name)
    assert blocks.entered == ["first", "kim-1", "kim-2", "lee"]
    blocks.end_all()


def test_a_group_is_worked_on_by_one_reader_at_a_time() -> None:
    pool = pool_of(names=["a"], readers=4)
    blocks = Blocks(pool)
    for k in range(3):
        blocks.enter(f"kim-{k}", group="kim")
    blocks.enter("lee", group="lee")
    assert blocks.entered == ["kim-0", "lee"]
    blocks.end_all()
    assert blocks.entered == ["kim-0", "lee", "kim-1", "kim-2"]


def test_a_group_is_raised_by_an_operator() -> None:
    pool = pool_of(names=["a"], order={"discipline": "priority"})
    blocks = Blocks(pool)
    for name in ("first", "kim", "lee"):
        blocks.enter(name, group=name)
    assert pool.prioritise("lee")
    assert not pool.prioritise("nobody")
    for name in ("first", "lee", "kim"):
        blocks.end(name)
    assert blocks.entered == ["first", "lee", "kim"]
    blocks.end_all()


def test_tenants_share_the_readers() -> None:
    pool = pool_of(names=["a"], order={"weights": {"big": 2}})
    blocks = Blocks(pool)
    blocks.enter("first")
    for k in range(6):
        blocks.enter(f"big-{k}", tenant="big")
    for k in range(3):
        blocks.enter(f"small-{k}", tenant="small")
    for k in range(7):
        blocks.end(blocks.entered[k])
    assert "".join(name[0] for name in blocks.entered[2:8]) == "sbsbbs"
    blocks.end_all()


def test_no_destination_is_ready_so_it_waits_until_one_is() -> None:
    pool = pool_of("nanomsg", names=["a"], a={"capacity": 1})
    blocks = Blocks(pool)
    blocks.enter("x")
    blocks.enter("y")
    assert pool.counts().undecided == 1
    assert str(pool.waiting()[""]).startswith("1 waiting")
    blocks.end("x")
    assert blocks.entered == ["x", "y"]
    blocks.end_all()


def test_a_policy_that_does_not_wait_refuses_at_once() -> None:
    pool = pool_of()
    pool.apply([Change("a", "state", "down"), Change("b", "state", "down")])
    with pytest.raises(NoDestinationError, match="no-destination"), pool.acquire():
        raise AssertionError
    assert pool.counts().ended == {"no-destination": 1}


def test_an_exception_in_the_block_counts_as_failure_and_gives_the_reader_back() -> None:
    pool = pool_of(names=["a"])
    with pytest.raises(ZeroDivisionError), pool.acquire():
        raise ZeroDivisionError
    with pool.acquire() as decision:
        decision.failed()
    with pool.acquire():
        pass
    assert pool.counts().ended == {"failed": 2, "routed": 1}


def test_whoever_waits_too_long_is_told_and_has_left() -> None:
    pool = pool_of(names=["a"])
    with pool.acquire():
        with pytest.raises(PoolTimeoutError), pool.acquire(timeout=0.01):
            raise AssertionError
        with pytest.raises(TimeoutError), pool.acquire(timeout=0):
            raise AssertionError
    assert pool.counts().ended == {"timeout": 2, "routed": 1}
    assert pool.counts().waiting == pool.counts().working == 0


def test_a_coroutine_that_waits_too_long_is_told() -> None:
    async def main() -> None:
        pool = pool_of(names=["a"])
        async with pool.acquire():
            with pytest.raises(PoolTimeoutError):
                async with pool.acquire(timeout=0.01):
                    raise AssertionError
            async with asyncio.timeout(1):
                waiting = asyncio.create_task(_use(pool, timeout=30))
                await asyncio.sleep(0)
        await waiting
        assert pool.counts().ended == {"timeout": 1, "routed": 2}

    asyncio.run(main())


async def _use(pool: Pool, **said: Any) -> str:
    async with pool.acquire(**said) as decision:
        await asyncio.sleep(0)
        return decision.destination


def test_a_task_that_is_cancelled_while_it_waits_leaves_its_place() -> None:
    async def main() -> None:
        pool = pool_of(names=["a"])
        async with pool.acquire():
            tasks = [asyncio.create_task(_use(pool, group="kim")) for _ in range(3)]
            await asyncio.sleep(0)
            tasks[1].cancel()
            await asyncio.sleep(0)
            assert pool.counts().waiting == 2
        assert await asyncio.gather(*tasks, return_exceptions=True) == [
            "a",
            tasks[1].exception() if not tasks[1].cancelled() else _cancelled(tasks[1]),
            "a",
        ]
        assert pool.counts().ended == {"cancelled": 1, "routed": 3}

    asyncio.run(main())


def _cancelled(task: asyncio.Task[str]) -> Any:
    class Same:
        def __eq__(self, other: object) -> bool:
            return isinstance(other, asyncio.CancelledError)

        __hash__ = None  # type: ignore[assignment]

    return Same()


def test_a_task_that_is_cancelled_just_when_its_turn_has_come_gives_the_reader_back() -> None:
    async def main() -> None:
        pool = pool_of(names=["a"])
        async with pool.acquire():
            first, second = (asyncio.create_task(_use(pool)) for _ in range(2))
            await asyncio.sleep(0)
        first.cancel()  # it has the reader, and has not run since
        assert await second == "a"
        assert first.cancelled()
        assert pool.counts().ended == {"cancelled": 1, "routed": 2}

    asyncio.run(main())


def test_who_is_cancelled_in_the_block_gives_the_reader_back() -> None:
    async def main() -> None:
        pool = pool_of(names=["a"])
        task = asyncio.create_task(_sleep_in(pool))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0)
        assert pool.counts().working == 0

    asyncio.run(main())


async def _sleep_in(pool: Pool) -> None:
    async with pool.acquire():
        await asyncio.sleep(60)


def test_whose_loop_is_closed_holds_nobody_up() -> None:
    pool = pool_of(names=["a"])

    async def leave_behind() -> None:
        loop_tasks.append(asyncio.ensure_future(_use(pool)))
        await asyncio.sleep(0)

    loop_tasks: list[asyncio.Future[str]] = []
    with pool.acquire():
        loop = asyncio.new_event_loop()
        loop.run_until_complete(leave_behind())
        loop.close()  # the task is never told
    with pool.acquire(timeout=5) as decision:
        assert decision.destination == "a"
    assert pool.counts().ended == {"cancelled": 1, "routed": 2}
    loop_tasks[0]._log_destroy_pending = False  # type: ignore[attr-defined]


def test_what_waits_at_a_destination_that_fails_goes_elsewhere() -> None:
    pool = pool_of("weighted", a={"weight": 2})
    blocks = Blocks(pool)
    for name in ("x", "y", "z"):
        blocks.enter(name)
    assert {name: each.destination for name, each in blocks.decisions.items()} == {
        "x": "a",
        "y": "b",
    }
    pool.apply(Change("a", "state", "failed"))
    assert blocks.decisions["x"].lost
    assert not blocks.decisions["y"].lost
    blocks.end("y")
    until(lambda: pool.counts().destinations["b"].working == 1)
    blocks.end_all()
    assert blocks.decisions["z"].destination == "b"
    assert blocks.decisions["z"].attempt == 2


def test_a_block_whose_destination_has_failed_tries_again_elsewhere() -> None:
    pool = pool_of("hot-standby")
    with pool.acquire() as decision:
        assert decision.destination == "a"
        pool.apply(Change("a", "state", "failed"))
        assert decision.lost
        assert decision.destination == "a"
        decision.retry(timeout=5)
        assert (decision.destination, decision.attempt, decision.lost) == ("b", 2, False)
    assert pool.counts().ended == {"routed": 1}


def test_a_block_that_does_not_notice_is_settled_as_others() -> None:
    pool = pool_of("hot-standby")
    with pool.acquire():
        pool.apply(Change("a", "state", "failed"))
        assert pool.counts().destinations["b"].working == 1
    assert pool.counts().working == 0
    assert pool.counts().ended == {"routed": 1}


def test_a_retry_comes_before_what_came_after_it() -> None:
    async def main() -> None:
        pool = pool_of(names=["a"])
        order = []

        async def one(name: str) -> None:
            async with pool.acquire(id=name) as decision:
                order.append(name)
                if name == "x" and decision.attempt == 1:
                    await asyncio.sleep(0)
                    await decision.aretry()
                    order.append("x again")

        await asyncio.gather(one("x"), one("y"))
        assert order == ["x", "x again", "y"]

    asyncio.run(main())


def test_where_the_policy_forgets_what_a_destination_held_a_retry_says_so() -> None:
    pool = pool_of("nanomsg")
    with pool.acquire() as decision:
        pool.apply(Change(decision.destination, "state", "failed"))
        with pytest.raises(NoDestinationError, match="lost"):
            decision.retry()
    assert pool.counts().ended == {"lost": 1}


def test_a_retry_after_its_block_says_that_it_is_over() -> None:
    pool = pool_of()
    with pool.acquire() as decision:
        pass
    with pytest.raises(MessageError, match="a request whose block has ended") as found:
        decision.retry()
    assert not isinstance(found.value, NoDestinationError)


def test_changes_hold_at_once() -> None:
    pool = pool_of(names=["a"], readers=0)
    blocks = Blocks(pool)
    blocks.enter("x")
    assert blocks.entered == []
    pool.apply(Change("a", "readers", 1))
    until(lambda: blocks.entered == ["x"])
    blocks.end_all()


def test_a_destination_that_drains_takes_nothing_new() -> None:
    pool = pool_of("weighted")
    pool.apply(Change("a", "draining", True))
    for _ in range(3):
        with pool.acquire() as decision:
            assert decision.destination == "b"


def test_what_follows_of_itself_comes_in_its_time() -> None:
    pool = Pool(
        Cluster.of(
            "hot-standby",
            options={"failback_delay": 0.05},
            destination=[{"name": "a"}, {"name": "b"}],
        )
    )
    pool.apply(Change("a", "state", "down"))
    pool.apply(Change("a", "state", "up"))
    with pool.acquire() as decision:
        assert decision.destination == "b"
    time.sleep(0.1)
    with pool.acquire() as decision:
        assert decision.destination == "a"


def test_a_timer_wakes_who_waits_for_what_follows_of_itself() -> None:
    pool = Pool(
        Cluster.of(
            {"eliminate": ["down"], "choose": "ready-ring"},  # type: ignore[arg-type]
            options={"failback_delay": 0.05},
            destination=[{"name": "a", "state": "up"}],
        )
    )
    pool.apply(Change("a", "state", "down"))
    pool.apply(Change("a", "state", "up"))
    with pool.acquire(timeout=10) as decision:
        assert decision.destination == "a"


def test_a_pool_that_is_drained_takes_nothing_more_and_finishes() -> None:
    pool = pool_of(names=["a"])
    blocks = Blocks(pool)
    blocks.enter("x")
    blocks.enter("y")
    assert not pool.drain(timeout=0)
    with pytest.raises(PoolError, match="closed"), pool.acquire():
        raise AssertionError
    blocks.end_all()
    assert pool.drain(timeout=5)
    assert pool.counts().ended == {"routed": 2}


def test_a_pool_is_drained_in_a_coroutine() -> None:
    async def main() -> None:
        pool = pool_of(names=["a"])
        tasks = [asyncio.create_task(_use(pool)) for _ in range(5)]
        await asyncio.sleep(0)
        assert not await pool.adrain(timeout=0)
        assert await pool.adrain()
        assert await asyncio.gather(*tasks) == ["a"] * 5

    asyncio.run(main())


def test_several_clusters_are_named() -> None:
    clusters = [
        Cluster.of("weighted", name=name, destination=[{"name": "a"}])
        for name in ("north", "south")
    ]
    pool = Pool(clusters)
    with pool.acquire(cluster="south"):
        assert pool.counts().destinations["a@south"].working == 1
    with pytest.raises(MessageError, match="north, south"):
        pool.acquire()
    with pytest.raises(ConfigError, match="found twice"):
        Pool([clusters[0], clusters[0]])


def test_a_pool_is_made_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "gpus.toml").write_text('policy = "weighted"\n[[destination]]\nname = "a"\n')
    with Pool.from_cluster(tmp_path / "gpus.toml").acquire() as decision:
        assert repr(decision) == "<PoolDecision a, reader 1, attempt 1>"
        assert decision.sequence == 0
        assert decision.waited == 0


@pytest.mark.parametrize("policy", ["broadcast", "smartsockets"])
def test_a_policy_with_several_destinations_for_a_message_is_refused(policy: str) -> None:
    tables: dict[str, Any] = {"destination": [{"name": "a"}]}
    if policy == "smartsockets":
        tables = {"subscriber": [{"name": "a", "subject": "/s"}]}
    with pytest.raises(ConfigError, match="several destinations"):
        Pool(Cluster.of(policy, **tables))


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"priority": 256}, "priority: found 256, allowed: an integer from 0 to 255"),
        ({"priority": "high"}, "priority: found 'high'"),
        ({"cost": 0}, "cost: found 0, allowed: an integer from 1"),
        ({"group": 7}, "group: found 7, allowed: a text"),
        ({"tenant": 7}, "tenant: found 7, allowed: a text"),
        ({"timeout": "soon"}, "timeout: found 'soon', allowed: a number of seconds"),
        ({"timeout": float("nan")}, "timeout: found nan"),
        ({"colour": "red"}, "attribute: found 'colour'"),
        ({"service_time": 3}, "attribute: found 'service_time'"),
        ({"cluster": "west"}, "cluster: found 'west', allowed: gpus"),
    ],
)
def test_what_a_message_may_not_say_is_refused(said: dict[str, Any], line: str) -> None:
    with pytest.raises(MessageError, match=line):
        pool_of().acquire(**said)


def test_a_group_belongs_to_one_tenant() -> None:
    pool = pool_of(names=["a"])
    with pool.acquire(group="kim", tenant="t1"):
        with pytest.raises(MessageError, match="tenant of group 'kim'"):
            pool.acquire(group="kim", tenant="t2").__enter__()
        assert pool.counts().ended == {}


def test_an_acquire_is_used_once() -> None:
    acquired = pool_of().acquire()
    with acquired:
        pass
    with pytest.raises(PoolError, match="used already"), acquired:
        raise AssertionError


def test_a_change_with_a_time_to_come_is_refused() -> None:
    with pytest.raises(ChangeError, match="a time to come"):
        pool_of().apply(Change("a", "state", "down", time=time.time() + 3600))


def test_what_is_no_journal_is_refused() -> None:
    with pytest.raises(ConfigError, match="journal: found 'yes'"):
        Pool(Cluster.of("weighted", destination=[{"name": "a"}]), journal="yes")  # type: ignore[arg-type]


def test_blocks_can_be_held_one_inside_the_other() -> None:
    pool = pool_of(readers=3)
    with ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(pool.acquire())
        assert pool.counts().working == 6
    assert pool.counts().working == 0
