"""The schema: make it, bring it to this version, and refuse one that is newer."""

from __future__ import annotations

from typing import Final

from fairlead.errors import StoreError
from fairlead.store.database.port import Database
from fairlead.store.database.statements import functions, grants, migrations

LOCK_TIMEOUT: Final = 5.0
"""Seconds. Whoever waits for a lock on a table holds up all who come later."""


def version(database: Database) -> int:
    """The version of the schema; 0: there is none."""
    if not database.has_schema():
        return 0
    ((number,),) = database.run("schema_version")
    return int(number)


def check(database: Database, place: str) -> None:
    """Raises StoreError for a schema that is not the one this version works with."""
    number, known = version(database), len(migrations(database.dialect))
    if number == 0:
        raise StoreError(
            f"{place}: found no schema of Fairlead, allowed: one that `fairlead store init`, or "
            "Store.open with create=True, has made"
        )
    if number > known:
        raise StoreError(
            f"{place}: found version {number} of the schema, allowed: {known}, which this version "
            "of Fairlead works with; a newer Fairlead was here"
        )
    if number < known:
        raise StoreError(
            f"{place}: found version {number} of the schema, allowed: {known}; "
            "`fairlead store upgrade` leads there"
        )


def upgrade(database: Database, place: str, timeout: float = LOCK_TIMEOUT) -> tuple[int, int]:
    """Make the schema, or bring it up to this version; from which version, and to which.

    Several processes may do so at one time. `timeout`: seconds; where a transaction of somebody
    else is in the way for longer, nothing is changed. Raises StoreError.
    """
    scripts = migrations(database.dialect)
    database.begin()
    try:
        database.lock_schema(timeout)
        before = version(database)
        if before > len(scripts):
            check(database, place)
        for script in [*scripts[before:], functions(database.dialect)]:
            database.script(script)
        if database.run("made_roles"):
            database.script(grants(database.dialect))  # they may do all that they could before, too
        database.commit()
    except BaseException as error:
        database.rollback()
        holder = database.in_the_way(error) if isinstance(error, StoreError) else ""
        if not holder:
            raise
        raise StoreError(
            f"{place}: found the schema locked by {holder} for longer than {timeout:g} s, "
            "allowed: to change it when that transaction has ended; nothing was changed"
        ) from error
    return before, len(scripts)
