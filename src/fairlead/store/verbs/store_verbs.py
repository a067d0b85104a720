"""What each subject of verbs stands on: a transaction's, and a store's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager

from fairlead.store.context import Context
from fairlead.store.database.port import Database
from fairlead.store.journal.retention import Retention
from fairlead.store.queues.leases import Leases


def nobody(count: int) -> None:
    """Whom nobody has to tell how many are done."""


class TransactionVerbs(ABC):
    """One transaction, with the user's own rows. It is the sum of its subjects, each one class."""

    _database: Database
    _context: Context

    @abstractmethod
    def _check(self) -> None:
        """Raises what keeps anything from being done here."""

    @abstractmethod
    def _undone_if_refused(self) -> AbstractContextManager[None]:
        """What is refused in the block has done nothing."""


class StoreVerbs(ABC):
    """Connections, leases and a clock. A store is the sum of its subjects, each one class."""

    place: str
    _context: Context
    _leases: Leases
    _retention: Retention
    _connection: Callable[[], AbstractContextManager[Database]]
    """A connection to read on."""
    _writing: Callable[[], AbstractContextManager[Database]]
    """A transaction that writes."""
    _calling: Callable[[], AbstractContextManager[Database]]
    """A transaction of one verb, which is the verb's call itself where a database has functions."""
    _refuse_nested: Callable[[], None]

    @abstractmethod
    def _clock(self) -> int | None:
        """Microseconds, of a clock of the user's own; None: the database's."""

    @abstractmethod
    def _maintain(self, queue: str) -> None:
        """Bring a queue up to date; who has no right to do what is due sees it undone."""
