"""PostgreSQL, through psycopg's own connections for an event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from fairlead.store.database.bridge import wait_for
from fairlead.store.database.postgresql import PostgreSQL, settings_for


class AsyncPostgreSQL(PostgreSQL):
    """One connection to a server; it is used inside verbs that run on the event loop."""

    @classmethod
    def connect(cls, url: str) -> Any:  # noqa: ANN401 - the driver's
        from psycopg import AsyncConnection

        connecting = asyncio.ensure_future(AsyncConnection.connect(url, **settings_for(url)))
        try:
            return wait_for(asyncio.shield(connecting))
        except asyncio.CancelledError:  # psycopg would leave it to the garbage collector
            connecting.add_done_callback(_close)
            raise

    def _new_cursor(self) -> Any:  # noqa: ANN401 - the driver's
        from psycopg import AsyncCursor
        from psycopg.rows import tuple_row

        return AsyncCursor(self.connection, row_factory=tuple_row)

    def _wait(self, value: Any) -> Any:  # noqa: ANN401 - whatever the driver gives
        return wait_for(value)


def _close(connecting: asyncio.Future[Any]) -> None:
    """Close a connection that nobody waits for any more."""
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().pgconn.finish()
