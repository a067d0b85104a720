"""Many at once: nothing is forgotten, nothing is granted twice, whoever goes away."""

import asyncio
import threading
import time
from collections import Counter
from random import Random
from typing import Any

import pytest
from pyarrow import Table
from tests.pool.driver import pool as driven

from fairlead import Change, Cluster, Pool
from fairlead.errors import NoDestinationError, PoolTimeoutError
from fairlead.replay import replay

NAMES = ("a", "b", "c", "d")


class Watch:
    """Who is in work, and whether ever more were than may be."""

    def __init__(self, readers: int) -> None:
        self.readers = readers
        self.lock = threading.Lock()
        self.holds: set[tuple[str, int]] = set()
        self.groups: set[tuple[str, str]] = set()
        self.outcomes: Counter[str] = Counter()

    def enter(self, destination: str, reader: int, group: str) -> None:
        with self.lock:
            assert 1 <= reader <= self.readers
            assert (destination, reader) not in self.holds, "granted twice"
            self.holds.add((destination, reader))
            if group:
                assert (destination, group) not in self.groups, "a group is worked on twice"
                self.groups.add((destination, group))

    def leave(self, destination: str, reader: int, group: str) -> None:
        with self.lock:
            self.holds.remove((destination, reader))
            self.groups.discard((destination, group))


def crowd_of(policy: str, readers: int) -> Pool:
    more: dict[str, Any] = {"capacity": 2 * readers} if policy == "nanomsg" else {}
    rows = [{"name": name, "readers": readers, **more} for name in NAMES]
    return Pool(Cluster.of(policy, destination=rows, order={"discipline": "priority"}))


def said_by(k: int) -> dict[str, Any]:
    return {
        "group": f"g{k % 97}" if k % 3 else "",
        "priority": k % 11 if k % 2 else None,
        "timeout": 0.2 if k % 7 == 0 else None,
    }


async def one(pool: Pool, watch: Watch, k: int, random: Random) -> None:
    """A task that waits, works, and may fail, be cancelled, or try again."""
    said = said_by(k)
    try:
        async with pool.acquire(**said) as decision:
            held = (decision.destination, decision.reader, said["group"])
            watch.enter(*held)
            try:
                await asyncio.sleep(random.choice([0, 0, 0.0005]))
            finally:
                watch.leave(*held)
            if k % 13 == 0:
                raise ZeroDivisionError
            watch.outcomes["done"] += 1
    except ZeroDivisionError:
        watch.outcomes["failed"] += 1
    except PoolTimeoutError:
        watch.outcomes["timeout"] += 1
    except asyncio.CancelledError:
        watch.outcomes["cancelled"] += 1
        raise


@pytest.mark.costly
@pytest.mark.parametrize("policy", ["fewest-pending", "nanomsg", "weighted"])
def test_ten_thousand_tasks(policy: str) -> None:
    async def main() -> None:
        random = Random(5)  # noqa: S311
        pool, watch = crowd_of(policy, 8), Watch(8)
        tasks = [asyncio.create_task(one(pool, watch, k, random)) for k in range(10_000)]
        await asyncio.sleep(0)
        while not all(task.done() for task in tasks):
            for task in random.sample(tasks, 20):
                if random.random() < 1 / 4:
                    task.cancel()
            await asyncio.sleep(0.002)
        await asyncio.gather(*tasks, return_exceptions=True)
        counts = pool.counts()
        assert counts.waiting == counts.working == 0
        assert sum(counts.ended.values()) + sum(task.cancelled() for task in tasks) >= 10_000
        assert counts.ended["routed"] >= watch.outcomes["done"]
        assert counts.ended.get("timeout", 0) == watch.outcomes["timeout"]
        for core in pool._cores.values():
            for queue in (*core.queues.values(), core.outside):
                assert not queue.groups
                assert not queue.listed()
                assert queue.working == 0
        async with asyncio.timeout(5):  # all readers are there
            await asyncio.gather(*(one(pool, watch, 1, random) for _ in range(64)))

    asyncio.run(main())


def test_threads_and_tasks_of_several_loops_share_a_pool() -> None:
    pool, watch = crowd_of("fewest-pending", 2), Watch(2)
    wrong: list[BaseException] = []

    def in_threads(seed: int) -> None:
        random = Random(seed)  # noqa: S311
        try:
            for k in range(200):
                with pool.acquire(group=f"g{k % 5}") as decision:
                    held = (decision.destination, decision.reader, f"g{k % 5}")
                    watch.enter(*held)
                    time.sleep(random.choice([0, 0.0002]))
                    watch.leave(*held)
        except BaseException as error:  # noqa: BLE001 - shown below
            wrong.append(error)

    async def many(seed: int) -> None:
        random = Random(seed)  # noqa: S311
        await asyncio.gather(
            *(one(pool, watch, 3 * k + 1, random) for k in range(300)), return_exceptions=True
        )

    def in_loop(seed: int) -> None:
        try:
            asyncio.run(many(seed))
        except BaseException as error:  # noqa: BLE001 - shown below
            wrong.append(error)

    threads = [threading.Thread(target=in_threads, args=(seed,)) for seed in range(4)]
    threads += [threading.Thread(target=in_loop, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert pool.drain(timeout=5)
    assert sum(pool.counts().ended.values()) == 4 * 200 + 2 * 300


def test_destinations_fail_under_a_crowd() -> None:
    async def work(pool: Pool, random: Random) -> str:
        try:
            async with pool.acquire(group=f"g{random.randint(0, 20)}") as decision:
                await asyncio.sleep(random.random() / 500)
                while decision.lost:
                    await decision.aretry()
                    await asyncio.sleep(random.random() / 500)
                return decision.destination
        except NoDestinationError:
            return ""

    async def main() -> None:
        random = Random(7)  # noqa: S311
        pool = crowd_of("fewest-pending", 4)
        tasks = [asyncio.create_task(work(pool, random)) for _ in range(3_000)]
        while not all(task.done() for task in tasks):
            name = random.choice(NAMES)
            pool.apply([Change(name, "state", "failed"), Change(name, "state", "up")])
            await asyncio.sleep(0.005)
        assert all(await asyncio.gather(*tasks))
        assert pool.counts().ended == {"routed": 3_000}
        assert pool.counts().working == pool.counts().waiting == 0

    asyncio.run(main())


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("policy", ["fewest-pending", "nanomsg", "weighted"])
def test_a_million_messages_are_what_a_replay_tells(policy: str) -> None:
    random = Random(11)  # noqa: S311
    more = {"capacity": 20} if policy == "nanomsg" else {}
    cluster = {
        "policy": policy,
        "order": {"discipline": "priority", "ageing": 3, "weights": {"t1": 3}},
        "destination": [
            {"name": name, "readers": 2 + k, "speed": 0.5 + k, **more}
            for k, name in enumerate(NAMES)
        ],
    }
    messages, now = [], 0.0
    for k in range(1_000_000):
        now += random.choice([0, 0, 1, 1, 2, 3])
        group = random.choice(["", f"g{random.randint(0, 500)}"])
        messages.append(
            {
                "id": f"{k:07}",
                "time": now,
                "service_time": random.choice([1, 5, 20, 30]),
                "group": group,
                "tenant": f"t{len(group) % 3}",
                "priority": random.choice([None, None, None, 0, 5, 200]),
            }
        )
    found, alike = driven(cluster, messages, [])
    assert alike
    told = replay(Table.from_pylist(messages), Cluster.from_dict(cluster, default_name="x"))
    for name in ("destination", "outcome", "sequence", "attempt", "reader"):
        assert [getattr(row, name) for row in found] == told[name].to_pylist()
    for name in ("start", "finish"):
        exact = [getattr(row, name) for row in found]
        assert exact == [round(each * 1_000_000) for each in told[name].to_pylist()]
