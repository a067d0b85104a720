"""SQL of a test's own on either database, as an administrator might do it by hand."""

import sqlite3
import time
from typing import Any

import psycopg

from fairlead import Store

SECONDS = 30
"""Longer than a server takes to end the session of a process that is gone."""


def by_hand(url: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Run a statement on tables that are named as on PostgreSQL; `%s` for each value."""
    if url.startswith("postgresql"):
        with psycopg.connect(url) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    try:
        text = statement.replace("fairlead.", "fairlead_").replace("%s", "?")
        return connection.execute(text, values).fetchall()
    finally:
        connection.close()


def holders(url: str) -> int:
    """How many processes say that they take work."""
    ((found,),) = by_hand(url, "SELECT count(*) FROM fairlead.lease_holders")
    return int(found)


def until_gone(store: Store, count: int) -> None:
    """Wait until the database knows that so many processes are gone."""
    deadline = time.monotonic() + SECONDS
    while len(store._leases.gone()) < count:
        assert time.monotonic() < deadline, store._leases.gone()
        time.sleep(0.01)
