"""One connection with a peer: its greeting, its messages in, its messages out."""

from __future__ import annotations

import socket
import ssl
from collections import deque
from itertools import islice
from typing import Any, Final
from typing import Protocol as Interface

from fairlead.errors import WireError
from fairlead.sockets import hosts
from fairlead.sockets.endpoints import SocketEndpoint
from fairlead.sockets.loop import READ, WRITE, Timer
from fairlead.sockets.unfinished import Unfinished
from fairlead.sockets.wire import STACK, Bytes, Decoder, Protocol, TooLongError, greeting, header

PIECE: Final = 98_304
"""Bytes that are read at once: a message of 64 KiB whole, with what stands before it."""
TOGETHER: Final = 64
"""Messages that are written at once, at most."""
PIECES: Final = 128
"""Pieces that are given to the transport at once: a long message is two, its header and itself."""
MOMENT: Final = 0.001
"""Seconds after which what is held is written."""
SMALL: Final = 4096
"""Bytes below which it is cheaper to copy a message behind its header than to write both."""
ENOUGH: Final = 65_536
"""Bytes that are held at most, to be written with more."""
NOT_NOW: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
UNFINISHED: Final = "its message came in part only, and all of these are more than memory"
GREETING_TIMEOUT: Final = 10.0
"""Seconds within which a peer has to say what it speaks."""


class Owner(Interface):
    """What a pipe belongs to. Its lock is held in all of these calls."""

    lock: Any
    unfinished: Unfinished[Pipe]
    """What has come in part of its peers' messages."""

    def opened(self, pipe: Pipe) -> None:
        """The peer has greeted."""

    def received(self, pipe: Pipe, messages: list[Bytes]) -> None:
        """Messages have come."""

    def too_long(self, pipe: Pipe, error: TooLongError) -> None:
        """A message has come that is too long; the connection is over next."""

    def written(self, pipe: Pipe, tokens: list[object]) -> None:
        """The transport has taken messages for which `send` said False."""

    def closed(self, pipe: Pipe, reason: str) -> None:
        """The connection is over."""


class Pipe:
    """A connection. Whoever calls `send`, `read` or `close` holds the lock of its owner."""

    def __init__(
        self,
        end: socket.socket,
        own: Protocol,
        owner: Owner,
        source: SocketEndpoint,
        *,
        max_size: int,
    ) -> None:
        """`end`: connected. To be made in the loop's thread."""
        self.open = False
        """Whether messages can be sent to it."""
        self.blocked = True
        """Whether the transport has not taken what it was given, and the loop waits for it."""
        self.source = source
        """The endpoint that it belongs to."""
        self.peer: Any = None
        """For whoever owns it."""
        self.trouble = ""
        """Why the connection is over."""
        loop = source.loop
        ipc = end.family == socket.AF_UNIX
        if not ipc:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            hosts.keep_alive(end)
        end.setblocking(False)
        self._unanswered = None if ipc else hosts.UnansweredBytes()
        self._tls = end if isinstance(end, ssl.SSLSocket) else None
        self._reads_first = False
        """Whether TLS has to read before it can write."""
        self._end = end
        self._ipc = ipc
        self._owner = owner
        self._loop = loop
        stack = STACK if own in (Protocol.REQ, Protocol.REP) else 0
        self._decoder = Decoder(
            own, ipc=ipc, max_size=max_size, stack=stack, memories=loop.memories
        )
        self._out: deque[tuple[Bytes, object]] = deque()
        """Pieces, the last one of each message with its token, the others with this pipe."""
        self.waiting = 0
        """Messages that the transport has not taken whole."""
        self.held = 0
        """Bytes of all that it has not taken."""
        self._due = False
        """Whether the loop comes round to what is held."""
        self._reading = True
        self._ended = False
        self._put(greeting(own), self)
        self._watch()
        self._deadline: Timer = loop.later(GREETING_TIMEOUT, self._late)

    @property
    def unsent(self) -> list[object]:
        """The tokens of messages that the transport has not taken whole: no peer ever has them."""
        return [token for _, token in self._out if token is not self]

    def send(
        self, message: Bytes, token: object = None, *, hold: int = 0, before: bytes = b""
    ) -> bool:
        """Send a message; whether the transport has taken it whole.

        If not, `written` is called with the token, now or later; if the connection turns out to be
        over, `closed` is called before this returns, and nobody calls `written`.

        `hold`: it may wait a moment for others, so many in all, to be written with them in one
        call. The loop writes what is held as soon as it comes round. `before`: what stands before
        the message, such as a request's id.
        """
        begin = header(len(before) + len(message), ipc=self._ipc) + before
        if self.blocked or self._out or (hold > 1 and self._tls is None):
            self._append(begin, message, token)
            if not self.blocked:
                self._hold(token, hold)
            return False
        if self._tls is not None:  # it takes the same piece again: so it is given one
            self._append(begin, message, token)
            self._flush(token)
            return False
        try:
            if len(message) < SMALL:
                sent = self._end.send(begin + message)
            else:
                sent = self._end.sendmsg((begin, message))
        except NOT_NOW:
            sent = 0
        except OSError as error:
            self._over(error.strerror or str(error))
            return False
        if sent == len(begin) + len(message):
            return True
        self._append(begin, message, token, sent)
        self.blocked = True
        self._loop.call(self._watch)
        return False

    def _append(self, begin: bytes, message: Bytes, token: object, sent: int = 0) -> None:
        """Let a message wait, of which the transport has taken so many bytes."""
        self.waiting += 1
        if len(message) < SMALL:
            self._put((begin + message)[sent:], token)
            return
        if sent < len(begin):
            self._put(begin[sent:], self)
        past = max(0, sent - len(begin))
        self._put(memoryview(message)[past:] if past else message, token)

    def _put(self, piece: Bytes, token: object) -> None:
        self._out.append((piece, token))
        self.held += len(piece)

    def _hold(self, token: object, most: int) -> None:
        """Write what is held, or see to it that it soon is."""
        if self.waiting >= most or self.held >= ENOUGH:
            self._flush(token)
        elif not self._due:
            self._due = True
            self._loop.later(MOMENT, self._ring)

    def flush(self) -> None:
        """Write what is held."""
        self._flush(self)

    def _flush(self, latest: object) -> None:
        """`latest`: the token of what comes back to whoever sends it, if the connection is over."""
        if self.blocked or self._ended:
            return
        reason = self._write()
        if reason:
            if self._out and latest is not self and self._out[-1][1] is latest:
                self._out.pop()
                self.waiting -= 1
            self._over(reason)
        elif self._out:
            self._loop.call(self._watch)

    def read(self, *, on: bool) -> None:
        """Go on reading, or stop for now, so that the peer has to wait."""
        if self._reading != on:
            self._reading = on
            self._loop.call(self._watch)

    def close(self, reason: str = "closed here") -> None:
        """Close the connection; what the transport takes now, or has taken, still goes out."""
        self.flush()
        self._over(reason)

    def let_go(self) -> None:
        """Close the file, not the connection, which is another process's."""
        self._end.close()

    def _over(self, reason: str) -> None:
        if self._ended:
            return
        self._ended = True
        self.trouble = reason
        self.open = False
        self._deadline.cancel()
        self._loop.call(self._shut)
        self._owner.closed(self, reason)

    def _shut(self) -> None:
        self._owner.unfinished.forget(self)
        self._loop.forget(self._end)
        self._end.close()

    # -------- in the loop's thread

    def _ring(self) -> None:
        """What was held for a moment."""
        self._due = False
        with self._owner.lock:
            self.flush()

    def look_at_host(self) -> None:
        """End the connection if its host has vanished; to be called every `hosts.BETWEEN` s."""
        if (
            self._unanswered is not None
            and not self._ended
            and self._unanswered.too_long(self._end)
        ):
            self._fail("its host has vanished")

    def _watch(self) -> None:
        if not self._ended:
            writing = self.blocked and not self._reads_first
            reading = self._reading or self._reads_first
            events = (READ if reading else 0) | (WRITE if writing else 0)
            self._loop.watch(self._end, events, self._ready)

    def _ready(self, events: int) -> None:
        if events & WRITE or self._reads_first:
            with self._owner.lock:
                self._reads_first = False
                reason = self._write()
                if reason:
                    self._over(reason)
                self._watch()
        if events & READ and not self._ended:
            self._read()
            if self._reads_first:  # and that may have been all that it had to read
                with self._owner.lock:
                    self._reads_first = False
                    self._watch()

    # --------

    def _write(self) -> str:
        """Write what the transport takes; why the connection is over, if it is."""
        while self._out and not self._ended:
            pieces = [piece for piece, _ in islice(self._out, PIECES)]
            try:
                sent = self._send_some(pieces)
            except NOT_NOW as error:
                self._reads_first = isinstance(error, ssl.SSLWantReadError)
                self.blocked = True
                break
            except OSError as error:
                return error.strerror or str(error)
            self.blocked = sent < sum(map(len, pieces))
            tokens = self._taken(sent, len(pieces))
            if tokens:
                self._owner.written(self, tokens)
            if self.blocked:
                break
        return ""

    def _taken(self, sent: int, most: int) -> list[object]:
        """Go on after so many bytes; the tokens of the messages that are whole in them."""
        tokens = []
        self.held -= sent
        for _ in range(most):
            piece, token = self._out[0]
            if sent < len(piece):
                if sent:
                    self._out[0] = memoryview(piece)[sent:], token
                break
            sent -= len(piece)
            self._out.popleft()
            if token is not self:
                self.waiting -= 1
                tokens.append(token)
        return tokens

    def _send_some(self, pieces: list[Bytes]) -> int:
        """Give the transport what it takes of these; TLS takes one piece, the same one again."""
        if self._tls is None:
            return self._end.sendmsg(pieces)
        return self._tls.send(pieces[0])

    def _read(self) -> None:
        try:
            piece: bytes | None
            if self._tls is None:
                piece = self._some()
            else:
                with self._owner.lock:  # nobody may write meanwhile
                    piece = _all_of(self._tls)
        except NOT_NOW:
            return
        except OSError as error:
            self._fail(error.strerror or str(error))
            return
        if piece is not None:
            self._take(piece)

    def _some(self) -> bytes | None:
        """What has come; None where it is the rest of a long message, and in its place."""
        rest = self._decoder.rest
        if rest is None:
            return self._end.recv(PIECE)
        with rest.room() as room:
            size = self._end.recv_into(room)
        if not size:
            return b""
        messages = self._decoder.came(size)
        self._count(anew=bool(messages))
        if messages:
            with self._owner.lock:
                if not self._ended:
                    self._owner.received(self, messages)
        return None

    def _count(self, *, anew: bool) -> None:
        """See whether what is held of messages that came in part is too much."""
        if self._ended:
            return
        culprit = self._owner.unfinished.came(self, self._decoder.held, anew=anew)
        if culprit is not None:
            culprit.source.trouble = UNFINISHED
            culprit._fail(UNFINISHED)  # noqa: SLF001 - a pipe, too
            self._owner.unfinished.forget(culprit)

    def _take(self, piece: bytes) -> None:
        greeted = self._decoder.greeted
        try:
            if not piece:
                self._decoder.end()
            messages = self._decoder.feed(piece)
        except WireError as error:
            self.source.trouble = str(error)  # to be seen also where the peer had greeted
            with self._owner.lock:
                if isinstance(error, TooLongError) and greeted and not self._ended:
                    self._owner.too_long(self, error)
                self._over(str(error))
            return
        if not piece:
            self._fail("closed by the peer")
            return
        self._count(anew=bool(messages))
        with self._owner.lock:
            if self._ended:
                return
            if not greeted and self._decoder.greeted:
                self._deadline.cancel()
                self.open = True
                self._owner.opened(self)
            if messages and not self._ended:
                self._owner.received(self, messages)

    def _late(self) -> None:
        self._fail(f"no greeting within {GREETING_TIMEOUT:g} s")

    def _fail(self, reason: str) -> None:
        with self._owner.lock:
            self._over(reason)


def _all_of(end: ssl.SSLSocket) -> bytes:
    """What TLS has read already is not waited for again."""
    data = end.recv(PIECE)
    while end.pending():
        data += end.recv(end.pending())
    return data
