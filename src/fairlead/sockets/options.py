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


def refusal(name: str, found: object, allowed: str) -> SocketError:
    """The line about a value."""
    return SocketError(f"{name}: found {repr_of(found)}, allowed: {allowed}")


def _whole(found: object, least: int, most: int = LONGEST) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and least <= found <= most


def _seconds(found: object, *, zero: bool = False) -> bool:
    if not isinstance(found, NUMBERS) or found is True or found is False:
        return False
    return 0 < found <= MOST or (zero and found == 0)


def check_messages(found: object) -> None:
    """A `buffer`. Raises SocketError, as all of these do."""
    if not _whole(found, 1):
        raise refusal("buffer", found, "1 message or more")


def check_size(found: object) -> None:
    """A `max_size`."""
    if not _whole(found, 1):
        raise refusal("max_size", found, f"1 to {LONGEST} bytes")


def check_memory(found: object) -> None:
    """A `memory`."""
    if not _whole(found, 1):
        raise refusal("memory", found, "1 byte or more")


def check_listener(found: object) -> None:
    """An `on_event`."""
    if found is not None and (not callable(found) or inspect.iscoroutinefunction(found)):
        raise refusal("on_event", found, "a function of a SocketEvent, or None")


def check_attempts(found: object) -> None:
    """How often a request is sent."""
    if not _whole(found, 0):
        raise refusal("attempts", found, "1 or more, 0 for no limit")


def check_ttl(found: object) -> None:
    """How many may receive a request."""
    if not _whole(found, 1, HIGHEST_TTL):
        raise refusal("max_ttl", found, f"1 to {HIGHEST_TTL}")


def check_backoff(found: object) -> None:
    """A `reconnect`."""
    if isinstance(found, tuple | list) and len(found) == 2 and all(map(_seconds, found)):
        first, most = found
        if first <= most:
            return
    raise refusal("reconnect", found, "a pair of seconds (first, most) with 0 < first <= most")


def check_period(name: str, found: object) -> None:
    """Seconds that are never 0."""
    if not _seconds(found):
        raise refusal(name, found, f"more than 0 seconds, at most {MOST}")


def check_heartbeat(found: object) -> None:
    """Seconds between two, or None."""
    if found is not None and not _seconds(found):
        raise refusal("heartbeat", found, f"more than 0 seconds, at most {MOST}, or None")


def check_linger(found: object) -> None:
    """Seconds that may be 0."""
    if not _seconds(found, zero=True):
        raise refusal("linger", found, f"0 to {MOST} seconds")


def check_timeout(found: object) -> None:
    """Seconds that somebody waits, or None for ever."""
    if found is not None and not _seconds(found, zero=True):
        raise refusal("timeout", found, f"0 to {MOST} seconds, or None for ever")


def check_flag(name: str, found: object) -> None:
    """Yes or no."""
    if not isinstance(found, bool):
        raise refusal(name, found, "True or False")


def check_cluster(found: object) -> None:
    """Whose policy chooses."""
    if not isinstance(found, Cluster):
        raise refusal("cluster", found, "a Cluster (Cluster.of, load_clusters)")


def check_context(found: object, *, binds: bool) -> None:
    """A `tls` of the right side."""
    side = ssl.PROTOCOL_TLS_SERVER if binds else ssl.PROTOCOL_TLS_CLIENT
    if isinstance(found, ssl.SSLContext) and found.protocol in (side, ssl.PROTOCOL_TLS):
        return
    maker = "identity" if binds else "authority"
    what = found.protocol.name if isinstance(found, ssl.SSLContext) else found
    raise refusal("tls", what, f"an ssl.SSLContext of {side.name} (fairlead.sockets.tls.{maker})")


def check_name(found: object) -> None:
    """What an endpoint is called."""
    if not isinstance(found, str) or any(
        unicodedata.category(character) == "Cc" for character in found
    ):
        raise refusal("name", found, "text without control characters")


def check_handler(found: object, *, coroutine: bool) -> None:
    """What makes a reply of a request."""
    waits = any(map(inspect.iscoroutinefunction, (found, getattr(found, "__call__", None))))  # noqa: B004
    if not callable(found) or waits != coroutine:
        allowed = "a coroutine function" if coroutine else "a function"
        other = "serve takes a function" if coroutine else "aserve takes a coroutine function"
        raise refusal("handler", found, f"{allowed} of bytes that returns bytes ({other})")


def checked_reply(found: T) -> T:
    """What a handler has made."""
    if not isinstance(found, bytes | bytearray | memoryview):
        raise refusal("handler: reply", found, "bytes")
    return found
