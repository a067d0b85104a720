"""The file of a console: where it listens, who is let in, and how much of it."""

from __future__ import annotations

import ipaddress
import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from fairlead.balance.objects import FileTable, Name, Names
from fairlead.balance.refusal import read
from fairlead.config.queues import check_name
from fairlead.config.serving import is_loopback
from fairlead.config.toml import file_and_line, parsed
from fairlead.errors import ConfigError, UserError

HERE: Final = "127.0.0.1:8765"
_ADDRESS: Final = re.compile(r"(\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s/:@\[\]]+)):(?P<port>\d+)")
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}")


class ConsoleAddress(NamedTuple):
    """Where a console listens."""

    host: str
    port: int
    """0: any that is free."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_here(self) -> bool:
        """Whether only programs on this machine get there."""
        return is_loopback(self.host)


def address_of(text: str, key: str = "listen") -> ConsoleAddress:
    """An address. Raises UserError."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UserError(f"{key}: found {text!r}, allowed: HOST:PORT")
    port = int(match["port"])
    if port > 65535:
        raise UserError(f"{key}: found {text!r}, allowed: a port from 0 to 65535")
    return ConsoleAddress(match["six"] or match["host"], port)


class ConsoleTls(FileTable, frozen=True, kw_only=True):
    """A `[tls]`: paths of files in PEM, from the folder of the file that names them."""

    certificate: Name
    key: Name | None = None
    """Without it: in the same file as the certificate."""


class TrustedProxy(FileTable, frozen=True, kw_only=True):
    """A `[proxy]`: who says by a header whose request it is. `*`: any characters."""

    header: Name
    peers: Names
    """The addresses from which it connects."""
    operators: Names = []
    viewers: Names = []

    def __post_init__(self) -> None:
        if _HEADER.fullmatch(self.header) is None:
            raise ValueError(f"header: found {self.header!r}, allowed: the name of a header")
        if not self.peers:
            raise ValueError("peers: found nothing, allowed: at least one address")
        for peer in self.peers:
            try:
                ipaddress.ip_address(peer)
            except ValueError:
                raise ValueError(f"peers: found {peer!r}, allowed: an IP address") from None
        for key in ("operators", "viewers"):
            for pattern in getattr(self, key):
                check_name(key, pattern)
        if not (self.operators or self.viewers):
            raise ValueError("operators, viewers: found nothing, allowed: names in one of them")


class ConsoleLimits(FileTable, frozen=True, kw_only=True):
    """A `[limits]`: how much there may be at one time."""

    connections: Annotated[int, Meta(ge=10, le=10_000)] = 500
    streams: Annotated[int, Meta(ge=1, le=1000)] = 100
    """Pages whose numbers are kept up to date."""
    sessions: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    hours: Decimal = Decimal(12)
    """After which one has to log in again."""
    body: Annotated[int, Meta(ge=1, le=2**26)] = 65_536
    """Bytes of a message's body that a page shows."""

    def __post_init__(self) -> None:
        if not (self.hours.is_finite() and 0 < self.hours <= 720):
            raise ValueError(f"hours: found {self.hours}, allowed: above 0, up to 720")


class ConsoleFile(FileTable, frozen=True, kw_only=True):
    """All of a console's file."""

    listen: Name = HERE
    users: Name | None = None
    """The file of users, from the folder of this one."""
    viewers_see_bodies: bool = False
    tls: ConsoleTls | None = None
    proxy: TrustedProxy | None = None
    limits: ConsoleLimits = msgspec.field(default_factory=ConsoleLimits)

    def __post_init__(self) -> None:
        try:
            check_address(self, self.address)
        except UserError as error:
            raise ValueError(str(error)) from None

    @property
    def address(self) -> ConsoleAddress:
        """Where to listen."""
        return address_of(self.listen)


def check_address(console: ConsoleFile, address: ConsoleAddress) -> None:
    """Refuse a place at which passwords could be read on their way, or nobody could log in.

    Raises UserError.
    """
    if address.is_here:
        return
    if console.tls is None and console.proxy is None:
        raise UserError(
            f"listen: found {address}, where passwords could be read on their way, allowed: with "
            "[tls], behind a [proxy], or at 127.0.0.1, [::1] or localhost"
        )
    if console.users is not None and console.tls is None:
        raise UserError(
            f"users: found a file of users at {address} without [tls], where passwords could be "
            "read on their way, allowed: with [tls], or at 127.0.0.1, [::1] or localhost"
        )
    if console.users is None and console.proxy is None:
        raise UserError(
            f"users: found nothing, so that nobody could log in at {address}, allowed: a file of "
            "users, or a [proxy]"
        )


def load_console(path: str | Path) -> ConsoleFile:
    """What a console's file says.

    Raises ConfigError with one line that names file, line, key, what was found and what is allowed.
    """
    text, plain = parsed(path)
    try:
        return read(plain, ConsoleFile)
    except ConfigError as error:
        where = file_and_line(path, text, error.place)
        raise ConfigError(f"{where}: {error}", error.place) from None
