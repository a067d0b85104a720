"""The verbs that write, in one transaction with the user's own rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final, Unpack

from fairlead.errors import MessageError, StaleWorkError, StoreError
from fairlead.store.arguments import check_priority, duration, name, queue_name
from fairlead.store.context import Context
from fairlead.store.conversation import Conversation
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.database.savepoint import undone_if_refused
from fairlead.store.queues.engine import QueueEngine, engine_of
from fairlead.store.queues.failing import ERROR
from fairlead.store.queues.leases import renewed
from fairlead.store.queues.outgoing import TIMED, Sending, is_timed, outgoing, outgoing_of
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import ACCEPTED, REJECTED, RELEASE, Settlement
from fairlead.store.queues.settling import fence
from fairlead.store.queues.taken_group import Claim, TakenGroup
from fairlead.store.queues.unreadable import take_readable
from fairlead.store.verbs.channels import ChannelVerbs
from fairlead.store.verbs.clusters import ClusterVerbs
from fairlead.store.verbs.conversations import ConversationVerbs
from fairlead.store.verbs.subscriptions import SubscriptionVerbs
from fairlead.store.work import HeldWork

FOREVER: Final = 10 * 365 * 24 * 3600 * 1_000_000
"""A lease, in microseconds, of work that ends with its transaction in any case."""
BLOCK: Final = "fairlead_block"
"""The savepoint at the beginning of a block in a transaction of the caller's."""


class Transaction(ClusterVerbs, ChannelVerbs, SubscriptionVerbs, ConversationVerbs):
    """What is sent, raised and settled here happens with the user's own rows, or not at all.

    `Store.join` gives one inside a transaction of the user's, `StoreWork.transaction` one of the
    store's. Settling is recorded at once and done at the end of the block.
    """

    def __init__(
        self,
        database: Database,
        context: Context,
        work: HeldWork | None = None,
        *,
        shared: bool = True,
    ) -> None:
        """`shared`: whether it goes on after a refusal: then what was refused is undone alone."""
        self._database = database
        self._context = context
        self._work = work
        self._shared = shared
        self._taken: list[HeldWork] = [] if work is None else [work]
        """What is to be settled before the block ends."""
        self._ends: dict[int, tuple[HeldWork, Settlement]] = {}
        self._stale: StaleWorkError | None = None
        self._begun: list[Conversation] = []
        self._ended: list[Conversation] = []
        self._open = True

    def send(self, queue: str, body: object, **more: Unpack[Sending]) -> str:
        """Send a message, durably; its id.

        `body`: bytes, a text, or data that JSON has. `group`: messages of one group go in order, to
        one reader at a time; without one, it is a group of its own. `priority`: 0 to 255, raises
        the group. `id`: of the user's own; a message with an id that is known is not sent again.
        `type`: what it is, for handlers. `tenant`, `cost`: whose it is, and what it is charged.
        `delay`: seconds until it arrives, or a timestamp. `expires`: the same, for when it is not
        wanted any more.

        A queue that is not there is created with the defaults. Raises MessageError, QueueFullError.
        """
        self._check()
        self._context.check_disk()
        (key,) = self._engine.send(
            queue_name(queue),
            lambda now: [outgoing(body, now, **more)],
            timed=bool(TIMED & more.keys()),
        )
        return key

    def send_many(self, queue: str, messages: Iterable[Mapping[str, Any]]) -> list[str]:
        """Send messages, as `Store.send_many` does."""
        self._check()
        self._context.check_disk()
        batch = list(messages)
        return self._engine.send(
            queue_name(queue),
            lambda now: [outgoing_of(message, now) for message in batch],
            timed=any(map(is_timed, batch)),
        )

    def prioritise(self, queue: str, group: str, priority: int | None = None) -> bool:
        """Raise a group to a priority (0 to 255; None: the queue's default), behind its equals.

        It waits for no reader. Returns whether it was raised: not a group that does not live, nor
        where the order is first come, first served. Raises MessageError.
        """
        self._check()
        check_priority(priority)
        return self._engine.raise_group(queue_name(queue), name("group", group) or "", priority)

    def take(self, queue: str, *, group: str | None = None) -> TransactionWork | None:
        """Take a group in this transaction, work on it and settle it here: all of it, or nothing.

        Where the transaction is rolled back, or its process dies, the group is as it was before: no
        lease, no attempt. On PostgreSQL only, and not from a queue that tenants share: while the
        transaction is open, its locks would keep everybody else from taking. What is taken is to be
        settled before the block ends. Raises MessageError.
        """
        return self._take(queue, name("group", group))

    def _take(
        self, queue: str, group: str | None, conversation: int | None = None
    ) -> TransactionWork | None:
        self._check()
        wanted = queue_name(queue)
        self._engine.check_take_within(wanted)
        claim = Claim(0, FOREVER, group, 1, self._context.actor, conversation)
        held = take_readable(self._engine, wanted, claim)
        if not held:
            return None
        work = TransactionWork(self, wanted, held[0])
        self._taken.append(work)
        return work

    def accept(self, work: HeldWork | None = None) -> None:
        """What the reader was given is done."""
        self._end(work, ACCEPTED)

    def reject(self, reason: str = "", work: HeldWork | None = None) -> None:
        """What the reader was given becomes dead letters."""
        self._end(work, REJECTED, reason=reason)

    def release(
        self,
        delay: float | None = None,
        work: HeldWork | None = None,
        error: str = "",
        done: int = 0,
    ) -> None:
        """The group is given back, as `StoreWork.release` does."""
        micros = None if delay is None else duration("delay", delay)
        failed = ERROR if error else ""
        self._end(work, RELEASE, reason=error, delay=micros, failed=failed, done=done)

    def settle(self, queue: str, ends: Sequence[Settlement]) -> None:
        """Settle work at once, as is said of each message. Raises StaleWorkError."""
        self._check()
        try:
            self._settle(queue_name(queue), list(ends))
        except StaleWorkError as error:
            self._doom(error)
            raise

    def take_now(self, queue: str, claim: Claim) -> list[TakenGroup]:
        """Take the best groups, with a lease that begins here and goes on after the transaction."""
        self._check()
        return take_readable(self._engine, queue_name(queue), claim)

    def renew(self, every: Iterable[TakenGroup], lease: float) -> list[int]:
        """Longer leases for work, from now on so many seconds; the tokens of what is lost."""
        self._check()
        deadline = time_of(self._database, self._context.clock()) + duration("lease", lease)
        return renewed(self._database, every, deadline)

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:  # noqa: ANN401
        """Run a statement of one's own; values are bound by the driver. Gives its cursor.

        Raises what the driver does; on a connection of the store's StoreError where that is lost,
        or another transaction has locked for too long what the statement needs.
        """
        self._check()
        return self._database.execute(sql, values)

    def more(self, held: TakenGroup, given: list[int]) -> list[Received]:
        """Messages of a group that was taken here, and that were not given yet."""
        return self._engine.more(held, given)

    def has_ended(self, conversation: Conversation) -> bool:
        """Whether the receiver's end of a conversation has ended, as is seen here."""
        return self._engine.has_ended(conversation.endpoint)

    def hold(self) -> None:
        """Make sure that the work is still this reader's, and stays so until the end."""
        if self._work is not None:
            held = self._work.held
            self._fence({held.id: held.token})

    def finish(self) -> None:
        """Do what was recorded; the end of the block."""
        if self._ends or self._stale is not None:
            self._check()
        for work in self._taken:
            if work.held.id not in self._ends:
                raise MessageError(
                    f"work on {work.named}: found the end of its transaction, allowed: accept, "
                    "reject or release before it"
                )
        by_queue: dict[str, list[Settlement]] = {}
        for work, end in self._ends.values():
            by_queue.setdefault(work.queue, []).append(end)
        for queue, ends in by_queue.items():
            try:
                self._settle(queue, ends)
            except StaleWorkError as error:
                self._doom(error)
                raise
        self.leave()

    def _settle(self, queue: str, ends: list[Settlement]) -> None:
        self._engine.settle(queue, ends, self._context.actor)

    def settled(self) -> list[HeldWork]:
        """The work that is settled when this is committed."""
        return [work for work, _ in self._ends.values()]

    @contextmanager
    def undone_if_raised(self) -> Iterator[None]:
        """Undo a block that raises, and nothing before it; not where all is lost already."""
        self._database.execute(f"SAVEPOINT {BLOCK}")
        try:
            yield
        except BaseException:
            if self._stale is None:
                with suppress(Exception):  # its owner has ended it, or it is lost: all is undone
                    self._database.execute(f"ROLLBACK TO SAVEPOINT {BLOCK}")
                    self._database.execute(f"RELEASE SAVEPOINT {BLOCK}")
            raise
        if self._database.idle:  # its owner has committed it
            return
        try:
            self._database.execute(f"RELEASE SAVEPOINT {BLOCK}")
        except Exception as error:
            if BLOCK in str(error):
                error.add_note("the transaction was ended inside the block: end it after the block")
            raise

    def break_off(self) -> None:
        """Undo it from another thread; whoever is in it gets an error for what he does next."""
        self._database.break_off()

    def leave(self) -> None:
        """Nothing more can be done here."""
        self._open = False

    def begun(self) -> list[Conversation]:
        """The conversations that were begun here."""
        return self._begun

    def forget_ended(self) -> None:
        """The transaction is over: its database says which conversations have ended."""
        for conversation in self._ended:
            conversation.ending = None

    @property
    def _engine(self) -> QueueEngine:
        context = self._context
        return engine_of(self._database, context.clock(), context.actor, shared=self._shared)

    def _undone_if_refused(self) -> AbstractContextManager[None]:
        """What is refused has done nothing, and leaves the user's transaction as it was."""
        return undone_if_refused(self._database) if self._shared else nullcontext()

    def record(self, work: HeldWork, end: Settlement) -> None:
        """Settle work at the end of the block."""
        self._check()
        work.check_open(self._database)
        if work.held.id in self._ends:
            raise MessageError(
                f"work on {work.named}: it is settled in this transaction already, allowed: to "
                "accept, reject or release it once"
            )
        self._ends[work.held.id] = work, end

    def _end(self, work: HeldWork | None, kind: str, **more: Any) -> None:  # noqa: ANN401
        self._check()
        settled = work or self._work
        if settled is None:
            raise MessageError("work: found nothing, allowed: the work to be settled")
        self.record(settled, settled.end(kind, **more))

    def _fence(self, tokens: Mapping[int, int]) -> None:
        try:
            fence(self._database, tokens)
        except StaleWorkError as error:
            self._doom(error)
            raise

    def _doom(self, error: StaleWorkError) -> None:
        self._stale = error
        self._database.doom()

    def _check(self) -> None:
        if self._stale is not None:
            raise self._stale
        if not self._open:
            raise MessageError(
                "transaction: found that its block has ended, allowed: what is done inside it"
            )
        if self._database.undone:  # as SQLite does where the disk is full
            raise StoreError(
                "transaction: found that it has ended (an error has undone it, or it was committed "
                "or rolled back), allowed: to leave its block"
            )


class TransactionWork(HeldWork):
    """Work that was taken in a transaction: it is read and settled there, and has no lease."""

    def __init__(self, tx: Transaction, queue: str, held: TakenGroup) -> None:
        """Made by `Transaction.take`."""
        super().__init__(tx, queue, held)
        self._tx = tx

    def _more(self, given: list[int]) -> list[Received]:
        return self._tx.more(self.held, given)

    def _holds(self) -> bool:
        """Not when the transaction has ended, however it did."""
        return False

    def _has_ended(self, conversation: Conversation) -> bool:
        return self._tx.has_ended(conversation)

    def _settle_as(self, end: Settlement) -> None:
        """At the end of the transaction."""
        self._tx.record(self, end)

    def extend(self, lease: float = 60) -> None:
        """Raises MessageError: it has no lease, it ends with its transaction."""
        del lease
        self.check_open()
        raise MessageError(
            f"extend: found work on {self.named} that was taken in a transaction, which has no "
            "lease; allowed: to extend what Store.take has given"
        )

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """The transaction in which it was taken."""
        yield self._tx
