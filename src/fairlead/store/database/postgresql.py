"""PostgreSQL, through psycopg 3."""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import accumulate
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit
from weakref import WeakSet

from fairlead.errors import (
    ClusterHeldError,
    ConversationError,
    DeniedError,
    DiskFullError,
    EnvironmentProblem,
    MessageError,
    NoDestinationError,
    QueueFullError,
    StaleWorkError,
    StoreError,
    TransientStoreError,
)
from fairlead.store.database.deadline import MINE, UNKNOWN, Process, hang_up, left_behind, watch
from fairlead.store.database.port import Row
from fairlead.store.database.rights import VIEWER, who_may
from fairlead.store.database.statements import roles, statements

SETTINGS: Final[dict[str, Any]] = {
    "autocommit": True,
    "application_name": "fairlead",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""Of each connection; a machine that is lost is noticed within a minute."""
CONNECT: Final = 30
"""Seconds for which each host of a URL may take until a connection is there."""
COLUMN: Final = re.compile(r"%\((\w+)(?:\.begin)?\)s::\w+\[\]")
REFUSED: Final[dict[str | None, type[MessageError | StoreError]]] = {
    "FL001": MessageError,
    "FL002": QueueFullError,
    "FL003": StaleWorkError,
    "FL005": MessageError,
    "FL006": NoDestinationError,
    "FL007": StoreError,
    "FL008": ConversationError,
    "FL009": MessageError,
    "FL010": ClusterHeldError,
}
"""What the functions of the schema raise."""
HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:/@\[\]]*)(:\d{0,5})?")
"""As a URL has it, with a port or without."""
UNREADABLE: Final = (
    "store: found a URL that cannot be read, allowed: postgresql://USER@HOST:PORT/DATABASE, or "
    "several HOST:PORT with commas between them"
)
OPENING: Final = (
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; "
    "SELECT set_config('idle_session_timeout', '0', false) "
    "WHERE current_setting('server_version_num')::int >= 140000; "
    "SELECT set_config('lock_timeout', '30s', false) WHERE current_setting('lock_timeout') = '0'; "
) + MINE
"""Whatever the default of the database or of the user is: single statements run so, too, and idle
connections stay; by one of them a process says that it lives. Nobody waits for a lock for ever: as
long as for a writer on SQLite, unless the database, the user or the URL has another time."""
DISK_FULL: Final = "53100"
LOCKED: Final = "55P03"
DENIED: Final = "42501"
RAISED: Final = "exec_stmt_raise"
"""Of the server's, in which an error arises that a function of the schema has raised."""
READ_ONLY: Final = "25006"
"""It was opened at a server that writes nothing, such as a stand-by that was asked for a moment."""
TRANSIENT: Final = ("40001", "40P01")
"""A serialization failure, a deadlock: another transaction goes on, this one can be repeated."""
FULL: Final = "the disk of the server is full; nothing of this was written: "

_direct: Final[set[str]] = set()
"""URLs behind which each connection has a session of its own, as was seen."""
_sessions: Final[WeakSet[PostgreSQL]] = WeakSet()


def _leave_to_parent() -> None:
    for session in list(_sessions):
        session.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)


class PostgreSQL:
    """One connection to a server.

    A connection of psycopg's for an event loop has the same methods, which are awaited: each of
    their results goes through `_wait` (`postgresql_async.py`).
    """

    dialect = "postgresql"

    def __init__(self, connection: Any, place: str, *, own: bool = True) -> None:  # noqa: ANN401
        """`place`: the server, as errors name it. `own`: whether the connection is the store's."""
        from psycopg.pq import TransactionStatus
        from psycopg.types.numeric import Int8Dumper

        self.connection = connection
        self.place = place
        self.own = own
        self._astray = False
        """Whether it is connected to a server that is of no use."""
        self.waits_since: float | None = None
        """Since when a statement waits for the server, as `time.monotonic` has it; None: none."""
        self.served_by: Process = UNKNOWN
        """The server's process."""
        self._texts = statements(self.dialect)
        self._no_transaction = TransactionStatus.IDLE
        # a cursor of the driver's own kind, whatever kind the caller's connection makes
        self._cursor = self._new_cursor()
        self._cursor.adapters.register_dumper(int, Int8Dumper)

    @classmethod
    def connect(cls, url: str) -> Any:  # noqa: ANN401 - the driver's
        """A connection of the driver's."""
        import psycopg

        return psycopg.connect(url, **settings_for(url))

    def prepare(self) -> None:
        """Settle how the session works, before it is used."""
        with self._as_store_error():
            cursor = self._wait(self.connection.execute(OPENING))
            while cursor.nextset():
                pass
            ((began,),) = self._wait(cursor.fetchall())
            self.served_by = self.connection.info.backend_pid, began

    def _new_cursor(self) -> Any:  # noqa: ANN401 - the driver's
        from psycopg import Cursor
        from psycopg.rows import tuple_row

        return Cursor(self.connection, row_factory=tuple_row)

    def _wait(self, value: Any) -> Any:  # noqa: ANN401 - whatever the driver gives
        """What the driver gives, once it is there: here it has waited itself."""
        return value

    @property
    def idle(self) -> bool:
        return self.lost or self.connection.info.transaction_status is self._no_transaction

    @property
    def lost(self) -> bool:
        gone: bool = self.connection.closed or self.connection.broken or self._astray
        return gone

    @property
    def undone(self) -> bool:
        return False  # what follows a failed statement is refused until the rollback

    @property
    def hung_up(self) -> bool:
        if self.lost:
            return True
        look = select.poll()  # what the server says while nobody asks is its farewell
        look.register(self.connection.pgconn.socket, select.POLLIN)
        return bool(look.poll(0))

    def run(self, name: str, /, **values: object) -> Sequence[Row]:
        text = self._texts[name]
        if not text:
            return ()
        with self._as_store_error(text):
            cursor = self._wait(self._cursor.execute(text, _bound(values), binary=True))
            rows: Sequence[Row] = self._wait(cursor.fetchall()) if cursor.description else []
            return rows

    def many(self, name: str, rows: Sequence[Row], /, **common: object) -> int:
        if not rows:
            return 0
        with self._as_store_error(self._texts[name]):
            values = {**common, **spread(name, rows)}
            count: int = self._wait(self._cursor.execute(self._texts[name], values)).rowcount
            return count

    def numbers(self, count: int) -> Sequence[int]:
        return sorted(number for (number,) in self.run("numbers", count=count))

    def event_numbers(self, count: int) -> Sequence[None]:
        return (None,) * count

    def time(self) -> int:
        ((now,),) = self.run("time")
        return int(now)

    def has_schema(self) -> bool:
        return bool(self.run("has_schema"))

    def is_new(self) -> bool:
        return False

    def lock_schema(self, timeout: float) -> None:
        self.run("lock_timeout", milliseconds=str(max(round(timeout * 1000), 1)))
        self.run("lock_schema")

    def make_roles(self) -> None:
        self.script(roles(self.dialect))

    def in_the_way(self, error: StoreError) -> str:
        from psycopg.errors import LockNotAvailable

        if not isinstance(error.__cause__, LockNotAvailable):
            return ""
        for pid, user, application, state, seconds in self.run("in_the_way"):
            doing = f", {state} for {seconds:.0f} s" if state and seconds is not None else ""
            return f"process {pid} of the server (user {user!r}, {application!r}{doing})"
        return "a transaction of somebody else"

    def script(self, text: str) -> None:
        with self._as_store_error():
            self._wait(self.connection.execute(text.encode()))

    def execute(self, sql: str, values: object = ()) -> Any:  # noqa: ANN401 - the driver's cursor
        from psycopg import Error

        bound: Any = values or None
        try:
            with self._waiting():
                return self._wait(self.connection.execute(sql.encode(), bound))
        except Error as error:  # the driver's, unless it says nothing of the statement
            if self.own and (self.lost or error.sqlstate == LOCKED):
                raise StoreError(f"{self.place}: {_in_words(error)}") from error
            raise

    def process(self) -> int:
        """The process of the server that works for this connection now."""
        with self._as_store_error():
            cursor = self._wait(self.connection.execute("SELECT pg_backend_pid()"))
            return int(self._wait(cursor.fetchone())[0])

    def begin(self) -> None:
        with self._as_store_error():
            self._wait(self.connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED"))

    def commit(self) -> None:
        with self._as_store_error():
            done = self._wait(self.connection.execute("COMMIT")).statusmessage
        if done != "COMMIT":
            raise StoreError(
                f"{self.place}: found a transaction in which a statement had failed, allowed: one "
                "in which all succeeded, or failed inside a savepoint; nothing of it was done"
            )

    def rollback(self) -> None:
        from psycopg import Error

        if self.connection.info.transaction_status is not self._no_transaction:
            try:
                with self._waiting():
                    self._wait(self.connection.execute("ROLLBACK"))
            except Error:
                self.close()

    def break_off(self) -> None:
        with suppress(Exception):  # else the server hears of it only after the statement
            self.connection.cancel()
        hang_up(self.connection)

    def doom(self) -> None:
        from psycopg import Error

        with suppress(Error), self._waiting():  # an error is what keeps it from being committed
            self._wait(self.connection.execute("DO $$ BEGIN RAISE 'work of somebody else'; END $$"))

    def close(self) -> None:
        if self.own and self.lost:
            left_behind(self)
        self._wait(self.connection.close())

    def leave_to_parent(self) -> None:
        """In a forked child: the session is the parent's, and must end with the parent."""
        self.served_by = UNKNOWN
        if not self.connection.closed:
            with suppress(OSError):
                os.close(self.connection.fileno())

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Wait for the server, which is looked after (`deadline.py`)."""
        self.waits_since = time.monotonic()
        try:
            yield
        finally:
            self.waits_since = None

    @contextmanager
    def _as_store_error(self, statement: str = "") -> Iterator[None]:
        """`statement`: the one that is run in the block, where it is one with a name."""
        from psycopg import Error

        try:
            with self._waiting():
                yield
        except Error as error:
            if error.sqlstate in REFUSED:
                raise REFUSED[error.sqlstate](_in_words(error)) from None
            if not self.own:
                raise
            self._astray = self._astray or error.sqlstate == READ_ONLY
            if error.sqlstate == DISK_FULL:
                raise DiskFullError(f"{self.place}: {FULL}{_in_words(error)}") from error
            if error.sqlstate == DENIED:
                raise DeniedError(f"{self.place}: {self._denied(error, statement)}") from error
            kind = TransientStoreError if error.sqlstate in TRANSIENT else StoreError
            raise kind(f"{self.place}: {_in_words(error)}") from error

    def _denied(self, error: Any, statement: str) -> str:  # noqa: ANN401 - the driver's
        """That the user may not do something, and who may; not by which function it is done."""
        user = self.connection.info.user
        if error.diag.source_function == RAISED:  # by a function, which says itself who may
            return f"{_in_words(error)}; found user {user!r}"
        if not statement:
            return f"{_in_words(error)}: user {user!r} is not the owner, who may do this"
        able = who_may(statement)
        if (
            self.connection.info.transaction_status
        ):  # to look would not be enough for the rest of it
            able = tuple(role for role in able if role != VIEWER) or able
        return (
            f"permission denied: user {user!r} may not do this, it takes the role "
            f"{' or '.join(able)}, which the owner of the schema makes "
            "(`fairlead store roles`) and grants"
        )


def refusal(state: str, line: str) -> MessageError | StoreError:
    """What a function of the schema has refused, as it would have raised it."""
    return REFUSED[state](line)


@cache
def columns(name: str) -> list[str]:
    """The names of the arrays that a statement unnests, in their order."""
    return COLUMN.findall(statements(PostgreSQL.dialect)[name])


def open_postgresql(url: str, kind: type[PostgreSQL] = PostgreSQL) -> PostgreSQL:
    """A connection to a server. Raises StoreError, without the password, and EnvironmentProblem.

    `kind`: how it is waited for.
    """
    try:
        import psycopg
    except ImportError:
        raise EnvironmentProblem(
            "a store on PostgreSQL needs psycopg: pip install 'fairlead[postgresql]'"
        ) from None
    place = without_password(url)
    try:
        session = kind(kind.connect(url), place)
    except UnicodeError:  # as where a part of a host's name is too long
        raise StoreError(
            f"{place}: found a host that no name server knows, allowed: another"
        ) from None
    except psycopg.Error as error:
        raise StoreError(f"{place}: {_in_words(error, url)}") from None
    _sessions.add(session)
    watch(session, url)
    try:
        why = _refusal(session.connection)
        if not why:
            session.prepare()
            if url not in _direct:
                why = _pooled(session, lambda: kind(kind.connect(url), place))
        if why:
            raise StoreError(f"{place}: {why}")
    except BaseException:  # or whoever asked was cancelled
        session.close()
        raise
    _direct.add(url)
    return session


def settings_for(url: str) -> dict[str, Any]:
    """Of a connection to this URL, which may have its own time for connecting. Raises psycopg's."""
    from psycopg.conninfo import conninfo_to_dict

    has_own = "connect_timeout" in conninfo_to_dict(url) or "PGCONNECT_TIMEOUT" in os.environ
    return SETTINGS if has_own else {**SETTINGS, "connect_timeout": CONNECT}


def _refusal(connection: Any) -> str:  # noqa: ANN401 - the driver's
    """Why a database cannot have a store, by what the server has said at the opening; "" if it can.

    Its texts may have any character, and its functions are read with backslashes as they are.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        return (
            f"found a database in {encoding}, allowed: UTF8, as in "
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
    if connection.info.parameter_status("standard_conforming_strings") != "on":
        return (
            "found standard_conforming_strings = off, allowed: on, as in ALTER DATABASE … SET "
            "standard_conforming_strings = on, or ALTER ROLE, if that sets it"
        )
    return ""


def _pooled(first: PostgreSQL, connect: Callable[[], PostgreSQL]) -> str:
    """Why a pooler is in the way; "" if none gives each transaction another session of the server.

    Where a pooler keeps a session for one connection, another one cannot have it meanwhile.
    """
    before = first.process()
    if before == first.connection.info.backend_pid:  # no pooler at all
        return ""
    from psycopg import Error

    try:
        other = connect()
    except Error:  # it has no place left, say: then that cannot be seen now
        return ""
    try:
        other.begin()
        if other.process() != before and first.process() == before:
            return ""
    finally:
        other.close()
    return (
        "found a pooler that gives each transaction another session of the server (as PgBouncer "
        "does with pool_mode = transaction), allowed: the server itself, or pool_mode = session"
    )


def without_password(url: str) -> str:
    """The servers and the database that a URL names; neither user nor password.

    A socket in the file system is `localhost`. Raises StoreError.
    """
    try:
        parts = urlsplit(url)
        query = parse_qs(parts.query)
    except ValueError:
        raise StoreError(UNREADABLE) from None
    hosts = parts.netloc.rpartition("@")[2]
    if not all(HOST.fullmatch(host) for host in hosts.split(",")):
        raise StoreError(UNREADABLE)
    if "host" in query:  # it goes before that of the URL, as everything behind the question mark
        port = query.get("port", [hosts.rpartition(":")[2]])[-1]
        hosts = query["host"][-1] + (f":{port}" if port.isdecimal() else "")
    if not hosts.strip(",") or hosts.startswith(("/", "%2F", "@")):
        hosts = "localhost"
    return f"postgresql://{hosts}{parts.path}"


def _bound(values: Mapping[str, object]) -> dict[str, object]:
    return {
        name: literal(value) if isinstance(value, list) else value for name, value in values.items()
    }


def spread(name: str, rows: Sequence[Row]) -> dict[str, object]:
    """The values of rows, as parameters of a statement that unnests them."""
    values: dict[str, object] = {}
    for key, column in zip(columns(name), zip(*rows, strict=True), strict=True):
        values |= _spread(key, column)
    return values


def _spread(key: str, column: Sequence[Any]) -> dict[str, object]:
    """The values of a column, as parameters of a statement that unnests them.

    Bytes are joined, with where each begins and how long it is: an array of them would be spelled
    as text, twice as long. A column of nothing is NULL: the rows are as many as the others have.
    """
    if isinstance(column[0], bytes):
        lengths = [len(value) for value in column]
        return {
            key: b"".join(column),
            f"{key}.begin": literal(list(accumulate(lengths, initial=1))[:-1]),
            f"{key}.length": literal(lengths),
        }
    return {key: None if not any(value is not None for value in column) else literal(column)}


def literal(values: Sequence[Any]) -> str:
    """A list as PostgreSQL writes an array; psycopg's own way takes ten times as long."""
    first = next((value for value in values if value is not None), None)
    if first is None or isinstance(first, int):
        return "{" + repr(list(values))[1:-1].replace("None", "NULL") + "}"
    if isinstance(first, str) and None not in values:
        texts = '","'.join(values)
        if "\\" not in texts and texts.count('"') == 2 * len(values) - 2:
            return '{"' + texts + '"}'
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: object) -> str:
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    if value is None:
        return "NULL"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _in_words(error: Exception, url: str = "") -> str:
    every = str(error).strip().splitlines() or [type(error).__name__]
    lines = [line for line in every if not line.startswith("\t")] or every  # without hints
    line = lines[-1] if lines[0].startswith("connection") else lines[0]
    if getattr(error, "sqlstate", None) == LOCKED:
        line = f"{line}: another transaction has held what this one needs (lock_timeout)"
    password = urlsplit(url).password if url else None
    return line.replace(password, "***") if password else line
