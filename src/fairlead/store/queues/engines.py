"""Which engine a connection has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fairlead.store.database.port import Database
from fairlead.store.queues.engine import QueueEngine
from fairlead.store.queues.postgresql_engine import PostgresqlEngine
from fairlead.store.queues.sqlite_engine import SqliteEngine

ENGINES: Final[Mapping[str, type[PostgresqlEngine | SqliteEngine]]] = {
    "postgresql": PostgresqlEngine,
    "sqlite": SqliteEngine,
}


def engine_of(
    database: Database, clock: int | None, actor: str, *, shared: bool = False
) -> QueueEngine:
    """The verbs of queues on a connection.

    `clock`: microseconds, of a clock of the user's own; None: the database's. `actor`: who acts,
    for the journal. `shared`: whether the transaction goes on after a refusal: then what was
    refused is undone alone.
    """
    return ENGINES[database.dialect](database, clock, actor, shared=shared)
