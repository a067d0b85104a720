"""What never left the process goes to another peer, and what is kept here is bounded in bytes."""

import asyncio
import socket
import threading
import time

import pytest

import oracle
from fairlead.errors import SocketError, SocketTimeoutError
from fairlead.sockets import Device, Pull, Push, Rep, Req
from fairlead.sockets.ring import Ring
from fairlead.sockets.wire import (
    HIGHEST_TTL,
    STACK,
    Decoder,
    Protocol,
    TooLongError,
    greeting,
    header,
    request_id,
)

from .test_events import Told
from .test_req_rep import SECONDS, counted, serving
from .waiting import until, until_quiet, until_up

MIB = 1 << 20


class Deaf:
    """A peer that greets and reads nothing, until it is closed."""

    def __init__(self, protocol: Protocol) -> None:
        self.listens = socket.create_server(("127.0.0.1", 0))
        self.listens.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        self.url = f"tcp://127.0.0.1:{self.listens.getsockname()[1]}"
        self.protocol = protocol

    def accept(self) -> None:
        self.end, _ = self.listens.accept()
        self.end.sendall(greeting(self.protocol))

    def close(self) -> None:
        self.end.close()
        self.listens.close()


def test_what_never_left_goes_to_another_peer_once_and_in_order() -> None:
    """A PUSH peer stops, and is killed: what the transport had taken is all that is lost."""
    deaf, sent, told = Deaf(Protocol.PULL), 60, Told()
    with (
        Push(journal=True, on_event=told, memory=1 << 30) as push,
        Pull(memory=1 << 30) as ready,
    ):
        push.connect(deaf.url, name="stops", priority=1)
        deaf.accept()
        until_up(push, "stops")
        body = bytes(MIB)
        for k in range(sent):
            push.send(b"%3d" % k + body[3:], timeout=SECONDS)
        until_quiet(lambda: push.endpoints()[0].waiting)
        waited = push.endpoints()[0].waiting
        assert waited > sent // 2
        deaf.close()
        push.connect(ready.bind("tcp://127.0.0.1:0"), name="ready", priority=2)
        found = [int(ready.recv(timeout=SECONDS)[:3]) for _ in range(waited)]
        assert found == [*range(sent - waited, sent)]
        assert counted(push, "failed_over") == {"ready": waited}
        assert not counted(push, "lost")
        with pytest.raises(SocketTimeoutError):
            ready.recv(timeout=0.05)
        rows = push.recorded().messages
    attempts = [row["attempt"] for row in rows if row["destination"] == "ready"]
    assert attempts == [2] * waited


def test_what_nobody_else_gets_is_told_as_lost_when_the_socket_is_closed() -> None:
    deaf, told = Deaf(Protocol.PULL), Told()
    with Push(on_event=told, memory=1 << 30) as push:
        push.connect(deaf.url, name="stops")
        deaf.accept()
        until_up(push, "stops")
        for _ in range(40):
            push.send(bytes(MIB), timeout=SECONDS)
        deaf.close()
        until(lambda: push._waiting.count)
        until_quiet(lambda: push._waiting.count)  # they come back piece by piece
        waiting = push._waiting.count
        push.close(0)
        assert counted(push, "lost") == {"stops": waiting}
        until(lambda: told.kinds().count("gave-up") == waiting)


def test_a_disconnected_peers_messages_go_to_another() -> None:
    deaf = Deaf(Protocol.PULL)
    with Push(memory=1 << 30) as push, Pull(memory=1 << 30) as ready:
        push.connect(deaf.url, name="stops", priority=1)
        deaf.accept()
        until_up(push, "stops")
        push.connect(ready.bind("tcp://127.0.0.1:0"), name="ready", priority=2)
        until_up(push, "stops", "ready")
        for k in range(40):
            push.send(b"%3d" % k + bytes(MIB - 3), timeout=SECONDS)
        push.disconnect("stops")
        found = [int(ready.recv(timeout=SECONDS)[:3])]
        while found[-1] < 39:
            found.append(int(ready.recv(timeout=SECONDS)[:3]))
        assert found == [*range(found[0], 40)]
        deaf.close()


# -------- Bytes


def test_a_peer_that_does_not_read_is_busy_by_bytes() -> None:
    deaf = Deaf(Protocol.PULL)
    with Push(memory=8 * MIB) as push:
        push.connect(deaf.url, name="A")
        deaf.accept()
        until_up(push, "A")
        until(lambda: push.send(bytes(MIB)) or push.endpoints()[0].state == "busy")
        with pytest.raises(SocketTimeoutError, match="A busy"):
            push.send(b"", timeout=0.1)
        pipe = next(iter(push._pipes))
        assert 2 * MIB <= pipe.held < 4 * MIB
        deaf.close()


def test_what_waits_to_be_received_is_bounded_by_bytes_of_a_peer_and_of_all() -> None:
    with Pull(memory=8 * MIB) as pull:
        url = pull.bind("tcp://127.0.0.1:0")
        pushes = [Push() for _ in range(8)]
        for push in pushes:
            push.connect(url)
        sent = [0] * len(pushes)

        def push_all(k: int) -> None:
            until = time.monotonic() + SECONDS
            while True:
                try:
                    pushes[k].send(bytes(MIB // 2), timeout=0.5)
                    sent[k] += 1
                except SocketTimeoutError:
                    if pull._sources.held >= 8 * MIB or time.monotonic() > until:
                        break

        threads = [threading.Thread(target=push_all, args=(k,)) for k in range(len(pushes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert max(source.held for source in pull._of.values()) <= 3 * MIB
        assert 8 * MIB <= pull._sources.held <= 8 * MIB + len(pushes) * MIB
        for _ in range(sum(sent)):  # and all of it comes
            assert len(pull.recv(timeout=SECONDS)) == MIB // 2
        assert pull._sources.held == 0
        assert not pull._stopped
        for push in pushes:
            push.close()


def test_a_device_holds_so_many_bytes_of_a_requester_whose_worker_is_silent() -> None:
    with Device(memory=8 * MIB) as device, Rep(memory=1 << 30) as rep, Req(memory=1 << 30) as req:
        device.back.connect(rep.bind("tcp://127.0.0.1:0"), name="silent", capacity=1)
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        until_up(device.back, "silent")

        async def ask() -> None:
            asking = [asyncio.create_task(req.arequest(bytes(MIB))) for _ in range(60)]
            held = -1
            while held != (held := device.front._all + device.front._sources.held):  # noqa: ASYNC110
                await asyncio.sleep(0.3)
            assert held < 8 * MIB
            with serving(rep, ""):
                found = await asyncio.gather(*asking)
            assert {len(each) for each in found} == {MIB}

        asyncio.run(ask())
        assert device.front._all == 0
        assert not device.front._ahead


# -------- Replies that are too long


@pytest.mark.parametrize("where", ["direct", "device"])
def test_a_reply_that_is_too_long_runs_its_worker_once(where: str) -> None:
    ran, told = [], Told()

    def work(body: bytes) -> bytes:
        ran.append(body)
        return bytes(2000) if body == b"long" else body

    with Req(max_size=1000, on_event=told) as req, Rep() as rep, Device() as device:
        url = rep.bind("tcp://127.0.0.1:0")
        if where == "device":
            device.back.connect(url, name="w")
            url = device.front.bind("tcp://127.0.0.1:0")
        serves = threading.Thread(target=rep.serve, args=(work,))
        serves.start()
        req.connect(url, name="A")
        said = r"request: found a reply of 2000 bytes from A, allowed: at most 1000 \(max_size\)"
        with pytest.raises(SocketError, match=said):
            req.request(b"long", timeout=SECONDS)
        assert told.of("gave-up").peer == "A"
        assert req.request(b"short", timeout=SECONDS) == b"short"
        rep.close()
        serves.join()
    assert ran == [b"long", b"short"]


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_whose_reply_is_too_long_is_known_whatever_the_pieces(piece: int) -> None:
    decoder = Decoder(Protocol.REQ, max_size=10, stack=STACK)
    stream = greeting(Protocol.REP) + header(4 + 100) + request_id(7) + bytes(100)

    def feed() -> None:
        for place in range(0, len(stream), piece):
            decoder.feed(stream[place : place + piece])

    with pytest.raises(TooLongError, match="found a message of 104 bytes") as error:
        feed()
    assert error.value.head[:4] == request_id(7)
    assert len(error.value.head) == 4 * HIGHEST_TTL


# -------- Waiting


def test_of_two_that_wait_the_second_gets_what_came_as_the_first_was_cancelled() -> None:
    """The message comes while the loop is busy, and the first is cancelled before it looks."""

    async def wait() -> None:
        first = asyncio.create_task(pull.arecv(timeout=SECONDS))
        second = asyncio.create_task(pull.arecv(timeout=SECONDS))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        push.send(b"for one of them", timeout=SECONDS)
        end = time.monotonic() + SECONDS
        while len(pull._waiting) == 2 and time.monotonic() < end:
            time.sleep(0.001)  # noqa: ASYNC251 - the loop is busy
        first.cancel()
        assert await second == b"for one of them"
        with pytest.raises(asyncio.CancelledError):
            await first

    with Pull() as pull, Push() as push:
        push.connect(pull.bind("tcp://127.0.0.1:0"))
        asyncio.run(wait())


# -------- Who came and went


@pytest.mark.parametrize("journal", [False, True])
def test_who_came_and_went_is_forgotten(journal: bool) -> None:
    """What a newcomer costs is as many names as there are, not as there were."""
    with Push(journal=journal) as push, Pull() as pull:
        url = pull.bind("tcp://127.0.0.1:0")
        for k in range(30):
            push.connect(url, name=f"w{k}")
            until_up(push, f"w{k}")
            push.send(b"", timeout=SECONDS)
            push.disconnect(f"w{k}")
        push.connect(url, name="last")
        until_up(push, "last")
        runtime = push._ring._runtime
        assert runtime is not None
        assert runtime.cluster.members == ("last",)
        assert [*push._peers] == [*push._tables] == ["last"]
        assert push.counters() == {}
        push.send(b"", timeout=SECONDS)
        push.close()
        assert push.cluster is not None
        if journal:  # a replay has them all
            names = [table["name"] for table in push.cluster.to_dict()["destination"]]
            assert names == [*(f"w{k}" for k in range(30)), "last"]
            recorded = push.recorded()
            rows = [{**row, "cluster": ""} for row in recorded.messages]
            again = oracle.route(push.cluster.to_dict(), rows, recorded.changes)
            assert [each.destination for each in again] == names


def test_a_ring_without_who_has_gone_chooses_as_one_with_them() -> None:
    """The same events, with and without forgetting: who is chosen is the same."""
    with_all, forgets = Ring({"policy": "nanomsg"}), Ring({"policy": "nanomsg"})
    for time_now in range(1, 200):
        name = f"p{time_now % 7}-{time_now // 7 if time_now % 3 else 0}"
        for ring in (with_all, forgets):
            if not ring.knows(name):
                ring.add({"name": name, "priority": 1 + int(name[1]) % 2})
                ring.let_in()
            ring.joined(10 * time_now, name)
        chosen = [ring.choose(10 * time_now + 1) for ring in (with_all, forgets)]
        assert len({each.destination for each in chosen if each is not None}) == 1
        if time_now % 4 == 0:
            gone = chosen[0].destination if chosen[0] is not None else None
            assert gone
            for ring in (with_all, forgets):
                ring.failed(10 * time_now + 2, gone)
            forgets.forget(gone)
