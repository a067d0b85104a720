"""Doors to waiting in one process: the pool by its own clock, and coroutines in one loop."""

import asyncio
from typing import Any

from fairlead import Change, Cluster, Pool
from fairlead.errors import ChangeError, MessageError, NoDestinationError, PoolTimeoutError
from fairlead.pool.job import OVER, WAITING, WORKING
from fairlead.pool.log import PoolRow
from fairlead.pool.request import PoolDecision, PoolRequest
from tests.oracle import Row

from .doors_deciding import seconds, whole
from .driver import Refused

PHASES = {WAITING: "waits", WORKING: "works", OVER: "over"}


class Flag:
    """Who waits: it is only noted that it was woken."""

    def __init__(self) -> None:
        self.woken = False

    def wake(self) -> bool:
        self.woken = True
        return True


class NoTimer:
    """The pool's timer goes by this machine's clock: the door itself says when something is due."""

    def set(self, seconds: float) -> None:
        """Nothing is set."""


class Asked:
    """One request: who waits for it, and what its block has."""

    def __init__(self, request: PoolRequest, timeout: int | None, now: int) -> None:
        self.request = request
        self.deadline = None if timeout is None else now + timeout
        self.waiter: Any = None
        self.asked = True
        self.decision: PoolDecision | None = None


class OwnClock:
    """`Pool` whose callers are played by this door, one event after another."""

    name = "pool"

    def __init__(self, world: Any) -> None:
        self.clock = 0
        cluster = Cluster.from_dict(world.cluster, default_name="")
        self.pool = Pool(cluster, journal=True, clock=lambda: seconds(self.clock))
        self.running: Any = self.pool._running
        self.running._timer = NoTimer()
        self.requests: list[Asked] = []

    def acquire(self, said: Row, timeout: int | None, **own: Any) -> object:
        try:
            asked = Asked(self.pool.acquire(**own, **said), timeout, self.clock)
            self.enter(asked)
        except MessageError:
            return Refused("message")
        self.requests.append(asked)
        return self.wake()

    def enter(self, asked: Asked) -> None:
        asked.waiter = self.running.enter(asked.request, Flag)

    def wake(self) -> None:
        """As `Request.wait` does when it is woken."""
        for each in self.requests:
            while each.asked and (each.waiter is None or each.waiter.woken):
                again = each.request.phase == WAITING
                each.waiter = self.running.still(each.request, Flag) if again else None
                if each.waiter is None:
                    self.come(each)

    def come(self, each: Asked) -> None:
        each.asked = False
        try:
            if each.decision is None:
                each.decision = each.request._decided()
            else:
                each.decision._resume()
        except (NoDestinationError, PoolTimeoutError):
            each.decision = None

    def leave(self, number: int, failed: bool) -> object:
        each = self.requests[number]
        if failed and each.decision is not None and number % 2:
            each.decision.failed()
            failed = False
        each.request._leave(failed)
        each.decision = None
        return self.wake()

    def retry(self, number: int) -> object:
        each = self.requests[number]
        assert each.decision is not None
        each.deadline, each.asked = None, True
        each.waiter = self.running.retry(each.request, each.decision.attempt, Flag)
        return self.wake()

    def give_up(self, number: int) -> object:
        each = self.requests[number]
        each.asked, each.decision = False, None
        self.running.abandon(each.request)
        return self.wake()

    def prioritise(self, group: str, priority: int | None) -> object:
        found = self.pool.prioritise(group, priority)
        self.wake()
        return found

    def apply(self, changes: list[Row]) -> object:
        try:
            self.pool.apply(
                [
                    Change(each["target"], each["attribute"], each["value"], seconds(each["time"]))
                    for each in changes
                ]
            )
        except ChangeError:
            return Refused("change")
        return self.wake()

    def at(self, time: int) -> object:
        while True:
            late = [each for each in self.requests if each.asked and each.deadline is not None]
            late.sort(key=lambda each: each.deadline or 0)
            if not late or (late[0].deadline or 0) > time:
                break
            self.clock = max(self.clock, late[0].deadline or 0)
            self.ring()
            if late[0].asked:
                self.running.expire(late[0].request, late[0].request.waiter)
                self.wake()
        self.clock = max(self.clock, time)
        return self.ring()

    def later(self, time: int) -> None:
        """The clock goes on, and the timer is late."""
        self.clock = max(self.clock, time)

    def ring(self) -> None:
        self.running._ring()
        self.wake()

    def look(self) -> dict[str, Any]:
        counts = self.pool.counts()
        return {
            "requests": [looked_at(each) for each in self.requests],
            "waiting": {
                name: {
                    "ranks": [(*rank[:5], whole(rank.since)) for rank in each.ranks],
                    "waiting": each.waiting,
                    "working": each.working,
                }
                for name, each in self.pool.waiting().items()
            },
            "undecided": counts.undecided,
            "counts": {
                name: (each.readers, each.working, each.waiting)
                for name, each in counts.destinations.items()
            },
            "ended": counts.ended,
            "journal": [told(row) for row in self.pool.journal()],
        }

    def close(self) -> None:
        """It keeps nothing open."""


class Coroutines(OwnClock):
    """The same, as coroutines of one loop have it; only when time is over this door tells."""

    name = "pool in a loop"

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.loop = asyncio.new_event_loop()
        self.tasks: list[asyncio.Task[None]] = []
        self.told: list[asyncio.Queue[str]] = []

    def enter(self, asked: Asked) -> None:
        told: asyncio.Queue[str] = asyncio.Queue()
        task = self.loop.create_task(block(asked, told))
        self.wake()
        if task.done() and isinstance(task.exception(), MessageError):
            raise MessageError("refused")
        self.tasks.append(task)
        self.told.append(told)

    def wake(self) -> None:
        for _ in range(6):
            self.loop.run_until_complete(asyncio.sleep(0))

    def tell(self, number: int, what: str) -> None:
        self.told[number].put_nowait(what)
        self.wake()

    def leave(self, number: int, failed: bool) -> object:
        return self.tell(number, "fail" if failed else "leave")

    def retry(self, number: int) -> object:
        each = self.requests[number]
        each.deadline, each.asked = None, True
        return self.tell(number, "retry")

    def give_up(self, number: int) -> object:
        self.tasks[number].cancel()
        return self.wake()

    def close(self) -> None:
        super().close()
        for task in self.tasks:
            task.cancel()
        self.wake()
        self.loop.close()


class WorkError(Exception):
    """What leaves a block."""


async def block(asked: Asked, told: asyncio.Queue[str]) -> None:
    """Somebody who waits, works, tries again as told, and goes."""
    try:
        async with asked.request as decision:
            while True:
                asked.decision, asked.asked = decision, False
                what = await told.get()
                if what == "retry":
                    await decision.aretry()
                    continue
                asked.decision = None
                if what == "fail":
                    raise WorkError
                return
    except (NoDestinationError, PoolTimeoutError, WorkError):
        pass
    finally:
        asked.asked, asked.decision = False, None


def looked_at(each: Asked) -> tuple[Any, ...]:
    request, decision = each.request, each.decision
    block = decision.attempt if decision is not None and not each.asked else None
    reader = request.reader or None
    return (
        PHASES[request.phase],
        request.destination,
        request.attempt,
        reader,
        block,
        request.outcome,
    )


def told(row: PoolRow) -> Row:
    found = {"outcome": row.outcome, "position": row.position, "decided": row.decided}
    if row.outcome == "changed":
        return {**found, "attribute": row.attribute}
    if row.outcome == "completed":
        return {**found, "destination": row.destination}
    if row.outcome == "control":
        return {**found, "group": row.message["group"]}
    names = ("attempt", "version", "sequence", "reader", "destination")
    found |= {name: getattr(row, name) for name in names}
    found |= {"start": whole(row.start), "finish": whole(row.finish)}
    return {**found, "wait": whole(row.wait)}
