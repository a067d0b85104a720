"""Addresses of endpoints: `tcp://host:port`, `tls+tcp://host:port`, `ipc://path`."""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.balance.objects import spelled
from fairlead.errors import SocketError

TCP, TLS, IPC = "tcp", "tls+tcp", "ipc"
ALLOWED: Final = "allowed: tcp://HOST:PORT, tls+tcp://HOST:PORT or ipc://PATH"
LONGEST_PATH: Final = 107
"""Bytes that the name of a Unix socket can have."""


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
        given: object = url
        kind, found, place = str(url).partition("://") if isinstance(given, str) else ("", "", "")
        if not (found and place):
            raise SocketError(f"address: found {spelled(url)}, {ALLOWED}")
        if kind == IPC:
            if len(place.encode()) > LONGEST_PATH:
                raise SocketError(
                    f"address: found a path of {len(place.encode())} bytes in {url}, "
                    f"allowed: at most {LONGEST_PATH}"
                )
            return cls(url, kind, "", 0, place)
        if kind not in (TCP, TLS):
            raise SocketError(f"address: found {spelled(url)}, {ALLOWED}")
        host, colon, port = place.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise SocketError(f"address: found {spelled(url)}, allowed: {kind}://HOST:PORT")
        host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        return cls(url, kind, "" if host == "*" else host, int(port), "")

    def bound_to(self, port: int) -> Address:
        """The same with the port that the system gave to a port 0."""
        if self.kind == IPC or self.port == port:
            return self
        return self._replace(port=port, url=f"{self.url.rpartition(':')[0]}:{port}")
