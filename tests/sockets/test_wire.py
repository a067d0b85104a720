"""The wire: what is sent, what is taken in any pieces, what is refused by name."""

import itertools
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pynng
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.errors import WireError
from fairlead.sockets.memories import KEPT, MOST, Memories
from fairlead.sockets.wire import (
    GROWTH,
    LONG,
    Decoder,
    Protocol,
    greeting,
    header,
    hop,
    request_id,
    split,
)

PROTOCOLS = st.sampled_from([*Protocol])


def pieces_of(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[a:b] for a, b in itertools.pairwise(places)]


def stream_of(sender: Protocol, messages: list[bytes], *, ipc: bool) -> bytes:
    frames = (header(len(each), ipc=ipc) + each for each in messages)
    return greeting(sender) + b"".join(frames)


@given(PROTOCOLS, st.booleans(), st.lists(st.binary(max_size=50)), st.lists(st.integers(0, 999)))
def test_messages_come_out_as_they_went_in_whatever_the_pieces(
    sender: Protocol, ipc: bool, messages: list[bytes], cuts: list[int]
) -> None:
    decoder = Decoder(sender.peer, ipc=ipc)
    found = []
    for piece in pieces_of(stream_of(sender, messages, ipc=ipc), cuts):
        found += decoder.feed(piece)
    decoder.end()
    assert found == messages


@given(
    PROTOCOLS,
    st.lists(st.tuples(st.integers(0, 3 * LONG), st.booleans()), max_size=8),
    st.lists(st.integers(1, 2 * LONG), min_size=1, max_size=9),
    st.booleans(),
)
def test_long_messages_are_read_to_where_they_belong_and_stay_as_they_are(
    own: Protocol, sizes: list[tuple[int, bool]], reads: list[int], fills: bool
) -> None:
    messages = [bytes([k]) * size for k, (size, _) in enumerate(sizes)]
    stream = memoryview(stream_of(own.peer, messages, ipc=False))
    decoder, reading = Decoder(own), itertools.cycle(reads)
    held: dict[int, object] = {}
    came = 0
    while stream:
        size = next(reading)
        if fills and decoder.rest is not None:
            with decoder.rest.room() as room:
                size = min(size, len(room), len(stream))
                room[:size] = stream[:size]
            found = decoder.came(size)
        else:
            found = decoder.feed(bytes(stream[:size]))
        stream = stream[size:]
        for each in found:
            assert each == messages[came]
            if sizes[came][1]:  # somebody goes on looking at it
                held[came] = each
            came += 1
    decoder.end()
    assert came == len(messages)
    assert all(each == messages[k] for k, each in held.items())


def test_room_for_a_long_message_grows_with_what_has_come_of_it() -> None:
    decoder = Decoder(Protocol.PULL, max_size=1 << 30)
    decoder.feed(greeting(Protocol.PUSH) + header(1 << 30))
    came = 0
    while came < 20 * LONG:
        assert decoder.rest is not None
        with decoder.rest.room() as room:
            assert came + len(room) <= max(LONG, GROWTH * came)
        came += 5000
        decoder.feed(bytes(5000))


def test_memory_is_used_again_once_nobody_looks_at_it_and_little_is_kept() -> None:
    memories, first = Memories(), bytearray(100)
    view = memoryview(first)[10:20]
    memories.keep(first)
    assert memories.take(50) is None
    view.release()
    assert memories.take(101) is None
    assert memories.take(100) is first
    assert memories.take(100) is None
    for _ in range(2 * KEPT):
        memories.keep(bytearray(100))
    assert [memories.take(1) is not None for _ in range(2 * KEPT)].count(True) == KEPT
    memories.keep(bytearray(MOST + 1))
    assert memories.take(1) is None


LENGTHS = st.one_of(st.integers(0, 40), st.integers(0, (1 << 64) - 1)).map(struct.Struct(">Q").pack)
LIKELY = st.one_of(
    st.binary(max_size=30), LENGTHS, st.just(b"\1"), PROTOCOLS.map(greeting), st.just(b"\0SP\0")
)


@given(PROTOCOLS, st.booleans(), st.booleans(), st.lists(LIKELY))
def test_any_bytes_are_messages_or_the_named_error_and_little_is_kept(
    own: Protocol, ipc: bool, greeted: bool, pieces: list[bytes]
) -> None:
    decoder = Decoder(own, ipc=ipc, max_size=100)
    if greeted:
        decoder.feed(greeting(own.peer))
    try:
        for piece in pieces:
            for message in decoder.feed(piece):
                assert len(message) <= 100
            assert len(decoder._kept) <= 9 + 100
    except WireError:
        for piece in (b"", b"\0SP\0"):  # nothing is taken after an error
            with pytest.raises(WireError):
                decoder.feed(piece)
    with suppress(WireError):
        decoder.end()


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (b"HTTP", r"found the first bytes b'HTTP', allowed: b'\x00SP\x00'"),
        (b"\0SP\1\0\x51\0\0", r"found the first bytes b'\x00SP\x01', allowed: b'\x00SP\x00'"),
        (b"\0SP\0\0\x51\0\1", "found 1 after the protocol's number, allowed: 0"),
        (greeting(Protocol.PUSH), "80 (PUSH), allowed: 81 (PULL), as this is PUSH"),
        (b"\0SP\0\0\x77\0\0", "found a peer of protocol 119 (unknown), allowed: 81 (PULL)"),
        (greeting(Protocol.PULL) + b"\x80" + b"\0" * 7, "9223372036854775808 bytes, allowed: at"),
        (
            greeting(Protocol.PULL) + b"\xff" * 8,
            "18446744073709551615 bytes, allowed: at most 1048",
        ),
        (
            greeting(Protocol.PULL) + header((1 << 20) + 1),
            "a message of 1048577 bytes, allowed: at",
        ),
    ],
)
def test_what_is_none_of_the_protocol_is_refused(stream: bytes, said: str) -> None:
    decoder = Decoder(Protocol.PUSH)
    with pytest.raises(WireError) as error:
        decoder.feed(stream)
    assert said in str(error.value)
    with pytest.raises(WireError):
        decoder.end()


def test_on_a_unix_socket_a_one_stands_before_a_length() -> None:
    decoder = Decoder(Protocol.PUSH, ipc=True)
    decoder.feed(greeting(Protocol.PULL))
    with pytest.raises(WireError, match="found 0 before a length, allowed: 1"):
        decoder.feed(header(3) + b"abc")


def test_no_length_is_too_long_where_none_is_limited_but_one_of_two_to_the_63() -> None:
    decoder = Decoder(Protocol.PUSH, max_size=1 << 64)
    decoder.feed(greeting(Protocol.PULL) + header((1 << 63) - 1))
    with pytest.raises(WireError, match="allowed: at most 9223372036854775807"):
        Decoder(Protocol.PUSH, max_size=1 << 64).feed(greeting(Protocol.PULL) + header(1 << 63))


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (b"", "the end after 0 bytes of a greeting, allowed: after 8"),
        (b"\0SP\0\0", "the end after 5 bytes of a greeting, allowed: after 8"),
        (greeting(Protocol.PULL) + b"\0", "the end after 1 bytes of a message, allowed: after 8"),
        (greeting(Protocol.PULL) + header(4) + b"abc", "11 bytes of a message, allowed: after 12"),
    ],
)
def test_an_end_inside_is_refused(stream: bytes, said: str) -> None:
    decoder = Decoder(Protocol.PUSH)
    assert decoder.feed(stream) == []
    with pytest.raises(WireError, match=said):
        decoder.end()


@given(st.lists(st.integers(0, (1 << 31) - 1), max_size=14), st.integers(), st.binary())
def test_a_stack_comes_apart_as_it_was_put_together(
    hops: list[int], number: int, body: bytes
) -> None:
    stack = b"".join(map(hop, hops)) + request_id(number)
    assert split(stack + body, 15) == (stack, body)
    assert split(stack + body, len(hops)) is None


@given(st.binary(max_size=80), st.integers(1, 15))
def test_any_bytes_are_a_stack_or_dropped_or_refused(message: bytes, max_ttl: int) -> None:
    try:
        found = split(message, max_ttl)
    except WireError:
        return
    assert found is None or found[0] + found[1] == message


# -------- Real peers


@contextmanager
def raw(address: str) -> Iterator[socket.socket]:
    kind, _, place = address.partition("://")
    family = socket.AF_INET if kind == "tcp" else socket.AF_UNIX
    with socket.socket(family) as found:
        found.settimeout(5)
        host, _, port = place.partition(":")
        found.connect((host, int(port)) if kind == "tcp" else place)
        yield found


def read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = connection.recv(size - len(found))
        assert piece
        found += piece
    return found


def test_a_pull_of_nng_takes_what_is_sent(address: str) -> None:
    ipc = address.startswith("ipc")
    with pynng.Pull0(listen=address, recv_timeout=5000) as pull, raw(address) as peer:
        peer.sendall(stream_of(Protocol.PUSH, [b"one", b"two"], ipc=ipc))
        assert read(peer, 8) == greeting(Protocol.PULL)
        assert [pull.recv(), pull.recv()] == [b"one", b"two"]


def test_what_a_push_of_nng_sends_is_taken(address: str) -> None:
    decoder = Decoder(Protocol.PULL, ipc=address.startswith("ipc"))
    with pynng.Push0(listen=address, send_timeout=5000) as push, raw(address) as peer:
        peer.sendall(greeting(Protocol.PULL))
        push.send(b"one")
        push.send(b"")
        found: list[bytes] = []
        while len(found) < 2:
            found += decoder.feed(peer.recv(1))
    decoder.end()
    assert found == [b"one", b""]


def test_a_rep_of_nng_sends_the_stack_back(address: str) -> None:
    ipc = address.startswith("ipc")
    stack = hop(7) + request_id(42)
    decoder = Decoder(Protocol.REQ, ipc=ipc)
    with pynng.Rep0(listen=address, recv_timeout=5000) as rep, raw(address) as peer:
        peer.sendall(stream_of(Protocol.REQ, [stack + b"question"], ipc=ipc))
        assert rep.recv() == b"question"
        rep.send(b"answer")
        found: list[bytes] = []
        while not found:
            found += decoder.feed(peer.recv(100))
    assert split(found[0]) == (stack, b"answer")


def test_a_req_of_nng_gives_its_requests_an_id(address: str) -> None:
    ipc = address.startswith("ipc")
    decoder = Decoder(Protocol.REP, ipc=ipc)
    with pynng.Req0(listen=address, recv_timeout=5000) as req, raw(address) as peer:
        peer.sendall(greeting(Protocol.REP))
        req.send(b"question")
        found: list[bytes] = []
        while not found:
            found += decoder.feed(peer.recv(100))
        parts = split(found[0], max_ttl=1)
        assert parts is not None
        assert parts[1] == b"question"
        reply = parts[0] + b"answer"
        peer.sendall(header(len(reply), ipc=ipc) + reply)
        assert req.recv() == b"answer"
