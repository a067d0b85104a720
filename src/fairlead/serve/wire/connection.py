"""One connection: what is said on it, besides what its engine hears.

A call about a link or a delivery that has ended does nothing: the peer may have been quicker.
"""

from __future__ import annotations

from typing import Any, Final

from fairlead.serve import codec
from fairlead.serve.wire import events as r
from fairlead.serve.wire.deliveries import say_outcome
from fairlead.serve.wire.engine import Engine
from fairlead.serve.wire.engine_links import Settings
from fairlead.serve.wire.proton import FFI, LIB, put, set_condition

__all__ = ["Connection", "Settings"]

CAPABILITIES: Final = ("queue", "topic", "temporary-queue")
"""What an address here can be: a link that calls it otherwise is refused, or is not told so."""


class Connection(Engine):
    """The server's side of one connection of AMQP 1.0."""

    # -------- calls

    def open(self) -> None:
        """Answer the peer's opening."""
        if self.closing:  # the engine would take it for open again
            return
        offered = codec.symbols("ANONYMOUS-RELAY", "DELAYED_DELIVERY", r.SOLE)
        put(LIB.pn_connection_offered_capabilities(self._connection), offered)
        LIB.pn_connection_open(self._connection)
        self._speak()

    def attach(
        self,
        link: r.Link,
        *,
        properties: dict[Any, Any] | None = None,
        address: str = "",
        source: str = "",
        filters: dict[Any, Any] | None = None,
    ) -> None:
        """Answer a link as its peer wants it, but for what is not done here.

        `address`: of the queue that was made for it. `source`: its durable source, if the peer
        asks for what it was. `filters`: those of the peer's that are done.
        """
        known = self._by_number.get(link.number)
        if known is None:
            return
        pointer = known.pointer
        LIB.pn_terminus_copy(LIB.pn_link_source(pointer), LIB.pn_link_remote_source(pointer))
        LIB.pn_terminus_copy(LIB.pn_link_target(pointer), LIB.pn_link_remote_target(pointer))
        near = LIB.pn_link_source(pointer) if link.sends else LIB.pn_link_target(pointer)
        LIB.pn_data_clear(LIB.pn_terminus_filter(near))
        if filters:
            put(LIB.pn_terminus_filter(near), filters)
        LIB.pn_data_clear(LIB.pn_terminus_properties(near))
        done = [
            capability for capability in r.near(link).capabilities if capability in CAPABILITIES
        ]
        LIB.pn_data_clear(LIB.pn_terminus_capabilities(near))
        if done:
            put(LIB.pn_terminus_capabilities(near), codec.symbols(*done))
        if source:
            LIB.pn_terminus_set_type(near, LIB.PN_SOURCE)
            LIB.pn_terminus_set_address(near, source.encode())
            LIB.pn_terminus_set_durability(near, LIB.PN_DELIVERIES)
            LIB.pn_terminus_set_expiry_policy(near, LIB.PN_EXPIRE_NEVER)
        if address:
            ours = LIB.pn_link_source if link.sends else LIB.pn_link_target
            LIB.pn_terminus_set_address(ours(pointer), address.encode())
        mode = LIB.pn_link_remote_snd_settle_mode(pointer)
        LIB.pn_link_set_snd_settle_mode(pointer, mode)
        LIB.pn_link_set_rcv_settle_mode(pointer, LIB.PN_RCV_FIRST)
        if not link.sends:
            LIB.pn_link_set_max_message_size(pointer, self._settings.max_message)
        if properties:
            put(LIB.pn_link_properties(pointer), properties)
        LIB.pn_link_open(pointer)
        link.open = True
        self._speak()

    def refuse(self, link: r.Link, condition: r.Condition) -> None:
        """Answer a link by an attach without source and target, and a detach that says why.

        Both are left out: clients differ in which of them says that the link is refused.
        """
        known = self._by_number.get(link.number)
        if known is None:
            return
        for end in (LIB.pn_link_source, LIB.pn_link_target):
            LIB.pn_terminus_set_type(end(known.pointer), LIB.PN_UNSPECIFIED)
        LIB.pn_link_open(known.pointer)
        self.detach(link, condition)

    def detach(self, link: r.Link, condition: r.Condition | None = None) -> None:
        """End a link; messages on it that are not settled are not ours to answer any more."""
        known = self._by_number.get(link.number)
        if known is None:
            return
        if condition is not None:
            where = LIB.pn_link_condition(known.pointer)
            set_condition(where, condition.name, condition.description)
        LIB.pn_link_close(known.pointer)
        link.open = False
        self._forget_deliveries(known)
        self._speak()

    def credit(self, link: r.Link, more: int) -> None:
        """Let the peer send so many more messages."""
        known = self._by_number.get(link.number)
        if known is not None and link.open:
            LIB.pn_link_flow(known.pointer, more)
            self._speak()

    def drained(self, link: r.Link) -> None:
        """Give back the credit that is left: there is nothing to send."""
        known = self._by_number.get(link.number)
        if known is not None and link.open:
            known.used += LIB.pn_link_drained(known.pointer)
            self._speak()

    def send(self, link: r.Link, sections: bytes, *, settled: bool) -> int:
        """Send a message; its number, 0 where it is settled or the link has ended."""
        known = self._by_number.get(link.number)
        if known is None or not link.open:
            return 0
        self._next += 1
        number = self._next
        tag = number.to_bytes(8)
        delivery = LIB.pn_delivery(known.pointer, (8, FFI.from_buffer(tag)))
        LIB.pn_link_send(known.pointer, sections, len(sections))
        if settled:
            LIB.pn_delivery_settle(delivery)
        LIB.pn_link_advance(known.pointer)
        known.used += 1
        self._traffic.sent += 1
        self._speak()
        if settled:
            return 0
        self._remember(known, number, delivery, len(sections))
        return number

    def settle(self, delivery: int, outcome: r.Outcome) -> None:
        """Say what became of a message, and forget it. One that is not known is left alone."""
        entry = self._forget_delivery(delivery)
        if entry is None:
            return
        pointer, sent = entry
        if sent is None:  # it came, and is answered
            self._traffic.answered[outcome.kind] += 1
        if outcome.kind:
            say_outcome(pointer, outcome)
        LIB.pn_delivery_settle(pointer)
        self._speak()

    def say(self, delivery: int, outcome: r.Outcome) -> None:
        """Say what became of a message for now; it is settled later."""
        entry = self._deliveries.get(delivery)
        if entry is not None:
            say_outcome(entry[0], outcome)
            self._speak()
