"""The verbs that write, in one transaction with the user's own rows, for a task of a loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from fairlead.balance.times import Time
from fairlead.errors import MessageError
from fairlead.store.aio.conversation import AsyncConversation, plain_of
from fairlead.store.aio.work import AsyncWork
from fairlead.store.conversation import Conversation
from fairlead.store.transaction import Transaction
from fairlead.store.work import HeldWork

P = ParamSpec("P")
T = TypeVar("T")

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
    completed = awaited(Transaction.completed)
    change = awaited(Transaction.change)
    apply = awaited(Transaction.apply)
    add_destination = awaited(Transaction.add_destination)
    remove_destination = awaited(Transaction.remove_destination)
    subscribe = awaited(Transaction.subscribe)
    unsubscribe = awaited(Transaction.unsubscribe)
    reset = awaited(Transaction.reset)

    async def take(self, queue: str, *, group: str | None = None) -> AsyncWork | None:
        """Take a group in this transaction, as `Transaction.take` does."""
        found = await self.do(partial(self.plain.take, queue, group=group))
        return None if found is None else AsyncWork(found, self._acting)

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
        found = await self.do(partial(self.plain.execute, sql, values))
        return found if hasattr(found, "__aiter__") else AsyncCursor(found, self.do)

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
        found = await self.do(
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
        self.begun.append(AsyncConversation(found, self._acting))
        return self.begun[-1]

    async def conversation(self, conversation: AsyncConversation | str) -> AsyncConversation:
        """The same end of a dialog inside this transaction."""
        given = plain_of(conversation)
        if given is None:
            raise MessageError("conversation: found None, allowed: a conversation, or its id")
        found = await self.do(partial(self.plain.conversation, given))
        return AsyncConversation(found, self._acting)

    async def do(self, verb: Callable[[], T]) -> T:
        """Run something in the transaction, when what was begun before it has ended."""
        async with self._one:
            found: T = await self._within(verb)
            return found


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
        found = await self._tx.do(partial(plain.receive, conversation, wait, lease))
        return None if found is None else AsyncWork(found, self)

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
        found: list[Any] = await self._do(partial(self._cursor.fetchmany, size))
        return found

    async def fetchall(self) -> list[Any]:
        """All that are left."""
        found: list[Any] = await self._do(self._cursor.fetchall)
        return found

    async def __aiter__(self) -> AsyncIterator[Any]:
        while rows := await self.fetchmany():
            for row in rows:
                yield row
