"""The wire, held against a client made of proton's public API."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest
from proton import Condition, Delivery, Endpoint, Message, symbol

from fairlead.serve import codec
from fairlead.serve.sasl import AMQP
from fairlead.serve.wire import connection
from fairlead.serve.wire import events as r
from tests.serve import raw
from tests.serve.peer import Peer


class Server:
    """Answers everything at once, and keeps what it saw."""

    def __init__(self, peer: Peer, credit: int = 100) -> None:
        self.peer, self.credit = peer, credit
        self.links: dict[str, r.Link] = {}

    def __call__(self, event: r.Event) -> None:
        wire = self.peer.server
        if isinstance(event, r.Opened):
            wire.open()
        elif isinstance(event, r.Attached):
            self.links[event.link.name] = event.link
            wire.attach(event.link)
            if not event.link.sends:
                wire.credit(event.link, self.credit)


def of(kind: type, events: list[r.Event]) -> list[Any]:
    return [each for each in events if isinstance(each, kind)]


@pytest.mark.parametrize("sasl", [False, True])
def test_a_client_opens_and_closes(sasl: bool) -> None:
    peer = Peer(sasl=sasl)
    found = peer.pump(Server(peer))
    assert of(r.Opened, found) == [r.Opened("client", "shop", {})]
    peer.connection.close()
    (closed,) = of(r.Closed, peer.pump())
    assert closed == r.Closed(None, orderly=True)
    assert peer.server.over
    assert peer.connection.state & Endpoint.REMOTE_CLOSED


def test_a_message_comes_as_it_was_sent_and_is_answered() -> None:
    peer = Peer()
    server = Server(peer)
    link = peer.sender(peer.session())
    peer.pump(server)
    assert link.credit == 100
    sections = Message(id="o-1", body={"total": 3}).encode()
    tag = b"\x00\xff\xfe"  # no text
    delivery = link.delivery(tag.decode("latin-1"))
    link.send(sections)
    link.advance()
    (came,) = of(r.Delivered, peer.pump(server))
    assert (came.sections, came.transaction) == (sections, None)
    peer.server.settle(came.delivery, r.Outcome(r.ACCEPTED))
    peer.pump(server)
    assert (delivery.remote_state, delivery.settled) == (Delivery.ACCEPTED, True)


def test_what_is_settled_as_it_is_sent_is_not_answered() -> None:
    peer = Peer()
    server = Server(peer)
    link = peer.sender(peer.session())
    peer.pump(server)
    link.delivery("1").settle()
    sent = link.delivery("2")
    link.send(b"\x00\x53\x75\xa0\x01x")
    sent.settle()
    link.advance()
    came = of(r.Delivered, peer.pump(server))
    assert [each.delivery for each in came] == [0] * len(came)


def test_a_refusal_says_why() -> None:
    peer = Peer()
    server = Server(peer)
    link = peer.sender(peer.session())
    peer.pump(server)
    delivery = link.delivery("1")
    link.send(b"x")
    link.advance()
    (came,) = of(r.Delivered, peer.pump(server))
    why = r.Condition("amqp:resource-limit-exceeded", "the queue is full")
    peer.server.settle(came.delivery, r.Outcome(r.REJECTED, condition=why))
    peer.pump(server)
    assert delivery.remote_state == Delivery.REJECTED
    assert delivery.remote.condition == Condition(why.name, why.description)


@pytest.mark.parametrize("size", [1, 70_000, 3_000_000])
def test_a_message_in_many_frames_comes_as_a_whole(size: int) -> None:
    peer = Peer(max_frame=4096)
    server = Server(peer)
    link = peer.sender(peer.session())
    peer.pump(server)
    sections = random.Random(size).randbytes(size)  # noqa: S311
    link.delivery("1")
    link.send(sections)
    link.advance()
    (came,) = of(r.Delivered, peer.pump(server))
    assert came.sections == sections
    assert peer.server.held == 0


def test_parts_are_kept_until_the_message_is_broken_off() -> None:
    peer = Peer()
    server = Server(peer)
    link = peer.sender(peer.session())
    peer.pump(server)
    delivery = link.delivery("1")
    link.send(bytes(1000))
    assert not of(r.Delivered, peer.pump(server))
    assert peer.server.held == 1000
    delivery.abort()
    assert of(r.Aborted, peer.pump(server))
    assert peer.server.held == 0
    link.delivery("2")
    link.send(b"y")
    link.advance()
    (came,) = of(r.Delivered, peer.pump(server))
    assert came.sections == b"y"


def test_a_message_that_is_too_large_is_told_of_before_it_is_whole() -> None:
    peer = Peer(max_message=10_000)
    server = Server(peer)
    link = peer.sender(peer.session())
    peer.pump(server)
    assert link.remote_max_message_size == 10_000
    link.delivery("1")
    link.send(bytes(20_000))
    (told,) = of(r.TooLarge, peer.pump(server))
    peer.server.detach(told.link, r.Condition("amqp:link:message-size-exceeded"))
    peer.pump(server)
    assert link.remote_condition.name == "amqp:link:message-size-exceeded"


def test_messages_go_out_and_their_outcomes_come_back() -> None:
    peer = Peer()
    server = Server(peer)
    link = peer.receiver(peer.session())
    peer.pump(server)
    link.flow(10)
    (flowed,) = of(r.Flowed, peer.pump(server))
    assert (flowed.credit, flowed.drain) == (10, False)
    ours = server.links["r"]
    numbers = [peer.server.send(ours, b"m%d" % each, settled=False) for each in range(5)]
    assert peer.server.send(ours, b"settled", settled=True) == 0
    peer.pump(server)
    bodies, outcomes = [], []
    states = [Delivery.ACCEPTED, Delivery.REJECTED, Delivery.RELEASED, Delivery.MODIFIED, 0]
    while (delivery := link.current) is not None and delivery.readable:
        bodies.append(link.recv(100))
        link.advance()
        if delivery.settled or len(bodies) > 5:
            continue
        state = states[len(bodies) - 1]
        if state == Delivery.REJECTED:
            delivery.local.condition = Condition("shop:closed", "come back")
        if state == Delivery.MODIFIED:
            delivery.local.failed = delivery.local.undeliverable = True
            delivery.local.annotations = {symbol("x-opt-delivery-delay"): 5}
        if state:
            delivery.update(state)
        delivery.settle()
    outcomes = sorted(of(r.Disposed, peer.pump(server)), key=lambda each: each.delivery)
    assert bodies == [b"m0", b"m1", b"m2", b"m3", b"m4", b"settled"]
    assert [each.delivery for each in outcomes] == numbers
    assert [each.outcome for each in outcomes] == [
        r.Outcome(r.ACCEPTED),
        r.Outcome(r.REJECTED, condition=r.Condition("shop:closed", "come back")),
        r.Outcome(r.RELEASED),
        r.Outcome(r.MODIFIED, failed=True, elsewhere=True, annotations={"x-opt-delivery-delay": 5}),
        r.Outcome(0),
    ]
    assert all(each.settled for each in outcomes)


def test_a_receiver_that_waits_is_told_that_its_outcome_holds() -> None:
    peer = Peer()
    server = Server(peer)
    link = peer.receiver(peer.session())
    link.flow(1)
    peer.pump(server)
    peer.server.send(server.links["r"], b"m", settled=False)
    peer.pump(server)
    delivery = link.current
    delivery.update(Delivery.ACCEPTED)  # and not settled
    (told,) = of(r.Disposed, peer.pump(server))
    assert not told.settled
    peer.server.settle(told.delivery, told.outcome)
    peer.pump(server)
    assert delivery.settled


def test_credit_is_given_back_where_it_is_drained() -> None:
    peer = Peer()
    server = Server(peer)
    link = peer.receiver(peer.session())
    peer.pump(server)
    link.drain(10)
    (flowed,) = of(r.Flowed, peer.pump(server))
    assert flowed.drain
    peer.server.drained(server.links["r"])
    peer.pump(server)
    assert link.credit == 0


def test_links_say_what_they_are_for() -> None:
    peer = Peer()
    server = Server(peer)
    session = peer.session()
    reader = session.receiver("r")
    reader.source.address = "orders"
    reader.source.distribution_mode = reader.source.DIST_MODE_COPY
    reader.source.durability = reader.source.DELIVERIES
    reader.source.expiry_policy = reader.source.EXPIRE_NEVER
    reader.properties = {symbol("name"): "R1"}
    reader.open()
    coordinator = session.sender("t")
    coordinator.target.type = coordinator.target.COORDINATOR
    coordinator.open()
    peer.pump(server)
    source = server.links["r"].source
    assert (source.address, source.copies, source.durable, source.expires) == (
        *("orders", True, True, "never"),
    )
    assert server.links["r"].properties == {"name": "R1"}
    assert server.links["t"].target.coordinates
    assert reader.remote_source.address == "orders"


def test_a_link_is_refused_with_a_reason() -> None:
    peer = Peer()
    link = peer.sender(peer.session(), "nowhere")

    def answer(event: r.Event) -> None:
        if isinstance(event, r.Opened):
            peer.server.open()
        elif isinstance(event, r.Attached):
            peer.server.refuse(event.link, r.Condition("amqp:not-found", "no such queue"))

    peer.pump(answer)
    assert link.remote_target.address is None
    assert link.remote_condition == Condition("amqp:not-found", "no such queue")
    link.close()
    assert of(r.Detached, peer.pump(answer))


@pytest.mark.parametrize("end", ["link", "session", "connection", "lost"])
def test_links_end_with_what_they_are_on(end: str) -> None:
    peer = Peer()
    server = Server(peer)
    session = peer.session()
    link = peer.receiver(session)
    link.flow(5)
    peer.pump(server)
    number = peer.server.send(server.links["r"], b"m", settled=False)
    peer.pump(server)
    if end == "lost":
        found = peer.server.end_of_input()
    else:
        {"link": link, "session": session, "connection": peer.connection}[end].close()
        found = peer.pump(server)
    (detached,) = of(r.Detached, found)
    assert (detached.link, detached.orderly) == (server.links["r"], end != "lost")
    peer.server.settle(number, r.Outcome(r.ACCEPTED))  # too late, and harmless
    assert peer.server.send(server.links["r"], b"m", settled=False) == 0
    peer.server.free()
    peer.server.free()


def test_garbage_ends_the_connection() -> None:
    peer = Peer()
    found = peer.server.feed(b"GET / HTTP/1.1\r\n\r\n")
    assert of(r.Closed, found)
    assert peer.server.output()
    assert peer.server.over


def test_a_peer_that_is_silent_is_gone() -> None:
    peer = Peer(idle=10.0)
    peer.pump(Server(peer))
    assert peer.server.tick(1000.0) is not None
    assert peer.server.tick(1030.0) is not None or peer.server.over


@pytest.mark.parametrize(("asked", "kept"), [(1, False), (499, False), (500, True), (0, True)])
def test_a_peer_hears_of_us_as_often_as_it_asks_or_is_told(asked: int, kept: bool) -> None:
    wire = connection.Connection(connection.Settings())
    fields = ["peer", "shop", None, None, codec.UInt(asked)]
    events = wire.feed(AMQP + raw.frame(raw.OPEN, *fields))
    assert bool(of(r.Opened, events)) == kept
    said = wire.output()
    assert (b"idle-time-out: found" in said) != kept
    if kept and asked:
        wire.open()
        wire.output()
        again = wire.tick(100.0)
        assert again is not None
        assert again <= 100.25
        wire.tick(again)
        assert wire.output() == b"\x00\x00\x00\x08\x02\x00\x00\x00"  # a frame that says nothing


GROWTH = """
from fairlead.serve.wire.connection import Connection
from fairlead.serve.wire.engine_links import Settings
from tests.serve.raw import attaching, beginning, opening

def pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

def connect(times):
    for _ in range(times):
        wire = Connection(Settings())
        wire.feed(opening() + beginning() + attaching(0, "orders") + bytes((255,)) * 30)
        wire.output()
        wire.end_of_input()
        wire.free()

connect(500)
before = pages()
connect(4000)
print(pages() - before)
"""


def test_connections_that_are_gone_leave_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", GROWTH], check=True, stdout=subprocess.PIPE, text=True
    )
    assert int(done.stdout) < 500  # pages of 4 kB: less than half a page for each
