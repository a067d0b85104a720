"""Who we are: the layer of SASL before AMQP, on the side that opens a connection.

Bytes go in; what is to be credentials comes out, until the peer has let us in.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.serve import codec
from fairlead.serve.codec import Array, DescribedValue, Symbol, ULong
from fairlead.serve.sasl import (
    ANONYMOUS,
    EXTERNAL,
    HEADER,
    INIT,
    MAX_FRAME,
    MECHANISMS,
    OK,
    OUTCOME,
    PLAIN,
)

REASONS = {1: "found no such name and password there", 2: "it cannot check who we are now"}
"""By the code of its outcome."""


class LoginRefusedError(Exception):
    """The peer does not let us in, or does not speak this protocol."""


class SaslClient:
    """The layer on one connection."""

    def __init__(self, user: str, password: str, *, certified: bool) -> None:
        """`user`: "" for nobody. `certified`: whether our certificate says who we are."""
        self._user, self._password, self._certified = user, password, certified
        self._came = bytearray()
        self._says = bytearray(HEADER)
        self._header = False
        self.entered = False
        """Whether the peer has let us in."""

    def output(self) -> bytes:
        """What is to be sent to the peer."""
        says = bytes(self._says)
        self._says.clear()
        return says

    def feed(self, data: bytes) -> bytes:
        """What has come; what of it is AMQP already. Raises LoginRefusedError."""
        self._came += data
        if not self._header:
            if len(self._came) < len(HEADER):
                return b""
            if self._came[: len(HEADER)] != HEADER:
                start = bytes(self._came[: len(HEADER)])
                raise LoginRefusedError(f"found {start!r}, allowed: a server that speaks AMQP 1.0")
            del self._came[: len(HEADER)]
            self._header = True
        while not self.entered and (frame := self._frame()) is not None:
            self._heard(frame)
        if not self.entered:
            return b""
        rest = bytes(self._came)
        self._came.clear()
        return rest

    def _frame(self) -> bytes | None:
        """The next frame's body; None: it has not come as a whole."""
        if len(self._came) < 8:
            return None
        size, start = int.from_bytes(self._came[:4]), self._came[4] * 4
        if not 8 <= start <= size <= MAX_FRAME or self._came[5] != 1:
            raise LoginRefusedError("found a frame that is none of SASL")
        if len(self._came) < size:
            return None
        body = bytes(self._came[start:size])
        del self._came[:size]
        return body

    def _heard(self, frame: bytes) -> None:
        try:
            value = codec.decode(frame)
        except codec.CodecError as error:
            raise LoginRefusedError(str(error)) from None
        if not isinstance(value, DescribedValue) or not isinstance(value.value, list):
            raise LoginRefusedError("found a frame that is none of SASL")
        first = [*value.value, None][0]
        if value.descriptor == MECHANISMS:
            offered = first.items if isinstance(first, Array) else [first]
            self._choose([str(name) for name in offered if name])
        elif value.descriptor == OUTCOME:
            if first != OK:
                code = int(first) if isinstance(first, int) else -1
                raise LoginRefusedError(REASONS.get(code, f"it refuses the login (code {code})"))
            self.entered = True
        else:
            raise LoginRefusedError("found a question that nobody can answer, allowed: none")

    def _choose(self, offered: Sequence[str]) -> None:
        if self._user and PLAIN in offered:
            credentials = b"\0".join((b"", self._user.encode(), self._password.encode()))
            self._say(PLAIN, credentials)
        elif self._certified and EXTERNAL in offered:
            self._say(EXTERNAL, b"")
        elif not self._user and ANONYMOUS in offered:
            self._say(ANONYMOUS, b"fairlead")
        else:
            ways = " or ".join(offered) or "none"
            how = "a name and a password" if self._user else "no name"
            raise LoginRefusedError(f"found {how}, allowed by the server: {ways}")

    def _say(self, mechanism: str, first: bytes) -> None:
        body = codec.encode(DescribedValue(ULong(INIT), [Symbol(mechanism), first]))
        self._says += (len(body) + 8).to_bytes(4) + b"\x02\x01\x00\x00" + body
