"""Where two things meet in one request: it is sent again and lost, or silent beside others."""

import socket
import threading

import pytest

from fairlead.errors import SocketTimeoutError
from fairlead.sockets import Device, Rep, Req
from fairlead.sockets.wire import Protocol, greeting, header, request_id

from .test_req_rep import SECONDS
from .waiting import until, until_up


def request(number: int, body: bytes) -> bytes:
    return header(4 + len(body)) + request_id(number) + body


def test_a_request_that_is_sent_again_between_two_deaths_was_lost_twice() -> None:
    """Whoever asks sends it again while the second worker has it; the third never gets it."""
    with Device(attempts=2) as device, Rep() as first, Rep() as second, Rep() as third:
        port = int(device.front.bind("tcp://127.0.0.1:0").rpartition(":")[2])
        device.back.connect(first.bind("tcp://127.0.0.1:0"), name="first")
        until_up(device.back, "first")
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(greeting(Protocol.REQ) + request(1, b"poison"))
            first.recv(timeout=SECONDS)
            first.close()
            until_up(device.back)
            device.back.connect(second.bind("tcp://127.0.0.1:0"), name="second")
            second.recv(timeout=SECONDS)
            asking.sendall(request(1, b"poison"))
            until(lambda: [each.get("resent") for each in device.front.counters().values()] == [1])
            second.close()
            until_up(device.back)
            asking.sendall(request(2, b"work"))
            until(lambda: device.back.waiting)
            device.back.connect(third.bind("tcp://127.0.0.1:0"), name="third")
            assert third.recv(timeout=SECONDS).body == b"work"
        assert device.back.counters()["second"]["lost"] == 1


def test_what_is_asked_again_while_it_waits_at_a_device_is_done_once() -> None:
    with Device() as device, Rep() as worker:
        port = int(device.front.bind("tcp://127.0.0.1:0").rpartition(":")[2])
        device.back.connect(worker.bind("tcp://127.0.0.1:0"), name="worker", capacity=1)
        until_up(device.back, "worker")
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(greeting(Protocol.REQ))
            asking.sendall(b"".join(request(k, b"%d" % k) for k in range(5)))
            first = worker.recv(timeout=SECONDS)
            until(lambda: [each.held for each in device.front.endpoints()] == [5])
            for _ in range(2):  # 1 waits for a worker, the others for their turn
                asking.sendall(b"".join(request(k, b"%d" % k) for k in range(1, 5)))
            until(lambda: [each.get("resent") for each in device.front.counters().values()] == [8])
            first.reply(b"")
            for k in range(1, 5):
                found = worker.recv(timeout=SECONDS)
                assert found.body == b"%d" % k
                found.reply(b"")
            with pytest.raises(SocketTimeoutError):
                worker.recv(timeout=0.1)
            assert [each.held for each in device.front.endpoints()] == [0]


def test_what_is_asked_again_while_it_waits_at_a_worker_is_done_once() -> None:
    with Rep() as worker:
        port = int(worker.bind("tcp://127.0.0.1:0").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(greeting(Protocol.REQ) + request(1, b"job") + request(2, b"other"))
            asking.sendall(request(1, b"job"))
            until(lambda: [each.get("resent") for each in worker.counters().values()] == [1])
            assert worker.recv(timeout=SECONDS).body == b"job"
            asking.sendall(request(1, b"job"))  # it has it, and may have lost it
            assert [worker.recv(timeout=SECONDS).body for _ in "12"] == [b"other", b"job"]


def test_whoever_asks_the_only_peer_asks_again_when_he_said() -> None:
    with Req(resend=0.3, retry=60) as req, Rep() as worker:
        req.connect(worker.bind("tcp://127.0.0.1:0"), name="worker")
        until_up(req, "worker")
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"q")))
        asking.start()
        worker.recv(timeout=SECONDS)  # and loses it
        worker.recv(timeout=SECONDS).reply(b"a")
        asking.join()
    assert found == [b"a"]


class Watched(Req):
    """Tells for which time of sending it sets its timer."""

    oldest = 0.0

    def _set_timer(self, oldest: float) -> None:
        self.oldest = oldest
        super()._set_timer(oldest)


def test_of_several_silent_peers_the_one_that_was_asked_first_is_looked_at_first() -> None:
    """It is neither the first nor the last that was connected."""
    with Watched() as req, Rep() as one, Rep() as two, Rep() as three:
        peers = {"one": (one, 2), "two": (two, 1), "three": (three, 3)}
        for name, (rep, priority) in peers.items():
            url = rep.bind("tcp://127.0.0.1:0")
            req.connect(url, name=name, priority=priority, capacity=1)
            until_up(req, *[*peers][: [*peers].index(name) + 1])  # connected in this order
        asking, held = [], []
        for rep in (two, one, three):
            asking.append(threading.Thread(target=req.request, args=(b"",)))
            asking[-1].start()
            held.append(rep.recv(timeout=SECONDS))
        with req.lock:
            sent = [each.sent for every in req._attempts.values() for each in every.values()]
        assert sent[1] < sent[0] < sent[2]
        req._look()  # nobody is silent for so long yet: the timer is set anew
        assert req.oldest == sent[1]
        for each in held:
            each.reply(b"")
        for thread in asking:
            thread.join()
