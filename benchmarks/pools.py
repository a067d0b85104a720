"""p: blocks of a pool beside what one would write by hand, in one event loop."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from benchmarks.timing import Line, medians
from fairlead import Cluster, Pool

BLOCKS = 30_000
NAMES = ("a", "b", "c")
READERS = 4
FEW, MANY = 8, 1_000
"""Tasks: fewer than places, so that nobody waits; and many more."""
PATIENCE = 60.0
REQUEST: Final = 0.005
"""Seconds that a request takes, which a block of a pool is held for."""
Acquire = Callable[[int], AbstractAsyncContextManager[Any]]


class PrioritySemaphore:
    """As asyncio.Semaphore, with a heap instead of its deque."""

    def __init__(self, value: int) -> None:
        """So many places."""
        self.value = value
        self.waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self.count = 0

    async def acquire(self, priority: int) -> None:
        """Wait for a place."""
        if self.value > 0 and not self.waiters:
            self.value -= 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.count += 1
        heapq.heappush(self.waiters, (-priority, self.count, future))
        try:
            await future
        except BaseException:
            if future.done() and not future.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give the place to the first who waits, or keep it."""
        while self.waiters:
            future = heapq.heappop(self.waiters)[2]
            if not future.done():
                future.set_result(None)
                return
        self.value += 1

    def block(self, priority: int) -> "Block":
        """For `async with`."""
        return Block(self, priority)


class Block:
    """A place, held for a block."""

    __slots__ = ("priority", "semaphore")

    def __init__(self, semaphore: PrioritySemaphore, priority: int) -> None:
        self.semaphore = semaphore
        self.priority = priority

    async def __aenter__(self) -> None:
        await self.semaphore.acquire(self.priority)

    async def __aexit__(self, *_: object) -> None:
        self.semaphore.release()


class Destinations:
    """What a pool replaces: a semaphore for each destination, the least busy one, a timeout."""

    def __init__(self) -> None:
        self.semaphores = {name: PrioritySemaphore(READERS) for name in NAMES}
        self.pending = dict.fromkeys(NAMES, 0)

    def block(self, priority: int) -> "Sent":
        """For `async with`."""
        return Sent(self, priority)


class Sent:
    """A place at one of the destinations, held for a block."""

    __slots__ = ("destinations", "name", "priority")

    def __init__(self, destinations: Destinations, priority: int) -> None:
        self.destinations = destinations
        self.priority = priority

    async def __aenter__(self) -> str:
        pending = self.destinations.pending
        self.name = min(pending, key=pending.__getitem__)
        pending[self.name] += 1
        try:
            async with asyncio.timeout(PATIENCE):
                await self.destinations.semaphores[self.name].acquire(self.priority)
        except BaseException:
            pending[self.name] -= 1
            raise
        return self.name

    async def __aexit__(self, *_: object) -> None:
        self.destinations.pending[self.name] -= 1
        self.destinations.semaphores[self.name].release()


class Nothing:
    """A block that costs nothing: what is left is the event loop's."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, *_: object) -> None:
        pass


def pool(policy: str) -> Pool:
    rows = [{"name": name, "readers": READERS} for name in NAMES]
    return Pool(Cluster.of(policy, destination=rows, order={"discipline": "priority"}))


def work(acquire: Acquire, tasks: int) -> Callable[[], None]:
    """So many tasks that have BLOCKS blocks together, each with one turn of the loop in it."""

    async def one(number: int) -> None:
        for _ in range(BLOCKS // tasks):
            async with acquire(number % 5):
                await asyncio.sleep(0)

    async def everybody() -> None:
        every: list[Awaitable[None]] = [one(number) for number in range(tasks)]
        await asyncio.gather(*every)

    return lambda: asyncio.run(everybody())


def part_p(runs: int) -> list[Line]:
    """How many blocks a second against what a pool replaces, and what one adds to a request."""
    lines = []
    for tasks, crowd in ((MANY, "1,000 tasks"), (FEW, "8 tasks, nobody waits")):
        mine = pool("fewest-pending")
        contenders: dict[str, Acquire] = {
            "by hand": Destinations().block,
            "pool": lambda priority, pool=mine: pool.acquire(priority=priority, timeout=PATIENCE),
            "nothing": lambda _: Nothing(),
        }
        took = medians({name: work(each, tasks) for name, each in contenders.items()}, runs)
        block = (took["pool"] - took["nothing"]) / BLOCKS
        rate = took["by hand"] / took["pool"]
        lines += [
            Line("p", f"Pool, {crowd}", "a semaphore for each, the least busy", rate, ">= 0.5"),
            Line(
                "p", f"a block of a pool, {crowd}", "a request of 5 ms", block / REQUEST, "<= 0.01"
            ),
        ]
    return lines
