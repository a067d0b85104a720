"""What a task of a loop holds: work, conversations and transactions, whose verbs are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from fairlead.balance.times import Time
from fairlead.errors import MessageError, StoreError
from fairlead.store.conversation import Conversation
from fairlead.store.message import GivenMessage, Message, not_given
from fairlead.store.transaction import Transaction
from fairlead.store.work import HeldWork

P = ParamSpec("P")
T = TypeVar("T")


class Acting(Protocol):
    """How the verbs of work and of conversations run."""

    async def read(self, verb: Callable[[], T]) -> T:
        """Run a verb that does not write."""

    async def write(self, verb: Callable[[], T]) -> T:
        """Run a verb that writes."""

    async def settle(self, verb: Callable[[], T]) -> T:
        """Run a verb that settles work, to its end: the task may be cancelled meanwhile."""

    async def receive(
        self, conversation: Conversation, wait: float, lease: float
    ) -> AsyncWork | None:
        """Take what waits in a conversation."""

    def transaction(self, work: AsyncWork) -> AbstractAsyncContextManager[Any]:
        """A transaction in which work is settled."""


class AsyncConversation:
    """One end of a dialog between two services: a `Conversation` whose verbs are awaited."""

    def __init__(self, conversation: Conversation, acting: Acting) -> None:
        """`AsyncStore.begin_dialog` gives one, and a message."""
        self.plain = conversation
        """The end itself."""
        self._acting = acting

    @property
    def id(self) -> str:
        """This end's id. Who knows it can act as this end; the other end has another one."""
        return self.plain.id

    @property
    def dialog(self) -> str:
        """The dialog's name, which both ends have."""
        return self.plain.dialog

    @property
    def group(self) -> str:
        """The conversation group in which its messages wait."""
        return self.plain.group

    @property
    def service(self) -> str:
        """The service at this end."""
        return self.plain.service

    @property
    def far_service(self) -> str:
        """The service at the other end."""
        return self.plain.far_service

    @property
    def contract(self) -> str:
        """The contract that both keep to."""
        return self.plain.contract

    @property
    def queue(self) -> str:
        """The queue in which its messages wait."""
        return self.plain.queue

    @property
    def side(self) -> str:
        """Initiator | target."""
        return self.plain.side

    async def state(self) -> str:
        """How this end stands now, as `Conversation.state` says."""
        return await self._acting.read(lambda: self.plain.state)

    async def send(self, type: str, body: object = b"") -> str:  # noqa: A002 - the field's own word
        """Send a message to the other end, as `Conversation.send` does; its id."""
        return await self._acting.write(partial(self.plain.send, type, body))

    async def prioritise(self, priority: int | None = None) -> bool:
        """Raise the group in which the other end's messages wait."""
        return await self._acting.write(partial(self.plain.prioritise, priority))

    async def timer(self, seconds: Time | None) -> None:
        """Let a DialogTimer come to this end after so many seconds; None: no timer any more."""
        await self._acting.write(partial(self.plain.timer, seconds))

    async def bind(self, other: AsyncConversation) -> None:
        """Remember another conversation with this one, and this one with that: to forward."""
        await self._acting.write(partial(self.plain.bind, other.plain))

    async def bound(self) -> AsyncConversation | None:
        """The conversation that this one is bound to; None: there is none, or it has ended."""
        conversation = await self._acting.read(self.plain.bound)
        return None if conversation is None else AsyncConversation(conversation, self._acting)

    async def end(self, error: tuple[int, str] | None = None, *, cleanup: bool = False) -> None:
        """End this end, as `Conversation.end` does."""
        await self._acting.write(partial(self.plain.end, error, cleanup=cleanup))

    async def take(self, wait: float = 0, lease: float = 60) -> AsyncWork | None:
        """Take what waits in this conversation, and nothing else; None: nothing does."""
        return await self._acting.receive(self.plain, wait, lease)

    def act_through(self, acting: Acting) -> None:
        """Act through another one: the transaction in which it was begun is committed."""
        self._acting = acting

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsyncConversation) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Async{repr(self.plain)[1:]}"


def plain_of(conversation: AsyncConversation | str | None) -> Conversation | str | None:
    """As the verbs that are not awaited take it."""
    return conversation.plain if isinstance(conversation, AsyncConversation) else conversation


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
            message: Message | None = next(self.plain)
        else:
            message = await self._acting.read(partial(next, self.plain, None))
        if message is None:
            raise StopAsyncIteration
        self._given[message.number] = message
        return self._message(message)

    async def peek(self) -> AsyncMessage | None:
        """The message that would be given next; None: there is none."""
        message = await self._acting.read(self.plain.peek)
        return None if message is None else self._message(message)

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
        letters = await self._acting.settle(partial(self.plain.reject, reason, one))
        return [self._message(letter) for letter in letters]

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
        plain_message = self._given.get(getattr(message, "number", 0))
        if plain_message is None:
            raise not_given(message)
        return plain_message

    def __repr__(self) -> str:
        return f"<Async{repr(self.plain)[1:]}"


Within = Callable[[Callable[[], Any]], Coroutine[Any, Any, Any]]
"""Runs a verb in the transaction."""


def awaited(
    verb: Callable[Concatenate[Transaction, P], T],
) -> Callable[Concatenate[AsyncTransaction, P], Coroutine[Any, Any, T]]:
    """A verb of a transaction, as a coroutine with the same arguments."""

    @wraps(verb)
    async def asked(self: AsyncTransaction, /, *args: P.args, **more: P.kwargs) -> T:
        return await self.do(partial(verb, self.plain, *args, **more))

    return asked


class AsyncTransaction:
    """What is sent, raised and settled here happens with the user's own rows, or not at all.

    `AsyncStore.join` gives one inside a transaction of the user's, `AsyncWork.transaction` one of
    the store's. Its verbs are those of `Transaction`, one after another.
    """

    def __init__(self, transaction: Transaction, within: Within, work: AsyncWork | None) -> None:
        """`within`: runs its verbs. `work`: what is settled where nothing else is named."""
        self.plain = transaction
        """The transaction itself."""
        self._within = within
        self._work = work
        self._one = asyncio.Lock()
        self._acting = ActingWithin(self)
        self.begun: list[AsyncConversation] = []
        """The conversations that were begun here."""

    send = awaited(Transaction.send)
    send_many = awaited(Transaction.send_many)
    prioritise = awaited(Transaction.prioritise)
    next_destination = awaited(Transaction.next_destination)
    publish = awaited(Transaction.publish)
    publish_many = awaited(Transaction.publish_many)
    publish_as_found = awaited(Transaction.publish_as_found)
    begin_run = awaited(Transaction.begin_run)
    end_run = awaited(Transaction.end_run)
    completed = awaited(Transaction.completed)
    change = awaited(Transaction.change)
    apply = awaited(Transaction.apply)
    add_destination = awaited(Transaction.add_destination)
    remove_destination = awaited(Transaction.remove_destination)
    subscribe = awaited(Transaction.subscribe)
    unsubscribe = awaited(Transaction.unsubscribe)
    reset = awaited(Transaction.reset)
    cluster_version = awaited(Transaction.cluster_version)

    async def take(self, queue: str, *, group: str | None = None) -> AsyncWork | None:
        """Take a group in this transaction, as `Transaction.take` does."""
        work = await self.do(partial(self.plain.take, queue, group=group))
        return None if work is None else AsyncWork(work, self._acting)

    async def accept(self, work: AsyncWork | None = None) -> None:
        """What the reader was given is done."""
        await self.do(partial(self.plain.accept, _plain(work)))

    async def reject(self, reason: str = "", work: AsyncWork | None = None) -> None:
        """What the reader was given becomes dead letters."""
        await self.do(partial(self.plain.reject, reason, _plain(work)))

    async def release(
        self,
        delay: float | None = None,
        work: AsyncWork | None = None,
        error: str = "",
        done: int = 0,
    ) -> None:
        """The group is given back, as `StoreWork.release` does."""
        await self.do(partial(self.plain.release, delay, _plain(work), error, done))

    async def execute(
        self,
        sql: str,
        values: Sequence[Any] | Mapping[str, Any] = (),
    ) -> Any:  # noqa: ANN401 - the driver's cursor
        """Run a statement of one's own; values are bound by the driver.

        Gives a cursor with `fetchone`, `fetchmany` and `fetchall`, which are awaited, `rowcount`
        and `description`; it can be iterated over with `async for`.
        """
        cursor = await self.do(partial(self.plain.execute, sql, values))
        return cursor if hasattr(cursor, "__aiter__") else AsyncCursor(cursor, self.do)

    async def begin_dialog(
        self,
        service: str,
        far_service: str,
        contract: str | None = None,
        *,
        related: AsyncConversation | str | None = None,
        group: str | None = None,
        lifetime: Time | None = None,
    ) -> AsyncConversation:
        """Begin a dialog between two services, as `Transaction.begin_dialog` does."""
        conversation = await self.do(
            partial(
                self.plain.begin_dialog,
                service,
                far_service,
                contract,
                related=plain_of(related),
                group=group,
                lifetime=lifetime,
            )
        )
        self.begun.append(AsyncConversation(conversation, self._acting))
        return self.begun[-1]

    async def conversation(self, conversation: AsyncConversation | str) -> AsyncConversation:
        """The same end of a dialog inside this transaction."""
        handle = plain_of(conversation)
        if handle is None:
            raise MessageError("conversation: found None, allowed: a conversation, or its id")
        end = await self.do(partial(self.plain.conversation, handle))
        return AsyncConversation(end, self._acting)

    async def do(self, verb: Callable[[], T]) -> T:
        """Run something in the transaction, when what was begun before it has ended."""
        async with self._one:
            result: T = await self._within(verb)
            return result


def _plain(work: AsyncWork | None) -> HeldWork | None:
    return None if work is None else work.plain


class ActingWithin:
    """A task reads, answers and settles in a transaction."""

    def __init__(self, tx: AsyncTransaction) -> None:
        self._tx = tx

    async def read(self, verb: Callable[[], T]) -> T:
        return await self._tx.do(verb)

    async def write(self, verb: Callable[[], T]) -> T:
        return await self._tx.do(verb)

    async def settle(self, verb: Callable[[], T]) -> T:
        return await self._tx.do(verb)  # it is recorded, and done where the transaction ends

    async def receive(
        self, conversation: Conversation, wait: float, lease: float
    ) -> AsyncWork | None:
        plain = self._tx.plain
        work = await self._tx.do(partial(plain.receive, conversation, wait, lease))
        return None if work is None else AsyncWork(work, self)

    @asynccontextmanager
    async def transaction(self, work: AsyncWork) -> AsyncIterator[AsyncTransaction]:
        """That in which it was taken."""
        yield self._tx


class AsyncCursor:
    """What a statement of the user's own gives, on SQLite."""

    def __init__(self, cursor: Any, do: Within) -> None:  # noqa: ANN401 - the driver's
        """`do`: runs what is asked of it where its connection is used."""
        self._cursor = cursor
        self._do = do
        self.rowcount: int = cursor.rowcount
        self.description = cursor.description

    async def fetchone(self) -> Any:  # noqa: ANN401 - a row
        """The next row; None: there is none."""
        return await self._do(self._cursor.fetchone)

    async def fetchmany(self, size: int = 100) -> list[Any]:
        """The next rows, at most so many."""
        rows: list[Any] = await self._do(partial(self._cursor.fetchmany, size))
        return rows

    async def fetchall(self) -> list[Any]:
        """All that are left."""
        rows: list[Any] = await self._do(self._cursor.fetchall)
        return rows

    async def __aiter__(self) -> AsyncIterator[Any]:
        while rows := await self.fetchmany():
            for row in rows:
                yield row
