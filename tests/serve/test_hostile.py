"""Peers that mean harm, or know no better: each is told why once, and costs no other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proton import Message

from fairlead import Store
from fairlead.balance.refusal import read
from fairlead.config.serving import ServingFile
from fairlead.serve import session
from fairlead.serve.access import Access
from fairlead.serve.codec import DescribedValue, Symbol, UByte, UInt, ULong
from fairlead.serve.node.node import Node
from fairlead.serve.sasl import AMQP
from fairlead.serve.wire import events as r
from fairlead.serve.wire.connection import Connection
from fairlead.serve.wire.engine_links import Settings
from tests.serve import raw
from tests.serve.peer import Peer
from tests.serve.raw import Raw, attaching, beginning, flowing, frame, opening, transferring
from tests.serve.serving import Served, serving

LIMITS = {"links": 20, "sessions": 4, "memory": 1_000_000, "message": 500_000, "introduction": 1}
STARTED = opening() + beginning()
LIMIT = "amqp:resource-limit-exceeded"
FRAMING = "amqp:connection:framing-error"
DATA = b"\x00\x53\x75\xb0"
"""A body of bytes begins; its length follows."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path_factory.mktemp('hostile')}/s.db") as found:
        yield found


@pytest.fixture(scope="module")
def running(store: Store) -> Iterator[Served]:
    with serving(store, access=Access(read({"limits": LIMITS}, ServingFile))) as found:
        yield found


@pytest.fixture
def served(running: Served) -> Iterator[Served]:
    """A server that serves others as before when the test is over, and has forgotten the peer."""
    yield running
    others = running.connect()
    others.create_sender("others").send(Message("still here"))
    receiver = others.create_receiver("others", credit=1)
    assert receiver.receive(timeout=10).body == "still here"
    receiver.accept()
    others.close()
    eventually(lambda: not running.server.access.counts.all)
    assert not running.server.paused


def eventually(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def conditions(served: Served, *data: bytes) -> list[str]:
    """What a peer that says all of this at once is told."""
    peer = Raw(served.server.places[0])
    peer.say(*data)
    found = peer.conditions()
    peer.close()
    return found


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (STARTED + b"no frame, but something else", FRAMING),
        (STARTED + b"\xff\xff\xff\xff\x02\x00\x00\x00", FRAMING),
        (STARTED + b"\x00\x00\x00\x04\x02\x00\x00\x00", FRAMING),
        (STARTED + b"\x00\x00\x00\x10\xff\x00\x00\x00" + bytes(8), FRAMING),
        (opening() + beginning(9), FRAMING),
        (opening() + attaching(0, "orders"), "amqp:not-allowed"),
        (opening() + frame(raw.END, channel=5), "amqp:not-allowed"),
        (STARTED + transferring(7, 0, b"x"), "amqp:session:window-violation"),
        (STARTED + flowing(9, 5), "amqp:invalid-field"),
        (STARTED + frame(raw.DETACH, UInt(3)), "amqp:invalid-field"),
        (opening() + beginning() * 1000, LIMIT),
    ],
)
def test_what_is_no_frame_or_out_of_turn_is_one_condition(
    served: Served, data: bytes, condition: str
) -> None:
    assert conditions(served, data) == [condition]


@pytest.mark.parametrize(
    "data",
    [
        AMQP + beginning(),
        opening() * 2,
        STARTED + beginning(),
        STARTED + frame(0x77, "nothing that there is"),
        STARTED + frame(raw.ATTACH),
        STARTED + frame(raw.ATTACH, UInt(3), "x", "y"),
        AMQP + frame(raw.OPEN, UInt(5)),
        STARTED + attaching(0, "orders") * 2,
    ],
)
def test_what_the_engine_lets_pass_does_no_harm(served: Served, data: bytes) -> None:
    peer = Raw(served.server.places[0])
    peer.say(data)
    peer.close()


def test_links_by_the_thousand_are_refused_one_by_one(served: Served) -> None:
    peer = Raw(served.server.places[0])
    peer.say(STARTED)
    for k in range(100):
        peer.say(attaching(k, f"queue-{k}"))
    refused = 0
    while refused < 80 and (heard := peer.hear()) is not None:
        if heard[0] == raw.DETACH:
            assert heard[1][2].value[0] == LIMIT
            refused += 1
    (one,) = served.server.sessions
    eventually(lambda: len(one.peer.links) + len(one.peer.waiting) == LIMITS["links"])
    for k in range(100, 2000):  # it goes on, and never detaches what is refused
        peer.say(attaching(k, f"queue-{k}"))
    assert peer.conditions()[-1] == LIMIT
    assert len(one.wire._by_number) <= 140
    peer.close()


def test_links_that_come_and_go_do_not_pile_up(served: Served) -> None:
    peer = Raw(served.server.places[0])
    peer.say(STARTED)
    for _ in range(3000):
        peer.say(attaching(0, "orders", name="again"), frame(raw.DETACH, UInt(0), True))
    peer.say(frame(raw.CLOSE))
    assert peer.conditions() == []
    peer.close()
    node = served.server.node
    eventually(lambda: not node.links.names and not node.links.connections)


def attached(served: Served, links: int = 1) -> Raw:
    """A peer that may send on its links."""
    peer = Raw(served.server.places[0])
    peer.say(STARTED, *(attaching(k, "orders") for k in range(links)))
    waiting = links
    while waiting:
        heard = peer.hear()
        assert heard is not None
        waiting -= heard[0] == raw.FLOW and heard[1][4] is not None
    return peer


def test_a_message_that_never_ends_ends_its_link(served: Served) -> None:
    peer = attached(served)
    for _ in range(100):
        peer.say(transferring(0, 0, bytes(10_000), more=True))
    peer.say(frame(raw.CLOSE))
    assert peer.conditions() == ["amqp:link:message-size-exceeded"]
    peer.close()


def test_messages_that_never_end_on_many_links_end_the_connection(served: Served) -> None:
    peer = attached(served, links=10)
    for _ in range(20):
        for k in range(10):
            peer.say(transferring(k, k, bytes(10_000), more=True))
    assert peer.conditions() == [LIMIT]
    peer.close()


def test_a_transaction_that_never_ends_ends_the_connection(served: Served) -> None:
    peer = Raw(served.server.places[0])
    coordinator = DescribedValue(ULong(raw.SOURCE), ["here"]), DescribedValue(ULong(0x30), [])
    begins = frame(raw.ATTACH, "c", UInt(0), False, None, None, *coordinator, None, None, UInt(0))
    peer.say(STARTED, begins, attaching(1, "orders"))
    wanted = {0, 1}
    while wanted and (heard := peer.hear()) is not None:
        if heard[0] == raw.FLOW:
            wanted -= {heard[1][4]}
    declare = b"\x00\x53\x77" + raw.codec.encode(DescribedValue(ULong(0x31), [None]))
    peer.say(transferring(0, 0, declare))
    while (heard := peer.hear()) is not None and heard[0] != raw.DISPOSITION:
        pass
    assert heard is not None
    belongs = DescribedValue(ULong(0x34), [heard[1][4].value[0]])
    part = DATA + (50_000).to_bytes(4) + bytes(50_000)
    for k in range(1, 40):
        to = [UInt(1), UInt(k), k.to_bytes(8), UInt(0), None, False, None, belongs]
        peer.say(frame(raw.TRANSFER, *to, payload=part))
    assert peer.conditions() == [LIMIT]
    peer.close()


def test_who_sends_more_than_it_may_is_told(served: Served) -> None:
    peer = attached(served)
    body = DATA + (1).to_bytes(4) + b"x"
    peer.say(*(transferring(0, k, body) for k in range(5000)))
    peer.say(frame(raw.CLOSE))
    assert {*peer.conditions()} <= {"amqp:link:transfer-limit-exceeded", "amqp:not-allowed"}
    peer.close()


def test_a_body_that_is_none_is_rejected(served: Served) -> None:
    peer = attached(served)
    peer.say(transferring(0, 0, b"\xff\xff"), transferring(0, 1, b""))
    outcomes = []
    while len(outcomes) < 2 and (heard := peer.hear()) is not None:
        if heard[0] == raw.DISPOSITION:
            state = heard[1][4]
            outcomes += [state.value[0].value[0]] * ((heard[1][2] or heard[1][1]) - heard[1][1] + 1)
    assert outcomes == ["amqp:decode-error"] * 2
    peer.close()


def test_who_wants_everything_and_reads_nothing_gets_little(
    store: Store, running: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "HIGH", 100_000)
    size, count = 20_000, 1000
    store.send_many("large", [{"body": bytes(size)} for _ in range(count)])
    greedy = Raw(running.server.places[0], buffer=10_000)
    link = attaching(0, "large", receives=True, settled=True)
    greedy.say(STARTED, link, flowing(0, 2**31 - 1))
    eventually(lambda: bool(running.server.paused))
    (stopped,) = running.server.paused
    assert stopped._transport.get_write_buffer_size() < size * count / 2
    others = running.connect()
    receiver = others.create_receiver("large", credit=1)
    assert len(receiver.receive(timeout=10).body) == size
    receiver.accept()
    others.close()
    greedy.close()
    eventually(lambda: not running.server.access.counts.all)


def test_who_does_not_settle_gets_no_more_than_is_held_for_it(
    store: Store, running: Served
) -> None:
    size = 10_000
    most = LIMITS["memory"] // 4
    store.send_many("unsettled", [{"body": bytes(size)} for _ in range(100)])
    greedy = Raw(running.server.places[0])
    greedy.say(STARTED, attaching(0, "unsettled", receives=True), flowing(0, 2**31 - 1))
    came = 0
    while came < most:
        came += len(greedy.socket.recv(100_000))
    (one,) = running.server.sessions
    eventually(lambda: one.wire.full)
    given = one.wire._unsettled.given
    assert given <= most + 2 * size
    accepted = DescribedValue(ULong(0x24), [])
    greedy.say(frame(raw.DISPOSITION, True, UInt(0), UInt(9), True, accepted))
    while came < given + 9 * size:
        came += len(greedy.socket.recv(100_000))
    greedy.close()
    eventually(lambda: not running.server.access.counts.all)


# -------- bytes that are nearly right


def test_who_only_looks_and_does_not_read_is_held_little(store: Store, served: Served) -> None:
    for n in range(20):
        store.send("shown", "x" * 50_000, group=f"g{n}")
    peer = Raw(served.server.places[0], buffer=4096)
    copies = DescribedValue(ULong(raw.SOURCE), ["shown", *[None] * 5, Symbol("copy")])
    target = DescribedValue(ULong(raw.TARGET), ["here"])
    peer.say(STARTED)
    for n in range(9):
        head = [f"l-{n}", UInt(n), True, UByte(1), None, copies, target]
        peer.say(frame(raw.ATTACH, *head), flowing(n, 0))
    eventually(lambda: any(each.wire and each.wire.held for each in served.server.sessions))
    time.sleep(0.2)
    (session_,) = served.server.sessions
    assert session_.wire is not None
    assert session_.wire.held < 350_000  # a quarter of `memory`, and a message or two
    shown = dict.fromkeys(range(9), 0)
    for n in shown:
        peer.say(flowing(n, 100))
    while not all(shown.values()):
        heard = peer.hear()
        assert heard is not None
        if heard[0] == raw.TRANSFER:
            shown[int(heard[1][0])] += 1
    peer.close()


def conversation() -> bytes:
    """What a client says that opens, sends and receives."""
    peer = Peer(anonymous=False)
    said = bytearray()
    feed = peer.server.feed

    def kept(data: bytes) -> list[r.Event]:
        said.extend(data)
        return feed(data)

    peer.server.feed = kept  # type: ignore[method-assign]

    def answer(event: r.Event) -> None:
        if isinstance(event, r.Opened):
            peer.server.open()
        elif isinstance(event, r.Attached):
            peer.server.attach(event.link)
            if not event.link.sends:
                peer.server.credit(event.link, 10)

    session_ = peer.session()
    sender, receiver = peer.sender(session_), peer.receiver(session_)
    receiver.flow(5)
    peer.pump(answer)
    for k in range(3):
        sender.delivery(str(k))
        sender.send(Message({"n": k}, id=str(k)).encode())
        sender.advance()
    sender.close()
    peer.pump(answer)
    peer.connection.close()
    peer.pump(answer)
    return bytes(said)


SAID = conversation()


class Answering:
    """A node without a store, on a wire: all that it asks is refused."""

    def __init__(self) -> None:
        self.wire = Connection(Settings(anonymous=False, max_message=100_000))
        self.node = Node()
        self.peer = self.node.connected(self.wire)

    def feed(self, data: bytes) -> None:
        self.node.heard(self.peer, self.wire.feed(data), 0.0)
        for call in self.node.calls():
            self.node.done(call, "queue", None, 0.0) if hasattr(call, "name") else None
        self.wire.output()

    def close(self) -> None:
        self.node.heard(self.peer, self.wire.end_of_input(), 0.0)
        self.wire.free()


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.integers(0, len(SAID) - 1), st.integers(0, 255)), max_size=4),
    st.integers(0, len(SAID)),
    st.binary(max_size=20),
)
def test_bytes_that_are_nearly_right_do_no_harm(
    changes: list[tuple[int, int]], cut: int, more: bytes
) -> None:
    data = bytearray(SAID)
    for place, byte in changes:
        data[place] = byte
    answering = Answering()
    answering.feed(bytes(data[:cut]) + more)
    answering.feed(bytes(data[cut:]))
    answering.close()


def test_credit_that_cannot_be_counted_ends_the_link(served: Served) -> None:
    peer = Raw(served.server.places[0])
    peer.say(STARTED, attaching(0, "orders", receives=True), flowing(0, 2**31))
    while (heard := peer.hear()) is not None and heard[0] != raw.DETACH:
        pass
    assert heard is not None
    assert heard[1][2].value[0] == "amqp:not-allowed"
    peer.close()


def test_who_wants_less_than_is_on_its_way_keeps_its_link(store: Store, served: Served) -> None:
    for n in range(3):
        store.send("orders", n)
    peer = Raw(served.server.places[0])
    peer.say(STARTED, attaching(0, "orders", receives=True), flowing(0, 2))

    def until(wanted: int, times: int) -> None:
        while times:
            heard = peer.hear()
            assert heard is not None
            assert heard[0] != raw.DETACH, heard
            times -= heard[0] == wanted

    until(raw.TRANSFER, 2)
    peer.say(flowing(0, 1))  # it has not seen them yet
    peer.say(flowing(0, 3))
    until(raw.TRANSFER, 1)
    peer.close()


def test_frames_in_any_order_do_no_harm() -> None:
    frames = [
        opening()[8:],
        *(beginning(k) for k in range(2)),
        *(attaching(k, "orders", receives=bool(k % 2)) for k in range(3)),
        *(transferring(k, k, b"\x00\x53\x75\xa0\x01x", more=bool(k % 2)) for k in range(3)),
        *(flowing(k, credit) for k in range(2) for credit in (0, 5, 2**31 - 1, 2**32 - 1)),
        *(frame(raw.DETACH, UInt(k), bool(k)) for k in range(2)),
        frame(raw.DISPOSITION, True, UInt(0), UInt(5), True),
        frame(raw.END),
        frame(raw.CLOSE),
    ]
    chance = random.Random(5)  # noqa: S311  # noqa: S311
    for _ in range(300):
        answering = Answering()
        answering.feed(AMQP + opening()[8:] + beginning())
        for each in chance.choices(frames, k=12):
            answering.feed(each)
        answering.close()
