"""A store in a SQLite file: whoever writes is alone, and Python does what is to be done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from fairlead.errors import ClusterHeldError, StoreError
from fairlead.store.database.connections import Connections
from fairlead.store.database.port import Database
from fairlead.store.database.reserve import SIZE, Reserve
from fairlead.store.database.run_file import RunFile
from fairlead.store.database.same_file import SameFile
from fairlead.store.database.sqlite import SQLite, open_sqlite
from fairlead.store.dialogs.declared import DialogContext
from fairlead.store.dialogs.sqlite_engine import SqliteDialogs
from fairlead.store.queues.hearing_sqlite import FileHearing
from fairlead.store.queues.lease_holders_sqlite import LockFiles

if TYPE_CHECKING:  # who has queues alone loads no policy
    from fairlead.store.clusters.memory import ClusterMemory
    from fairlead.store.clusters.sqlite_engine import SqliteClusters

T = TypeVar("T")
SCHEME: Final = "sqlite:///"


class SqliteBackend:
    """`sqlite:///work.db`, a path from here, or `sqlite:////var/lib/work.db`, a whole path."""

    has_one_writer: Final = True
    kept_room: Final = SIZE

    def __init__(self, url: str) -> None:
        """Raises StoreError."""
        path = Path(url.removeprefix(SCHEME))
        if not path.name or ":memory:" in url:
            raise StoreError(f"store: found {url!r}, allowed: sqlite:/// and a path to a file")
        self.url = url
        self._path = path.absolute()
        self.place = str(self._path)
        self.liveness = LockFiles(self._path)
        self._file = SameFile(self._path)
        self._reserve = Reserve(self._path)
        self._run = RunFile(self._path)
        self.check_disk = self._reserve.check

    @staticmethod
    def shown(url: str) -> str:
        """A URL as logs and pages may show it."""
        return url

    def check_there(self) -> None:
        if not self._path.exists():
            raise StoreError(
                f"{self.place}: found no file, allowed: one that is there; `fairlead store init` "
                "makes one"
            )

    def connect(self) -> SQLite:
        return self.even_if_full(lambda: open_sqlite(self._file))

    def calling(self, connections: Connections) -> Callable[[], AbstractContextManager[Database]]:
        return connections.writing  # it is several statements

    def joined(self, connections: Connections) -> AbstractContextManager[None]:
        return connections.joined()  # whoever writes besides would wait for himself

    def hearing(self, connections: Connections) -> FileHearing:
        return FileHearing(self._path, connections)

    def even_if_full(self, what: Callable[[], T]) -> T:
        return self._reserve.needed_by(what)

    def refuse_held(self, cluster: str) -> None:
        run = self._run.look()
        if run is not None and run.refuses(cluster):
            raise ClusterHeldError(run.refusal(cluster))

    def clusters(
        self, database: Database, memory: ClusterMemory, *, shared: bool
    ) -> SqliteClusters:
        from fairlead.store.clusters.sqlite_engine import SqliteClusters

        return SqliteClusters(database, memory, shared=shared)

    def dialogs(self, database: Database, context: DialogContext, *, shared: bool) -> SqliteDialogs:
        return SqliteDialogs(database, context, shared=shared)
