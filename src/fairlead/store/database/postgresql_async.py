"""PostgreSQL, through psycopg's own connections for an event loop."""

from __future__ import annotations

from typing import Any

from fairlead.store.database.bridge import wait_for
from fairlead.store.database.postgresql import READ_COMMITTED, SETTINGS, PostgreSQL


class AsyncPostgreSQL(PostgreSQL):
    """One connection to a server; it is used inside verbs that run on the event loop."""

    @classmethod
    def connect(cls, url: str) -> Any:  # noqa: ANN401 - the driver's
        from psycopg import AsyncConnection

        connection = wait_for(AsyncConnection.connect(url, **SETTINGS))
        wait_for(connection.execute(READ_COMMITTED))
        return connection

    def _new_cursor(self) -> Any:  # noqa: ANN401 - the driver's
        from psycopg import AsyncCursor
        from psycopg.rows import tuple_row

        return AsyncCursor(self.connection, row_factory=tuple_row)

    def _wait(self, found: Any) -> Any:  # noqa: ANN401 - whatever the driver gives
        return wait_for(found)
