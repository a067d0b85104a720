"""Where two things meet in one request: it is sent again and lost, or silent beside others."""

import socket
import threading

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
            until(
                lambda: (
                    sum(each.get("received", 0) for each in device.front.counters().values()) == 2
                )
            )
            second.close()
            until_up(device.back)
            asking.sendall(request(2, b"work"))
            until(lambda: device.back.waiting)
            device.back.connect(third.bind("tcp://127.0.0.1:0"), name="third")
            assert third.recv(timeout=SECONDS).body == b"work"
        assert device.back.counters()["second"]["lost"] == 1


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
