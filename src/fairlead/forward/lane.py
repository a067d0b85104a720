"""One destination's queue: take what waits, let it leave, and settle it.

A few works more than can leave at once are taken, so that takes share transactions. They wait here,
and are given back where the destination goes down or this program stops.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from fairlead.errors import FairleadError, MessageError, StoreError
from fairlead.forward.opening import service_of
from fairlead.forward.outcome import AGAIN, DONE, REFUSED, ForwardOutcome
from fairlead.forward.service import Dispatch, OutsideService, stamp
from fairlead.forward.settling import MAX_PAUSE, AnswerMessage, Settler
from fairlead.forward.target import OutsideTarget
from fairlead.store.aio.handles import AsyncMessage, AsyncWork
from fairlead.store.aio.store import AsyncStore
from fairlead.store.queues.backoff import Backoff

LOGGER: Final = logging.getLogger("fairlead.forward")
WAIT: Final = 5.0
"""Seconds for which one look for work waits for some."""
AT_ONCE: Final = 100
"""So many messages of a group leave before others have their turn."""
MOST_TAKEN: Final = 100
"""Works that are taken at one time."""
BACKOFF: Final = Backoff(base=1_000_000, factor=200, limit=300_000_000, jitter=20)
"""Where a queue has none of its own: 1 s, 2 s, 4 s, …, at most 5 minutes, up to a fifth less."""
PLAIN: Final = re.compile(r"[^\s\"=]+")


class ForwardOptions(NamedTuple):
    """How messages are held, and for how long."""

    lease: float = 60
    """Seconds, should this machine be lost; it is made longer while something is under way."""
    grace: float = 30
    """Seconds to end what is under way."""
    until_empty: bool = False
    """Whether it goes on only until there is nothing to take."""


Heard = Callable[[OutsideTarget, ForwardOutcome], None]
"""Is told what became of each message."""


class OutsideLane:
    """What waits for one destination, on its way there."""

    def __init__(
        self,
        store: AsyncStore,
        settler: Settler,
        target: OutsideTarget,
        options: ForwardOptions,
        heard: Heard,
    ) -> None:
        """Nothing is under way. Raises ConfigError for files that cannot be used."""
        self._store = store
        self._settler = settler
        self._lease = options.lease
        self._until_empty = options.until_empty
        self._heard = heard
        self._service = service_of(target)
        self.target = target
        self.held: dict[AsyncWork, float] = {}
        """What was taken and is not settled, and when its lease was last made longer."""
        self._waiting: deque[AsyncWork] = deque()
        self._leaving: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()
        self._paused = not target.is_up
        self._stopping = False
        self._taking: asyncio.Task[None] | None = None
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def is_over(self) -> bool:
        """Whether there was nothing to take, and it was to go on only until then."""
        return self._taking is not None and self._taking.done()

    # -------- what its forwarder does

    def begin(self) -> None:
        """Begin to take what waits."""
        self._taking = asyncio.create_task(self._take())

    async def follow(self, target: OutsideTarget) -> None:
        """Go on with the destination as it is now; one that is not up is left alone."""
        service = self._service
        same = (service.target.address, service.target.keys) == (target.address, target.keys)
        if not same or stamp(target.keys) != service.stamp:
            try:
                self._service = service_of(target)
            except FairleadError as error:
                LOGGER.warning("event=unchanged destination=%s %s", _word(target.called), error)
                return
            task = asyncio.create_task(self._retire(service))
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)
        self.target = target
        await self.pause(paused=not target.is_up)

    async def pause(self, *, paused: bool) -> None:
        """Let nothing leave any more, or let it leave again; what only waits here is given back."""
        self._paused = paused
        self._changed.set()
        if paused:
            await self._give_back()
        else:
            self._start()

    async def probe(self, path: str | None) -> ForwardOutcome | None:
        """Ask whether the destination is well: its path, or with the next message that waits.

        None: none waits, or it was somebody else's. What a message has shown was heard already.
        """
        if path is not None and (outcome := await self._service.probe(path)) is not None:
            self._heard(self.target, outcome)
            return outcome
        works = await self._store.take_many(self.target.queue, 1, lease=self._lease)
        if not works:
            return None
        self._hold(works)
        leaving = asyncio.create_task(self._leave(works[0], most=1))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._left)
        async with asyncio.timeout(self.target.timeout + self._lease):
            return await asyncio.shield(leaving)

    async def stop(self, grace: float) -> int:
        """Take nothing more, and give what is under way so many seconds; how many are left then."""
        self._stopping = True
        if self._taking is not None:
            self._taking.cancel()
            await asyncio.wait([self._taking])
        await self._give_back()
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=grace)
        left = [task for task in self._leaving if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=MAX_PAUSE)
        await self._service.close()
        return len(left)

    async def renew(self) -> None:
        """Make the leases longer that would be over soon."""
        for work, since in list(self.held.items()):
            if time.monotonic() - since < self._lease / 3 or work not in self.held:
                continue
            with suppress(StoreError):
                try:
                    await work.extend(self._lease)
                except MessageError:  # it is somebody else's, or settled just now
                    if work in self.held:
                        LOGGER.warning("event=taken-away %s", self._words(work))
                else:
                    self.held[work] = time.monotonic()

    # -------- take

    @property
    def _most(self) -> int:
        """So many works are held at one time."""
        return self.target.readers * 2 if self.target.readers > 1 else self.target.readers

    @property
    def _is_full(self) -> bool:
        """Whether nothing is to be taken now."""
        return self._paused or len(self.held) > self._most - max(self.target.readers // 2, 1)

    async def _take(self) -> None:
        pause, wait = 0.1, 0 if self._until_empty else WAIT
        while not (self._until_empty and self._paused):
            try:
                await self._room()
                wanted = min(self._most - len(self.held), MOST_TAKEN)
                works = await self._store.take_many(
                    self.target.queue, wanted, wait, lease=self._lease
                )
                pause = 0.1
                if not works and self._until_empty and not await self._others_leave():
                    return
            except FairleadError as error:
                if pause == 0.1:
                    LOGGER.warning("event=not-taken %s; trying again until it is", error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE)
                continue
            except Exception:
                LOGGER.exception("a fault of ours; going on")
                await asyncio.sleep(MAX_PAUSE)
                continue
            self._hold(works)
            self._waiting.extend(works)
            if self._paused:
                await self._give_back()
            else:
                self._start()

    async def _others_leave(self) -> bool:
        """Wait until something of what is held has left; false: nothing is held."""
        if not self.held:
            return False
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT):
                await self._changed.wait()
        return True

    async def _room(self) -> None:
        """Wait until some works can be taken at one time."""
        while self._is_full:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(WAIT):
                    await self._changed.wait()

    def _hold(self, works: list[AsyncWork]) -> None:
        self.held.update(dict.fromkeys(works, time.monotonic()))

    def _start(self) -> None:
        """Let leave what can."""
        while (
            self._waiting
            and len(self._leaving) < self.target.readers
            and not (self._paused or self._stopping)
        ):
            task = asyncio.create_task(self._leave_all(self._waiting.popleft()))
            self._leaving.add(task)
            task.add_done_callback(self._left)

    def _left(self, task: asyncio.Task[Any]) -> None:
        self._leaving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOGGER.error("a fault of ours; going on", exc_info=error)
        self._changed.set()
        self._start()

    async def _give_back(self) -> None:
        """What waits here returns to its place, and nothing has failed."""
        works, self._waiting = list(self._waiting), deque()
        for work in works:
            await work.give_back()
            self.held.pop(work, None)
        self._changed.set()

    # -------- leave

    async def _leave_all(self, work: AsyncWork) -> None:
        await self._leave(work, most=1 if work.attempt > 1 else AT_ONCE)

    async def _leave(self, work: AsyncWork, most: int) -> ForwardOutcome | None:
        """Let the messages of a work leave in their order, and settle it; the last outcome.

        One that came back leaves a message at a time: if this program dies of one, that is the
        first of its group in the end.
        """
        began = time.monotonic()
        try:
            return await self._left_and_settled(work, most, began)
        except asyncio.CancelledError:
            await work.give_back()
            raise
        finally:
            self.held.pop(work, None)

    async def _left_and_settled(
        self, work: AsyncWork, most: int, began: float
    ) -> ForwardOutcome | None:
        done, refused = 0, 0
        answers: list[AnswerMessage] = []
        outcome: ForwardOutcome | None = None
        key = ""
        while done < most and not (self._stopping and done):
            message = await _next(work)
            if message is None:
                break
            key = message.id
            dispatch = Dispatch(message, work.priority, work.attempt)
            outcome = await self._service.send(dispatch)
            self._heard(self.target, outcome)
            if outcome.kind == AGAIN:
                break
            if outcome.kind == REFUSED:
                await work.reject(outcome.reason, message)
                refused += 1
            elif outcome.answer is not None:
                to = str(self.target.keys.reply_to)
                answers.append(AnswerMessage(to, message, self.target.name, outcome.answer))
            done += 1
        settled = await self._settle(work, outcome, key, done, answers)
        self._log(work, outcome, settled, done, refused, time.monotonic() - began)
        return outcome

    async def _settle(
        self,
        work: AsyncWork,
        outcome: ForwardOutcome | None,
        key: str,
        done: int,
        answers: list[AnswerMessage],
    ) -> str:
        """How it was settled, in a word."""
        try:
            if outcome is None or outcome.kind != AGAIN:
                if answers:
                    ours = await self._settler.settle(work, "accept", answers)
                else:
                    ours = await self._settler.accept(work)
                return "accepted" if ours else "lost"
            delay = await self._delay(work, outcome, key)
            how: dict[str, Any] = {"delay": delay, "error": outcome.reason, "done": done}
            ours = await self._settler.settle(work, "release", answers, **how)
        except MessageError as error:
            delay = await self._delay(work, ForwardOutcome(AGAIN), key)
            reason = f"its answer could not be sent: {error}"
            ours = await self._settler.settle(work, "release", delay=delay, error=reason)
        return "released" if ours else "lost"

    async def _delay(self, work: AsyncWork, outcome: ForwardOutcome, key: str) -> float | None:
        """Seconds until it is tried again; None: the queue says so."""
        if outcome.delay is not None:
            return outcome.delay
        with suppress(StoreError):  # a database that is gone says nothing
            if await self._store.retry(work.queue) is not None:
                return None
        return BACKOFF.delay(work.attempt, key) / 1_000_000

    async def _retire(self, service: OutsideService) -> None:
        """Close a service that nothing is under way to any more."""
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=service.target.timeout)
        await service.close()

    # -------- say

    def _words(self, work: AsyncWork) -> str:
        names = {"destination": self.target.called, "queue": work.queue, "group": work.group}
        words = " ".join(f"{key}={_word(value)}" for key, value in names.items())
        return f"{words} attempt={work.attempt}"

    def _log(
        self,
        work: AsyncWork,
        outcome: ForwardOutcome | None,
        settled: str,
        done: int,
        refused: int,
        seconds: float,
    ) -> None:
        """One line for each group; what the service has said stands in the journal alone."""
        well = settled == "accepted" and not refused
        level = logging.INFO if well else logging.WARNING
        if not LOGGER.isEnabledFor(level):
            return
        more = f" rejected={refused}" if refused else ""
        if outcome is not None and outcome.kind != DONE:
            more += f" why={_word(outcome.reason.partition(':')[0])}"
        words = self._words(work)
        LOGGER.log(
            level, "%s messages=%d outcome=%s seconds=%.3f%s", words, done, settled, seconds, more
        )


async def _next(work: AsyncWork) -> AsyncMessage | None:
    """The next message; None: there is none, or it cannot be read now, and so stays."""
    try:
        return await anext(work, None)
    except StoreError:
        return None


def _word(text: str) -> str:
    return text if PLAIN.fullmatch(text) else json.dumps(text)
