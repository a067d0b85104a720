"""A group in the hands of a task, until it is settled."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from fairlead.errors import MessageError, StoreError
from fairlead.store.aio.acting import Acting
from fairlead.store.aio.conversation import AsyncConversation
from fairlead.store.message import GivenMessage, Message, not_given
from fairlead.store.work import HeldWork

if TYPE_CHECKING:
    from fairlead.store.aio.transaction import AsyncTransaction


class AsyncMessage(GivenMessage, frozen=True):
    """A message in the hands of a task."""

    conversation: AsyncConversation | None = None
    """The receiver's end of the conversation that it was said in; None: it was sent without one."""


class AsyncWork:
    """A group that a task holds: an iterator over its messages, and the verbs that settle it.

    `async with work:` accepts what was given at the end of the block; where the block raises, it
    releases the group, and that counts as a failure. Where the task is cancelled, the group is
    given back at once, and nothing has failed.
    """

    def __init__(self, work: HeldWork, acting: Acting) -> None:
        """`AsyncStore.take` gives one."""
        self.plain = work
        """The work itself."""
        self._acting = acting
        self._given: dict[int, Message] = {}

    @property
    def queue(self) -> str:
        """The queue's name."""
        return self.plain.queue

    @property
    def group(self) -> str:
        """The group's name; "" for a message that was sent without one."""
        return self.plain.group

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self.plain.tenant

    @property
    def priority(self) -> int | None:
        """To which the group was raised; None: it was not."""
        return self.plain.priority

    @property
    def taken(self) -> float:
        """When it was taken, in seconds since 1970."""
        return self.plain.taken

    @property
    def attempt(self) -> int:
        """1 for the first time, 2 after it was given back once."""
        return self.plain.attempt

    @property
    def token(self) -> int:
        """The fencing token: it rises with each take, and is that of one reader at a time."""
        return self.plain.token

    @property
    def deadline(self) -> float:
        """When the lease is over, in seconds since 1970."""
        return self.plain.deadline

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AsyncMessage:
        if self.plain.is_at_hand():
            found: Message | None = next(self.plain)
        else:
            found = await self._acting.read(partial(next, self.plain, None))
        if found is None:
            raise StopAsyncIteration
        self._given[found.number] = found
        return self._message(found)

    async def peek(self) -> AsyncMessage | None:
        """The message that would be given next; None: there is none."""
        found = await self._acting.read(self.plain.peek)
        return None if found is None else self._message(found)

    async def accept(self) -> None:
        """What was given is done."""
        await self._acting.settle(self.plain.accept)

    async def reject(
        self, reason: str = "", message: AsyncMessage | None = None
    ) -> list[AsyncMessage]:
        """What was given is taken out and kept as dead letters, with the reason.

        `message`: only this one; it is taken out when the work is accepted. Returns what is
        rejected.
        """
        one = None if message is None else self._plain_message(message)
        found = await self._acting.settle(partial(self.plain.reject, reason, one))
        return [self._message(each) for each in found]

    async def release(self, delay: float | None = None, error: str = "", done: int = 0) -> None:
        """All messages return to their places, and the group to its own.

        The arguments are those of `StoreWork.release`.
        """
        await self._acting.settle(partial(self.plain.release, delay, error, done))

    async def extend(self, lease: float = 60) -> None:
        """The lease ends so many seconds from now. Raises StaleWorkError."""
        await self._acting.write(partial(self.plain.extend, lease))

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransaction]:
        """A transaction for the user's own rows, further sends, and settling this work.

        Before its block ends, one of `accept`, `reject` or `release` is to be said. Where the task
        is cancelled, it is undone, and the group is given back.
        """
        return self._acting.transaction(self)

    async def give_back(self) -> None:
        """Release it, if it is not settled: its task was cancelled, and nothing has failed."""
        with suppress(StoreError, MessageError):  # then it is somebody else's, or its lease ends
            await self._acting.settle(self._release)

    def _release(self) -> None:
        if not self.plain.is_settled():
            self.plain.release()

    async def __aenter__(self) -> Self:
        try:
            await self._acting.read(self.plain.__enter__)
        except asyncio.CancelledError:
            await self.give_back()  # its block never begins, so nobody else does
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._acting.settle(partial(self.plain.__exit__, kind, error, trace))

    def _message(self, message: Message) -> AsyncMessage:
        """As a task gets it."""
        end = message.conversation
        return AsyncMessage(
            message.id,
            message.body,
            message.type,
            message.group,
            message.tenant,
            message.cost,
            message.sent,
            message.number,
            message.envelope,
            message.redelivered,
            None if end is None else AsyncConversation(end, self._acting),
        )

    def _plain_message(self, message: AsyncMessage) -> Message:
        found = self._given.get(getattr(message, "number", 0))
        if found is None:
            raise not_given(message)
        return found

    def __repr__(self) -> str:
        return f"<Async{repr(self.plain)[1:]}"
