"""The schema: make it, bring it to this version, and refuse one that is newer."""

from __future__ import annotations

from fairlead.errors import StoreError
from fairlead.store.database import Database
from fairlead.store.statements import functions, migrations


def version(database: Database) -> int:
    """The version of the schema; 0: there is none."""
    if not database.has_schema():
        return 0
    ((found,),) = database.run("schema_version")
    return int(found)


def check(database: Database, place: str) -> None:
    """Raises StoreError for a schema that is not the one this version works with."""
    found, known = version(database), len(migrations(database.dialect))
    if found == 0:
        raise StoreError(
            f"{place}: found no schema of Fairlead, allowed: one that `fairlead store init`, or "
            "Store.open with create=True, has made"
        )
    if found > known:
        raise StoreError(
            f"{place}: found version {found} of the schema, allowed: {known}, which this version "
            "of Fairlead works with; a newer Fairlead was here"
        )
    if found < known:
        raise StoreError(
            f"{place}: found version {found} of the schema, allowed: {known}; "
            "`fairlead store upgrade` leads there"
        )


def upgrade(database: Database, place: str) -> tuple[int, int]:
    """Make the schema, or bring it up to this version; from which version, and to which.

    Several processes may do so at one time. Raises StoreError.
    """
    scripts = migrations(database.dialect)
    database.begin()
    try:
        database.lock_schema()
        found = version(database)
        if found > len(scripts):
            check(database, place)
        for script in [*scripts[found:], functions(database.dialect)]:
            database.script(script)
        database.commit()
    except BaseException:
        database.rollback()
        raise
    return found, len(scripts)
