"""Work that a store gives out with a lease, and what it asks of its store."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, Protocol, TypeVar

from fairlead.errors import DiskFullError, MessageError, StoreError
from fairlead.store.admin import queues as admin
from fairlead.store.arguments import MAX_TAKEN, duration, name, queue_name, whole
from fairlead.store.conversation import Conversation, DialogSession
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.database.retrying import again
from fairlead.store.database.tracing import trace_of
from fairlead.store.queues.engine import QueueEngine, engine_of
from fairlead.store.queues.received import Received
from fairlead.store.queues.settings import known_queue
from fairlead.store.queues.settlement import Settlement, portions, stale
from fairlead.store.queues.taken_group import PAGE, Claim, TakenGroup
from fairlead.store.queues.unreadable import are_readable, bury_unreadable, take_portion
from fairlead.store.queues.waking import Waker
from fairlead.store.transaction import Transaction
from fairlead.store.verbs.store_verbs import StoreVerbs
from fairlead.store.work import HeldWork

MIN_LEASE: Final = 0.001
"""Seconds; with none at all, work would be somebody else's before its reader has it."""
LOT_LOCK: Final = 100
"""Milliseconds for which a transaction for many waits for a lock. Then each goes by itself: nobody
waits any longer for what another one needs."""
T = TypeVar("T")
Item = TypeVar("Item")


class Lots(Protocol):
    """How what several callers ask for at one time is done in one transaction."""

    def do(
        self,
        key: Hashable,
        item: Item,
        alone: Callable[[], T],
        together: Callable[[list[Item]], list[T] | None],
    ) -> T:
        """Do what is asked, by itself or with others of the same key.

        `together` returns the result of each, or None where each is to be done by itself, and
        nothing was done.
        """


class StoreWork(HeldWork):
    """A group that a reader holds: an iterator over its messages, and the verbs that settle it.

    `with work:` accepts what was given at the end of the block; where the block raises, it
    releases the group, and that counts as a failure.
    """

    def __init__(self, store: StoreLeases, queue: str, held: TakenGroup) -> None:
        """Made by `Store.take`."""
        super().__init__(store, queue, held)
        self._store = store

    def _more(self, given: list[int]) -> list[Received]:
        return self._store.more(self.held, given)

    def _holds(self) -> bool:
        return self._store.holds(self.held)

    def _has_ended(self, conversation: Conversation) -> bool:
        return self._store.has_ended(conversation)

    def _settle_as(self, end: Settlement) -> None:
        self._store.settle(self.queue, end)

    def extend(self, lease: float = 60) -> None:
        """The lease ends so many seconds from now. Raises StaleWorkError."""
        self.check_open()
        self.held.deadline = self._store.extend(self.held, lease)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction for the user's own rows, further sends, and settling this work.

        Before its block ends, one of `accept`, `reject` or `release` is to be said.
        """
        return self._store.transaction(self)


class StoreLeases(StoreVerbs, DialogSession):
    """Take groups, keep them and settle them, each in a transaction of its own."""

    waker: Waker
    """How readers wait."""
    _lots: Lots | None
    """None: each caller's verb is done by itself."""

    @abstractmethod
    def transaction(self, work: HeldWork | None = None) -> AbstractContextManager[Transaction]:
        """A transaction of the store's own, with the verbs that write."""

    def take(
        self, queue: str, wait: float = 0, *, group: str | None = None, lease: float = 60
    ) -> StoreWork | None:
        """Take the best group that nobody holds, or the one that is named; None: there is none.

        `wait`: seconds to wait for one. `lease`: seconds, from 0.001 on, after which somebody else
        may take it, unless it is extended. Raises MessageError.
        """
        works = self.take_many(queue, 1, wait, group=group, lease=lease)
        return works[0] if works else None

    def take_many(
        self,
        queue: str,
        most: int,
        wait: float = 0,
        *,
        group: str | None = None,
        lease: float = 60,
    ) -> list[StoreWork]:
        """Take the best groups, at most so many, best first. Raises MessageError."""
        wanted = queue_name(queue)
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        return self._wait_for(wanted, self.claim(lease, group=group, most=most), until)

    def receive(self, conversation: Conversation, wait: float, lease: float) -> StoreWork | None:
        """Take what waits in a conversation, as `Conversation.take` does."""
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        claim = self.claim(lease, group=conversation.group, end=conversation.endpoint.id)
        works = self._wait_for(conversation.queue, claim, until)
        return works[0] if works else None

    def claim(
        self,
        lease: float,
        *,
        group: str | None = None,
        most: int = 1,
        end: int | None = None,
        page: int = PAGE,
    ) -> Claim:
        """What `take_now` is to take, and for how long; this process is a lease holder then.

        `end`: of the conversation of which alone messages are wanted. `page`: so many messages of a
        group are read at once. Raises MessageError.
        """
        whole("most", most, 1, MAX_TAKEN)
        length, named = duration("lease", lease, MIN_LEASE), name("group", group)
        holder = self.even_if_full(self._leases.holder)
        return Claim(holder, length, named, most, self._context.actor, end, page)

    def hold_for_others(self) -> None:
        """What this process will take it holds for others: no message has failed if it dies."""
        self._leases.for_others()

    def taking(self) -> AbstractContextManager[Callable[[Iterable[TakenGroup]], None]]:
        """In this block something is taken; gives what is to be told what was.

        What was taken, and is told to nobody, as its answer was lost, goes back some time later.
        """
        return self._leases.taking()

    def tend(self, queue: str) -> None:
        """Do what is due before a queue is taken from: of readers that are dead, of what is old."""
        self._leases.take_back_from_dead(queue)
        self._retention.look()

    def take_now(self, wanted: str, claim: Claim) -> list[StoreWork]:
        """Take what can be taken at this moment."""
        held = self.even_if_full(lambda: self._look_and_take(wanted, claim))
        return [StoreWork(self, wanted, group) for group in held]

    def _wait_for(self, wanted: str, claim: Claim, until: float) -> list[StoreWork]:
        waited = False
        while True:
            works = self.take_now(wanted, claim)
            left = until - time.monotonic()
            if works and waited:
                self.waker.took(wanted)
            if works or left <= 0 or not self.waker.wait([wanted], left):
                return works
            waited = True

    def _look_and_take(self, wanted: str, claim: Claim) -> list[TakenGroup]:
        self.tend(wanted)
        with self.taking() as took:
            groups = self._take(wanted, claim)
            took(groups)
        return groups

    def ready(self, queue: str, wait: float = 0) -> bool:
        """Whether a group can be taken, as far as that is seen without taking one.

        `wait`: seconds to wait for one. Raises MessageError.
        """
        wanted = queue_name(queue)
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        if wait:
            self._leases.holder()  # senders wake those who are there
        while True:
            self._leases.take_back_from_dead(wanted)
            answer = self.waker.ready(wanted)
            left = until - time.monotonic()
            if answer or left <= 0 or not self.waker.wait([wanted], left):
                return answer

    def working(self, queue: str) -> list[StoreWork]:
        """The work in the hands of readers, in the order in which it was taken."""
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return [StoreWork(self, queue, group) for group in admin.held(database, row)]

    # -------- what work asks for

    def more(self, held: TakenGroup, given: list[int]) -> list[Received]:
        """Messages of a group that were not given yet."""
        with self._connection() as database:
            return self._engine(database).more(held, given)

    def holds(self, held: TakenGroup) -> bool:
        """Whether a group is still the reader's."""
        with self._connection() as database:
            return bool(database.run("still_held", id=held.id, token=held.token))

    def trace_of(self, number: int) -> str | None:
        """In which trace a message was sent, as W3C writes it; None: in none, or nobody knows."""
        with self._connection() as database:
            rows = database.run("sender_of", id=number)
        return trace_of(rows[0][0]) if rows else None

    def has_ended(self, conversation: Conversation) -> bool:
        """Whether the receiver's end of a conversation has ended."""
        with self._connection() as database:
            return self._engine(database).has_ended(conversation.endpoint)

    @again
    def settle(self, queue: str, end: Settlement) -> None:
        """Settle work: by itself, or with what others settle at the same time."""
        if self._lots is None:
            self._settle_alone(queue, end)
            return
        self._refuse_nested()
        alone = partial(self._settle_alone, queue, end)
        self._lots.do(("settle", queue), end, alone, partial(self._settle_together, queue))

    def _settle_together(self, queue: str, ends: list[Settlement]) -> list[None] | None:
        if len({end.id for end in ends}) < len(ends):  # one of two has lost the group
            return None

        def settled(database: Database) -> list[None]:
            self._engine(database).settle(queue, ends, self._context.actor)
            return [None] * len(ends)

        return self._for_many(settled)

    def _settle_alone(self, queue: str, end: Settlement) -> None:
        try:
            self._settle(queue, end)
        except DiskFullError:
            room = self._context.backend.kept_room
            if not room:
                raise
            for portion in self._portions(end, room // 4):
                self.even_if_full(partial(self._settle, queue, portion))

    def _portions(self, end: Settlement, room: int) -> list[Settlement]:
        """What a full disk has room for at one time: each byte is written twice."""
        with self._connection() as database:
            rows = database.run("bytes_of", ids=[message.number for message in end.given])
        return portions(end, {number: size for number, size in rows}, room)  # noqa: C416

    def _settle(self, queue: str, end: Settlement) -> None:
        with self._calling() as database:
            self._engine(database).settle(queue, [end], self._context.actor)

    @again
    def extend(self, held: TakenGroup, lease: float) -> int:
        """A longer lease; its new end."""
        length = duration("lease", lease, MIN_LEASE)
        with self._writing() as database:
            deadline = time_of(database, self._clock()) + length
            if not database.run(
                "extend", id=held.id, token=held.token, deadline=deadline, client=None
            ):
                raise stale(held.token)
            return deadline

    # -------- inside

    def even_if_full(self, what: Callable[[], T]) -> T:
        """Take work or settle it; on a full disk with the room that is kept for that."""
        return self._context.backend.even_if_full(what)

    def _take(self, queue: str, claim: Claim) -> list[TakenGroup]:
        while True:  # what nobody wants any more goes in portions, and others write between them
            groups, more = self._take_portion(queue, claim)
            if not more:
                return groups

    @again
    def _take_portion(self, queue: str, claim: Claim) -> tuple[list[TakenGroup], bool]:
        alone = partial(self._take_alone, queue, claim)
        if self._lots is None or claim.most > 1 or claim.name is not None:
            return alone()
        self._refuse_nested()
        return self._lots.do(
            ("take", queue, claim), claim, alone, partial(self._take_together, queue)
        )

    def _take_together(
        self, queue: str, claims: list[Claim]
    ) -> list[tuple[list[TakenGroup], bool]] | None:
        """Take for as many as there are. Where that is not enough, the others look again."""
        claim = claims[0]._replace(most=len(claims))

        def taken(database: Database) -> list[tuple[list[TakenGroup], bool]]:
            groups, more = take_portion(self._engine(database), queue, claim)
            left = len(claims) - len(groups)
            return [*(([group], False) for group in groups), *[([], more or bool(groups))] * left]

        return self._for_many(taken)

    def _for_many(self, do: Callable[[Database], list[T]]) -> list[T] | None:
        """In one transaction; None: one of them was refused, or met a lock, and nothing was done.

        Raises StoreError where the connection was lost: nobody knows what was done.
        """
        database: Database | None = None
        try:
            with self._writing() as database:
                database.run("lock_timeout", milliseconds=str(LOT_LOCK))
                return do(database)
        except MessageError:
            return None
        except StoreError:
            if database is None or database.lost:
                raise
            return None

    def _take_alone(self, queue: str, claim: Claim) -> tuple[list[TakenGroup], bool]:
        """What cannot be read is buried in a transaction of its own."""
        while True:
            with self._calling() as database:
                groups, more = self._engine(database).take(queue, claim, in_portions=True)
            if are_readable(groups):
                return groups, more
            with self._calling() as database:
                groups = bury_unreadable(self._engine(database), queue, groups, claim.actor)
            if groups:
                return groups, False

    def _engine(self, database: Database) -> QueueEngine:
        """The verbs of queues, on a connection of this store's."""
        return engine_of(database, self._clock(), self._context.actor)
