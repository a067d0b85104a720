"""Endpoints: one that connects, again and again, and one to which peers connect."""

from __future__ import annotations

import errno
import os
import socket
import ssl
import stat
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fairlead.errors import SocketError
from fairlead.jitter import between
from fairlead.sockets.addresses import IPC, Address
from fairlead.sockets.files import reason
from fairlead.sockets.guard import start_without_signals
from fairlead.sockets.loop import READ, WRITE, Loop, Timer

CONNECT, BIND = "connect", "bind"
BACKLOG: Final = 1024
CONNECT_TIMEOUT: Final = 10.0
"""Seconds after which a connection that does not come about is tried anew."""
EACH: Final = 0.001
"""Seconds between two tries of all endpoints of a process that are down, at least."""
RESOLVERS: Final = 8
"""Threads that ask where names are."""
AGAIN: Final = 0.1
"""Seconds until connections are accepted again, after there were no files left."""

Connected = Callable[["SocketEndpoint", socket.socket], object]
"""Called in the loop's thread, with no lock held."""


class SocketEndpoint(ABC):
    """Where peers are, or where they come to."""

    kind: str

    def __init__(self, name: str, address: Address, loop: Loop, connected: Connected) -> None:
        """`connected`: gets each connection, which speaks nothing yet."""
        self.name = name
        self.address = address
        self.tls: ssl.SSLContext | None = None
        self.trouble = ""
        """Why there is no connection, or, where peers come to, why the latest one was refused."""
        self.loop = loop
        self._connected = connected
        self._closed = False

    def wrapped(self, end: socket.socket) -> socket.socket:
        """The connection, with TLS if this endpoint has it."""
        if self.tls is None:
            return end
        here = self.kind == BIND
        return self.tls.wrap_socket(
            end,
            server_side=here,
            server_hostname=None if here else self.address.host,
            do_handshake_on_connect=False,
        )

    @abstractmethod
    def closed(self, reason: str, *, greeted: bool) -> None:
        """One of its connections is over."""

    def close(self) -> None:
        """No new connections. From any thread."""
        self._closed = True
        self.loop.call(self._shut)

    @abstractmethod
    def let_go(self) -> None:
        """Close the files, and leave all else to the process that they are of."""

    @abstractmethod
    def _shut(self) -> None:
        """Close what waits for connections."""


class Dialer(SocketEndpoint):
    """Connects, and does so again when the connection is over."""

    kind = CONNECT

    def __init__(
        self,
        name: str,
        address: Address,
        loop: Loop,
        connected: Connected,
        backoff: tuple[float, float],
    ) -> None:
        """`backoff`: seconds between two tries, at first and at most."""
        super().__init__(name, address, loop, connected)
        self.trouble = "not connected yet"
        self._backoff = backoff
        self._delay = backoff[0]
        self._end: socket.socket | None = None
        self._timer: Timer | None = None
        self._turn = -1
        loop.call(self._dial)

    def closed(self, reason: str, *, greeted: bool) -> None:
        self.trouble = reason
        if greeted:
            self._delay = self._backoff[0]
        self.loop.call(self._later)

    def _later(self) -> None:
        """Try again after a while, which differs a little between dialers.

        It grows up to a limit; and with the number of those that try, so that many that are down
        cost no more than some.
        """
        if not self._closed:
            self.loop.trying += 1
            delay = max(self._delay, EACH * self.loop.trying)
            self.loop.later(delay * between(0.8, 1), self._again)
            self._delay = min(2 * self._delay, self._backoff[1])

    def _again(self) -> None:
        self.loop.trying -= 1
        self._dial()

    def _dial(self) -> None:
        if self._closed:
            return
        if self.address.kind == IPC:
            self._start(socket.AF_UNIX, self.address.path)
            return
        try:
            places = _places(self.address, socket.AI_NUMERICHOST)
        except socket.gaierror:  # a name: asking for it takes its time
            _names.ask(self._ask)
            return
        self._start(*places[0])

    def _ask(self) -> None:
        try:
            places = _places(self.address)
        except UnicodeError:
            self.trouble = f"{self.address.host}: found no name of a host"
            self.loop.call(self._later)
            return
        except OSError as error:
            self.trouble = f"{self.address.host}: {reason(error)}"
            self.loop.call(self._later)
            return
        self._turn += 1  # a name can have several addresses, of which one is right
        self.loop.call(self._start, *places[self._turn % len(places)])

    def _start(self, family: socket.AddressFamily, place: Any) -> None:  # noqa: ANN401
        if self._closed:
            return
        try:
            end = self._end = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            self._failed(error)
            return
        end.setblocking(False)
        code = end.connect_ex(place)
        if code == 0:
            self._done(0)
        elif code in (errno.EINPROGRESS, errno.EAGAIN) and family != socket.AF_UNIX:
            self._timer = self.loop.later(CONNECT_TIMEOUT, self._too_late)
            self.loop.watch(end, WRITE, self._done)
        else:
            self._failed(OSError(code, os.strerror(code)))

    def _done(self, events: int) -> None:
        end = self._end
        if end is None:
            return
        if events:
            self.loop.forget(end)
            if self._timer is not None:
                self._timer.cancel()
            code = end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._failed(OSError(code, os.strerror(code)))
                return
        self._end = None
        self._connected(self, end)

    def _too_late(self) -> None:
        if self._end is not None:
            self.loop.forget(self._end)
            self._failed(OSError(errno.ETIMEDOUT, f"no answer within {CONNECT_TIMEOUT:g} s"))

    def _failed(self, error: OSError) -> None:
        self.trouble = reason(error)
        self._drop()
        self._later()

    def let_go(self) -> None:
        self._drop()

    def _drop(self) -> None:
        if self._end is not None:
            self._end.close()
            self._end = None

    def _shut(self) -> None:
        if self._end is not None:
            self.loop.forget(self._end)
        self._drop()


class Listener(SocketEndpoint):
    """Accepts connections."""

    kind = BIND

    def __init__(self, name: str, address: Address, loop: Loop, connected: Connected) -> None:
        """Raises SocketError where the address cannot be had."""
        try:
            self._end = _bound(address)
        except OSError as error:
            why = reason(error, "allowed: a free address of this machine")
            raise SocketError(f"bind: {address.url}: {why}") from error
        if address.kind != IPC:
            address = address.bound_to(self._end.getsockname()[1])
        super().__init__(name or address.url, address, loop, connected)
        self.paused = False
        """Whether it could not accept the latest connection; `trouble` says why."""
        loop.call(self._listen)

    def closed(self, reason: str, *, greeted: bool) -> None:
        if not greeted:
            self.trouble = reason

    def _listen(self) -> None:
        if not self._closed:
            self.loop.watch(self._end, READ, self._accept)

    def _accept(self, events: int) -> None:
        while True:
            try:
                end, _ = self._end.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                if self.paused:
                    self.paused, self.trouble = False, ""
                return
            except OSError as error:  # such as: too many open files
                self.trouble = reason(error)
                self.paused = True
                self.loop.forget(self._end)
                self.loop.later(AGAIN, self._listen)
                return
            self._connected(self, end)

    def let_go(self) -> None:
        self._end.close()

    def _shut(self) -> None:
        self.loop.forget(self._end)
        self._end.close()
        if self.address.kind == IPC:
            with suppress(FileNotFoundError):
                Path(self.address.path).unlink()


class _Resolvers:
    """A few threads that ask where names are: a resolver may take long, and there may be many."""

    def __init__(self) -> None:
        """Nobody asks."""
        self._lock = threading.Lock()
        self._asking: deque[Callable[[], None]] = deque()
        self._threads = 0

    def ask(self, call: Callable[[], None]) -> None:
        """Make a call soon, in one of the threads."""
        with self._lock:
            self._asking.append(call)
            if self._threads < RESOLVERS:
                self._threads += 1
                start_without_signals(
                    threading.Thread(target=self._run, name="fairlead-names", daemon=True)
                )

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._asking:
                    self._threads -= 1
                    return
                call = self._asking.popleft()
            call()


_names = _Resolvers()


def _forked() -> None:
    """In a process that was forked: the threads are those of the other."""
    global _names  # noqa: PLW0603
    _names = _Resolvers()


os.register_at_fork(after_in_child=_forked)


def _places(address: Address, flags: int = 0) -> list[tuple[socket.AddressFamily, Any]]:
    """Where an address is. Raises gaierror, with AI_NUMERICHOST if one has to ask for it."""
    answers = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=flags)
    return [(family, place) for family, _, _, _, place in answers]


def _bound(address: Address) -> socket.socket:
    if address.kind == IPC:
        _remove_stale(address.path)
        end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        place: Any = address.path
    else:
        (family, _, _, _, place), *_ = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        end = socket.socket(family, socket.SOCK_STREAM)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        end.bind(place)
        end.listen(BACKLOG)
    except OSError:
        end.close()
        raise
    end.setblocking(False)
    return end


def _remove_stale(path: str) -> None:
    """Remove what a process left that was killed: a Unix socket on which nobody listens."""
    if not Path(path).exists() or not stat.S_ISSOCK(Path(path).stat().st_mode):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        if trial.connect_ex(path) == errno.ECONNREFUSED:
            Path(path).unlink()
