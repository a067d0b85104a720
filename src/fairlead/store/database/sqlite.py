"""SQLite, through Python's sqlite3."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from operator import itemgetter
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Any, Final

from fairlead.errors import ClusterHeldError, DiskFullError, StoreError
from fairlead.store.database.port import Row
from fairlead.store.database.run_file import RunFile
from fairlead.store.database.same_file import SameFile
from fairlead.store.database.statements import statements

HAS_SCHEMA: Final = "SELECT 1 FROM sqlite_master WHERE name = 'fairlead_schema'"
BUSY_TIMEOUT: Final = 30.0
"""Seconds for which a writer waits for another one."""
NAMED: Final = re.compile(r":(\w+)")
ROOM: Final = 1 << 16
"""Bytes: a disk with less is full."""
FEW: Final = 10
"""So many statements are as fast as one that reads a list of ids."""
OLDEST: Final = (3, 37, 0)
"""The first version with STRICT tables."""


class SQLite:
    """One connection to a file."""

    dialect = "sqlite"

    def __init__(
        self, connection: sqlite3.Connection, place: str, file: SameFile | None = None
    ) -> None:
        """`place`: the file, as errors name it. `file`: it, where the connection is the store's."""
        self.connection = connection
        self.place = place
        self.own = file is not None
        self._file = file
        self._texts = statements(self.dialect)
        self._cursor = connection.cursor()
        self._cursor.row_factory = None  # tuples, whatever the caller's connection gives
        self._numbered = False
        self._last = 0

    @property
    def idle(self) -> bool:
        try:
            return not self.connection.in_transaction
        except sqlite3.ProgrammingError:  # it was closed
            return True

    @property
    def lost(self) -> bool:
        return False

    @property
    def undone(self) -> bool:
        return not self.connection.in_transaction

    @property
    def hung_up(self) -> bool:
        return self._file is not None and self._file.gone

    def run(self, name: str, /, **values: object) -> Sequence[Row]:
        self._numbered = self._numbered and not name.startswith("add_journal")
        text = self._texts[name]
        if not text:
            return ()
        for key, value in values.items():
            if isinstance(value, list):
                values[key] = as_json(value)
        try:
            return self._cursor.execute(text, values).fetchall()
        except sqlite3.Error as error:
            self._tell(error)
            raise

    def many(self, name: str, rows: Sequence[Row], /, **common: object) -> int:
        self._numbered = self._numbered and not name.startswith("add_journal")
        shared = tuple(common.values())
        together = len(rows) > FEW and len(rows[0]) == 1
        if together:
            rows = [(as_json([id_ for (id_,) in rows]),)]
        text, in_order = positional(name, *common, together=together)
        values = [in_order(row + shared) for row in rows]
        try:
            return self._cursor.executemany(text, values).rowcount
        except sqlite3.Error as error:
            self._tell(error)
            raise

    def numbers(self, count: int) -> Sequence[int]:
        if not self._numbered:
            ((self._last,),) = self.run("last_number")
            self._numbered = True
        first, self._last = self._last + 1, self._last + count
        return range(first, self._last + 1)

    def event_numbers(self, count: int) -> Sequence[int]:
        return self.numbers(count) if count else ()

    def time(self) -> int:
        return time_ns() // 1000

    def has_schema(self) -> bool:
        return bool(self._execute(HAS_SCHEMA).fetchall())

    def is_new(self) -> bool:
        return not self._execute("SELECT 1 FROM sqlite_master").fetchall()

    def lock_schema(self, timeout: float) -> None:
        """Whoever writes is alone."""

    def make_roles(self) -> None:
        raise StoreError(
            f"{self.place}: found a store on SQLite, where whoever may write the file may do "
            "everything, allowed: a store on PostgreSQL, which has roles"
        )

    def in_the_way(self, error: StoreError) -> str:
        return ""

    def script(self, text: str) -> None:
        for statement in split(text):
            self._execute(statement)

    def execute(self, sql: str, values: object = ()) -> Any:  # noqa: ANN401 - the driver's cursor
        return self.connection.execute(sql, values)  # type: ignore[arg-type]

    def begin(self) -> None:
        self._numbered = False
        self._execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._execute("COMMIT")

    def rollback(self) -> None:
        self._numbered = False
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def break_off(self) -> None:
        with suppress(sqlite3.Error):
            self.connection.interrupt()
            self.connection.rollback()  # a statement that is open keeps one that is closed alive
            self.connection.close()

    def doom(self) -> None:
        self.rollback()

    def close(self) -> None:
        self.connection.close()

    def join(self) -> None:
        """Be the writer, in the caller's transaction, before anything is read in it."""
        self._execute("UPDATE fairlead_schema SET version = version WHERE false")

    def _execute(self, sql: str) -> sqlite3.Cursor:
        try:
            return self._cursor.execute(sql)
        except sqlite3.Error as error:
            self._tell(error)
            raise

    def _tell(self, error: sqlite3.Error) -> None:
        """Raise the error as a StoreError; on his own connection it is the driver's.

        Where there was no room, SQLite undoes the transaction, or only the statement if that has
        triggers. A verb is several statements, and none of them may last without the others.
        """
        if "full" in str(error) or "disk I/O" in str(error):
            with suppress(sqlite3.Error):
                self.rollback()
        if self.own:
            raise _store_error(error, self.place) from error
        if "locked" in str(error) and not isinstance(error, sqlite3.ProgrammingError):
            error.add_note("Fairlead writes in this transaction: begin it with BEGIN IMMEDIATE")


@cache
def positional(name: str, *common: str, together: bool = False) -> tuple[str, Callable[[Row], Row]]:
    """A statement with values by position, which are bound faster, and what puts a row's in order.

    `common`: what stands at the end of a row. `together`: where its only other value is an id, it
    is done once for a list of them.
    """
    text = statements(SQLite.dialect)[name]
    if together:
        text = text.replace("= :id", "IN (SELECT value FROM json_each(:id))")
    names = NAMED.findall(text)
    keys = [*dict.fromkeys(key for key in names if key not in common), *common]
    in_order = itemgetter(*map(keys.index, names)) if len(names) > 1 else tuple
    return NAMED.sub("?", text), in_order


def as_json(values: list[Any]) -> str:
    """A list as SQLite reads it; of numbers, Python writes it the same way, and faster."""
    return repr(values) if values and isinstance(values[0], int) else json.dumps(values)


def open_sqlite(file: SameFile) -> SQLite:
    """A connection to a file, which the first one creates if need be. Raises StoreError."""
    if sqlite3.sqlite_version_info < OLDEST:
        version, oldest = sqlite3.sqlite_version, ".".join(map(str, OLDEST))
        raise StoreError(f"SQLite: found version {version}, allowed: {oldest} or newer")
    file.check()
    path = file.path
    try:
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {_in_words(error)}") from error
    try:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        # as SQLite is by itself: some systems' overwrites all that is deleted, on a full disk, too
        connection.execute("PRAGMA secure_delete = FAST")
    except sqlite3.Error as error:
        connection.close()
        raise _store_error(error, str(path)) from error
    file.opened()
    return SQLite(connection, str(path), file)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Where several open a new file at one time, SQLite does not wait here by itself."""
    until = monotonic() + BUSY_TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > until:
                raise
            sleep(0.01)
        else:
            return


def split(script: str) -> Iterator[str]:
    """The statements of a script."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _store_error(error: sqlite3.Error, place: str) -> StoreError:
    """What the error is to the user. SQLite calls some of what a full disk does an I/O error."""
    full = "full" in str(error)
    run = RunFile(Path(place)).look() if "locked" in str(error) else None
    if run is not None:
        return ClusterHeldError(f"{place}: {_in_words(error)}: {run.doing}")
    if "disk I/O" in str(error):
        with suppress(OSError):
            full = shutil.disk_usage(Path(place).parent).free < ROOM
    kind = DiskFullError if full else StoreError
    return kind(f"{place}: {_in_words(error)}")


def _in_words(error: sqlite3.Error) -> str:
    text = str(error)
    if "not a database" in text:
        return "found a file that is no SQLite database, allowed: a database, or a new file"
    if "unable to open" in text:
        return "cannot be opened: the folder must be there, and the file be ours to write"
    if "readonly" in text:
        return "found a database that is read-only, allowed: one that can be written"
    if "full" in text:
        return "the disk is full; nothing of this was written"
    if "no transaction is active" in text:
        return "an error has undone the transaction; nothing of it was written"
    if "disk I/O" in text:
        return "the disk could not be written or read (disk I/O error); nothing of this was written"
    if "locked" in text:
        return f"another writer has held the database for {BUSY_TIMEOUT:g} seconds"
    return text
