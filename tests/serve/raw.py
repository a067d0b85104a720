"""A peer that writes frames by hand, right or wrong, and reads what it is told."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from fairlead.serve import codec
from fairlead.serve.codec import DescribedValue, UByte, UInt, ULong
from fairlead.serve.sasl import AMQP

OPEN, BEGIN, ATTACH, FLOW, TRANSFER, DISPOSITION, DETACH, END, CLOSE = range(0x10, 0x19)
TARGET, SOURCE, ERROR = 0x29, 0x28, 0x1D


def frame(code: int, *fields: Any, payload: bytes = b"", channel: int = 0) -> bytes:
    """A frame of AMQP."""
    body = codec.encode(DescribedValue(ULong(code), list(fields))) + payload
    return (len(body) + 8).to_bytes(4) + b"\x02\x00" + channel.to_bytes(2) + body


def opening() -> bytes:
    """The header, and the opening of a connection."""
    return AMQP + frame(OPEN, "hostile", "shop")


def beginning(channel: int = 0) -> bytes:
    """A session begins."""
    return frame(BEGIN, None, UInt(0), UInt(2**31 - 1), UInt(2**31 - 1), channel=channel)


def attaching(
    handle: int,
    address: str | None,
    *,
    receives: bool = False,
    settled: bool = False,
    name: str = "",
) -> bytes:
    """A link is attached. `settled`: all that is sent on it is settled.

    `address`: None: a queue of its own, from which it receives.
    """
    source = DescribedValue(ULong(SOURCE), [address if receives else "here"])
    if address is None:
        source = DescribedValue(ULong(SOURCE), [None, None, None, None, True])
    target = DescribedValue(ULong(TARGET), ["here" if receives else address])
    head = [
        name or f"link-{handle}",
        UInt(handle),
        receives,
        UByte(1 if settled else 2),
        None,
        source,
        target,
    ]
    return frame(ATTACH, *head, *([] if receives else [None, None, UInt(0)]))


def transferring(handle: int, number: int, payload: bytes, *, more: bool = False) -> bytes:
    """A message, or a part of it."""
    tag = number.to_bytes(8)
    return frame(TRANSFER, UInt(handle), UInt(number), tag, UInt(0), None, more, payload=payload)


def flowing(handle: int, credit: int) -> bytes:
    """So many messages are wanted."""
    window = [UInt(0), UInt(2**31 - 1), UInt(0), UInt(2**31 - 1)]
    return frame(FLOW, *window, UInt(handle), UInt(0), UInt(credit))


class Raw:
    """A connection of bytes."""

    def __init__(self, address: tuple[str, int], *, buffer: int = 0) -> None:
        """`buffer`: bytes that this machine takes in for it, unread."""
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(20)
        self.socket.connect(address)
        self._came = b""
        self._header = False

    def say(self, *data: bytes) -> None:
        """Send these; the server may have hung up."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(b"".join(data))

    def hear(self) -> tuple[int, list[Any]] | None:
        """The next frame that is none of those without meaning; None where the server hung up."""
        while True:
            if not self._header and len(self._came) >= 8:
                assert self._came[:8] == AMQP
                self._came, self._header = self._came[8:], True
            size = int.from_bytes(self._came[:4])
            if self._header and 8 <= size <= len(self._came):
                body, self._came = self._came[8:size], self._came[size:]
                if body:
                    found, _ = codec.decode_at(body, 0)
                    return int(found.descriptor), found.value
                continue
            try:
                data = self.socket.recv(65536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._came += data

    def conditions(self) -> list[str]:
        """Those of all links, sessions and the connection, until the server hangs up."""
        found = []
        while (heard := self.hear()) is not None:
            code, fields = heard
            place = {DETACH: 2, END: 0, CLOSE: 0}.get(code)
            if place is not None and len(fields) > place and fields[place] is not None:
                found.append(str(fields[place].value[0]))
            if code == CLOSE:
                break
        return found

    def close(self) -> None:
        self.socket.close()
