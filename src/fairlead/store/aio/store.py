"""The store for asyncio: the verbs of `Store`, awaited."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial, wraps
from itertools import islice
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar, Unpack, cast

from fairlead.balance.times import Time
from fairlead.store.aio.handles import AsyncConversation, AsyncTransaction, AsyncWork, plain_of
from fairlead.store.aio.joining import unwrapped
from fairlead.store.aio.opening import opened
from fairlead.store.aio.running import Runner
from fairlead.store.aio.taking import StoreActing
from fairlead.store.aio.waking import LoopWaker
from fairlead.store.arguments import duration, queue_name, whole
from fairlead.store.database.schema import LOCK_TIMEOUT
from fairlead.store.journal.events import Event, EventChoice
from fairlead.store.store import Store

P = ParamSpec("P")
T = TypeVar("T")

CONNECTIONS: Final = 10
"""To PostgreSQL, at one time."""
PAGE: Final = 100
"""So many events of the journal are read at once."""


def reads(
    verb: Callable[Concatenate[Store, P], T],
) -> Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, T]]:
    """A verb of a store that does not write, as a coroutine with the same arguments."""

    @wraps(verb)
    async def asked(self: AsyncStore, /, *args: P.args, **more: P.kwargs) -> T:
        return await self._runner.read(partial(verb, self.plain, *args, **more))

    return asked


def writes(
    verb: Callable[Concatenate[Store, P], T],
) -> Callable[Concatenate[AsyncStore, P], Coroutine[Any, Any, T]]:
    """A verb of a store that may write, as a coroutine with the same arguments."""

    @wraps(verb)
    async def asked(self: AsyncStore, /, *args: P.args, **more: P.kwargs) -> T:
        return await self._runner.write(partial(verb, self.plain, *args, **more))

    return asked


class AsyncStore:
    """Durable queues in the user's own database, for one event loop: a `Store` that is awaited.

    >>> import asyncio, tempfile
    >>> async def main(folder):
    ...     async with await AsyncStore.open(f"sqlite:///{folder}/work.db") as store:
    ...         await store.send("orders", "pack o1", group="o1")
    ...         while work := await store.take("orders"):
    ...             async with work:
    ...                 print(work.group, [message.body async for message in work])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(main(folder))
    o1 ['pack o1']

    Its verbs take what those of `Store` take, and do what they do. A task that is cancelled gives
    its work back at once: `take` takes nothing, and a block releases what it holds.
    """

    def __init__(self, store: Store, runner: Runner, waker: LoopWaker) -> None:
        """`AsyncStore.open` makes one."""
        self.plain = store
        """The store whose verbs run."""
        self._runner = runner
        self._waker = waker
        self._acting = StoreActing(store, runner, waker)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        create: bool | None = None,
        upgrade: bool = False,
        clock: Callable[[], Time] | None = None,
        lock_timeout: float = LOCK_TIMEOUT,
        connections: int = CONNECTIONS,
    ) -> Self:
        """Open a store, as `Store.open` does.

        `connections`: to PostgreSQL, at most so many at one time: others wait for their turn. A
        task that is in a transaction may have a second one. One more hears of work, where somebody
        takes. Raises StoreError.
        """
        whole("connections", connections, 1)
        how: dict[str, Any] = {"create": create, "upgrade": upgrade, "lock_timeout": lock_timeout}
        return cls(*await opened(url, clock, how, connections))

    async def close(self) -> None:
        """Close all connections. Work that is not settled is taken back by whoever takes next."""
        await self._waker.close()
        await self._runner.surely(self.plain.close)
        await self._runner.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def place(self) -> str:
        """The database, without user and password."""
        return self.plain.place

    @property
    def upgraded(self) -> tuple[int, int] | None:
        """From which version of the schema to which it was brought when it was opened."""
        return self.plain.upgraded

    # -------- messages

    send = writes(Store.send)
    send_many = writes(Store.send_many)

    async def take(
        self, queue: str, wait: float = 0, *, group: str | None = None, lease: float = 60
    ) -> AsyncWork | None:
        """Take the best group that nobody holds, as `Store.take` does; None: there is none.

        Others go on while it waits. Where its task is cancelled, nothing is taken.
        """
        works = await self.take_many(queue, 1, wait, group=group, lease=lease)
        return works[0] if works else None

    async def take_many(
        self,
        queue: str,
        most: int,
        wait: float = 0,
        *,
        group: str | None = None,
        lease: float = 60,
    ) -> list[AsyncWork]:
        """Take the best groups, at most so many, best first. Raises MessageError."""
        wanted = queue_name(queue)
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        ask = partial(self.plain.claim, lease, group=group, most=most)
        return await self._acting.wait_for(wanted, await self._acting.claim(ask), until)

    async def ready(self, queue: str, wait: float = 0) -> bool:
        """Whether a group can be taken, as far as that is seen without taking one."""
        wanted = queue_name(queue)
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        if wait:
            await self._acting.claim(partial(self.plain.claim, 60))  # senders wake holders
        return await self._acting.is_ready(wanted, until)

    async def working(self, queue: str) -> list[AsyncWork]:
        """The work in the hands of readers, in the order in which it was taken."""
        works = await self._runner.read(partial(self.plain.working, queue))
        return [AsyncWork(work, self._acting) for work in works]

    async def accept(self, works: Iterable[AsyncWork]) -> None:
        """Accept several works in one transaction."""
        every = [work.plain for work in works]
        await self._runner.surely(partial(self.plain.accept, every))

    def transaction(
        self, work: AsyncWork | None = None
    ) -> AbstractAsyncContextManager[AsyncTransaction]:
        """A transaction of the store's own, with the verbs that write."""
        return self._acting.transaction(work)

    @asynccontextmanager
    async def join(self, connection: object) -> AsyncIterator[AsyncTransaction]:
        """The verbs that write, in a transaction that the caller has begun and will commit.

        `connection`: an AsyncConnection of psycopg, or an AsyncSession or AsyncConnection of
        SQLAlchemy on it; on SQLite a connection of sqlite3, or one of SQLAlchemy or aiosqlite on
        aiosqlite; to the store's own database. The rest is as with `Store.join`.
        """
        joined = self._runner.joined(await unwrapped(connection))
        block = self.plain.join(joined.connection)
        async with joined.runs.turn():
            plain = await joined.runs.begin(block)
            tx = AsyncTransaction(plain, joined.runs.within, None)
            try:
                yield tx
            except BaseException as error:
                await joined.runs.end(block, type(error), error, error.__traceback__)
                raise
            await joined.runs.end(block, None, None, None)

    # -------- conversations

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
        """Begin a dialog between two services, as `Store.begin_dialog` does."""
        conversation = await self._runner.write(
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
        return AsyncConversation(conversation, self._acting)

    async def conversation(self, id: str) -> AsyncConversation:  # noqa: A002 - it is called so
        """The end of a dialog with this id. Raises ConversationError."""
        end = await self._runner.read(partial(self.plain.conversation, id))
        return AsyncConversation(end, self._acting)

    async def ends(self, dialog: str) -> list[AsyncConversation]:
        """The ends of a dialog, the initiator's first, with their ids: to act as either."""
        sides = await self._runner.read(partial(self.plain.ends, dialog))
        return [AsyncConversation(end, self._acting) for end in sides]

    service = reads(Store.service)
    services = reads(Store.services)
    conversations = reads(Store.conversations)
    dialog = reads(Store.dialog)
    dialog_waits = writes(Store.dialog_waits)

    # -------- clusters

    load_clusters = writes(Store.load_clusters)
    keep_clusters = writes(Store.keep_clusters)
    clusters = reads(Store.clusters)
    loaded_cluster = reads(Store.loaded_cluster)
    pool = reads(Store.pool)
    next_destination = writes(Store.next_destination)
    publish = writes(Store.publish)
    publish_many = writes(Store.publish_many)
    put = writes(Store.put)
    close_opener = writes(Store.close_opener)
    change_own = writes(Store.change_own)
    want_channel = writes(Store.want_channel)
    channels = reads(Store.channels)
    queue_manager = reads(Store.queue_manager)
    opened_queue = reads(Store.opened_queue)
    bulk_run = reads(Store.bulk_run)
    completed = writes(Store.completed)
    report_health = writes(Store.report_health)
    unwell = reads(Store.unwell)

    async def send_elsewhere(self, cluster: str, work: AsyncWork) -> list[str]:
        """Give what was given of a piece of work back to the choice, as `Store` does."""
        return await self._runner.surely(partial(self.plain.send_elsewhere, cluster, work.plain))

    change = writes(Store.change)
    apply = writes(Store.apply)
    add_destination = writes(Store.add_destination)
    remove_destination = writes(Store.remove_destination)
    subscribe = writes(Store.subscribe)
    unsubscribe = writes(Store.unsubscribe)
    reroute = writes(Store.reroute)
    deliveries = reads(Store.deliveries)
    reset = writes(Store.reset)
    decision = reads(Store.decision)
    decision_about = reads(Store.decision_about)

    # -------- what an operator asks and sets

    prioritise = writes(Store.prioritise)
    waiting = writes(Store.waiting)
    peek = writes(Store.peek)
    promotion = writes(Store.promotion)

    groups = writes(Store.groups)
    group = reads(Store.group)
    groups_named = reads(Store.groups_named)
    prioritise_seen = writes(Store.prioritise_seen)
    dead_heads = reads(Store.dead_heads)
    dead_body = reads(Store.dead_body)
    processes = reads(Store.processes)
    count_events = reads(Store.count_events)
    cursor_at = reads(Store.cursor_at)
    explain_order = reads(Store.explain_order)
    later = reads(Store.later)
    check_queue = reads(Store.check_queue)
    set_order = writes(Store.set_order)
    set_limits = writes(Store.set_limits)
    switch = writes(Store.switch)
    held = reads(Store.held)
    take_back = writes(Store.take_back)
    off = reads(Store.off)
    retry = reads(Store.retry)
    max_seconds = reads(Store.max_seconds)
    limits = reads(Store.limits)
    off_tenants = reads(Store.off_tenants)
    set_retention = writes(Store.set_retention)
    retention = reads(Store.retention)
    declare = writes(Store.declare)
    queues = reads(Store.queues)
    queues_by_tenant = reads(Store.queues_by_tenant)
    dead = reads(Store.dead)
    dead_counts = reads(Store.dead_counts)
    requeue = writes(Store.requeue)
    discard = writes(Store.discard)
    purge = writes(Store.purge)
    purgeable = reads(Store.purgeable)
    delete_queue = writes(Store.delete_queue)
    latest = reads(Store.latest)
    journal_parts = reads(Store.journal_parts)
    sent_at = reads(Store.sent_at)
    journal_back = reads(Store.journal_back)
    journal_ahead = reads(Store.journal_ahead)
    outcome = reads(Store.outcome)
    trace_of = reads(Store.trace_of)
    prune = writes(Store.prune)
    recover = writes(Store.recover)
    check = writes(Store.check)
    make_roles = writes(Store.make_roles)
    stopping = writes(Store.stopping)

    schedules = reads(Store.schedules)
    overdue_schedules = reads(Store.overdue_schedules)
    ticks = reads(Store.ticks)
    tick = writes(Store.tick)
    pause_schedule = writes(Store.pause_schedule)
    drop_schedule = writes(Store.drop_schedule)

    async def journal(
        self, since: str | None = None, *, until: str | None = None, **wanted: Unpack[EventChoice]
    ) -> AsyncIterator[Event]:
        """The events after a cursor, in their order; None: from the first that is kept.

        `until`: up to the event with this cursor. `queue`, `cluster`, `group`, `id`, `kind`: only
        those of this one; `actor`: of which the actor begins so. `start`, `end`: only those from
        this time on, or before it, in seconds. Those that come while they are read are left for the
        next time. Raises PrunedError where some of them are kept no more, and MessageError.
        """
        events = cast("Generator[Event]", self.plain.journal(since, until=until, **wanted))
        try:
            while page := await self._runner.read(lambda: list(islice(events, PAGE))):
                for event in page:
                    yield event
        finally:
            await self._runner.read(events.close)
