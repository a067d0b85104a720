"""SQL of a test's own on either database, as an administrator might do it by hand."""

import sqlite3
from typing import Any

import psycopg


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
