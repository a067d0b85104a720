"""The wire of the Scalability Protocols (SP), as nanomsg and nng speak it. No I/O here.

Each side first sends eight bytes that name its protocol. Then come frames: a length of eight bytes,
big endian, and as many bytes of message; on a Unix socket a byte 1 stands before the length.

A request carries a stack of words of four bytes before its body: the id that the requester gave it,
with the top bit set, and before it one word for each device that has forwarded it. The reply brings
the same stack back.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

from fairlead.errors import WireError
from fairlead.sockets.memories import Memories


class Protocol(IntEnum):
    """What a socket speaks, by its number on the wire."""

    REQ = 0x30
    REP = 0x31
    PUSH = 0x50
    PULL = 0x51

    @property
    def peer(self) -> Protocol:
        """The one protocol that it can speak with."""
        return Protocol(self ^ 1)


GREETING: Final = struct.Struct(">4sHH")
MAGIC: Final = b"\0SP\0"
LENGTH: Final = struct.Struct(">Q")
LENGTH_ON_IPC: Final = struct.Struct(">BQ")
MESSAGE: Final = 1
"""The byte before a length on a Unix socket."""
LONGEST: Final = (1 << 63) - 1
"""Bytes of a message that a length may announce at all."""
MAX_SIZE: Final = 1 << 20
"""Bytes of a message that are taken unless a socket allows more."""

WORD: Final = struct.Struct(">I")
ID: Final = 0x8000_0000
"""The bit that tells a request's id from the words of devices."""
MAX_TTL: Final = 8
"""Devices and servers that a request may reach, unless a socket allows others."""
HIGHEST_TTL: Final = 15
STACK: Final = HIGHEST_TTL * WORD.size
"""Bytes that may stand before the body of a request or a reply."""


def greeting(protocol: Protocol) -> bytes:
    """The eight bytes with which a side begins."""
    return GREETING.pack(MAGIC, protocol, 0)


def header(size: int, *, ipc: bool = False) -> bytes:
    """What stands before a message of so many bytes."""
    return LENGTH_ON_IPC.pack(MESSAGE, size) if ipc else LENGTH.pack(size)


Bytes = bytes | memoryview
"""Of a message; those of a long one are copied only for whoever receives it in the end."""
LONG: Final = 1 << 15
"""Bytes of a message above which it is worth while to see to how often they are copied."""
GROWTH: Final = 4
"""Room for a long message is at most so many times what has come of it."""


class TooLongError(WireError):
    """A message that is longer than what is taken."""

    def __init__(self, size: int, most: int, head: bytes) -> None:
        """`head`: what is known of the message, with all words that may stand before its body."""
        super().__init__(f"found a message of {size} bytes, allowed: at most {most} (max_size)")
        self.size = size
        self.head = head


class MessageRest:
    """A long message of which the beginning has come: the rest is read to where it belongs."""

    def __init__(self, size: int, begin: bytes, memories: Memories) -> None:
        """`size`: bytes of the message."""
        self.filled = len(begin)
        """Bytes that have come."""
        self._size = size
        self._memories = memories
        self._memory = memories.take(size) or bytearray(begin)
        self._memory[: self.filled] = begin

    @property
    def held(self) -> int:
        """Bytes that are kept for it."""
        return len(self._memory)

    def room(self) -> memoryview:
        """Where the next bytes go. To be released before this is asked again."""
        if self.filled == len(self._memory):
            most = max(LONG, (GROWTH - 1) * self.filled)
            self._memory += bytes(min(self._size - self.filled, most))
        return memoryview(self._memory)[self.filled : self._size]

    def came(self, size: int) -> memoryview | None:
        """So many more have; the message, if it is complete."""
        self.filled += size
        if self.filled < self._size:
            return None
        self._memories.keep(self._memory)
        return memoryview(self._memory)[: self._size].toreadonly()


class Decoder:
    """The bytes of a peer, in any pieces, as messages.

    It keeps at most one message that is not complete, and the latest piece. After an error it
    refuses everything with the same error.
    """

    def __init__(
        self,
        own: Protocol,
        *,
        ipc: bool = False,
        max_size: int = MAX_SIZE,
        stack: int = 0,
        memories: Memories | None = None,
    ) -> None:
        """`own`: this side's protocol; `max_size`: bytes of a message that are taken.

        `stack`: bytes that may stand before them; `memories`: shared by those of one thread.
        """
        self.greeted = False
        """Whether the peer has named its protocol."""
        self._own = own
        self._ipc = ipc
        self._header = LENGTH_ON_IPC.size if ipc else LENGTH.size
        self._max_size = max_size
        self._stack = stack
        self._memories = memories or Memories()
        self._kept = bytearray()
        self._needed = GREETING.size
        self.rest: MessageRest | None = None
        """Of a long message. Its room may be filled instead of feeding pieces: then see `came`."""
        self._error: WireError | None = None

    @property
    def held(self) -> int:
        """Bytes that are kept of a message, or a greeting, that is not complete."""
        return len(self._kept) + (0 if self.rest is None else self.rest.held)

    def feed(self, piece: bytes) -> list[Bytes]:
        """The messages that are complete with this piece. Raises WireError."""
        if self._error is not None:
            raise self._error
        first: list[Bytes] = []
        while self.rest is not None and piece:
            with self.rest.room() as room:
                part = piece[: len(room)]
                room[: len(part)] = part
            first, piece = self.came(len(part)), piece[len(part) :]
        if self._kept:
            self._kept += piece
            if len(self._kept) < self._needed:
                return []
            piece = bytes(self._kept)
            self._kept.clear()
        try:
            place = 0 if self.greeted else self._greet(piece)
            return first + self._messages(piece, place) if self.greeted else []
        except WireError as error:
            self._error = error
            raise

    def came(self, size: int) -> list[Bytes]:
        """So many bytes are in the room of `rest`; the messages that are complete with them."""
        message = self.rest.came(size) if self.rest is not None else None
        if message is None:
            return []
        self.rest, self._needed = None, self._header
        return [message]

    def end(self) -> None:
        """The peer has closed. Raises WireError if that was inside a message or a greeting."""
        if self._error is not None:
            raise self._error
        if self._kept or self.rest is not None or not self.greeted:
            what = "a message" if self.greeted else "a greeting"
            length = len(self._kept)
            count = length if self.rest is None else self._header + self.rest.filled
            raise WireError(
                f"found the end after {count} bytes of {what}, allowed: after {self._needed}"
            )

    def _greet(self, piece: bytes) -> int:
        """Read the greeting, if it is complete; where the first message begins."""
        known = piece[: len(MAGIC)]
        if known != MAGIC[: len(known)]:
            raise WireError(f"found the first bytes {known!r}, allowed: {MAGIC!r}")
        if len(piece) < GREETING.size:
            self._kept += piece
            return 0
        _, protocol, reserved = GREETING.unpack_from(piece)
        if reserved:
            raise WireError(f"found {reserved} after the protocol's number, allowed: 0")
        if protocol != self._own.peer:
            raise WireError(
                f"found a peer of protocol {_named(protocol)}, "
                f"allowed: {_named(self._own.peer)}, as this is {self._own.name}"
            )
        self.greeted = True
        return GREETING.size

    def _messages(self, piece: bytes, place: int) -> list[Bytes]:
        messages: list[Bytes] = []
        end, before = len(piece), self._header
        while end - place >= before:
            size = self._size(piece, place)
            start = place + before
            if size > self._max_size + self._stack or size > LONGEST:
                head = piece[start : start + self._stack]
                if len(head) < self._stack and size <= LONGEST:
                    self._needed = before + self._stack
                    break
                raise TooLongError(size, min(self._max_size, LONGEST), head)
            if end - start < size:
                self._needed = before + size
                if size > LONG:
                    self.rest = MessageRest(size, piece[start:], self._memories)
                    return messages
                break
            place = start + size
            messages.append(piece[start:place])
        else:
            self._needed = before
        if place < end:
            self._kept += piece[place:]
        return messages

    def _size(self, piece: bytes, place: int) -> int:
        if self._ipc:
            kind, size = LENGTH_ON_IPC.unpack_from(piece, place)
            if kind != MESSAGE:
                raise WireError(f"found {kind} before a length, allowed: {MESSAGE}")
        else:
            (size,) = LENGTH.unpack_from(piece, place)
        return int(size)


def request_id(number: int) -> bytes:
    """The word of a request's id; ids repeat after 2³¹."""
    return WORD.pack(ID | number & (ID - 1))


def hop(peer: int) -> bytes:
    """The word by which a device finds the peer again that a request came from."""
    return WORD.pack(peer & (ID - 1))


def split(message: Bytes, max_ttl: int = MAX_TTL) -> tuple[bytes, Bytes] | None:
    """A request's or reply's stack of words, and its body.

    None where the stack has more than `max_ttl` words: it went round too often and is dropped.
    Raises WireError for a message that ends before an id.
    """
    for end in range(WORD.size, WORD.size * max_ttl + 1, WORD.size):
        if len(message) < end:
            raise WireError(f"found {len(message)} bytes without a request's id, allowed: with one")
        if message[end - WORD.size] & 0x80:
            return bytes(message[:end]), message[end:]
    return None


def _named(number: int) -> str:
    known = Protocol(number).name if number in [*Protocol] else "unknown"
    return f"{number} ({known})"
