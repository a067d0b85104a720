"""The store: durable queues in a database of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

from fairlead.balance.times import Time, moment
from fairlead.errors import MessageError
from fairlead.store.backends.port import Backend
from fairlead.store.backends.urls import backend_of
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.context import Context
from fairlead.store.database import schema
from fairlead.store.database.connections import Connections
from fairlead.store.database.joining import Joining
from fairlead.store.database.port import Database
from fairlead.store.dialogs.declared import Cache
from fairlead.store.journal.retention import Retention
from fairlead.store.leasing import Lots, StoreLeases
from fairlead.store.queues.lease_holders import describe_self
from fairlead.store.queues.leases import Leases
from fairlead.store.queues.waking import Waker
from fairlead.store.transaction import Transaction
from fairlead.store.verbs.alone import called
from fairlead.store.verbs.channels import StoreChannels
from fairlead.store.verbs.clusters import StoreClusters
from fairlead.store.verbs.conversations import StoreConversations
from fairlead.store.verbs.dead_letters import StoreDeadLetters
from fairlead.store.verbs.dialogs import StoreDialogs
from fairlead.store.verbs.health import StoreHealth
from fairlead.store.verbs.looking import StoreLooking
from fairlead.store.verbs.operating import StoreOperations
from fairlead.store.verbs.purging import StorePurging
from fairlead.store.verbs.schedules import StoreSchedules
from fairlead.store.verbs.subscriptions import StoreSubscriptions
from fairlead.store.work import HeldWork


class Store(
    StoreLeases,
    StoreOperations,
    StoreLooking,
    StoreDeadLetters,
    StorePurging,
    StoreClusters,
    StoreHealth,
    StoreChannels,
    StoreSubscriptions,
    StoreConversations,
    StoreDialogs,
    StoreSchedules,
):
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
        backend: Backend,
        clock: Callable[[], Time] | None = None,
        connections: Connections | None = None,
        lots: Lots | None = None,
    ) -> None:
        """`Store.open` makes one. `connections`, `lots`: for others than threads."""
        self._backend = backend
        self.place = backend.place
        """The database, without user and password."""
        self.url = backend.url
        """With which it was opened; it may hold a password."""
        self._own_clock = clock
        self._context = Context(
            clock=self._clock,
            who=str(describe_self()["name"]),
            memory=ClusterMemory(),
            declared=Cache(),
            check_disk=backend.check_disk,
            backend=backend,
        )
        connections = self._connections = connections or Connections(backend.connect, self.place)
        self._connection, self._writing = connections.one, connections.writing
        self._lots = lots
        self._calling = backend.calling(connections)
        self._refuse_nested = connections.refuse_nested
        self._leases = Leases(connections, backend.liveness, self._context)
        self._retention = Retention(connections, self._context)
        self.waker = Waker(connections, backend.hearing(connections), self._clock)
        self._joining = Joining(self.place)
        self._full: dict[str, tuple[float, float]] = {}
        self.has_one_writer: Final = backend.has_one_writer
        """Whether one transaction at a time can write."""
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
        store = cls(backend_of(url)(url), clock)
        store.begin(create=create, upgrade=upgrade, lock_timeout=lock_timeout)
        return store

    def begin(
        self, *, create: bool | None, upgrade: bool, lock_timeout: float = schema.LOCK_TIMEOUT
    ) -> None:
        """Make sure of the schema, as `open` says; where it is not as it must be, close."""
        try:
            if upgrade or create is False:
                self._backend.check_there()
            with self._connection() as database:
                if upgrade and not schema.version(database):
                    schema.check(database, self.place)
                if upgrade or create or (create is None and database.is_new()):
                    self.upgraded = schema.upgrade(database, self.place, lock_timeout)
                schema.check(database, self.place)
                self._joining.identity = database.run("identity")[0]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections. Work that is not settled is taken back by whoever takes next."""
        self.waker.stop()
        self._leases.leave()
        if self._connections.close():
            self._backend.liveness.close()

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

    send = called(Transaction.send)
    prioritise = called(Transaction.prioritise)

    def send_many(self, queue: str, messages: Iterable[Mapping[str, Any]]) -> list[str]:
        """Send messages in one transaction; their ids. Each has `body` and what `send` takes."""
        return self._send_many(queue, list(messages))

    _send_many = called(Transaction.send_many)

    def accept(self, works: Iterable[HeldWork]) -> None:
        """Accept several works in one transaction."""
        with self.transaction() as tx:
            for work in works:
                tx.accept(work)

    def _verbs(self, database: Database) -> Transaction:
        """The verbs, for one of them: where it is refused, the whole transaction is undone."""
        return Transaction(database, self._context, shared=False)

    @contextmanager
    def transaction(self, work: HeldWork | None = None) -> Iterator[Transaction]:
        """A transaction of the store's own, with the verbs that write."""
        with self._writing() as database:
            tx = Transaction(database, self._context, work)
            try:
                tx.hold()
                yield tx
                tx.finish()
            finally:
                tx.leave()
                tx.forget_ended()
        for settled_work in tx.settled():
            settled_work.close()
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
        tx = Transaction(database, self._context)
        with self._backend.joined(self._connections), tx.undone_if_raised():
            try:
                yield tx
                tx.finish()
            except BaseException:
                tx.forget_ended()
                raise
            finally:
                tx.leave()
        for work in tx.settled():
            work.close(within=database)

    # -------- inside

    def _clock(self) -> int | None:
        if self._own_clock is None:
            return None
        return moment(self._own_clock(), "clock", MessageError)
