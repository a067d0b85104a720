"""Take work on an event loop, wait for it, and give it back where the task is cancelled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from fairlead.store.aio.handles import AsyncTransaction, AsyncWork
from fairlead.store.aio.running import Runner
from fairlead.store.aio.waking import LoopWaker, Patience
from fairlead.store.arguments import duration
from fairlead.store.conversation import Conversation
from fairlead.store.leasing import StoreWork
from fairlead.store.queues.taken_group import Claim
from fairlead.store.store import Store

T = TypeVar("T")


class StoreActing:
    """A task reads, answers and settles through a store."""

    def __init__(self, store: Store, runner: Runner, waker: LoopWaker) -> None:
        """`store`: whose verbs the runner runs."""
        self.store = store
        self._runner = runner
        self._waker = waker
        self._claiming = asyncio.Lock()
        self._claims = False

    async def read(self, verb: Callable[[], T]) -> T:
        return await self._runner.read(verb)

    async def write(self, verb: Callable[[], T]) -> T:
        return await self._runner.write(verb)

    async def settle(self, verb: Callable[[], T]) -> T:
        return await self._runner.surely(verb)

    async def claim(self, ask: Callable[[], Claim]) -> Claim:
        """What is to be taken; the first time this process becomes a lease holder, once."""
        if self._claims:
            return await self._runner.write(ask)
        async with self._claiming:
            request = await self._runner.surely(ask)
            self._claims = True
            return request

    async def receive(
        self, conversation: Conversation, wait: float, lease: float
    ) -> AsyncWork | None:
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        end = conversation.endpoint.id
        ask = partial(self.store.claim, lease, group=conversation.group, end=end)
        works = await self.wait_for(conversation.queue, await self.claim(ask), until)
        return works[0] if works else None

    async def wait_for(self, wanted: str, claim: Claim, until: float) -> list[AsyncWork]:
        """Take what there is; wait for it until then. Where the task is cancelled, nothing is."""
        waited, patience = False, Patience()
        while True:
            works = await self._runner.surely(
                partial(self.store.take_now, wanted, claim), self._give_back
            )
            left = until - time.monotonic()
            if works and waited:
                self._waker.took(wanted)
            if works or left <= 0 or not await self._waker.wait(wanted, left, patience):
                return [AsyncWork(work, self) for work in works]
            waited = True

    async def is_ready(self, wanted: str, until: float) -> bool:
        """Whether a group can be taken, or can be until then."""
        patience = Patience()
        while True:
            answer = await self._runner.write(partial(self.store.ready, wanted))
            left = until - time.monotonic()
            if answer or left <= 0 or not await self._waker.wait(wanted, left, patience):
                return answer

    @asynccontextmanager
    async def transaction(self, work: AsyncWork | None = None) -> AsyncIterator[AsyncTransaction]:
        """A transaction of the store's own."""
        block = self.store.transaction(None if work is None else work.plain)
        try:
            plain = await self._runner.begin(block)
            tx = AsyncTransaction(plain, self._runner.within, work)
            try:
                yield tx
            except BaseException as error:
                await self._runner.end(block, type(error), error, error.__traceback__)
                raise
            await self._runner.end(block, None, None, None)
        except asyncio.CancelledError:
            if work is not None:
                await work.give_back()
            raise
        for conversation in tx.begun:
            conversation.act_through(self)

    async def _give_back(self, works: list[StoreWork]) -> None:
        for work in works:
            await AsyncWork(work, self).give_back()
