"""One connection: bytes in, events out, and what is said on it, as bytes to be sent.

The peer begins, or we do: `dialing.py` says what is different then.

It does no input or output, and knows no time but what it is told. A pointer of proton's is used
only as long as what it points to is known here. A call about a link or a delivery that has ended
does nothing: the peer may have been quicker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import structs

from fairlead.serve import codec
from fairlead.serve.codec import Symbol
from fairlead.serve.wire import events as r
from fairlead.serve.wire.answering import answer, answer_with_nothing
from fairlead.serve.wire.deliveries import outcome_of, say_outcome
from fairlead.serve.wire.engine_links import (
    CHUNK,
    INVALID,
    LEAST_IDLE,
    LIMIT,
    EngineLinks,
    Settings,
    condition_of,
    terminus_of,
)
from fairlead.serve.wire.names import Frames
from fairlead.serve.wire.proton import (
    FFI,
    LIB,
    NULL,
    address,
    check,
    names_of,
    put,
    room,
    set_condition,
    text,
    value_of,
)
from fairlead.serve.wire.unsettled import Unsettled

FAILED: Final = "amqp:connection-establishment-failed"
"""A property of an opening that is closed at once."""


class Connection:
    """One side of one connection of AMQP 1.0, over proton's engine."""

    def __init__(
        self,
        settings: Settings,
        said: Callable[[], None] = lambda: None,
        traffic: r.Traffic | None = None,
        *,
        initiates: bool = False,
    ) -> None:
        """Nothing is said before the peer has. Raises EnvironmentProblem without proton.

        `said`: called where there may be output again, once until it is asked for. `traffic`: what
        is counted here, too. `initiates`: whether this side opens the connection; who the peer
        is, was found out before.
        """
        self._traffic = traffic or r.Traffic()
        check()
        self._said = said
        self._quiet = True
        self._settings = settings
        self._frames = Frames(settings.max_frame)
        self._events: list[r.Event] = []
        self._links: dict[int, EngineLinks] = {}
        """Address of the engine's link → it."""
        self._by_number: dict[int, EngineLinks] = {}
        self._unsettled = Unsettled()
        self.pending = 0
        """Bytes of the peer's that wait for the store; who asks the store counts them."""
        self.blocked = False
        """Whether the peer takes nothing for now; who writes to it says so."""
        self.held = 0
        """Bytes of messages that have come in part; who keeps transactions counts theirs."""
        self.closing = False
        """Whether this side has closed the connection, and waits for the other."""
        self._there = 0
        """Sessions."""
        self._next = 0
        self._over = False
        self._acts: dict[int, Callable[[Any], None]] = {
            LIB.PN_CONNECTION_REMOTE_OPEN: self._opened,
            LIB.PN_CONNECTION_REMOTE_CLOSE: self._closed,
            LIB.PN_SESSION_REMOTE_OPEN: self._session_opened,
            LIB.PN_SESSION_REMOTE_CLOSE: self._session_closed,
            LIB.PN_LINK_REMOTE_OPEN: self._attached,
            LIB.PN_LINK_REMOTE_CLOSE: self._link_closed,
            LIB.PN_LINK_REMOTE_DETACH: self._link_detached,
            LIB.PN_LINK_FLOW: self._flowed,
            LIB.PN_DELIVERY: self._delivery,
            LIB.PN_TRANSPORT_ERROR: self._failed,
        }
        transport = self._transport = LIB.pn_transport()
        if not initiates:
            LIB.pn_transport_set_server(transport)
        LIB.pn_transport_set_max_frame(transport, settings.max_frame)
        LIB.pn_transport_set_channel_max(transport, settings.max_sessions - 1)
        LIB.pn_transport_set_idle_timeout(transport, int(settings.idle * 1000))
        LIB.pn_transport_require_auth(transport, False)
        if settings.anonymous and not initiates:
            LIB.pn_sasl_allowed_mechs(LIB.pn_sasl(transport), b"ANONYMOUS")
        self._collector = LIB.pn_collector()
        self._connection = LIB.pn_connection()
        LIB.pn_connection_set_container(self._connection, settings.container.encode())
        LIB.pn_connection_collect(self._connection, self._collector)
        LIB.pn_transport_bind(transport, self._connection)

    def free(self) -> None:
        """Give back the engine's memory; nothing can be done here any more."""
        if self._transport is None:
            return
        for known in [*self._by_number.values()]:
            self._forget(known)
        LIB.pn_transport_unbind(self._transport)
        LIB.pn_connection_release(self._connection)  # of its links and sessions
        LIB.pn_decref(self._connection)
        LIB.pn_collector_free(self._collector)
        LIB.pn_decref(self._transport)
        self._transport = self._connection = self._collector = None
        self._acts.clear()

    @property
    def engine(self) -> Any:  # noqa: ANN401
        """Proton's connection; None: it is over."""
        return self._connection

    def adopt(self, link: r.Link, pointer: Any) -> None:  # noqa: ANN401
        """Know a link that was begun here; the peer's answer is told as `Answered`."""
        known = EngineLinks(link, pointer, [], 0, set())
        self._links[address(pointer)] = self._by_number[link.number] = known
        self._speak()

    def number(self) -> int:
        """A number that no link and no delivery has yet."""
        self._next += 1
        return self._next

    # -------- bytes

    @property
    def over(self) -> bool:
        """Whether nothing more comes or goes."""
        return self._transport is None or bool(LIB.pn_transport_closed(self._transport))

    @property
    def full(self) -> bool:
        """Whether the peer is to be sent no more messages for now: it does not read or settle."""
        return self.blocked or self._unsettled.given > self._settings.most_given

    @property
    def most_held(self) -> int:
        """So many bytes may be held for the peer to take, at one time."""
        return self._settings.most_given

    def feed(self, data: bytes) -> list[r.Event]:
        """What has come; what happened by that."""
        at = 0
        while at < len(data):
            chunk = data[at : at + CHUNK] if len(data) > CHUNK else data
            count = LIB.pn_transport_push(self._transport, chunk, len(chunk))
            if count <= 0:
                break
            at += count
            self._frames.feed(chunk if count == len(chunk) else chunk[:count])
            if count < len(chunk):
                data, at = data[at:], 0
            self._look()
        self._look()
        return self._taken()

    def end_of_input(self) -> list[r.Event]:
        """The peer sends nothing more."""
        if self._transport is not None:
            LIB.pn_transport_close_tail(self._transport)
            self._look()
        self._end(None, orderly=False)
        return self._taken()

    def output(self, most: int = 2**62) -> bytes:
        """What is to be sent to the peer; no more, once it is so many bytes."""
        transport = self._transport
        self._quiet = True
        if transport is None:
            return b""
        pieces = []
        while most > 0 and (pending := LIB.pn_transport_pending(transport)) > 0:
            buffer = room(pending)
            size = LIB.pn_transport_peek(transport, buffer, pending)
            if size <= 0:
                break
            pieces.append(FFI.buffer(buffer, size)[:])
            most -= size
            LIB.pn_transport_pop(transport, size)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def tick(self, now: float) -> float | None:
        """Tell the time, in seconds; when to be told next, None: never."""
        if self._transport is None:
            return None
        deadline = LIB.pn_transport_tick(self._transport, int(now * 1000))
        return deadline / 1000 if deadline else None

    def close(self, condition: r.Condition | None = None) -> None:
        """Close the connection."""
        if self._transport is None:
            return
        self.closing = True
        if condition is not None:
            where = LIB.pn_connection_condition(self._connection)
            set_condition(where, condition.name, condition.description)
            if condition.field:  # by which a client knows what to say of it
                put(
                    LIB.pn_condition_info(where), {Symbol("invalid-field"): Symbol(condition.field)}
                )
                put(LIB.pn_connection_properties(self._connection), {Symbol(FAILED): True})
        LIB.pn_connection_open(self._connection)
        LIB.pn_connection_close(self._connection)
        self._speak()

    # -------- events of the engine

    def _speak(self) -> None:
        if self._quiet:
            self._quiet = False
            self._said()

    def _taken(self) -> list[r.Event]:
        events, self._events = self._events, []
        return events

    def _look(self) -> None:
        collector = self._collector
        while collector is not None and (event := LIB.pn_collector_peek(collector)) != NULL:
            act = self._acts.get(LIB.pn_event_type(event))
            if act is not None:
                act(event)
            LIB.pn_collector_pop(collector)

    def _opened(self, event: Any) -> None:  # noqa: ANN401
        connection = self._connection
        why = self._unkept()
        if why is not None:
            self.close(r.Condition(INVALID, why))
            return
        properties = value_of(LIB.pn_connection_remote_properties(connection))
        self._events.append(
            r.Opened(
                text(LIB.pn_connection_remote_container(connection)),
                text(LIB.pn_connection_remote_hostname(connection)),
                properties if isinstance(properties, dict) else {},
                names_of(LIB.pn_connection_remote_desired_capabilities(connection)),
            )
        )

    def _unkept(self) -> str | None:
        """What the peer asks of the connection and cannot have, if so."""
        if self._frames.opening is not None:
            return self._frames.opening
        idle = LIB.pn_transport_get_remote_idle_timeout(self._transport)
        if 0 < idle < LEAST_IDLE:
            return f"idle-time-out: found {idle}, allowed: at least {LEAST_IDLE} milliseconds"
        return None

    def _closed(self, event: Any) -> None:  # noqa: ANN401
        LIB.pn_connection_close(self._connection)
        self._end(condition_of(LIB.pn_connection_remote_condition(self._connection)), orderly=True)

    def _failed(self, event: Any) -> None:  # noqa: ANN401
        self._end(condition_of(LIB.pn_transport_condition(self._transport)), orderly=False)

    def _end(self, condition: r.Condition | None, *, orderly: bool) -> None:
        if self._over:
            return
        self._over = True
        for known in [*self._by_number.values()]:
            self._detached(known, closed=False, orderly=orderly)
        self._events.append(r.Closed(condition, orderly))

    def _session_opened(self, event: Any) -> None:  # noqa: ANN401
        session = LIB.pn_event_session(event)
        self._there += 1
        if self._there > (most := self._settings.max_sessions):  # several may be on one channel
            self.close(r.Condition(LIMIT, f"sessions: found more than {most}, allowed: {most}"))
            return
        LIB.pn_session_open(session)

    def _session_closed(self, event: Any) -> None:  # noqa: ANN401
        session = LIB.pn_event_session(event)
        at = address(session)
        self._there -= 1
        condition = condition_of(LIB.pn_session_remote_condition(session))
        for known in [*self._by_number.values()]:
            if known.link.session == at:
                self._detached(known, closed=False, orderly=True, condition=condition)
        LIB.pn_session_close(session)
        LIB.pn_session_free(session)

    def _attached(self, event: Any) -> None:  # noqa: ANN401
        pointer = LIB.pn_event_link(event)
        if (begun := self._links.get(address(pointer))) is not None:
            self._answered(begun)
            return
        if len(self._by_number) >= (most := self._settings.max_links):
            self.close(r.Condition(LIMIT, f"links: found more than {most}, allowed: {most}"))
            return
        sends = bool(LIB.pn_link_is_sender(pointer))
        properties = value_of(LIB.pn_link_remote_properties(pointer))
        source = terminus_of(LIB.pn_link_remote_source(pointer))
        target = terminus_of(LIB.pn_link_remote_target(pointer))
        name = text(LIB.pn_link_name(pointer))
        cut = self._frames.attached(name, receives=sends)
        if cut is not None:  # it is refused by the names that it has
            name = cut.link
            source, target = (
                structs.replace(end, address=address)
                for end, address in ((source, cut.source), (target, cut.target))
            )
        link = r.Link(
            number=self.number(),
            name=name,
            sends=sends,
            source=source,
            target=target,
            properties=properties if isinstance(properties, dict) else {},
            settled=LIB.pn_link_remote_snd_settle_mode(pointer) == LIB.PN_SND_SETTLED,
            session=address(LIB.pn_link_session(pointer)),
        )
        known = EngineLinks(link, pointer, [], 0, set())
        self._links[address(pointer)] = self._by_number[link.number] = known
        self._events.append(r.Attached(link))

    def _answered(self, begun: EngineLinks) -> None:
        pointer = begun.pointer
        target = terminus_of(LIB.pn_link_remote_target(pointer))
        properties = value_of(LIB.pn_link_remote_properties(pointer))
        begun.link.open = not target.absent
        self._events.append(
            r.Answered(
                begun.link,
                properties if isinstance(properties, dict) else {},
                LIB.pn_link_remote_max_message_size(pointer),
            )
        )

    def _link_closed(self, event: Any) -> None:  # noqa: ANN401
        self._link_ended(event, closed=True)

    def _link_detached(self, event: Any) -> None:  # noqa: ANN401
        self._link_ended(event, closed=False)

    def _link_ended(self, event: Any, *, closed: bool) -> None:  # noqa: ANN401
        pointer = LIB.pn_event_link(event)
        known = self._links.get(address(pointer))
        if known is None:
            return
        if closed:
            LIB.pn_link_close(pointer)
        else:
            LIB.pn_link_detach(pointer)
        condition = condition_of(LIB.pn_link_remote_condition(pointer))
        self._detached(known, closed=closed, orderly=True, condition=condition)

    def _detached(
        self,
        known: EngineLinks,
        *,
        closed: bool,
        orderly: bool,
        condition: r.Condition | None = None,
    ) -> None:
        pointer = known.pointer
        self._forget(known)
        LIB.pn_link_free(pointer)
        self._events.append(r.Detached(known.link, closed, orderly, condition))

    def _flowed(self, event: Any) -> None:  # noqa: ANN401
        pointer = LIB.pn_event_link(event)
        known = self._links.get(address(pointer))
        if known is None or not known.link.sends:
            return
        drain = bool(LIB.pn_link_get_drain(pointer))
        credit = LIB.pn_link_credit(pointer)
        if -known.used <= credit < 0:  # what it wants less of was on its way already
            credit = 0
        self._events.append(r.Flowed(known.link, credit, drain))

    def _delivery(self, event: Any) -> None:  # noqa: ANN401
        pointer = LIB.pn_event_delivery(event)
        known = self._links.get(address(LIB.pn_delivery_link(pointer)))
        if known is None:
            return
        if known.link.sends:
            self._disposed(known, pointer)
        elif LIB.pn_link_current(known.pointer) == pointer:
            self._came(known, pointer)

    def _disposed(self, known: EngineLinks, pointer: Any) -> None:  # noqa: ANN401
        number = self._unsettled.number_of(pointer)
        settled = bool(LIB.pn_delivery_settled(pointer))
        outcome = outcome_of(pointer)
        if number is None or not (settled or outcome.kind or outcome.transaction is not None):
            return
        if settled and outcome.transaction is None:
            self._unsettled.forget(number)
            LIB.pn_delivery_settle(pointer)
        self._traffic.settled[outcome.kind] += 1
        self._events.append(r.Disposed(known.link, number, outcome, settled))

    def _came(self, known: EngineLinks, pointer: Any) -> None:  # noqa: ANN401
        link = known.pointer
        if not known.link.open:  # it was detached, and the peer does not know yet
            self._drop(known, pointer)
            return
        if LIB.pn_delivery_aborted(pointer):
            self._drop(known, pointer)
            self._events.append(r.Aborted(known.link))
            return
        while (size := LIB.pn_delivery_pending(pointer)) > 0:
            buffer = room(size)
            count = LIB.pn_link_recv(link, buffer, size)
            if count <= 0:
                break
            known.pieces.append(FFI.buffer(buffer, count)[:])
            known.size += count
            self.held += count
        if known.size > self._settings.max_message:
            self._drop(known, pointer)
            self._events.append(r.TooLarge(known.link))
            return
        if LIB.pn_delivery_partial(pointer):
            return
        sections = known.pieces[0] if len(known.pieces) == 1 else b"".join(known.pieces)
        self._let_go(known)
        self._traffic.received += 1
        transaction = outcome_of(pointer).transaction
        number = 0
        LIB.pn_link_advance(link)
        if LIB.pn_delivery_settled(pointer):
            LIB.pn_delivery_settle(pointer)
        else:
            number = self.number()
            self._unsettled.came(known, number, pointer)
        self._events.append(r.Delivered(known.link, number, sections, transaction))

    def _drop(self, known: EngineLinks, pointer: Any) -> None:  # noqa: ANN401
        self._let_go(known)
        LIB.pn_link_advance(known.pointer)
        LIB.pn_delivery_settle(pointer)

    def _let_go(self, known: EngineLinks) -> None:
        self.held -= known.size
        known.pieces, known.size = [], 0

    # -------- what is known

    def _forget(self, known: EngineLinks) -> None:
        self._unsettled.forget_all(known)
        known.link.open = False
        self._let_go(known)
        self._by_number.pop(known.link.number, None)
        self._links.pop(address(known.pointer), None)

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
        largest = self._settings.max_message
        answer(link, known.pointer, largest, properties, address, source, filters)
        link.open = True
        self._speak()

    def refuse(self, link: r.Link, condition: r.Condition) -> None:
        """Answer a link by an attach without source and target, and a detach that says why.

        Both are left out: clients differ in which of them says that the link is refused.
        """
        known = self._by_number.get(link.number)
        if known is None:
            return
        answer_with_nothing(known.pointer)
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
        self._unsettled.forget_all(known)
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
        number = self.number()
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
        self._unsettled.sent(known, number, delivery, len(sections))
        return number

    def settle(self, delivery: int, outcome: r.Outcome) -> None:
        """Say what became of a message, and forget it. One that is not known is left alone."""
        entry = self._unsettled.forget(delivery)
        if entry is None:
            return
        pointer = entry.pointer
        if entry.sent is None:  # it came, and is answered
            self._traffic.answered[outcome.kind] += 1
        if outcome.kind:
            say_outcome(pointer, outcome)
        LIB.pn_delivery_settle(pointer)
        self._speak()

    def say(self, delivery: int, outcome: r.Outcome) -> None:
        """Say what became of a message for now; it is settled later."""
        entry = self._unsettled.get(delivery)
        if entry is not None:
            say_outcome(entry.pointer, outcome)
            self._speak()
