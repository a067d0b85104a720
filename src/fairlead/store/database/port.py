"""The port: one connection to a database that understands the named statements.

What a store has of a database besides connections is in `backends/port.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from fairlead.errors import StoreError

Row = tuple[Any, ...]


class Database(Protocol):
    """One connection. Its methods raise StoreError, or, on a caller's connection, the driver's."""

    dialect: str
    """With this the names of the files of its statements begin. Nobody asks which it is."""
    place: str
    """The database, as errors name it."""

    connection: Any
    """The driver's."""

    @property
    def idle(self) -> bool:
        """Whether no transaction is open, or none can be any more."""

    @property
    def lost(self) -> bool:
        """Whether the connection can be used no more."""

    @property
    def undone(self) -> bool:
        """Whether the transaction has ended by itself, and statements would be done without one."""

    @property
    def hung_up(self) -> bool:
        """Whether the other side has given up a connection that nobody was using."""

    def run(self, name: str, /, **values: object) -> Sequence[Row]:
        """Run a named statement; its rows, all of them.

        A name under which this database has no text has no rows: there nothing is to be done.
        """

    def many(self, name: str, rows: Sequence[Row], /, **common: object) -> int:
        """Run a named statement, once for each row of values; how many rows it has changed.

        `common`: the values that are the same in all rows; those of a row stand in the order of the
        statement's other parameters.
        """

    def numbers(self, count: int) -> Sequence[int]:
        """So many numbers for events, rising; what takes one is written to the journal at once."""

    def event_numbers(self, count: int) -> Sequence[int | None]:
        """The same, for those who need not know them: None where the insertion draws its own."""

    def time(self) -> int:
        """What the clock of the database says, in microseconds since 1970."""

    def has_schema(self) -> bool:
        """Whether there is a schema of any version."""

    def is_new(self) -> bool:
        """Whether nobody has made anything in this database yet, and we may."""

    def lock_schema(self, timeout: float) -> None:
        """Keep other processes from changing the schema until the transaction ends.

        `timeout`: seconds for which it, and what follows, waits for what others hold; SQLite waits
        as ever.
        """

    def make_roles(self) -> None:
        """Make the roles of the schema, or give them the rights of this version.

        Raises StoreError where a database has none.
        """

    def in_the_way(self, error: StoreError) -> str:
        """Who held the lock that was waited for in vain, in words; "" for other errors."""

    def script(self, text: str) -> None:
        """Run statements that take no values, of a migration."""

    def execute(self, sql: str, values: object = ()) -> Any:  # noqa: ANN401 - the driver's cursor
        """Run a statement of the user's own; gives the driver's cursor."""

    def begin(self) -> None:
        """Begin a transaction that will write."""

    def commit(self) -> None:
        """Commit it."""

    def rollback(self) -> None:
        """Undo it; nothing where there is none."""

    def break_off(self) -> None:
        """End the transaction from another thread: it is undone, and whoever is in it hears so."""

    def doom(self) -> None:
        """Keep the transaction from being committed, whatever its owner does."""

    def close(self) -> None:
        """Close the connection."""
