"""The file of a server: where it listens, who may do what, and how much of it."""

from __future__ import annotations

import ipaddress
import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

from fairlead.balance.objects import FileTable, Name, Names
from fairlead.balance.refusal import read
from fairlead.config.queues import check_name
from fairlead.config.toml import file_and_line, parsed
from fairlead.errors import ConfigError, UserError

PORTS: Final = {"amqp": 5672, "amqps": 5671}
ADDRESSES: Final = "amqp://HOST:PORT or amqps://HOST:PORT"
HERE: Final = "amqp://127.0.0.1:5672"
Deed = Literal["send", "take", "browse"]
DEEDS: Final[tuple[Deed, ...]] = get_args(Deed)
_ADDRESS: Final = re.compile(
    r"(?P<scheme>amqps?)://(\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s/:@\[\]]+))(:(?P<port>\d+))?/?"
)


class ListenAddress(NamedTuple):
    """Where a server listens."""

    host: str
    port: int
    """0: any that is free."""
    secure: bool
    """Whether TLS is spoken there."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'amqps' if self.secure else 'amqp'}://{host}:{self.port}"

    @property
    def is_here(self) -> bool:
        """Whether only programs on this machine get there."""
        return is_loopback(self.host)


def place_of(text: str, key: str = "listen") -> ListenAddress:
    """An address. Raises UserError."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UserError(f"{key}: found {text!r}, allowed: {ADDRESSES}")
    port = int(match["port"]) if match["port"] else PORTS[match["scheme"]]
    if port > 65535:
        raise UserError(f"{key}: found {text!r}, allowed: a port from 0 to 65535")
    return ListenAddress(match["six"] or match["host"], port, match["scheme"] == "amqps")


def is_loopback(host: str) -> bool:
    """Whether an address, or a name, is one of this machine for itself."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


class Tls(FileTable, frozen=True, kw_only=True):
    """A `[tls]`: paths of files in PEM, from the folder of the file that names them."""

    certificate: Name
    key: Name | None = None
    """Without it: in the same file as the certificate."""
    clients: Name | None = None
    """Whose signature on a client's certificate says who that is."""


class Right(FileTable, frozen=True, kw_only=True):
    """A `[[right]]`: what some users may do at some addresses. `*`: any characters."""

    user: Name
    address: Name = "*"
    host: Name = "*"
    may: list[Deed]

    def __post_init__(self) -> None:
        for key in ("user", "address", "host"):
            check_name(key, getattr(self, key))
        if not self.may:
            raise ValueError("may: found nothing, allowed: send, take, browse")


class Refusal(FileTable, frozen=True, kw_only=True):
    """A `[[refuse]]`: clients that are not let in, and end. `*`: any characters."""

    user: Name | None = None
    container: Name | None = None
    peer: Name | None = None
    """Its address, with the port."""

    def __post_init__(self) -> None:
        patterns = [
            (key, value) for key in self.patterns if (value := getattr(self, key)) is not None
        ]
        if not patterns:
            raise ValueError("refuse: found nothing, allowed: user, container, peer")
        for key, value in patterns:
            check_name(key, value)

    @property
    def patterns(self) -> dict[str, str]:
        """What all has to match."""
        return {key: getattr(self, key) or "*" for key in ("user", "container", "peer")}


class Limits(FileTable, frozen=True, kw_only=True):
    """A `[limits]`: how much there may be at one time."""

    connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 5000
    connections_each: Annotated[int, Meta(ge=1, le=1_000_000)] = 2000
    """Of one user."""
    unknown: Annotated[int, Meta(ge=1, le=1_000_000)] = 500
    """Connections whose peer has not yet said who it is."""
    sessions: Annotated[int, Meta(ge=1, le=65_535)] = 256
    """On one connection."""
    links: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000
    """On one connection."""
    frame: Annotated[int, Meta(ge=512, le=16_777_216)] = 65_536
    """Bytes."""
    message: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 134_217_728
    """Bytes."""
    memory: Annotated[int, Meta(ge=1, le=2**40)] = 268_435_456
    """Bytes that one connection makes a server hold."""
    introduction: Decimal = Decimal(10)
    """Seconds in which a peer has to say who it is, and open its connection."""
    idle: Decimal = Decimal(60)
    """Seconds without a word after which a peer is taken to be gone."""

    def __post_init__(self) -> None:
        for key in ("introduction", "idle"):
            seconds: Decimal = getattr(self, key)
            if not (seconds.is_finite() and 1 <= seconds <= 86_400):
                raise ValueError(f"{key}: found {seconds}, allowed: seconds, from 1 to 86400")
        if self.memory < self.message:
            raise ValueError(
                f"memory: found {self.memory}, allowed: at least one message, {self.message}"
            )


class ServingFile(FileTable, frozen=True, kw_only=True):
    """All of a server's file."""

    listen: Names = msgspec.field(default_factory=lambda: [HERE])
    users: Name | None = None
    """The file of users, from the folder of this one."""
    anonymous: bool | None = None
    """Whether programs on this machine need no name; None: only where there is no file of users."""
    hosts: Names = []
    """The virtual hosts that there are; none: any. `*`: any characters."""
    raised_by_priority: Names = []
    """The queues and clusters where a message's priority raises its group. `*`: any characters."""
    tls: Tls | None = None
    limits: Limits = Limits()
    rights: list[Right] = msgspec.field(name="right", default_factory=list)
    """None: whoever is let in may do everything."""
    refused: list[Refusal] = msgspec.field(name="refuse", default_factory=list)
    """Who is not let in, whoever he says he is."""

    def __post_init__(self) -> None:
        for host in self.hosts:
            check_name("hosts", host)
        for queue in self.raised_by_priority:
            check_name("raised_by_priority", queue)
        try:
            _check_each(self, self.places)  # who starts the server may say others
        except UserError as error:
            raise ValueError(str(error)) from None

    @property
    def places(self) -> list[ListenAddress]:
        """Where to listen."""
        return [place_of(address) for address in self.listen]

    @property
    def lets_anybody(self) -> bool:
        """Whether programs on this machine need no name."""
        return self.users is None if self.anonymous is None else self.anonymous


def check_places(serving: ServingFile, places: list[ListenAddress]) -> None:
    """Refuse places at which nobody could say who it is, or everybody could listen.

    Raises UserError.
    """
    _check_each(serving, places)
    if serving.tls is not None and not any(place.secure for place in places):
        raise UserError("tls: found no address amqps:// in listen, allowed: at least one")


def _check_each(serving: ServingFile, places: list[ListenAddress]) -> None:
    if not places:
        raise UserError("listen: found nothing, allowed: at least one address")
    for place in places:
        if place.secure and serving.tls is None:
            raise UserError(f"listen: found {place} without [tls], allowed: with a certificate")
        if not place.secure and not place.is_here:
            raise UserError(
                f"listen: found {place}, where passwords could be read on their way, allowed: "
                "amqps://, or amqp:// at 127.0.0.1, [::1] or localhost"
            )
        if (
            not place.is_here
            and serving.users is None
            and not (serving.tls and serving.tls.clients)
        ):
            raise UserError(
                f"users: found nothing, so that nobody could connect to {place}, allowed: a file "
                "of users, or [tls] with clients"
            )
    if not (serving.lets_anybody or serving.users or (serving.tls and serving.tls.clients)):
        raise UserError("anonymous: found false, without users, allowed: with a file of users")


def load_serving(path: str | Path) -> ServingFile:
    """What a server's file says.

    Raises ConfigError with one line that names file, line, key, what was found and what is allowed.
    """
    text, plain = parsed(path)
    try:
        return read(plain, ServingFile)
    except ConfigError as error:
        where = file_and_line(path, text, error.place)
        raise ConfigError(f"{where}: {error}", error.place) from None
