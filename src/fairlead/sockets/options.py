"""What a user gives a socket, checked at once: each error names what was found and is allowed."""

from __future__ import annotations

import inspect
import ssl
import threading
import unicodedata
from typing import Final, TypeVar

from fairlead.balance.cluster import Cluster
from fairlead.balance.objects import repr_of
from fairlead.errors import SocketError
from fairlead.sockets.wire import HIGHEST_TTL, LONGEST

T = TypeVar("T")

MOST: Final = int(threading.TIMEOUT_MAX)
"""Seconds that a thread can wait, if it does not wait for ever."""
NUMBERS: Final = (int, float)
"""Made once: each send and each receive asks for it."""


def refusal(name: str, value: object, allowed: str) -> SocketError:
    """The line about a value."""
    return SocketError(f"{name}: found {repr_of(value)}, allowed: {allowed}")


def _whole(value: object, least: int, most: int = LONGEST) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _seconds(value: object, *, zero: bool = False) -> bool:
    if not isinstance(value, NUMBERS) or value is True or value is False:
        return False
    return 0 < value <= MOST or (zero and value == 0)


def check_messages(value: object) -> None:
    """A `buffer`. Raises SocketError, as all of these do."""
    if not _whole(value, 1):
        raise refusal("buffer", value, "1 message or more")


def check_size(value: object) -> None:
    """Refuse what cannot be a `max_size`. Raises SocketError."""
    if not _whole(value, 1):
        raise refusal("max_size", value, f"1 to {LONGEST} bytes")


def check_memory(value: object) -> None:
    """Refuse what cannot be a `memory`. Raises SocketError."""
    if not _whole(value, 1):
        raise refusal("memory", value, "1 byte or more")


def check_listener(value: object) -> None:
    """Refuse what cannot be an `on_event`. Raises SocketError."""
    if value is not None and (not callable(value) or inspect.iscoroutinefunction(value)):
        raise refusal("on_event", value, "a function of a SocketEvent, or None")


def check_attempts(value: object) -> None:
    """How often a request is sent."""
    if not _whole(value, 0):
        raise refusal("attempts", value, "1 or more, 0 for no limit")


def check_ttl(value: object) -> None:
    """How many may receive a request."""
    if not _whole(value, 1, HIGHEST_TTL):
        raise refusal("max_ttl", value, f"1 to {HIGHEST_TTL}")


def check_backoff(value: object) -> None:
    """Refuse what cannot be a `reconnect`. Raises SocketError."""
    if isinstance(value, tuple | list) and len(value) == 2 and all(map(_seconds, value)):
        first, most = value
        if first <= most:
            return
    raise refusal("reconnect", value, "a pair of seconds (first, most) with 0 < first <= most")


def check_period(name: str, value: object) -> None:
    """Seconds that are never 0."""
    if not _seconds(value):
        raise refusal(name, value, f"more than 0 seconds, at most {MOST}")


def check_heartbeat(value: object) -> None:
    """Seconds between two, or None."""
    if value is not None and not _seconds(value):
        raise refusal("heartbeat", value, f"more than 0 seconds, at most {MOST}, or None")


def check_linger(value: object) -> None:
    """Seconds that may be 0."""
    if not _seconds(value, zero=True):
        raise refusal("linger", value, f"0 to {MOST} seconds")


def check_timeout(value: object) -> None:
    """Seconds that somebody waits, or None for ever."""
    if value is not None and not _seconds(value, zero=True):
        raise refusal("timeout", value, f"0 to {MOST} seconds, or None for ever")


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False. Raises SocketError."""
    if not isinstance(value, bool):
        raise refusal(name, value, "True or False")


def check_cluster(value: object) -> None:
    """Refuse what is no Cluster. Raises SocketError."""
    if not isinstance(value, Cluster):
        raise refusal("cluster", value, "a Cluster (Cluster.of, load_clusters)")


def check_context(value: object, *, binds: bool) -> None:
    """A `tls` of the right side."""
    side = ssl.PROTOCOL_TLS_SERVER if binds else ssl.PROTOCOL_TLS_CLIENT
    if isinstance(value, ssl.SSLContext) and value.protocol in (side, ssl.PROTOCOL_TLS):
        return
    maker = "identity" if binds else "authority"
    what = value.protocol.name if isinstance(value, ssl.SSLContext) else value
    raise refusal("tls", what, f"an ssl.SSLContext of {side.name} (fairlead.sockets.tls.{maker})")


def check_name(value: object) -> None:
    """What an endpoint is called."""
    if not isinstance(value, str) or any(
        unicodedata.category(character) == "Cc" for character in value
    ):
        raise refusal("name", value, "text without control characters")


def check_handler(value: object, *, coroutine: bool) -> None:
    """What makes a reply of a request."""
    waits = any(map(inspect.iscoroutinefunction, (value, getattr(value, "__call__", None))))  # noqa: B004
    if not callable(value) or waits != coroutine:
        allowed = "a coroutine function" if coroutine else "a function"
        other = "serve takes a function" if coroutine else "aserve takes a coroutine function"
        raise refusal("handler", value, f"{allowed} of bytes that returns bytes ({other})")


def checked_reply(found: T) -> T:
    """What a handler has made."""
    if not isinstance(found, bytes | bytearray | memoryview):
        raise refusal("handler: reply", found, "bytes")
    return found
