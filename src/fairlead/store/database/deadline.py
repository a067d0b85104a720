"""A bound on each statement of the store's own connections to a server.

Where the way to a server is half open, what is sent is acknowledged, say by a proxy, and nothing
ever comes back: a statement would wait for ever, and so would whoever has a deadline. A thread
looks after all connections of the process, those of event loops, too. A statement that takes long
is no proof: it asks the server by another connection, and drops the one whose process is gone, or
has had nothing to do for so long: the statement, or what was answered, is lost on the way. The same
goes for one that is still to say its answer, of which nothing comes here. Such a process it ends:
nobody else would, and others may wait for what it has locked.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import struct
import termios
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

LOGGER: Final = logging.getLogger("fairlead.store")
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
      AND clock_timestamp() - a.state_change > make_interval(secs => %(idle)s)
    OR o.unheard AND a.wait_event = 'ClientWrite', false) AS idle
  FROM unnest(%(processes)s::int[], %(began)s::bigint[], %(unheard)s::boolean[])
    AS o (pid, began, unheard)
  JOIN pg_stat_activity a ON a.pid = o.pid AND o.began = {BEGAN}
  WHERE pg_backend_pid() = %(ours)s)
SELECT pg_backend_pid(), ARRAY (SELECT pid FROM theirs WHERE NOT idle),
  (SELECT count(pg_terminate_backend(pid)) FROM theirs WHERE idle)
"""  # noqa: S608 - a constant
LAST_CAME: Final = struct.Struct("8x12I")
"""What Linux tells of a connection, up to the milliseconds since something came last."""
Process = tuple[int, int]
"""The server's: its number, and when it began, in microseconds."""
UNKNOWN: Final[Process] = (0, 0)
"""The server has not said so yet; it has no such process."""
REMEMBERED: Final = 300.0
"""Seconds: for so long a server is asked to end what a connection that was lost has left there."""


class Waiting(Protocol):
    """A connection whose statements may wait for the server."""

    connection: Any
    """The driver's."""
    served_by: Process
    waits_since: float | None
    """Since when a statement waits, as `time.monotonic` has it; None: none does."""


_urls: Final[WeakKeyDictionary[Waiting, str]] = WeakKeyDictionary()
_left: Final[dict[str, list[tuple[Process, float]]]] = {}
"""What connections that were lost may have left at their servers, and since when."""
_lock: Final = threading.Lock()
_started: Final[set[int]] = set()
"""Processes in which the thread runs; a forked child has none."""


def watch(database: Waiting, url: str) -> None:
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


def left_behind(database: Waiting) -> None:
    """The connection is lost; its process may stay at the server, with all that it has locked."""
    with _lock:
        url = _urls.pop(database, None)
        if url is not None:
            _left.setdefault(url, []).append((database.served_by, time.monotonic()))


def _look_often() -> None:
    while True:
        time.sleep(LOOK)
        try:
            look()
            end_what_is_left()
        except Exception:  # this thread is the bound of all statements: it goes on
            LOGGER.exception("cannot look after statements that wait; tried again")


def look() -> None:
    """Drop the connections whose statements nobody works on."""
    with _lock:
        every = list(_urls.items())
    late: dict[str, list[tuple[Waiting, float]]] = {}
    for database, url in every:
        since = database.waits_since
        if since is not None and time.monotonic() - since >= ASKED:
            late.setdefault(url, []).append((database, since))
    for url, waiting in late.items():
        unheard = [_is_unheard(database.connection) for database, _ in waiting]
        served = _served(url, [database.served_by for database, _ in waiting], unheard)
        for database, since in waiting:
            if served is None or database.served_by[0] in served:
                database.waits_since = time.monotonic()
            elif database.waits_since == since:
                hang_up(database.connection)


def end_what_is_left() -> None:
    """End the processes of lost connections, once they have nothing to do.

    A proxy may keep its own side open: such a process would stay, and hold its locks, for hours.
    """
    import psycopg

    with _lock:
        every = dict(_left)
        _left.clear()
    for url, entries in every.items():
        recent = [entry for entry in entries if time.monotonic() - entry[1] < REMEMBERED]
        try:
            left = [process for process, _ in recent]
            busy = _asked(url, left, [True] * len(left), idle=0) if left else None
        except psycopg.Error:
            again = recent  # nobody has heard it
        else:
            again = [entry for entry in recent if busy is not None and entry[0][0] in busy]
        if again:
            with _lock:
                _left.setdefault(url, []).extend(again)


def _is_unheard(connection: Any) -> bool:  # noqa: ANN401 - the driver's
    """Whether nothing has come for so long, and nothing waits to be read; where a system tells."""
    if not hasattr(socket, "TCP_INFO"):
        return False
    try:
        ours = socket.socket(fileno=os.dup(connection.pgconn.socket))
    except Exception:  # noqa: BLE001 - it was closed meanwhile
        return False
    with ours:
        if ours.family == getattr(socket, "AF_UNIX", None):
            return False
        (unread,) = struct.unpack("i", fcntl.ioctl(ours, termios.FIONREAD, bytes(4)))
        info = ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LAST_CAME.size)
        return not unread and LAST_CAME.unpack(info)[-1] >= ASKED * 1000


def _served(url: str, processes: Sequence[Process], unheard: Sequence[bool]) -> set[int] | None:
    """For which of its processes a server works; None: that cannot be known, but it answers."""
    import psycopg

    try:
        return _asked(url, processes, unheard, idle=ASKED)
    except psycopg.Error as error:
        answers = error.sqlstate is not None or "FATAL" in str(error)  # it has no place left, say
        return None if answers else set()


def _asked(
    url: str, processes: Sequence[Process], unheard: Sequence[bool], idle: float
) -> set[int] | None:
    """For which of its processes a server works; it ends those that are idle for so long.

    `unheard`: of which nothing comes here: those end, too, that are still to say what they answer.
    None: a pooler between does not let us know. Raises psycopg.Error.
    """
    import psycopg

    seconds = round(LOOK)
    limit = f"-c statement_timeout={seconds * 1000}"
    how: dict[str, Any] = {"connect_timeout": seconds, "options": limit}
    with psycopg.connect(url, autocommit=True, **how) as other:  # no commit could wait
        ours = other.info.backend_pid
        pids, began = [pid for pid, _ in processes], [start for _, start in processes]
        values = {"processes": pids, "began": began, "unheard": list(unheard), "ours": ours}
        too_late = threading.Timer(LOOK, hang_up, [other])
        too_late.daemon = True
        too_late.start()
        try:
            pid, served, _ = other.execute(SERVED, values | {"idle": idle}).fetchone() or (
                0,
                [],
                0,
            )
        finally:
            too_late.cancel()
        return set(served) if pid == ours else None


def hang_up(connection: Any) -> None:  # noqa: ANN401 - the driver's
    """Whoever waits for the server hears that it is gone; for any thread."""
    with suppress(Exception):  # it was closed meanwhile
        ours = socket.socket(fileno=os.dup(connection.pgconn.socket))
        with ours:
            ours.shutdown(socket.SHUT_RDWR)
