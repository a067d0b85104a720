"""Handlers that are coroutine functions: all of a process run on one event loop.

The thread that has a group waits for its handler's coroutine. Meanwhile it does what that asks of
the database: work, transaction and conversation stay with the thread, and the loop never waits.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from fairlead.errors import MessageError
from fairlead.store.aio.handles import AsyncConversation, AsyncMessage, AsyncTransaction, AsyncWork
from fairlead.store.conversation import Conversation
from fairlead.store.message import Message
from fairlead.store.transaction import Transaction
from fairlead.store.work import HeldWork

T = TypeVar("T")
MAKING: Final = threading.Lock()


class Awaited:
    """A coroutine function that is called as another handler is."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """`function`: of (message), (message, tx) or (tx)."""
        self.function = function

    def __call__(self, *given: object) -> object:
        """Its result, when it is there; another coroutine function becomes one of these."""
        thread = ServingThread()
        result = thread.result_of(partial(self.function, *map(thread.as_awaited, given)))
        return Awaited(result) if inspect.iscoroutinefunction(result) else result


class ServingThread:
    """A thread that waits for a coroutine, and does what that asks of the database."""

    def __init__(self) -> None:
        """This thread."""
        self._asked: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._over = False

    def result_of(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - the user's
        """What a coroutine gives, or raises."""
        future = asyncio.run_coroutine_threadsafe(_outcome(call), event_loop())
        future.add_done_callback(lambda _: self._asked.put(None))
        while (step := self._asked.get()) is not None:
            step()
        self._over = True
        result, error = future.result()
        if error is not None:
            raise error
        return result

    def as_awaited(self, value: object) -> object:
        """A message, or a transaction, whose verbs are awaited and done by this thread."""
        if isinstance(value, Message):
            end = value.conversation
            return AsyncMessage(
                value.id,
                value.body,
                value.type,
                value.group,
                value.tenant,
                value.cost,
                value.sent,
                value.number,
                value.envelope,
                value.redelivered,
                None if end is None else AsyncConversation(end, self),
            )
        if isinstance(value, Transaction):
            return AsyncTransaction(value, self.run, None)
        return value

    async def run(self, verb: Callable[[], T]) -> T:
        """Let the thread do something. Raises MessageError when the handler has ended."""
        if self._over:
            raise MessageError("found that the handler has ended, allowed: what is done inside it")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def step() -> None:
            try:
                result = verb()
            except BaseException as error:  # noqa: BLE001 - whoever asked has it
                loop.call_soon_threadsafe(_answer, answer, None, error)
            else:
                loop.call_soon_threadsafe(_answer, answer, result, None)

        self._asked.put(step)
        return await answer

    # -------- what work and conversations ask for

    async def read(self, verb: Callable[[], T]) -> T:
        return await self.run(verb)

    async def write(self, verb: Callable[[], T]) -> T:
        return await self.run(verb)

    async def settle(self, verb: Callable[[], T]) -> T:
        return await self.run(verb)

    async def receive(
        self, conversation: Conversation, wait: float, lease: float
    ) -> AsyncWork | None:
        work: Any = await self.run(partial(conversation.take, wait, lease))
        return AsyncWork(work, self) if isinstance(work, HeldWork) else None

    @asynccontextmanager
    async def transaction(self, work: AsyncWork) -> AsyncIterator[AsyncTransaction]:
        block = work.plain.transaction()
        tx = AsyncTransaction(await self.run(block.__enter__), self.run, work)
        try:
            yield tx
        except BaseException as error:
            await self.run(partial(block.__exit__, type(error), error, error.__traceback__))
            raise
        await self.run(partial(block.__exit__, None, None, None))


def event_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process's handlers; it runs in a thread of its own from now on."""
    with MAKING:  # threads that come together would make one each
        return _made()


@cache
def _made() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="fairlead-handlers", daemon=True).start()
    return loop


async def _outcome(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return await call(), None
    except (KeyboardInterrupt, SystemExit) as error:  # the loop itself would end of these
        return None, error


def _answer(answer: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    if answer.done():  # whoever asked was cancelled
        return
    if error is None:
        answer.set_result(value)
    else:
        answer.set_exception(error)
