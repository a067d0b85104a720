"""Destinations outside: services and brokers that messages leave for by themselves."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from fairlead.balance.objects import FileTable, Name, on_one_line

HTTP: Final = ("http", "https")
AMQP: Final = ("amqp", "amqps")
SCHEMES: Final = (*HTTP, *AMQP)
LONGEST: Final = 86_400
"""Seconds for which an answer may be waited for, at most."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class OutsideAddress(NamedTuple):
    """Where a service or a broker is."""

    scheme: str
    host: str
    port: int | None
    """None: the one of the scheme."""
    path: str
    """With the query."""
    text: str
    """All of it; it has no secret in it."""

    @property
    def origin(self) -> str:
        """Who is there, whatever is asked of it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port is not None else "")


def scheme_of(address: str) -> str:
    """The scheme of an address, in small letters; "" where it is no URL."""
    match = _SCHEME.match(address)
    return match[1].lower() if match else ""


def outside(address: str) -> OutsideAddress | None:
    """A destination's address, if it is outside; None: it is no URL, and means nothing to us.

    Raises ValueError, with a line that shows no secret.
    """
    scheme = scheme_of(address)
    if not scheme:
        return None
    check_no_secret(address)
    if scheme not in SCHEMES:
        raise ValueError(
            f"address: found {address!r}, allowed: {', '.join(f'{word}://' for word in SCHEMES)}, "
            "or what is no URL"
        )
    wrong = ValueError(f"address: found {address!r}, allowed: {scheme}://HOST[:PORT]/PATH")
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise wrong from None
    visible = address.isprintable() and " " not in address and address.isascii()
    if not host or not visible or parts.fragment or port == 0:
        raise wrong
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return OutsideAddress(scheme, host, port, path, address)


def check_no_secret(address: str) -> None:
    """Refuse the address of a service or broker that says who logs in; the line does not show it.

    An address is shown, logged and kept in the journal. Raises ValueError.
    """
    if scheme_of(address) not in SCHEMES:
        return
    authority = re.split(r"[/?#\\]", address.partition("://")[2], maxsplit=1)[0]
    if "@" in authority:
        scheme, rest = scheme_of(address), address.rpartition("@")[2]
        raise ValueError(
            f"address: found {on_one_line(f'{scheme}://***@{rest}')!r}, which says who logs in, "
            "allowed: an address without that, and user with password_file, or token_file, "
            "under [forward]"
        )


class ForwardKeys(FileTable, frozen=True, kw_only=True):
    """How messages leave for destinations; paths are from the folder of the file."""

    timeout: Decimal | UnsetType = UNSET
    """Seconds for a whole answer."""
    user: Name | UnsetType = UNSET
    password_file: Name | UnsetType = UNSET
    token_file: Name | UnsetType = UNSET
    """Of a bearer token."""
    ca: Name | UnsetType = UNSET
    """Whose signature on a service's certificate is trusted, instead of those of this machine."""
    certificate: Name | UnsetType = UNSET
    """The certificate that we show to a service."""
    key: Name | UnsetType = UNSET
    """Without it: in the same file as the certificate."""
    reply_to: Name | UnsetType = UNSET
    """The queue that gets answers."""

    def __post_init__(self) -> None:
        seconds = self.timeout
        if seconds is not UNSET and not (
            seconds.is_finite() and Decimal("0.001") <= seconds <= LONGEST
        ):
            raise ValueError(f"timeout: found {seconds}, allowed: seconds, from 0.001 to {LONGEST}")
        if (self.user is UNSET) != (self.password_file is UNSET):
            alone = "user" if self.password_file is UNSET else "password_file"
            raise ValueError(f"{alone}: found it alone, allowed: user with password_file")
        if self.user is not UNSET and self.token_file is not UNSET:
            raise ValueError("token_file: found it beside user, allowed: one of them")
        if self.user is not UNSET and (":" in self.user or not self.user.isprintable()):
            raise ValueError(f"user: found {self.user!r}, allowed: what is printable, without ':'")
        if self.key is not UNSET and self.certificate is UNSET:
            raise ValueError("key: found it without certificate, allowed: both or none")


LOGIN: Final = ("user", "password_file", "token_file")
IDENTITY: Final = ("certificate", "key")


class ForwardTo(ForwardKeys, frozen=True, kw_only=True):
    """A `[[forward.to]]`: what is different for one destination."""

    name: Name


class Forwarding(ForwardKeys, frozen=True, kw_only=True):
    """A `[forward]`: for all destinations outside, and under `to` for single ones."""

    to: list[ForwardTo] = []

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [table.name for table in self.to]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise ValueError(f"to: found {name!r} twice, allowed: each destination once")

    def of(self, destination: str) -> ForwardKeys:
        """How messages leave for this destination: what is said of it, else of all.

        Who logs in is said as a whole, and so is what we show.
        """
        own = next((said_in(table) for table in self.to if table.name == destination), {})
        every = said_in(self)
        for together in (LOGIN, IDENTITY):
            if not own.keys().isdisjoint(together):
                every = {name: value for name, value in every.items() if name not in together}
        return ForwardKeys(**{**every, **own})


def said_in(keys: ForwardKeys) -> dict[str, Any]:
    """What is said there."""
    named = ((name, getattr(keys, name)) for name in ForwardKeys.__struct_fields__)
    return {name: value for name, value in named if value is not UNSET}
