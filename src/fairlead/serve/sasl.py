"""Who a peer is: the layer of SASL before AMQP, on the server's side.

Bytes go in; what is to be answered, and what is to be done, come out. A password is checked
elsewhere, since that takes long, and `answer` says what was found.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final

from msgspec import Struct

from fairlead.serve import codec
from fairlead.serve.codec import DescribedValue, Symbol, UByte, ULong
from fairlead.serve.wire.events import Condition

PLAIN: Final = "PLAIN"
EXTERNAL: Final = "EXTERNAL"
ANONYMOUS: Final = "ANONYMOUS"
NOBODY: Final = "anonymous"
"""What somebody is called who has not said who it is."""

HEADER: Final = b"AMQP\x03\x01\x00\x00"
AMQP: Final = b"AMQP\x00\x01\x00\x00"
MAX_FRAME: Final = 512
"""Bytes: no frame of this layer is longer."""
EARLY: Final = 8192
"""Bytes of AMQP that may come before a password was checked."""
MECHANISMS, INIT, CHALLENGE, RESPONSE, OUTCOME = 0x40, 0x41, 0x42, 0x43, 0x44
_NAMES: Final = {"amqp:sasl-init:list": INIT, "amqp:sasl-response:list": RESPONSE}
OK, AUTH, SYSTEM, PERMANENT = 0, 1, 2, 3
"""Codes of an outcome: let in; who it is was not shown; something failed; nothing will help."""

FRAMING: Final = "amqp:connection:framing-error"
DECODE: Final = "amqp:decode-error"
NOT_ALLOWED: Final = "amqp:not-allowed"
UNAUTHORIZED: Final = "amqp:unauthorized-access"
LIMIT: Final = "amqp:resource-limit-exceeded"


class Login(Struct, frozen=True):
    """A name and a password, to be checked; `answer` says what was found."""

    name: str
    password: bytes

    def __repr__(self) -> str:
        return f"Login({self.name!r})"


class Entered(Struct, frozen=True):
    """The peer is let in, with what it has sent of AMQP so far."""

    user: str
    data: bytes


class Refused(Struct, frozen=True):
    """The peer is not let in: once all is sent, the connection is to be closed."""

    condition: Condition


Step = Login | Entered | Refused


def offered(
    *, loopback: bool, secure: bool, users: bool, certified: bool, anonymous: bool
) -> tuple[str, ...]:
    """The mechanisms for a peer, best first.

    `loopback`: it is on this machine; `secure`: it speaks TLS; `users`: there are names and
    passwords; `certified`: its certificate says who it is; `anonymous`: whoever is on this machine
    may come in without a name.
    """
    mechanisms = {
        EXTERNAL: certified and secure,
        PLAIN: users and (secure or loopback),
        ANONYMOUS: anonymous and loopback,
    }
    return tuple(name for name, is_offered in mechanisms.items() if is_offered)


class _Wrong(Exception):  # noqa: N818
    """What the peer sent is refused; `code`: of the outcome that says so."""

    def __init__(self, name: str, description: str, code: int | None = PERMANENT) -> None:
        super().__init__(description)
        self.condition = Condition(name, description)
        self.code = code


Talk = Generator[Login | None, None, str]
"""Waits for bytes, or for an answer to a login; ends with the user."""


class Sasl:
    """The layer on one connection, until the peer is let in or refused."""

    def __init__(self, mechanisms: Sequence[str], certified: str = "") -> None:
        """`mechanisms`: as `offered` says; `certified`: who a peer's certificate says it is."""
        self._mechanisms = tuple(mechanisms)
        self._certified = certified
        self._came = bytearray()
        self._says = bytearray()
        self._checking = False
        self._found: bool | None = None
        self._talk: Talk | None = self._conversation()

    @property
    def over(self) -> bool:
        """Whether the peer was let in or refused; then nothing is read here any more."""
        return self._talk is None

    def feed(self, data: bytes) -> Step | None:
        """What has come; what is to be done now, None: nothing."""
        if self._talk is None:
            return None
        self._came += data
        if not self._checking:
            return self._go_on()
        if len(self._came) > EARLY:
            why = f"found more than {EARLY} bytes before a password was checked, allowed: fewer"
            return self._refused(_Wrong(LIMIT, why))
        return None

    def answer(self, found: bool | None) -> Step | None:
        """Whether name and password are right; None: that could not be found out."""
        if not self._checking or self._talk is None:
            return None
        self._checking, self._found = False, found
        return self._go_on()

    def late(self) -> Step | None:
        """The time to say who it is has passed. None: it was said."""
        if self._talk is None:
            return None
        return self._refused(_Wrong(LIMIT, "it took too long to say who it is", None))

    def output(self) -> bytes:
        """What is to be sent to the peer."""
        data = bytes(self._says)
        self._says.clear()
        return data

    def _go_on(self) -> Step | None:
        assert self._talk is not None  # noqa: S101
        try:
            login = next(self._talk)
        except _Wrong as wrong:
            return self._refused(wrong)
        except StopIteration as ended:
            self._talk = None
            entered = Entered(ended.value, bytes(self._came))
            self._came.clear()
            return entered
        self._checking = login is not None
        return login

    def _refused(self, wrong: _Wrong) -> Refused:
        self._talk = None
        self._came.clear()
        if wrong.code is not None:
            self._say(OUTCOME, UByte(wrong.code))
        return Refused(wrong.condition)

    # -------- the conversation

    def _conversation(self) -> Talk:
        bare = yield from self._header()
        if bare:
            return NOBODY
        self._say(MECHANISMS, codec.symbols(*self._mechanisms))
        mechanism, first = _init((yield from self._frame(INIT)))
        if mechanism not in self._mechanisms:
            allowed = " or ".join(self._mechanisms)
            raise _Wrong(NOT_ALLOWED, f"found {mechanism!r}, allowed: {allowed}", AUTH)
        if mechanism == PLAIN:
            user = yield from self._plain(first)
        else:
            user = self._external(first or b"") if mechanism == EXTERNAL else NOBODY
        self._say(OUTCOME, UByte(OK))
        return user

    def _header(self) -> Generator[None, None, bool]:
        """The first eight bytes; whether AMQP begins at once, without this layer."""
        while True:
            start = bytes(self._came[:8])
            if not (HEADER.startswith(start) or AMQP.startswith(start)):
                self._says += HEADER
                raise _Wrong(FRAMING, _not_a_header(start), None)
            if len(start) == 8:
                break
            yield
        if start == AMQP and ANONYMOUS in self._mechanisms:
            return True
        self._says += HEADER
        if start == AMQP:
            raise _Wrong(UNAUTHORIZED, "found AMQP without SASL, allowed: with it", None)
        if not self._mechanisms:
            raise _Wrong(UNAUTHORIZED, "nobody can say who it is here, without TLS", None)
        del self._came[:8]
        return False

    def _frame(self, code: int) -> Generator[None, None, list[Any]]:
        """The fields of the next frame, which has to be of this kind."""
        while len(self._came) < 8:
            yield
        size, start = int.from_bytes(self._came[:4]), self._came[4] * 4
        if not 8 <= size <= MAX_FRAME:
            raise _Wrong(FRAMING, f"found a frame of {size} bytes, allowed: 8 to {MAX_FRAME}")
        if self._came[5] != 1:
            raise _Wrong(FRAMING, f"found a frame of type {self._came[5]}, allowed: 1, SASL")
        if not 8 <= start <= size:
            raise _Wrong(FRAMING, "found a frame that begins behind its end, or in its header")
        while len(self._came) < size:
            yield
        body = bytes(self._came[start:size])
        del self._came[:size]
        try:
            value = codec.decode(body)
        except codec.CodecError as error:
            raise _Wrong(DECODE, str(error)) from None
        return _fields(value, code)

    def _plain(self, first: bytes | None) -> Talk:
        if first is None:
            self._say(CHALLENGE, b"")
            (first,) = (yield from self._frame(RESPONSE))[:1] or [None]
        login = _login(first)
        yield login
        if self._found:
            return login.name
        if self._found is None:
            raise _Wrong(LIMIT, "passwords cannot be checked now", SYSTEM)
        raise _Wrong(UNAUTHORIZED, f"{login.name!r}: found no such name and password", AUTH)

    def _external(self, wanted: bytes) -> str:
        if wanted and wanted != self._certified.encode():
            raise _Wrong(
                UNAUTHORIZED,
                f"found another name than the certificate's: {self._certified!r}",
                AUTH,
            )
        return self._certified

    def _say(self, code: int, field: object) -> None:
        body = codec.encode(DescribedValue(ULong(code), [field]))
        self._says += (len(body) + 8).to_bytes(4) + b"\x02\x01\x00\x00" + body


def _not_a_header(start: bytes) -> str:
    if start[:2] == b"\x16\x03":
        return "found TLS, allowed: at an address amqps://"
    return f"found {start!r}, allowed: AMQP 1.0"


def _fields(value: object, code: int) -> list[Any]:
    if not isinstance(value, DescribedValue) or not isinstance(value.value, list):
        raise _Wrong(DECODE, "found no list of fields, allowed: a frame of SASL")
    kind = value.descriptor
    kind = _NAMES.get(kind, kind) if isinstance(kind, str) else kind
    if kind != code:
        what = "sasl-init" if code == INIT else "sasl-response"
        raise _Wrong(FRAMING, f"found a frame out of turn, allowed: {what}")
    return value.value


def _init(fields: list[Any]) -> tuple[str, bytes | None]:
    """The mechanism that the peer has chosen, and the first that it says by it."""
    mechanism, first = [*fields, None, None][:2]
    if not isinstance(mechanism, Symbol) or not isinstance(first, bytes | None):
        raise _Wrong(DECODE, "found no mechanism, allowed: a symbol, and bytes or nothing")
    return str(mechanism), first


def _login(message: object) -> Login:
    """What PLAIN says: who is to be acted for, a name, a password, with zeros between."""
    parts = message.split(b"\0") if isinstance(message, bytes) else []
    if len(parts) != 3 or not parts[1] or not parts[2] or parts[0] not in (b"", parts[1]):
        raise _Wrong(DECODE, "found no name and password, allowed: both, for oneself", AUTH)
    try:
        return Login(parts[1].decode(), parts[2])
    except UnicodeDecodeError:
        raise _Wrong(DECODE, "found a name that is no UTF-8", AUTH) from None
