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
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from fairlead.store.database.postgresql import PostgreSQL

ASKED: Final = 15.0
"""Seconds: the server is asked about a statement that takes longer, each time after so long."""
LOOK: Final = 5.0
"""Seconds between two looks, and for which the server may take to answer."""
IS_SERVED: Final = "SELECT pg_backend_pid(), EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = %s)"

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
    for database, url in every:
        since = database.waits_since
        if since is None or time.monotonic() - since < ASKED:
            continue
        if _is_served(database, url):
            database.waits_since = time.monotonic()
        elif database.waits_since == since:
            _drop(database)


def _is_served(database: PostgreSQL, url: str) -> bool:
    """Whether the server works on a statement; also where that cannot be known."""
    import psycopg

    try:
        pid = database.connection.info.backend_pid
        limit = f"-c statement_timeout={round(LOOK * 1000)}"
        with psycopg.connect(url, connect_timeout=round(LOOK), options=limit) as other:
            row = other.execute(IS_SERVED, [pid]).fetchone()
            known = row is not None and row[0] == other.info.backend_pid  # no pooler between
            return not known or row is None or bool(row[1])
    except psycopg.Error:
        return False


def _drop(database: PostgreSQL) -> None:
    """Whoever waits for the server hears that it is gone."""
    with suppress(Exception):  # it was closed meanwhile
        ours = socket.socket(fileno=os.dup(database.connection.pgconn.socket))
        with ours:
            ours.shutdown(socket.SHUT_RDWR)
