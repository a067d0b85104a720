"""A bound on each statement of the store's own connections to a server.

Where the way to a server is half open, what is sent is acknowledged, say by a proxy, and nothing
ever comes back: a statement would wait for ever, and so would whoever has a deadline. A thread
looks after all connections of the process, those of event loops, too. A statement that takes long
is no proof: it asks the server by another connection, and drops the one whose process is gone, or
has had nothing to do for so long: the statement, or what was answered, is lost on the way. That
process it ends: nobody else would, and others may wait for what it has locked.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from fairlead.store.database.postgresql import PostgreSQL

ASKED: Final = 15.0
"""Seconds: the server is asked about a statement that takes longer, each time after so long."""
LOOK: Final = 5.0
"""Seconds between two looks, and for which the server may take to let itself be asked, and then to
answer."""
BEGAN: Final = "(extract(epoch FROM backend_start) * 1000000)::bigint"
MINE: Final = f"SELECT {BEGAN} FROM pg_stat_get_activity(pg_backend_pid())"  # noqa: S608 - a constant
"""When the process of a session began."""
SERVED: Final = f"""
WITH theirs AS (
  SELECT a.pid, coalesce(a.state LIKE 'idle%%'
    AND clock_timestamp() - a.state_change > make_interval(secs => %(idle)s), false) AS idle
  FROM unnest(%(processes)s::int[], %(began)s::bigint[]) AS o (pid, began)
  JOIN pg_stat_activity a ON a.pid = o.pid AND o.began = {BEGAN}
  WHERE pg_backend_pid() = %(ours)s)
SELECT pg_backend_pid(), ARRAY (SELECT pid FROM theirs WHERE NOT idle),
  (SELECT count(pg_terminate_backend(pid)) FROM theirs WHERE idle)
"""  # noqa: S608 - a constant
Process = tuple[int, int]
"""The server's: its number, and when it began."""

_urls: Final[WeakKeyDictionary[PostgreSQL, str]] = WeakKeyDictionary()
_lock: Final = threading.Lock()
_started: Final[set[int]] = set()
"""Processes in which the thread runs; a forked child has none."""


def watch(database: PostgreSQL, url: str) -> None:
    """From now on, drop this connection when a statement waits for a server that is gone."""
    with _lock:
        _urls[database] = _of_its_host(url, database.connection)
        if os.getpid() not in _started:
            _started.add(os.getpid())
            threading.Thread(target=_look_often, name="fairlead-deadline", daemon=True).start()


def _of_its_host(url: str, connection: Any) -> str:  # noqa: ANN401 - the driver's
    """The URL may name several, of which others know nothing of this connection."""
    from psycopg.conninfo import make_conninfo

    info = connection.info
    where = {"host": info.host, "hostaddr": info.hostaddr, "port": info.port}
    return make_conninfo(url, **{key: value for key, value in where.items() if value})


def _look_often() -> None:
    while True:
        time.sleep(LOOK)
        look()


def look() -> None:
    """Drop the connections whose statements nobody works on."""
    with _lock:
        every = list(_urls.items())
    late: dict[str, list[tuple[PostgreSQL, float]]] = {}
    for database, url in every:
        since = database.waits_since
        if since is not None and time.monotonic() - since >= ASKED:
            late.setdefault(url, []).append((database, since))
    for url, waiting in late.items():
        served = _served(url, [_process_of(database) for database, _ in waiting])
        for database, since in waiting:
            if served is None or _process_of(database)[0] in served:
                database.waits_since = time.monotonic()
            elif database.waits_since == since:
                hang_up(database.connection)


def _process_of(database: PostgreSQL) -> Process:
    """That works for a connection; 0: the connection is lost by now, or has only been made."""
    try:
        return int(database.connection.pgconn.backend_pid), database.began or 0
    except Exception:  # noqa: BLE001 - it was closed meanwhile
        return 0, 0


def _served(url: str, processes: Sequence[Process]) -> set[int] | None:
    """For which of its processes a server works; None: that cannot be known, but it answers."""
    import psycopg

    seconds = round(LOOK)
    limit = f"-c statement_timeout={seconds * 1000}"
    try:
        with psycopg.connect(url, connect_timeout=seconds, options=limit) as other:
            ours = other.info.backend_pid
            pids, began = [each for each, _ in processes], [each for _, each in processes]
            asked = {"processes": pids, "began": began, "ours": ours, "idle": ASKED}
            too_late = threading.Timer(LOOK, hang_up, [other])
            too_late.daemon = True
            too_late.start()
            try:
                found, served, _ = other.execute(SERVED, asked).fetchone() or (0, [], 0)
            finally:
                too_late.cancel()
            return set(served) if found == ours else None  # a pooler between
    except psycopg.Error as error:
        answers = error.sqlstate is not None or "FATAL" in str(error)  # it has no place left, say
        return None if answers else set()


def hang_up(connection: Any) -> None:  # noqa: ANN401 - the driver's
    """Whoever waits for the server hears that it is gone; for any thread."""
    with suppress(Exception):  # it was closed meanwhile
        ours = socket.socket(fileno=os.dup(connection.pgconn.socket))
        with ours:
            ours.shutdown(socket.SHUT_RDWR)
