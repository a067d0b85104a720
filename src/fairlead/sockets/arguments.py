"""What sockets of each kind can be given, said once."""

from __future__ import annotations

import ssl
from typing import TypedDict

from fairlead.sockets.events import EventHandler


class SocketOptions(TypedDict, total=False):
    """Of every socket; `Socket` says what each means, and has the defaults."""

    buffer: int
    max_size: int
    memory: int
    reconnect: tuple[float, float]
    on_event: EventHandler | None


class SenderOptions(SocketOptions, total=False):
    """Of a socket that chooses a peer for each message: see `Sender`."""

    journal: bool
    tls: ssl.SSLContext | None


class RequesterOptions(SenderOptions, total=False):
    """Of a socket that asks: see `Requester`."""

    resend: float
    retry: float
    attempts: int
