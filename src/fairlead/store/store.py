"""The store: durable queues in a database of the user's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack

from fairlead.balance.objects import shown
from fairlead.balance.times import Time, moment
from fairlead.config.services import load_declared
from fairlead.errors import MessageError, SharedQueueError, StoreError
from fairlead.order.outlook import Outlook
from fairlead.store.admin import checking
from fairlead.store.admin import queues as admin
from fairlead.store.admin.checking import Finding
from fairlead.store.admin.declaring import declare
from fairlead.store.admin.queues import Dead, Limiting, Metrics, Ordering, SwitchedOff
from fairlead.store.admin.waiting import Later, Promotion, later, outlook, peek, promotion
from fairlead.store.arguments import check_keys, check_priority, duration, name, queue_name, whole
from fairlead.store.clusters.state import Memory
from fairlead.store.context import Context
from fairlead.store.conversation import Conversation
from fairlead.store.database import schema
from fairlead.store.database.clock import time_of
from fairlead.store.database.connections import Connections
from fairlead.store.database.joining import Joining
from fairlead.store.database.port import Database
from fairlead.store.database.postgresql import open_postgresql, without_password
from fairlead.store.database.retrying import again
from fairlead.store.database.sqlite import open_sqlite
from fairlead.store.dialogs.declared import Cache
from fairlead.store.journal.events import Event, events, latest
from fairlead.store.journal.log import Log
from fairlead.store.journal.retention import Retention, kept, set_kept
from fairlead.store.leased import StoreWork
from fairlead.store.message import Message, message_of
from fairlead.store.queues.endpoints import has_ended
from fairlead.store.queues.explain_order import OrderExplanation, explain_order
from fairlead.store.queues.lease_holders import LockFiles, Session, describe_self
from fairlead.store.queues.leases import Custody
from fairlead.store.queues.maintenance import anything_to_do, do_chores
from fairlead.store.queues.one_statement import (
    is_for_one,
    send_at_once,
    settle_at_once,
    take_at_once,
)
from fairlead.store.queues.outgoing import Sending, letter
from fairlead.store.queues.received import Received
from fairlead.store.queues.settings import BECOMES_FAIR, Queue, known_queue, read_queue
from fairlead.store.queues.settling import End, settle, stale
from fairlead.store.queues.taking import Claim, Held, more_of_held, take
from fairlead.store.queues.tenants import Line
from fairlead.store.queues.waking import Waker
from fairlead.store.transaction import Transaction
from fairlead.store.verbs.clusters import StoreClusters
from fairlead.store.verbs.conversations import StoreConversations
from fairlead.store.verbs.dialogs import StoreDialogs
from fairlead.store.work import HeldWork

SQLITE: Final = "sqlite:///"
POSTGRESQL: Final = ("postgresql://", "postgres://")
MAX_TAKEN: Final = 10_000
MIN_LEASE: Final = 0.001
"""Seconds; with none at all, work would be somebody else's before its reader has it."""
T = TypeVar("T")


class Store(StoreClusters, StoreConversations, StoreDialogs):
    """Durable queues in the user's own database. Thread-safe.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store.open(f"sqlite:///{folder.name}/work.db")
    >>> for order in ("o1", "o2", "o3"):
    ...     _ = store.send("orders", f"pack {order}", group=order)
    >>> store.prioritise("orders", "o3")
    True
    >>> while work := store.take("orders"):
    ...     with work:
    ...         print(work.group, [message.body for message in work])
    o3 ['pack o3']
    o1 ['pack o1']
    o2 ['pack o2']
    >>> store.close(); folder.cleanup()

    Its errors are MessageError (what was asked is not allowed; nothing was done), StaleWorkError
    (the work is somebody else's by now) and StoreError (the database could not).
    """

    def __init__(
        self,
        connect: Callable[[], Database],
        liveness: LockFiles | Session,
        place: str,
        clock: Callable[[], Time] | None = None,
    ) -> None:
        """`Store.open` makes one."""
        self._liveness = liveness
        self.place = place
        """The database, without user and password."""
        self._own_clock = clock
        self._reserve = liveness.reserve if isinstance(liveness, LockFiles) else None
        room = self._reserve.check if self._reserve else lambda: None
        actor = str(describe_self()["name"])
        self._setting = Context(
            clock=self._clock, actor=actor, memory=Memory(), declared=Cache(), check_room=room
        )
        connections = self._connections = Connections(connect, place)
        self._connection, self._writing = connections.one, connections.writing
        self._alone, self._refuse_nested = connections.alone, connections.refuse_nested
        self._custody = Custody(connections, liveness, self._setting)
        self._retention = Retention(connections, self._setting)
        self._waker = Waker(connections, liveness, self._clock)
        self._joining = Joining(place)
        self._at_once = isinstance(liveness, Session)
        self._shared: set[str] = set()
        """Queues that tenants share."""
        self.upgraded: tuple[int, int] | None = None
        """From which version of the schema to which it was brought when it was opened."""

    @classmethod
    def open(
        cls,
        url: str,
        *,
        create: bool | None = None,
        upgrade: bool = False,
        clock: Callable[[], Time] | None = None,
        lock_timeout: float = schema.LOCK_TIMEOUT,
    ) -> Self:
        """Open a store.

        `url`: `sqlite:///work.db` (a path from here), `sqlite:////var/lib/work.db` (a whole path)
        or `postgresql://user@host/database`. `create`: whether to make the schema where there is
        none, and to bring it up to this version; by default in a new SQLite file only. `upgrade`:
        to bring up one that is there, and make none. `clock`: a function that gives the time in
        seconds, for tests; else the clock is the database's. `lock_timeout`: seconds for which the
        schema waits, when it is made or upgraded, for each lock that others hold, on PostgreSQL.

        Raises StoreError.
        """
        if not str(url).startswith((SQLITE, *POSTGRESQL)):
            kind = str(url).partition(":")[0]
            slashes = " with three slashes" if kind == "sqlite" else ""
            raise StoreError(
                f"store: found {shown(kind)}, allowed: sqlite:///FILE{slashes}, or "
                "postgresql://USER@HOST/DATABASE"
            )
        connect: Callable[[], Database]
        liveness: LockFiles | Session
        if url.startswith(SQLITE):
            path = Path(url.removeprefix(SQLITE))
            if not path.name or ":memory:" in url:
                raise StoreError(f"store: found {url!r}, allowed: sqlite:/// and a path to a file")
            path = path.absolute()
            if (upgrade or create is False) and not path.exists():
                raise StoreError(
                    f"{path}: found no file, allowed: one that is there; `fairlead store init` "
                    "makes one"
                )
            files = LockFiles(path)
            liveness, place = files, str(path)

            def connect() -> Database:
                return files.reserve.needed_by(lambda: open_sqlite(path))
        else:
            liveness, place = Session(url), without_password(url)

            def connect() -> Database:
                return open_postgresql(url)

        store = cls(connect, liveness, place, clock)
        try:
            with store._connection() as database:
                if upgrade and not schema.version(database):
                    schema.check(database, place)
                if upgrade or create or (create is None and database.is_new()):
                    store.upgraded = schema.upgrade(database, place, lock_timeout)
                schema.check(database, place)
                store._joining.identity = database.run("identity")[0]
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close all connections. Work that is not settled is taken back by whoever takes next."""
        self._custody.leave()
        if self._connections.close():
            self._liveness.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -------- messages

    @again
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
        if self._at_once and not {"delay", "expires"} & more.keys():
            each, to = letter(body, 0, **more), queue_name(queue)
            with self._alone() as database:
                return send_at_once(database, to, each, self._setting.actor, self._clock())
        with self._writing() as database:
            return self._verbs(database).send(queue, body, **more)

    def send_many(self, queue: str, messages: Iterable[Mapping[str, Any]]) -> list[str]:
        """Send messages in one transaction; their ids. Each has `body` and what `send` takes."""
        return self._send_many(queue, list(messages))

    @again
    def _send_many(self, queue: str, messages: list[Mapping[str, Any]]) -> list[str]:
        with self._writing() as database:
            return self._verbs(database).send_many(queue, messages)

    def take(
        self, queue: str, wait: float = 0, *, group: str | None = None, lease: float = 60
    ) -> StoreWork | None:
        """Take the best group that nobody holds, or the one that is named; None: there is none.

        `wait`: seconds to wait for one. `lease`: seconds, from 0.001 on, after which somebody else
        may take it, unless it is extended. Raises MessageError.
        """
        found = self.take_many(queue, 1, wait, group=group, lease=lease)
        return found[0] if found else None

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
        whole("most", most, 1, MAX_TAKEN)
        wanted = queue_name(queue)
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        claim = Claim(
            self._even_if_full(self._custody.holder),
            duration("lease", lease, MIN_LEASE),
            name("group", group),
            most,
            self._setting.actor,
        )
        return self._wait_for(wanted, claim, until)

    def receive(self, conversation: Conversation, wait: float, lease: float) -> StoreWork | None:
        """Take what waits in a conversation, as `Conversation.take` does."""
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        claim = Claim(
            self._custody.holder(),
            duration("lease", lease, MIN_LEASE),
            conversation.group,
            1,
            self._setting.actor,
            conversation.endpoint.id,
        )
        found = self._wait_for(conversation.queue, claim, until)
        return found[0] if found else None

    def _wait_for(self, wanted: str, claim: Claim, until: float) -> list[StoreWork]:
        waited = False
        while True:
            held = self._even_if_full(lambda: self._look_and_take(wanted, claim))
            left = until - time.monotonic()
            if held and waited:
                self._waker.took(wanted)
            if held or left <= 0:
                return [StoreWork(self, wanted, each) for each in held]
            self._waker.wait(wanted, left)
            waited = True

    def _look_and_take(self, wanted: str, claim: Claim) -> list[Held]:
        self._custody.take_back_from_dead(wanted)
        self._retention.look()
        return self._take(wanted, claim)

    def _even_if_full(self, what: Callable[[], T]) -> T:
        """Take work or settle it; on a full disk with the room that is kept for that."""
        return what() if self._reserve is None else self._reserve.needed_by(what)

    def ready(self, queue: str, wait: float = 0) -> bool:
        """Whether a group can be taken, as far as that is seen without taking one.

        `wait`: seconds to wait for one. Raises MessageError.
        """
        wanted = queue_name(queue)
        until = time.monotonic() + duration("wait", wait) / 1_000_000
        if wait:
            self._custody.holder()  # senders wake those who are there
        while True:
            self._custody.take_back_from_dead(wanted)
            found = self._waker.ready(wanted)
            left = until - time.monotonic()
            if found or left <= 0:
                return found
            self._waker.wait(wanted, left)

    def accept(self, works: Iterable[StoreWork]) -> None:
        """Accept several works in one transaction."""
        with self.transaction() as tx:
            for work in works:
                tx.accept(work)

    def _verbs(self, database: Database) -> Transaction:
        """The verbs, for one of them: where it is refused, the whole transaction is undone."""
        return Transaction(database, self._setting, shared=False)

    @contextmanager
    def transaction(self, work: HeldWork | None = None) -> Iterator[Transaction]:
        """A transaction of the store's own, with the verbs that write."""
        with self._writing() as database:
            tx = Transaction(database, self._setting, work)
            try:
                tx.hold()
                yield tx
                tx.finish()
            finally:
                tx.leave()
                tx.forget_ended()
        for each in tx.settled():
            each.close()
        for conversation in tx.begun():
            conversation.act_through(self)

    @contextmanager
    def join(self, connection: object) -> Iterator[Transaction]:
        """The verbs that write, in a transaction that the caller has begun and will commit.

        `connection`: of sqlite3 or psycopg, or of SQLAlchemy or Django on these; to the store's own
        database. The caller commits; nothing here does. Where the block raises, what was done in it
        is undone, on this connection; what the caller had done before it is not. Raises StoreError,
        MessageError, and the driver's own errors.
        """
        database = self._joining.joined(connection)
        tx = Transaction(database, self._setting)
        with self._connections.joined(database), tx.undone_if_raised():
            try:
                yield tx
                tx.finish()
            except BaseException:
                tx.forget_ended()
                raise
            finally:
                tx.leave()
        for each in tx.settled():
            each.close(within=database)

    # -------- what an operator does

    @again
    def prioritise(self, queue: str, group: str, priority: int | None = None) -> bool:
        """Raise a group to a priority (0 to 255; None: the queue's default), behind its equals.

        It waits for no reader. Returns whether it was raised: not a group that does not live, nor
        where the order is first come, first served. Raises MessageError.
        """
        with self._writing() as database:
            return self._verbs(database).prioritise(queue, group, priority)

    def waiting(self, queue: str, most: int = 5) -> Outlook:
        """The groups in the order in which they would be taken, at most so many, and why."""
        whole("most", most, 0)
        self._do_chores(queue_name(queue))
        with self._connection() as database:
            found = known_queue(database, queue, self._clock())
            return outlook(database, found, most)

    def explain_order(self, queue: str, first: str, second: str) -> OrderExplanation:
        """Why one group was taken before another one, as the journal tells it.

        `first`, `second`: groups, or dialogs, such as `d-17`; where both ends of a dialog are of
        this queue, that of the target is meant, and `d-17/i` is the initiator's. It is about the
        latest take of the first one at which the second one waited, or else the other way round;
        the order is that of the queue as it is set now. It reads the journal from its first event
        on. Raises MessageError, PrunedError.
        """
        names = [name(what, each) or "" for what, each in (("first", first), ("second", second))]
        with self._connection() as database:
            found = known_queue(database, queue_name(queue), self._clock())
            return explain_order(database, found, *names)

    def later(self, queue: str, most: int = 20) -> list[Later]:
        """What cannot be taken before its time: released or sent with a delay; the next first."""
        whole("most", most, 0)
        with self._connection() as database:
            return later(database, known_queue(database, queue_name(queue), self._clock()), most)

    def check_queue(self, queue: str) -> None:
        """Raises MessageError for a queue that is not there; it says which ones are."""
        with self._connection() as database:
            known_queue(database, queue_name(queue), self._clock())

    def peek(self, queue: str, group: str | None = None, most: int = 10) -> list[Message]:
        """The first messages of the group that would be taken next, or of the one that is named.

        They are only looked at: nobody takes them.
        """
        whole("most", most, 1, MAX_TAKEN)
        self._do_chores(queue_name(queue))
        with self._connection() as database:
            found = known_queue(database, queue, self._clock())
            return [message_of(each) for each in peek(database, found, name("group", group), most)]

    def promotion(
        self, queue: str, group: str, priority: int | None = None, most: int = 20
    ) -> Promotion | None:
        """Whom raising a group would delay, at most so many of them; nothing is done.

        `group`: a group, or a dialog, such as `d-17`. None: there is no such group, or the order is
        first come, first served. Raises MessageError.
        """
        check_priority(priority)
        whole("most", most, 0)
        self._do_chores(queue_name(queue))
        with self._connection() as database:
            found = known_queue(database, queue, self._clock())
            return promotion(database, found, name("group", group) or "", priority, most)

    def working(self, queue: str) -> list[StoreWork]:
        """The work in the hands of readers, in the order in which it was taken."""
        with self._connection() as database:
            found = known_queue(database, queue_name(queue), self._clock())
            return [StoreWork(self, queue, each) for each in admin.held(database, found)]

    def set_order(
        self, queue: str, discipline: str | None = None, **more: Unpack[Ordering]
    ) -> None:
        """Set how a queue is ordered, as `[order]` of a file says; it is created if need be.

        `discipline`: fifo or priority. `default_priority`: of a raise without a number. `ageing`:
        seconds of waiting that are worth one step of priority; 0: none are. `weights`: of tenants.
        What is not named stays as it is: at first priority, 100, 0, and no weights.

        Groups that wait get their places anew, in steps: until all have them the order is mixed.
        With other weights all tenants start anew. Raises ConfigError.
        """
        named: dict[str, object] = {**more}
        if discipline is not None:
            named["discipline"] = discipline
        self._set(queue_name(queue), named)

    def set_limits(self, queue: str, **more: Unpack[Limiting]) -> None:
        """Set what a queue may hold; it is created if need be. Raises MessageError.

        `max_waiting`: messages; None: any number. `max_failures`: failures of a group in a row,
        after which it is poison; None: it is tried for ever. `poison`: what then becomes of it:
        "dead-letters", what was given is that; "off", the queue is switched off, until `switch`.
        What is not named stays as it is: at first None, 5, and "dead-letters".
        """
        check_keys("set_limits", more, admin.LIMITS)
        admin.check_limits(more)
        self._set(queue_name(queue), more)

    @again
    def switch(self, queue: str, *, on: bool, reason: str = "") -> bool:
        """Switch a queue on or off; returns whether it was the other way before.

        A queue that is off gives nothing: `take` returns None. What is sent to it waits. Switched
        on again, it counts failures anew. `reason`: for the journal, and for who looks. Raises
        MessageError.
        """
        why = name("reason", reason or None) or ""
        with self._writing() as database:
            found = known_queue(database, queue_name(queue), self._clock())
            return admin.switch(database, found, self._setting.actor, why, on=on)

    def off(self, queue: str) -> SwitchedOff | None:
        """When and why a queue was switched off; None: it is on. Raises MessageError."""
        with self._connection() as database:
            return admin.off(database, known_queue(database, queue_name(queue), self._clock()))

    @again
    def set_retention(self, journal_keep: float | None = 30) -> None:
        """Set for how many days events are kept: then readers forget them; 0 or None: for ever.

        Raises MessageError.
        """
        with self._writing() as database:
            set_kept(database, journal_keep)

    def retention(self) -> float | None:
        """For how many days events are kept; None: for ever."""
        with self._connection() as database:
            return kept(database)

    @again
    def declare(self, path: str | Path) -> list[str]:
        """Set queues, and declare services, as a file says: all of it or nothing; their names.

        The file has `[[queue]]`, `[[message_type]]`, `[[contract]]` and `[[service]]`. What it does
        not say of one gets its default; what it does not name stays as it is. Raises ConfigError.
        """
        found = load_declared(path)
        with self._writing() as database:
            declare(database, found, self._clock(), str(path))
        for each in found.queues:
            self._place_anew(each.name)
        return found.names

    @again
    def _set(self, queue: str, named: Mapping[str, object]) -> None:
        with self._writing() as database:
            admin.set_queue(database, queue, self._clock(), named)
        if named.keys() & set(admin.ORDER):
            self._place_anew(queue)

    def _place_anew(self, queue: str) -> None:
        after: int | None = 0
        while after is not None:
            with self._writing() as database:
                after = admin.place_anew(database, queue, after, self._clock())

    def queues(self) -> list[Metrics]:
        """What each queue holds."""
        with self._connection() as database:
            return admin.metrics(database, self._clock())

    def dead(self, queue: str, most: int = 100, after: int = 0) -> list[Dead]:
        """The dead letters of a queue, at most so many, the oldest first. Raises MessageError."""
        whole("most", most, 1)
        whole("after", after, 0)
        with self._connection() as database:
            found = known_queue(database, queue_name(queue), self._clock())
            return admin.dead(database, found, most, after)

    def requeue(self, queue: str, ids: Iterable[str] | None = None) -> int:
        """Send dead letters again, to the end of their groups; how many. `ids`: None = all."""
        return self._in_steps(queue, ids, admin.requeue)

    def discard(self, queue: str, ids: Iterable[str] | None = None) -> int:
        """Delete dead letters; how many. `ids`: None = all. The journal says which they were."""
        return self._in_steps(queue, ids, admin.discard)

    def _in_steps(
        self,
        queue: str,
        ids: Iterable[str] | None,
        step: Callable[[Database, Queue, Iterable[str] | None, str], int],
    ) -> int:
        chosen = ids if ids is None or isinstance(ids, str) else list(ids)

        @again
        def one() -> int:
            with self._writing() as database:
                found = known_queue(database, queue_name(queue), self._clock())
                return step(database, found, chosen, self._setting.actor)

        done = 0
        while True:
            count = one()
            done += count
            if chosen is not None or count < admin.STEP:
                return done

    def journal(self, since: str | None = None) -> Iterator[Event]:
        """The events after a cursor, in their order; None: from the first that is kept.

        Raises PrunedError where some of them are kept no more, and MessageError.
        """
        with self._connection() as database:
            yield from events(database, since)

    def latest(self) -> str | None:
        """The cursor of the latest event that the journal gives now; None: there is none."""
        with self._connection() as database:
            return latest(database)

    def outcome(self, token: int) -> str:
        """How the work with a token was settled: accepted, rejected, released, held or unknown.

        For a reader that lost its connection while it committed. On PostgreSQL a transaction that
        is just settling it is waited for, up to 5 seconds; after that the work is held.
        """
        whole("token", token, 0)
        with self._connection() as database:
            if database.run("held_token", token=token):
                return "held"
            found = database.run("outcome", token=token)
            return str(found[0][0]) if found else "unknown"

    def prune(self, keep: float) -> int:
        """Forget the events that are older than so many seconds, and ids whose time is over.

        At once, whatever `set_retention` says; how many.
        """
        before = duration("keep", keep)

        @again
        def one() -> int:
            with self._writing() as database:
                return admin.prune(database, before, self._clock())

        done = 0
        while found := one():
            done += found
        return done

    @again
    def recover(self) -> int:
        """After a backup was restored: take back all work, as nobody holds any; how much.

        A new epoch of the journal begins: whoever reads on from a cursor of before gets all that
        happens from now on. Nobody may send or take meanwhile.
        """
        with self._writing() as database:
            found = admin.recover(database, self._clock(), self._setting.actor)
        self._custody.forget_others()
        return found

    def check(self, *, repair: bool = False) -> list[Finding]:
        """What should not be in the store: what nobody would get, or what would last for ever.

        It reads all there is. `repair`: put right what was found. Raises StoreError.
        """
        gone = self._custody.gone()
        with self._connection() as database:
            found = checking.find(database, time_of(database, self._clock()))
        if gone:
            found.append(Finding("processes that take work, and are gone", "", len(gone), gone[0]))
        if repair and found:
            self._repair()
        return found

    def _repair(self) -> None:
        self._custody.take_back_all()
        actor, more = self._setting.actor, True
        while more:
            with self._writing() as database:
                more = checking.mend_lost_messages(database, self._clock(), actor)
        with self._writing() as database:
            checking.mend(database, time_of(database, self._clock()), actor)
            queues = [name for (name,) in database.run("queue_names")]
        for queue in queues:
            self._place_anew(queue)

    def make_roles(self) -> None:
        """Make the roles fairlead_sender, _worker, _operator and _viewer on a PostgreSQL server.

        Where they are there, they get the rights of this version, and no others. Raises StoreError.
        """
        with self._writing() as database:
            schema.make_roles(database, self.place)

    def stopping(self) -> None:
        """This process was told to stop: what it still holds has not failed."""
        self._custody.stopping()

    # -------- what work asks for

    def more(self, held: Held, given: list[int]) -> list[Received]:
        """Messages of a group that were not given yet."""
        with self._connection() as database:
            return more_of_held(database, held, given, self._clock())

    def holds(self, held: Held) -> bool:
        """Whether a group is still the reader's."""
        with self._connection() as database:
            return bool(database.run("still_held", id=held.id, token=held.token))

    def has_ended(self, conversation: Conversation) -> bool:
        """Whether the receiver's end of a conversation has ended."""
        with self._connection() as database:
            return has_ended(database, conversation.endpoint)

    @again
    def settle(self, queue: str, end: End) -> None:
        """Settle work in a transaction of its own."""
        if self._at_once and queue not in self._shared and is_for_one(end):
            try:
                with self._alone() as database:
                    settle_at_once(database, end, self._setting.actor, self._clock())
            except SharedQueueError:
                self._shared.add(queue)
            else:
                return
        self._even_if_full(lambda: self._settle(queue, end))

    def _settle(self, queue: str, end: End) -> None:
        with self._writing() as database:
            found = known_queue(database, queue, self._clock())
            settle(database, found, [end], self._setting.actor)

    @again
    def extend(self, held: Held, lease: float) -> int:
        """A longer lease; its new end."""
        length = duration("lease", lease, MIN_LEASE)
        with self._writing() as database:
            deadline = time_of(database, self._clock()) + length
            if not database.run("extend", id=held.id, token=held.token, deadline=deadline):
                raise stale(held.token)
            return deadline

    # -------- inside

    @again
    def _take(self, queue: str, claim: Claim) -> list[Held]:
        if self._at_once and claim.most == 1 and queue not in self._shared:
            try:
                with self._alone() as database:
                    return take_at_once(database, queue, claim, self._clock())
            except SharedQueueError:
                self._shared.add(queue)
        with self._writing() as database:
            found = read_queue(database, queue, self._clock())
            if found is None:
                return []
            if found.fair:
                found = known_queue(database, queue, self._clock(), locked=True)
            return take(database, found, claim)

    def _do_chores(self, queue: str) -> None:
        """Bring a queue up to date; where there is nothing to do, nothing is written."""
        self._refuse_nested()
        self._custody.take_back_from_dead(queue)
        with self._connection() as database:
            found = known_queue(database, queue, self._clock())
            if found.fair != BECOMES_FAIR and not anything_to_do(database, found):
                return
        with self._writing() as database:
            found = known_queue(database, queue, self._clock())
            if found.fair:
                found = known_queue(database, queue, self._clock(), locked=True)
            line = Line(database, found) if found.fair else None
            log = Log(database, found.name, found.moment, self._setting.actor)
            do_chores(database, found, line, log)
            if line is not None:
                line.write()
            log.flush()

    def _clock(self) -> int | None:
        if self._own_clock is None:
            return None
        return moment(self._own_clock(), "clock", MessageError)
