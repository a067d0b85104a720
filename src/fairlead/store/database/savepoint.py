"""A savepoint around what may be refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.errors import ChangeError, ConfigError, MessageError, RuleError
from fairlead.store.database.port import Database


@contextmanager
def undone_if_refused(database: Database) -> Iterator[None]:
    """What is refused in the block has done nothing, and leaves the transaction as it was."""
    database.execute("SAVEPOINT fairlead")
    try:
        yield
    except (MessageError, ChangeError, ConfigError, RuleError):
        database.execute("ROLLBACK TO SAVEPOINT fairlead")
        database.execute("RELEASE SAVEPOINT fairlead")
        raise
    database.execute("RELEASE SAVEPOINT fairlead")
