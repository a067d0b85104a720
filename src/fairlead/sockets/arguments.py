"""What sockets of each kind can be given, said once."""

from __future__ import annotations

import inspect
import ssl
from collections.abc import Iterable
from typing import TypedDict

from fairlead.balance.objects import hint, listed
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


def signature_of(kind: type, *others: type) -> inspect.Signature:
    """What a class can be given, its bases and some others too, as `help` shows it."""
    by_name: dict[str, inspect.Parameter] = {}
    every = [base for one in (kind, *others) for base in one.__mro__ if base is not object]
    for init in [vars(base)["__init__"] for base in every if "__init__" in vars(base)]:
        _, *parameters = inspect.signature(init).parameters.values()
        for parameter in parameters:
            if parameter.kind is not parameter.VAR_KEYWORD:
                by_name.setdefault(parameter.name, parameter)
    return inspect.Signature(sorted(by_name.values(), key=lambda each: each.kind))


def check_known(kind: type, names: Iterable[str]) -> None:
    """Raises TypeError for an option that a class does not have."""
    known = [*inspect.signature(kind).parameters]
    for name in names:
        if name not in known:
            raise TypeError(
                f"{kind.__name__}: found the option {name!r}, allowed: {listed(known)}"
                f"{hint(name, known)}"
            )
