"""Addresses of endpoints: `tcp://host:port`, `tls+tcp://host:port`, `ipc://path`."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.balance.objects import repr_of
from fairlead.errors import SocketError

TCP, TLS, IPC = "tcp", "tls+tcp", "ipc"
ALLOWED: Final = "allowed: tcp://HOST:PORT, tls+tcp://HOST:PORT or ipc://PATH"
HIGHEST_PORT: Final = 65535
DIGITS: Final = 5
NEVER: Final = ";/@"
"""Never in a host; nanomsg writes `tcp://INTERFACE;HOST:PORT`, which is not known here."""
LONGEST_PATH: Final = 107
"""Bytes that the name of a Unix socket can have."""


def _no_port(url: str, port: str) -> SocketError:
    return SocketError(
        f"address: found the port {repr_of(port)} in {repr_of(url)}, "
        f"allowed: 1 to {HIGHEST_PORT}, and 0 for bind"
    )


def _host(url: str, found: str) -> str:
    """What stands before the port; "" for every address. Raises SocketError."""
    host = found[1:-1] if found.startswith("[") and found.endswith("]") else found
    if any(character.isspace() or character in NEVER for character in host):
        raise SocketError(
            f"address: found the host {repr_of(host)} in {repr_of(url)}, allowed: a name or an IP "
            f"address, without blanks and {' '.join(NEVER)}"
        )
    if ":" in host and host == found:
        raise SocketError(
            f"address: found the host {repr_of(host)} in {repr_of(url)}, "
            "allowed: an IPv6 address in brackets ([::1])"
        )
    return "" if host == "*" else host


class Address(NamedTuple):
    """Where an endpoint is."""

    url: str
    kind: str
    host: str
    """Of TCP; "" is every address of this machine."""
    port: int
    path: str
    """Of a Unix socket."""

    @classmethod
    def of(cls, url: str) -> Address:
        """As a text says it. Raises SocketError."""
        value: object = url
        kind, separator, place = (
            str(url).partition("://") if isinstance(value, str) else ("", "", "")
        )
        if not (separator and place):
            raise SocketError(f"address: found {repr_of(url)}, {ALLOWED}")
        if kind == IPC:
            if len(place.encode()) > LONGEST_PATH:
                raise SocketError(
                    f"address: found a path of {len(place.encode())} bytes in {url}, "
                    f"allowed: at most {LONGEST_PATH}"
                )
            return cls(url, kind, "", 0, place)
        if kind not in (TCP, TLS):
            raise SocketError(f"address: found {repr_of(url)}, {ALLOWED}")
        host, colon, port = place.rpartition(":")
        if not colon:
            raise SocketError(f"address: found {repr_of(url)}, allowed: {kind}://HOST:PORT")
        if not (port.isdecimal() and len(port) <= DIGITS and int(port) <= HIGHEST_PORT):
            raise _no_port(url, port)
        return cls(url, kind, _host(url, host), int(port), "")

    def to_connect(self) -> Address:
        """Itself, if one can connect to it. Raises SocketError."""
        if self.kind != IPC:
            if not self.host:
                raise SocketError(
                    f"address: found no host in {repr_of(self.url)}, allowed: the peer's "
                    f"({self.kind}://HOST:PORT)"
                )
            if not self.port:
                raise _no_port(self.url, "0")
        return self

    def bound_to(self, port: int) -> Address:
        """The same with the port that the system gave to a port 0."""
        if self.kind == IPC or self.port == port:
            return self
        return self._replace(port=port, url=f"{self.url.rpartition(':')[0]}:{port}")
