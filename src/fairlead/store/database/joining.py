"""A connection of the user's own, as it is: of a driver, of SQLAlchemy, or of Django."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any
from weakref import WeakSet

from fairlead.errors import StoreError
from fairlead.store.database.pausing import on_loop
from fairlead.store.database.port import Database, Row
from fairlead.store.database.postgresql import PostgreSQL
from fairlead.store.database.same_file import gone
from fairlead.store.database.sqlite import SQLite


class Joining:
    """The callers' connections to one store."""

    def __init__(self, place: str) -> None:
        """`place`: the store's database, as errors name it."""
        self._place = place
        self.identity: Row = ()
        """The store's; known when it is open."""
        self._known: WeakSet[Any] = WeakSet()
        """Connections that lead to the store; one of psycopg does so for ever."""

    def joined(self, connection: object) -> Database:
        """The port to the caller's connection, in the transaction that he has begun.

        Raises StoreError for what is no such connection, for one to another database, and where no
        transaction was begun.
        """
        raw = _unwrapped(connection)
        if isinstance(raw, sqlite3.Connection):
            return self._on_sqlite(raw)
        kind = _kind_of(raw)
        if kind is not None:
            database = kind(raw, self._place, own=False)
            if raw.autocommit and database.idle:
                raise StoreError(
                    "connection: found no transaction (autocommit), allowed: one that was begun, "
                    "as by connection.transaction()"
                )
            if raw not in self._known:
                info = raw.info
                host = "localhost" if info.host.startswith("/") else f"{info.host}:{info.port}"
                place = f"postgresql://{host}/{info.dbname}"
                self._check(database, place, there=database.has_schema())
                self._known.add(raw)
            return database
        name = f"{type(raw).__module__}.{type(raw).__qualname__}"
        allowed = "sqlite3 or psycopg 3, or of SQLAlchemy or Django on one of these"
        if on_loop():
            allowed = "sqlite3, aiosqlite, psycopg's AsyncConnection, or SQLAlchemy on these"
        raise StoreError(f"connection: found a {name}, allowed: a connection of {allowed}")

    def _on_sqlite(self, raw: sqlite3.Connection) -> SQLite:
        if raw.text_factory is not str:
            raise StoreError("connection: found a text_factory of its own, allowed: str")
        begun = raw.in_transaction
        if not begun:
            if raw.isolation_level is None or getattr(raw, "autocommit", None) is True:
                raise StoreError(
                    "connection: found no transaction, allowed: one that was begun with BEGIN "
                    "IMMEDIATE"
                )
            raw.execute("BEGIN IMMEDIATE")  # the driver would begin one before the first change
        database = SQLite(raw, self._place)
        try:
            look = raw.cursor()
            look.row_factory = None  # tuples, whatever the caller's connection gives
            ((_, _, file), *_) = look.execute("PRAGMA database_list")
            if file and not Path(file).exists():
                raise gone(file)
            there = True
            try:
                database.join()  # it writes before anything is read
            except sqlite3.OperationalError as error:
                if "no such table" not in str(error):
                    raise
                there = False
            self._check(database, file or "a database in memory", there=there)
        except BaseException:
            if not begun:
                raw.rollback()
            raise
        return database

    def _check(self, database: Database, place: str, *, there: bool) -> None:
        if not there:
            description = f"{place}, in which there is no store"
        elif tuple(database.run("identity")[0]) != tuple(self.identity):
            description = f"another store's database, {place}"
        else:
            return
        raise StoreError(f"connection: found {description}, allowed: one to {self._place}")


def _kind_of(raw: object) -> type[PostgreSQL] | None:
    """The port to a connection of psycopg's: on an event loop to those that it has for loops."""
    psycopg = sys.modules.get("psycopg")
    if psycopg is None:
        return None
    if not on_loop():
        return PostgreSQL if isinstance(raw, psycopg.Connection) else None
    from fairlead.store.database.postgresql_async import AsyncPostgreSQL

    return AsyncPostgreSQL if isinstance(raw, psycopg.AsyncConnection) else None


def _unwrapped(connection: object) -> Any:  # noqa: ANN401 - a driver's connection
    layer: Any = connection
    if hasattr(layer, "get_bind") and callable(getattr(layer, "connection", None)):
        layer = layer.connection()  # SQLAlchemy's session
    if hasattr(layer, "ensure_connection"):  # Django's
        layer.ensure_connection()
        return layer.connection
    pooled: Any = getattr(layer, "connection", None)
    if hasattr(pooled, "driver_connection"):  # SQLAlchemy's connection
        if not layer.in_transaction():
            layer.begin()  # else its commit would know of no transaction
        return pooled.driver_connection
    return layer
