"""A bound on each statement of the store's own connections to a server.

Where the way to a server is half open, what is sent is acknowledged, say by a proxy, and nothing
ever comes back: a statement would wait for ever, and so would whoever has a deadline. A thread
looks after all connections of the process, those of event loops, too. A statement that takes long
is no proof: it asks the server by another connection, and drops the one whose process is gone.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from fairlead.store.database.postgresql import PostgreSQL

ASKED: Final = 15.0
"""Seconds: the server is asked about a statement that takes longer, each time after so long."""
LOOK: Final = 5.0
"""Seconds between two looks, and for which the server may take to answer."""
SERVED: Final = (
    "SELECT pg_backend_pid(), ARRAY (SELECT pid FROM pg_stat_activity WHERE pid = ANY (%s))"
)

_urls: Final[WeakKeyDictionary[PostgreSQL, str]] = WeakKeyDictionary()
_lock: Final = threading.Lock()
_started: Final[set[int]] = set()
"""Processes in which the thread runs; a forked child has none."""


def watch(database: PostgreSQL, url: str) -> None:
    """From now on, drop this connection when a statement waits for a server that is gone."""
    with _lock:
        _urls[database] = url
        if os.getpid() not in _started:
            _started.add(os.getpid())
            threading.Thread(target=_look_often, name="fairlead-deadline", daemon=True).start()


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
            if served is None or _process_of(database) in served:
                database.waits_since = time.monotonic()
            elif database.waits_since == since:
                _drop(database)


def _process_of(database: PostgreSQL) -> int:
    """The server's process that works for a connection; 0: the connection is lost by now."""
    try:
        return int(database.connection.pgconn.backend_pid)
    except Exception:  # noqa: BLE001 - it was closed meanwhile
        return 0


def _served(url: str, processes: Sequence[int]) -> set[int] | None:
    """Which of its processes a server has; None: that cannot be known, but it answers."""
    import psycopg

    limit = f"-c statement_timeout={round(LOOK * 1000)}"
    try:
        with psycopg.connect(url, connect_timeout=round(LOOK), options=limit) as other:
            ours, found = other.execute(SERVED, [list(processes)]).fetchone() or (0, [])
            return set(found) if ours == other.info.backend_pid else None  # a pooler between
    except psycopg.Error as error:
        answers = error.sqlstate is not None or "FATAL" in str(error)  # it has no place left, say
        return None if answers else set()


def _drop(database: PostgreSQL) -> None:
    """Whoever waits for the server hears that it is gone."""
    with suppress(Exception):  # it was closed meanwhile
        ours = socket.socket(fileno=os.dup(database.connection.pgconn.socket))
        with ours:
            ours.shutdown(socket.SHUT_RDWR)
