"""What a connection allows its peer, and what proton says of links, as plain data."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from fairlead.serve.wire import events as r
from fairlead.serve.wire.proton import (
    LIB,
    names_of,
    text,
    text_or_none,
    value_of,
)

LIMIT: Final = "amqp:resource-limit-exceeded"
INVALID: Final = "amqp:invalid-field"
MAX_FRAME: Final = 65_536
LEAST_IDLE: Final = 500
"""Milliseconds: a peer hears that we live every half of what it asks for, and not more often."""
CHUNK: Final = 65_536
EXPIRIES: Final = ("link", "session", "connection", "never")


class Settings(Struct, frozen=True, kw_only=True):
    """What a connection allows its peer."""

    container: str = "fairlead"
    max_frame: int = MAX_FRAME
    max_sessions: int = 256
    max_links: int = 10_000
    """With those that were refused, and that the peer has not detached."""
    max_message: int = 128 * 1024 * 1024
    most_given: int = 64 * 1024 * 1024
    """Bytes of messages that a peer may have and not have settled; then it gets no more."""
    idle: float = 60.0
    """Seconds without a frame after which the peer is gone; 0: it may be silent for ever."""
    anonymous: bool = True
    """Whether the engine itself answers SASL, and lets in whoever says ANONYMOUS."""


class EngineLinks(Struct, eq=False):
    """A link, and what the engine knows it by."""

    link: r.Link
    pointer: Any
    pieces: list[bytes]
    """Of the message that is coming."""
    size: int = 0
    deliveries: set[int] = set()
    used: int = 0
    """Credit that was used, or given back."""


def terminus_of(value: Any) -> r.Terminus:  # noqa: ANN401
    """Where a link begins or ends."""
    if LIB.pn_terminus_get_type(value) == LIB.PN_COORDINATOR:
        return r.Terminus(None, coordinates=True)
    return r.Terminus(
        text_or_none(LIB.pn_terminus_get_address(value)),
        dynamic=bool(LIB.pn_terminus_is_dynamic(value)),
        durable=LIB.pn_terminus_get_durability(value) != LIB.PN_NONDURABLE,
        expires=EXPIRIES[LIB.pn_terminus_get_expiry_policy(value)],
        copies=LIB.pn_terminus_get_distribution_mode(value) == LIB.PN_DIST_MODE_COPY,
        filter=value_of(LIB.pn_terminus_filter(value)),
        capabilities=names_of(LIB.pn_terminus_capabilities(value)),
        absent=LIB.pn_terminus_get_type(value) == LIB.PN_UNSPECIFIED,
    )


def condition_of(value: Any) -> r.Condition | None:  # noqa: ANN401
    """Why something ended, if that was said."""
    if not LIB.pn_condition_is_set(value):
        return None
    return r.Condition(
        text(LIB.pn_condition_get_name(value)), text(LIB.pn_condition_get_description(value))
    )
