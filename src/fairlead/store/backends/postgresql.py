"""A store on a PostgreSQL server: many write at one time, and functions of the schema do it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, TypeVar

from fairlead.store.database.connections import Connections
from fairlead.store.database.port import Database
from fairlead.store.database.postgresql import PostgreSQL, open_postgresql, without_password
from fairlead.store.dialogs.declared import DialogContext
from fairlead.store.dialogs.postgresql_engine import PostgresqlDialogs
from fairlead.store.queues.hearing_postgresql import SessionHearing
from fairlead.store.queues.lease_holders_postgresql import SessionLocks

if TYPE_CHECKING:  # who has queues alone loads no policy
    from fairlead.store.clusters.memory import ClusterMemory
    from fairlead.store.clusters.postgresql_engine import PostgresqlClusters

T = TypeVar("T")
SCHEMES: Final = ("postgresql://", "postgres://")


class PostgresqlBackend:
    """`postgresql://user@host/database`."""

    has_one_writer: Final = False
    kept_room: Final = 0

    def __init__(
        self,
        url: str,
        kind: type[PostgreSQL] = PostgreSQL,
        liveness: SessionLocks | None = None,
    ) -> None:
        """`kind`, `liveness`: its connections and its session, for others than threads."""
        self.url = url
        self.place = without_password(url)
        self.liveness = liveness or SessionLocks(url)
        self._kind = kind

    @staticmethod
    def shown(url: str) -> str:
        """A URL as logs and pages may show it. Raises StoreError."""
        return without_password(url)

    def check_there(self) -> None:
        """It makes no database."""

    def connect(self) -> PostgreSQL:
        return open_postgresql(self.url, self._kind)

    def calling(self, connections: Connections) -> Callable[[], AbstractContextManager[Database]]:
        return connections.alone  # it is a transaction of its own

    def joined(self, connections: Connections) -> AbstractContextManager[None]:
        del connections
        return nullcontext()

    def hearing(self, connections: Connections) -> SessionHearing:
        del connections
        return SessionHearing(self.liveness)

    def check_disk(self) -> None:
        """The server's disk is nobody's here."""

    def even_if_full(self, what: Callable[[], T]) -> T:
        return what()

    def refuse_held(self, cluster: str) -> None:
        """The statement that chooses looks."""

    def clusters(
        self, database: Database, memory: ClusterMemory, *, shared: bool
    ) -> PostgresqlClusters:
        from fairlead.store.clusters.postgresql_engine import PostgresqlClusters

        return PostgresqlClusters(database, memory, shared=shared)

    def dialogs(
        self, database: Database, context: DialogContext, *, shared: bool
    ) -> PostgresqlDialogs:
        del shared
        return PostgresqlDialogs(database, context)
