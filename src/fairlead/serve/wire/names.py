"""Names of a peer that have NUL in them: the engine would cut them there, and mean another name.

So the few frames that have names are read here, too, as they come.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, NamedTuple

from fairlead.serve import codec

HEADER: Final = 8
"""Bytes, of a protocol's header and of a frame's."""
LONGEST: Final = 10
"""Bytes by which it is known what a frame says."""
OPEN, ATTACH = 0x10, 0x12
OF_AMQP: Final = 0
"""The type of a frame; those of SASL have another."""
NUL: Final = "\0"
CUT: Final = "found NUL in it, allowed: a name without"
LEAST: Final = 512
"""Bytes of a frame, which everybody must be able to read."""


class LinkNames(NamedTuple):
    """Of a link, as its peer has said them."""

    link: str
    source: str | None
    target: str | None


class Frames:
    """Follows the frames of a connection, and keeps the names that the engine will cut."""

    def __init__(self, most: int) -> None:
        """`most`: bytes of a frame; the engine refuses longer ones."""
        self._most = most
        self._kept = b""
        self._skip = 0
        """Bytes that are still to come of a frame that says nothing of names."""
        self.opening: str | None = None
        """What is wrong with the opening, and would not be seen."""
        self._links: dict[tuple[str, bool], LinkNames] = {}

    def attached(self, name: str, *, receives: bool) -> LinkNames | None:
        """The names of a link that the engine has cut, by what it has left; None: it has not.

        `receives`: whether its peer does.
        """
        return self._links.pop((name, receives), None) if self._links else None

    def feed(self, data: bytes) -> None:
        """What has come."""
        data = self._kept + data
        at = self._skip  # maybe more than has come: then nothing is left of it
        while (there := len(data) - at) >= HEADER:
            if data.startswith(b"AMQP", at):
                at += HEADER
                continue
            size = int.from_bytes(data[at : at + 4])
            begin = at + 4 * data[at + 4]
            if there < min(size, begin - at + LONGEST):
                break
            if data[at + 5] == OF_AMQP and _code(data, begin) in (OPEN, ATTACH):
                if there < size <= self._most:
                    break
                with suppress(codec.CodecError, UnicodeDecodeError):  # the engine says so
                    self._read(codec.decode_at(data[begin : at + size], 0)[0])
            at += max(size, HEADER)
        self._skip = max(at - len(data), 0)
        self._kept = data[at:]

    def _read(self, value: Any) -> None:  # noqa: ANN401
        if not isinstance(value, codec.DescribedValue) or not isinstance(value.value, list):
            return  # the engine says that it is nothing
        fields = [*value.value, *[None] * 7]
        if value.descriptor == OPEN:
            for place, what in ((0, "container-id"), (1, "hostname")):
                if isinstance(fields[place], str) and NUL in fields[place]:
                    self.opening = f"{what}: {CUT}"
            if isinstance(fields[2], int) and fields[2] < LEAST:
                self.opening = f"max-frame-size: found {fields[2]}, allowed: at least {LEAST}"
            return
        addresses = [_address(field) for field in fields[5:7]]
        names = LinkNames(str(fields[0]), *addresses)
        if any(NUL in name for name in names if name):
            self._links[names.link.partition(NUL)[0], bool(fields[2])] = names


def _code(data: bytes, at: int) -> int:
    """What a frame says, by its descriptor; 0: nothing, or nothing right."""
    kind = data[at : at + 2]
    if kind == b"\x00\x53":
        return int.from_bytes(data[at + 2 : at + 3])
    return int.from_bytes(data[at + 2 : at + LONGEST]) if kind == b"\x00\x80" else 0


def _address(value: Any) -> str | None:  # noqa: ANN401
    """Of a source or a target."""
    if not isinstance(value, codec.DescribedValue) or not value.value:
        return None
    address = value.value[0] if isinstance(value.value, list) else None
    return address if isinstance(address, str) else None
