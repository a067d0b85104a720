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


LONG: Final = 1 << 16
"""Bytes of a frame above which it is worth while to see to how often they are copied."""


class TooLongError(WireError):
    """A message that is longer than what is taken."""

    def __init__(self, size: int, most: int, head: bytes) -> None:
        """`head`: what is known of the message, with all words that may stand before its body."""
        super().__init__(f"found a message of {size} bytes, allowed: at most {most} (max_size)")
        self.size = size
        self.head = head


class Decoder:
    """The bytes of a peer, in any pieces, as messages.

    It keeps at most one message that is not complete, and the latest piece. After an error it
    refuses everything with the same error.
    """

    def __init__(
        self, own: Protocol, *, ipc: bool = False, max_size: int = MAX_SIZE, stack: int = 0
    ) -> None:
        """`own`: this side's protocol; `max_size`: bytes of a message that are taken.

        `stack`: bytes that may stand before them.
        """
        self.greeted = False
        """Whether the peer has named its protocol."""
        self._own = own
        self._ipc = ipc
        self._header = LENGTH_ON_IPC.size if ipc else LENGTH.size
        self._max_size = max_size
        self._stack = stack
        self._kept = bytearray()
        self._needed = GREETING.size
        self._error: WireError | None = None

    def feed(self, piece: bytes) -> list[bytes]:
        """The messages that are complete with this piece. Raises WireError."""
        if self._error is not None:
            raise self._error
        if self._kept:
            self._kept += piece
            if len(self._kept) < self._needed:
                return []
        first = []
        if self._needed > LONG:  # what is long is copied once
            with memoryview(self._kept) as kept:
                first = [bytes(kept[self._header : self._needed])]
                piece = bytes(kept[self._needed :])
            self._kept = bytearray()
        elif self._kept:
            piece = bytes(self._kept)
            self._kept.clear()
        try:
            place = 0 if self.greeted else self._greet(piece)
            return first + self._messages(piece, place) if self.greeted else []
        except WireError as error:
            self._error = error
            raise

    def end(self) -> None:
        """The peer has closed. Raises WireError if that was inside a message or a greeting."""
        if self._error is not None:
            raise self._error
        if self._kept or not self.greeted:
            what = "a message" if self.greeted else "a greeting"
            raise WireError(
                f"found the end after {len(self._kept)} bytes of {what}, "
                f"allowed: after {self._needed}"
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

    def _messages(self, piece: bytes, place: int) -> list[bytes]:
        found = []
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
                break
            place = start + size
            found.append(piece[start:place])
        else:
            self._needed = before
        if place < end:
            self._kept += piece[place:]
        return found

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


def split(message: bytes, max_ttl: int = MAX_TTL) -> tuple[bytes, bytes] | None:
    """A request's or reply's stack of words, and its body.

    None where the stack has more than `max_ttl` words: it went round too often and is dropped.
    Raises WireError for a message that ends before an id.
    """
    for end in range(WORD.size, WORD.size * max_ttl + 1, WORD.size):
        if len(message) < end:
            raise WireError(f"found {len(message)} bytes without a request's id, allowed: with one")
        if message[end - WORD.size] & 0x80:
            return message[:end], message[end:]
    return None


def _named(number: int) -> str:
    known = Protocol(number).name if number in [*Protocol] else "unknown"
    return f"{number} ({known})"
