"""The port: what a store has of its database, besides connections.

A connection is a `Database` (`database/port.py`); what is done on one with queues, in dialogs and
with clusters is in `engine.py` of these rooms; how processes say that they live, and hear of what
arrives, in `queues/lease_holders.py` and `queues/hearing.py`. All that depends on which database it
is, is behind these ports.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, TypeVar

from fairlead.store.database.connections import Connections
from fairlead.store.database.port import Database
from fairlead.store.dialogs.declared import DialogContext
from fairlead.store.dialogs.engine import DialogEngine
from fairlead.store.queues.hearing import Hearing
from fairlead.store.queues.lease_holders import Liveness

if TYPE_CHECKING:  # who has queues alone loads no policy
    from fairlead.store.clusters.engine import ClusterEngine
    from fairlead.store.clusters.memory import ClusterMemory

T = TypeVar("T")


class Backend(Protocol):
    """What one store has of its database."""

    url: str
    """It may hold a password."""
    place: str
    """The database, without user and password."""

    @property
    def liveness(self) -> Liveness:
        """How its processes say that they live."""

    @property
    def has_one_writer(self) -> bool:
        """Whether one transaction at a time can write.

        Whoever uses the store meets it: what writes waits for what writes. So a server, which has
        one thread that writes, takes in that thread, too.
        """

    @property
    def kept_room(self) -> int:
        """Bytes of the disk that are kept for those who take and settle; 0: none are."""

    def check_there(self) -> None:
        """Raises StoreError where opening would make a database."""

    def connect(self) -> Database:
        """A connection. Raises StoreError, EnvironmentProblem."""

    def calling(self, connections: Connections) -> Callable[[], AbstractContextManager[Database]]:
        """How a verb runs that is one call where the database has a function for it."""

    def joined(self, connections: Connections) -> AbstractContextManager[None]:
        """A transaction of the user's own: what its thread, or task, must not do meanwhile."""

    def hearing(self, connections: Connections) -> Hearing:
        """How the readers hear of what arrives."""

    def check_disk(self) -> None:
        """Raises DiskFullError where only those who take may write."""

    def even_if_full(self, what: Callable[[], T]) -> T:
        """Take work or settle it; on a full disk with the room that is kept for that."""

    def refuse_held(self, cluster: str) -> None:
        """Raises ClusterHeldError for a cluster of a run that refuses others.

        So nobody waits for it first; where nobody waits, the statement that chooses looks.
        """

    def clusters(self, database: Database, memory: ClusterMemory, *, shared: bool) -> ClusterEngine:
        """What is done with clusters on a connection.

        `shared`: whether the transaction goes on after a refusal: then what was refused is undone
        alone.
        """

    def dialogs(self, database: Database, context: DialogContext, *, shared: bool) -> DialogEngine:
        """What is said in dialogs on a connection."""


class BackendKind(Protocol):
    """What a store has of one kind of database: the class of its backends."""

    def __call__(self, url: str) -> Backend:
        """The backend of a URL. Raises StoreError."""

    def shown(self, url: str) -> str:
        """A URL as logs and pages may show it, without a password. Raises StoreError."""
