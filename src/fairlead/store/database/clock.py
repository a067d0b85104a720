"""What the clock says: the database's, or one of the user's own, for tests."""

from __future__ import annotations

from fairlead.store.database.port import Database


def time_of(database: Database, clock: int | None) -> int:
    """What time it is: by a clock of the user's own, else by the database's."""
    return database.time() if clock is None else clock


def set_clock(database: Database, now: int | None) -> None:
    """The functions ask the setting what a clock of the user's own says."""
    if now is not None:
        database.run("set_clock", now=str(now))
