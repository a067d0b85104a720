"""Answer a link that the peer begins: as the peer wants it, as far as this server can."""

from __future__ import annotations

from typing import Any, Final

from fairlead.serve import codec
from fairlead.serve.wire.events import Link, near
from fairlead.serve.wire.proton import LIB, put

CAPABILITIES: Final = ("queue", "topic", "temporary-queue")
"""What an address here can be: a link that calls it otherwise is refused, or is not told so."""


def answer(
    link: Link,
    pointer: Any,  # noqa: ANN401 - the engine's link
    largest: int,
    properties: dict[Any, Any] | None,
    address: str,
    source: str,
    filters: dict[Any, Any] | None,
) -> None:
    """Attach a link that the peer has begun.

    `largest`: bytes of a message of the peer's; the rest as `Connection.attach` says.
    """
    LIB.pn_terminus_copy(LIB.pn_link_source(pointer), LIB.pn_link_remote_source(pointer))
    LIB.pn_terminus_copy(LIB.pn_link_target(pointer), LIB.pn_link_remote_target(pointer))
    ours = LIB.pn_link_source(pointer) if link.sends else LIB.pn_link_target(pointer)
    LIB.pn_data_clear(LIB.pn_terminus_filter(ours))
    if filters:
        put(LIB.pn_terminus_filter(ours), filters)
    LIB.pn_data_clear(LIB.pn_terminus_properties(ours))
    done = [capability for capability in near(link).capabilities if capability in CAPABILITIES]
    LIB.pn_data_clear(LIB.pn_terminus_capabilities(ours))
    if done:
        put(LIB.pn_terminus_capabilities(ours), codec.symbols(*done))
    if source:
        LIB.pn_terminus_set_type(ours, LIB.PN_SOURCE)
        LIB.pn_terminus_set_address(ours, source.encode())
        LIB.pn_terminus_set_durability(ours, LIB.PN_DELIVERIES)
        LIB.pn_terminus_set_expiry_policy(ours, LIB.PN_EXPIRE_NEVER)
    if address:
        LIB.pn_terminus_set_address(ours, address.encode())
    mode = LIB.pn_link_remote_snd_settle_mode(pointer)
    LIB.pn_link_set_snd_settle_mode(pointer, mode)
    LIB.pn_link_set_rcv_settle_mode(pointer, LIB.PN_RCV_FIRST)
    if not link.sends:
        LIB.pn_link_set_max_message_size(pointer, largest)
    if properties:
        put(LIB.pn_link_properties(pointer), properties)
    LIB.pn_link_open(pointer)


def answer_with_nothing(pointer: Any) -> None:  # noqa: ANN401 - the engine's link
    """Attach a link without source and target: so the peer knows that it is detached next."""
    for end in (LIB.pn_link_source, LIB.pn_link_target):
        LIB.pn_terminus_set_type(end(pointer), LIB.PN_UNSPECIFIED)
    LIB.pn_link_open(pointer)
