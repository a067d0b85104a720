"""One thread in the background that waits for connections and times, for all sockets."""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import selectors
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Final

from fairlead.errors import SocketError
from fairlead.sockets.files import reason
from fairlead.sockets.guard import start_without_signals
from fairlead.sockets.memories import Memories

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
LOG: Final = logging.getLogger("fairlead.sockets")

Callback = Callable[..., object]
Method = Callback
"""One of an object that is not kept for it: it is called as long as somebody else has the object.

So a socket that nobody has any more is found by Python, and closes its connections.
"""


class Timer:
    """A call at a time; `cancel` takes it back."""

    __slots__ = ("_method",)

    def __init__(self, method: Method) -> None:
        """Made by the loop."""
        self._method: weakref.WeakMethod[Method] | None = weakref.WeakMethod(method)

    def cancel(self) -> None:
        """It is not called any more."""
        self._method = None

    def ring(self) -> None:
        """Call it, unless it was cancelled."""
        method = self._method() if self._method is not None else None
        if method is not None:
            method()


class Loop:
    """Waits and calls. `call` and `later` are for every thread, all else is for the loop's own."""

    _shared: ClassVar[Loop | None] = None
    _users: ClassVar[int] = 0
    _sharing: ClassVar[threading.Lock] = threading.Lock()

    @classmethod
    def enter(cls) -> Loop:
        """The one loop of this process, which runs as long as anybody uses it.

        Raises SocketError where there are no files left for it.
        """
        with cls._sharing:
            if cls._shared is None or cls._shared.process != os.getpid():  # else: after a fork
                cls._shared, cls._users = cls(), 0
            cls._users += 1
            return cls._shared

    @classmethod
    def leave(cls, loop: Loop) -> None:
        """Somebody who entered needs it no more."""
        with cls._sharing:
            if loop is cls._shared:
                cls._users -= 1
                if not cls._users:
                    cls._shared = None
                    loop.call(loop._stop)

    def __init__(self) -> None:
        """Start the thread. Raises SocketError."""
        self.process = os.getpid()
        self._calls: deque[tuple[Callback, tuple[Any, ...]]] = deque()
        self._timers: list[tuple[float, int, Timer]] = []
        self._number = itertools.count()
        self._selector, self._bell, self._ear = _opened()
        for end in (self._bell, self._ear):
            end.setblocking(False)
        self._awake = False
        """Whether the bell was rung and not yet heard."""
        self._running = True
        self.memories = Memories()
        """For long messages that are read in its thread."""
        self.trying = 0
        """Endpoints that wait to connect again; kept by them."""
        self.watch(self._ear, READ, self._hear)
        self._thread = threading.Thread(target=self._run, name="fairlead-sockets", daemon=True)
        start_without_signals(self._thread)

    def call(self, callback: Callback, *args: object) -> None:
        """Call something soon, in the loop's thread."""
        self._calls.append((callback, args))
        if not self._awake and threading.get_ident() != self._thread.ident:
            self._awake = True
            try:
                self._bell.send(b"!")
            except OSError:
                return  # it is full of rings, or nobody hears them any more

    def later(self, delay: float, method: Method) -> Timer:
        """Call a method after so many seconds, in the loop's thread."""
        timer = Timer(method)
        entry = (time.monotonic() + delay, next(self._number), timer)
        if threading.get_ident() == self._thread.ident:
            heapq.heappush(self._timers, entry)
        else:
            self.call(heapq.heappush, self._timers, entry)
        return timer

    def watch(self, end: socket.socket, events: int, method: Method) -> None:
        """Call a method with the events that have come, whenever one of these has."""
        callback = weakref.WeakMethod(method)
        try:
            known = self._selector.get_key(end)
        except KeyError:
            if events:
                self._selector.register(end, events, callback)
            return
        if not events:
            self._selector.unregister(end)
        elif known.events != events or known.data != callback:
            self._selector.modify(end, events, callback)

    def forget(self, end: socket.socket) -> None:
        """Wait for it no more; to be called before it is closed."""
        self.watch(end, 0, self._hear)

    def _run(self) -> None:
        while self._running:
            timeout = None
            if self._calls:
                timeout = 0.0
            elif self._timers:
                timeout = max(0.0, self._timers[0][0] - time.monotonic())
            for key, events in self._selector.select(timeout):
                method = key.data()
                if method is not None:
                    self._safely(method, events)
            method = None
            self._make_calls()
            now = time.monotonic()
            while self._timers and self._timers[0][0] <= now:
                self._safely(heapq.heappop(self._timers)[2].ring)
        self._selector.close()
        self._bell.close()
        self._ear.close()

    def _make_calls(self) -> None:
        """Those that were asked for; afterwards nothing here keeps what they are of."""
        for _ in range(len(self._calls)):
            callback, args = self._calls.popleft()
            self._safely(callback, *args)

    def _safely(self, callback: Callback, *args: object) -> None:
        """Nothing that goes wrong with one connection stops the others."""
        try:
            callback(*args)
        except Exception:
            LOG.exception("a fault of fairlead in %s", callback)

    def _hear(self, events: int) -> None:
        self._ear.recv(4096)
        self._awake = False  # after that, or a ring is lost; before what was called is done

    def _stop(self) -> None:
        self._running = False


def _opened() -> tuple[selectors.BaseSelector, socket.socket, socket.socket]:
    """The files of a loop. Raises SocketError."""
    try:
        selector = selectors.DefaultSelector()
        try:
            return (selector, *socket.socketpair())
        except OSError:
            selector.close()
            raise
    except OSError as error:
        raise SocketError(f"socket: {reason(error)}") from error
