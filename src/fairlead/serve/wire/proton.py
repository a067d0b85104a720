"""Proton's engine, and the few calls on it that several modules need.

Its low-level calls are not promised by anybody, so the version is pinned, and checked here.
"""

from __future__ import annotations

from typing import Any, Final

from fairlead.errors import EnvironmentProblem
from fairlead.serve import codec

VERSION: Final = "0.40.0"

try:
    from cproton_ffi import ffi as _ffi
    from cproton_ffi import lib as _lib
except ImportError:  # `check` says so where it is needed
    _ffi = _lib = None

FFI: Final[Any] = _ffi
LIB: Final[Any] = _lib
NULL: Final[Any] = _ffi and _ffi.NULL
_room: Final[Any] = _ffi and _ffi.new_allocator(should_clear_after_alloc=False)


def check() -> None:
    """Raises EnvironmentProblem unless proton is here, in the version that is known."""
    if LIB is None:
        raise EnvironmentProblem(
            "serve: found no python-qpid-proton, allowed: with it "
            f'(pip install "fairlead[amqp]": version {VERSION}, which needs a C compiler)'
        )
    numbers = LIB.PN_VERSION_MAJOR, LIB.PN_VERSION_MINOR, LIB.PN_VERSION_POINT
    if (version := ".".join(map(str, numbers))) != VERSION:
        raise EnvironmentProblem(
            f"serve: found python-qpid-proton {version}, allowed: {VERSION}, whose engine is known"
        )


def room(size: int) -> Any:  # noqa: ANN401
    """For so many bytes of proton's; what is in it at first is anything."""
    return _room("char[]", size)


def address(pointer: Any) -> int:  # noqa: ANN401 - of proton's
    """By which a pointer is known."""
    return int(FFI.cast("uintptr_t", pointer))


def text(value: Any) -> str:  # noqa: ANN401
    """A text of proton's; "" where there is none."""
    return "" if value == NULL else FFI.string(value).decode(errors="replace")


def text_or_none(value: Any) -> str | None:  # noqa: ANN401
    """A text of proton's."""
    return None if value == NULL else text(value)


def raw_of(data: Any) -> bytes:  # noqa: ANN401
    """What a piece of proton's data is, encoded; none where it is empty."""
    size = 0 if data == NULL else LIB.pn_data_encoded_size(data)
    if size <= 0:
        return b""
    buffer = room(size)
    length = LIB.pn_data_encode(data, buffer, size)
    return bytes(FFI.buffer(buffer, length)) if length > 0 else b""


def value_of(data: Any) -> Any:  # noqa: ANN401
    """What a piece of proton's data says; None where it is empty, or is no value."""
    raw = raw_of(data)
    if not raw:
        return None
    try:
        return codec.decode_at(raw, 0)[0]
    except codec.CodecError:
        return None


def put(data: Any, value: object) -> None:  # noqa: ANN401
    """Let a piece of proton's data say this."""
    raw = codec.encode(value)
    LIB.pn_data_clear(data)
    LIB.pn_data_decode(data, raw, len(raw))


def names_of(data: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Names: one symbol, or several."""
    value = value_of(data)
    every = value.items if isinstance(value, codec.Array) else [value]
    return tuple(str(name) for name in every if isinstance(name, str))


def set_condition(condition: Any, name: str, description: str) -> None:  # noqa: ANN401
    """Say why something ends."""
    LIB.pn_condition_set_name(condition, name.encode())
    if description:
        LIB.pn_condition_set_description(condition, description.replace("\0", " ").encode())
