"""A connection of the user's own, as it is: of a driver, of SQLAlchemy, or of Django."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

from fairlead.errors import StoreError
from fairlead.store.database import Database
from fairlead.store.postgresql import PostgreSQL
from fairlead.store.sqlite import SQLite


def joined(connection: object, place: str) -> Database:
    """The port to the caller's connection, in the transaction that he has begun.

    Raises StoreError for what is no such connection, and where no transaction was begun.
    """
    raw = _unwrapped(connection)
    if isinstance(raw, sqlite3.Connection):
        return _on_sqlite(raw, place)
    psycopg = sys.modules.get("psycopg")
    if psycopg is not None and isinstance(raw, psycopg.Connection):
        idle = raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        if raw.autocommit and idle:
            raise StoreError(
                "connection: found no transaction (autocommit), allowed: one that was begun, as by "
                "connection.transaction()"
            )
        return PostgreSQL(raw, place, own=False)
    kind = f"{type(raw).__module__}.{type(raw).__qualname__}"
    raise StoreError(
        f"connection: found a {kind}, allowed: a connection of sqlite3 or psycopg 3, or of "
        "SQLAlchemy or Django on one of these"
    )


def _on_sqlite(raw: sqlite3.Connection, place: str) -> SQLite:
    if raw.text_factory is not str:
        raise StoreError("connection: found a text_factory of its own, allowed: str")
    if not raw.in_transaction:
        if raw.isolation_level is None or getattr(raw, "autocommit", None) is True:
            raise StoreError(
                "connection: found no transaction, allowed: one that was begun with BEGIN IMMEDIATE"
            )
        raw.execute("BEGIN IMMEDIATE")  # the driver would begin one before the first change
    database = SQLite(raw, place, own=False)
    database.join()
    return database


def _unwrapped(connection: object) -> Any:  # noqa: ANN401 - a driver's connection
    found: Any = connection
    if hasattr(found, "get_bind") and callable(getattr(found, "connection", None)):
        found = found.connection()  # SQLAlchemy's session
    if hasattr(found, "ensure_connection"):  # Django's
        found.ensure_connection()
        return found.connection
    pooled: Any = getattr(found, "connection", None)
    if hasattr(pooled, "driver_connection"):  # SQLAlchemy's connection
        return pooled.driver_connection
    return found
