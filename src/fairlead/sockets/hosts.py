"""Hosts that vanish: no connection is closed, and nothing comes any more."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final

IDLE: Final = 10
"""Seconds of silence until the system asks a host whether it is there."""
BETWEEN: Final = 5
"""Seconds between two such questions, and between two looks at what is on its way to a host."""
TRIES: Final = 3
"""Questions without an answer after which a host has vanished."""
INFO: Final = struct.Struct("=2x2B4x4x4x4x4xI4x4x4x4x4x4x4xI")
"""Of what Linux knows of a connection (struct tcp_info): consecutive retransmissions, probes;
segments without an acknowledgement; milliseconds since the latest one."""
KNOWS: Final = sys.platform == "linux"
"""Whether the system tells these. Elsewhere TCP itself finds out, some minutes later."""


def keep_alive(end: socket.socket) -> None:
    """Let the system find out that a host has vanished to which nothing is on its way."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("IDLE", IDLE), ("INTVL", BETWEEN), ("CNT", TRIES)):
        option = getattr(socket, f"TCP_KEEP{name}", None)  # not every system has them
        if option is not None:
            end.setsockopt(socket.IPPROTO_TCP, option, value)


class UnansweredBytes:
    """How long a host has acknowledged nothing of what is on its way there.

    `TCP_USER_TIMEOUT` would not do: it also ends the connection with a reader that is only slow,
    whose host says again and again that there is no room.
    """

    __slots__ = ("_looks",)

    def __init__(self) -> None:
        """Nothing is on its way."""
        self._looks = 0
        """Looks in a row at which something was, and nothing had come since the one before."""

    def too_long(self, end: socket.socket) -> bool:
        """To be asked every `BETWEEN` seconds: whether the host has vanished."""
        if not KNOWS:
            return False
        raw = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO.size)
        if len(raw) < INFO.size:
            return False
        again, probes, unacknowledged, silent = INFO.unpack(raw)
        under_way = (unacknowledged and again) or probes
        self._looks = self._looks + 1 if under_way and silent >= BETWEEN * 1000 else 0
        return self._looks * BETWEEN > IDLE + BETWEEN * TRIES
