"""Wait for work on an event loop: one task listens for all that wait.

It wakes one of them for each group that may have come. How long one waits, and what is looked at,
is as with threads (`queues/waking.py`).
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.errors import StoreError
from fairlead.jitter import between
from fairlead.store.aio.running import Runner
from fairlead.store.aio.thread import OnThread
from fairlead.store.database.connections import closed
from fairlead.store.queues.file_watch import FileWatch
from fairlead.store.queues.waking import EVERY, IDLE, LOOK, MOMENT, NAP, PAUSE, Seen, rest_of

if TYPE_CHECKING:  # it needs greenlet
    from fairlead.store.aio.sessions import LoopSessionLocks

Look = Callable[[str], Seen | None]


class Patience:
    """What one who waits remembers from one look to the next."""

    ready = False
    """Whether it saw something that could be taken, and did not wait at all."""


class LoopWaker(ABC):
    """How the tasks of a store wait. Whoever inherits says how one hears of what arrives."""

    def __init__(self, runner: Runner, look: Look, place: str) -> None:
        """`look`: a queue as one who waits sees it, in no transaction. `place`: the database."""
        self._place = place
        self._runner = runner
        self._look_at = look
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}
        """Queue → those who wait for it."""
        self._names: dict[int, str] = {}
        self._listener: asyncio.Task[None] | None = None
        self._looks: set[asyncio.Task[None]] = set()
        self._missed: Counter[int] = Counter()
        """Queue → how often something came while nobody waited; `EVERY`: for any of them."""
        self._later: set[tuple[int, bool]] = set()
        """Queues that somebody is about to look at."""
        self._closed = False

    async def wait(self, queue: str, left: float, patience: Patience) -> bool:
        """Wait until something may have arrived for a queue; so many seconds, at most.

        False: nothing has.
        """
        until = time.monotonic() + left
        while (left := until - time.monotonic()) > 0:
            missed = Counter(self._missed)
            state = await self._seen(queue)
            again, patience.ready = patience.ready, False
            rest = rest_of(state, left, again=again)
            if rest is None:
                patience.ready = True
                return True
            if state is None or not rest.hears:
                await asyncio.sleep(rest.seconds)
                if state is not None:
                    return True  # somebody else has it locked
                continue
            if any(self._missed[number] != missed[number] for number in (EVERY, state.id)):
                return True  # it came after the look
            if await self._wait(state.id, rest.seconds) or state.watched or state.due is not None:
                return True
        return False

    def took(self, queue: str) -> None:
        """A reader that waited has taken a group: there may be more, for another one."""
        for id_, name in self._names.items():
            if name == queue:
                self._wake(id_)

    async def close(self) -> None:
        """Nobody waits any more, from now on."""
        self._closed = True
        tasks = [*self._looks, *([self._listener] if self._listener else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for line in self._waiting.values():
            for woken in line:
                if not woken.done():
                    woken.set_result(None)

    @abstractmethod
    async def _seen(self, queue: str) -> Seen | None:
        """A queue as it is after one has begun to hear of what arrives for it."""

    @abstractmethod
    async def _hear(self) -> None:
        """Wait until something has arrived, and wake who is to look; at most for a while."""

    @abstractmethod
    def _stop_hearing(self) -> None:
        """Nobody waits."""

    async def _look(self, queue: str) -> Seen | None:
        state = await self._runner.read(partial(self._look_at, queue))
        if state is not None:
            self._names[state.id] = queue
        return state

    async def _wait(self, queue: int, seconds: float) -> bool:
        """Until this task is to look; whether somebody has woken it."""
        if self._closed:
            raise closed(self._place)
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._waiting.setdefault(queue, deque())
        line.append(woken)
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._listen())
        try:
            async with asyncio.timeout(seconds):
                await woken
        except TimeoutError:
            return False
        except asyncio.CancelledError:
            if woken.done() and not woken.cancelled():  # another one is to look, then
                self._wake(queue)
            raise
        finally:
            with suppress(ValueError):
                line.remove(woken)
            if not line and self._waiting.get(queue) is line:
                del self._waiting[queue]
            if not self._waiting:
                self._stop_hearing()
        return True

    def _wake(self, queue: int) -> None:
        """One more of those who wait for a queue is to look."""
        line = self._waiting.get(queue)
        if not line:
            self._missed[queue] += 1
        for waiter in line or ():
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _listen(self) -> None:
        """For all who wait, as long as anybody does."""
        try:
            while self._waiting:
                await self._hear()
        except Exception as error:  # noqa: BLE001 - each that waits raises it
            for line in self._waiting.values():
                for waiter in line:
                    if not waiter.done():
                        lost = isinstance(error, StoreError)
                        waiter.set_exception(type(error)(str(error)) if lost else error)

    def _look_later(self, queue: int, seconds: float, *, surely: bool = False) -> None:
        """Look whether work is still there, and wake one who waits if it is.

        `surely`: if it is not, too: then who holds something may be dead.
        """
        if (queue, surely) not in self._later:
            self._later.add((queue, surely))
            task = asyncio.create_task(self._wake_if_ready(queue, seconds, surely=surely))
            self._looks.add(task)
            task.add_done_callback(self._looks.discard)

    async def _wake_if_ready(self, queue: int, seconds: float, *, surely: bool) -> None:
        await asyncio.sleep(seconds)
        self._later.discard((queue, surely))
        if surely:
            self._wake(queue)
        if surely or queue not in self._waiting:
            return
        with suppress(StoreError):  # those who wait look by themselves, too
            state = await self._look(self._names[queue])
            if state is None or not state.enabled:
                return
            if state.watched:
                self._look_later(queue, LOOK, surely=True)
            if state.ready:
                self._wake(queue)
            elif state.due is not None:
                self._look_later(queue, max(state.due, PAUSE))


class Ears(LoopWaker):
    """A server says what arrives."""

    def __init__(self, runner: Runner, look: Look, session: LoopSessionLocks) -> None:
        """`session`: to which it is said."""
        super().__init__(runner, look, session.place)
        self._session = session

    async def _seen(self, queue: str) -> Seen | None:
        state = await self._look(queue)
        if state is None:
            return state
        if not self._session.hears(state.id):
            await self._session.hear_of(state.id)
            state = await self._look(queue) or state
        return state if self._session.hears_surely(state.id) else state._replace(watched=True)

    async def _hear(self) -> None:
        for queue, meant in await self._session.heard(IDLE):
            if meant or queue not in self._waiting:
                self._wake(queue)
            else:
                self._look_later(queue, between(MOMENT, 2 * MOMENT))

    def _stop_hearing(self) -> None:
        self._session.interrupt()


class Eyes(LoopWaker):
    """On SQLite one looks again and again whether another connection has written to the file."""

    def __init__(self, runner: OnThread, look: Look, version: Callable[[], object]) -> None:
        """`version`: something that is another one when another connection has written."""
        super().__init__(runner, look, runner.place)
        self._thread = runner
        self._version = version
        self._moved = FileWatch(Path(runner.place)).moved
        self._theirs: object = None
        self._ours = 0
        self._asked = 0.0

    async def _seen(self, queue: str) -> Seen | None:
        return await self._look(queue)

    async def _hear(self) -> None:
        ours, theirs = self._thread.writes, self._theirs
        if self._moved() or time.monotonic() > self._asked + LOOK:  # a disk may tell no times
            self._asked = time.monotonic()
            theirs = await self._runner.read(self._version)
        if (ours, theirs) == (self._ours, self._theirs):
            await asyncio.sleep(NAP)
            return
        self._ours, self._theirs = ours, theirs
        self._missed[EVERY] += 1
        for queue in list(self._waiting):
            self._look_later(queue, 0)

    def _stop_hearing(self) -> None:
        pass
