"""The device, between requesters and workers of ours and of nng."""

import socket
import threading
from contextlib import ExitStack
from typing import Any

import pynng
import pytest

import oracle
from fairlead.errors import ConfigError, SocketError, SocketTimeoutError
from fairlead.sockets import Device, Rep, Req
from fairlead.sockets.wire import Protocol, greeting, header, request_id

from .conftest import Addresses
from .test_req_rep import SECONDS, Worker, serving
from .waiting import until, until_quiet, until_up

TIMEOUTS = {"recv_timeout": SECONDS * 1000, "send_timeout": SECONDS * 1000}


def total(device: Device, what: str) -> int:
    """Of both sides."""
    sides = (device.front, device.back)
    return sum(each.get(what, 0) for side in sides for each in side.counters().values())


def test_requests_of_nng_reach_workers_of_nng_and_replies_come_back(addresses: Addresses) -> None:
    there = addresses()
    with Device() as device, pynng.Rep0(listen=there, **TIMEOUTS) as one, ExitStack() as stack:
        front = device.front.bind(addresses())
        back = device.back.bind(addresses(), priority=2)
        device.back.connect(there, name="one", priority=1)
        other = stack.enter_context(pynng.Rep0(dial=back, **TIMEOUTS))
        asking = [stack.enter_context(pynng.Req0(dial=front, **TIMEOUTS)) for _ in range(2)]
        until_up(device.back, "one", f"{back}#1")
        for req in asking:
            req.send(b"question")
            assert one.recv() == b"question"
            one.send(b"answer")
            assert req.recv() == b"answer"
        one.close()
        until_up(device.back, f"{back}#1")
        for k, req in enumerate(asking):
            req.send(b"%d" % k)
        for _ in asking:
            other.send(b"re " + other.recv())
        assert [req.recv() for req in asking] == [b"re 0", b"re 1"]


@pytest.mark.parametrize(
    ("max_ttl", "here", "there"), [(1, 1, 0), (2, 1, 1), (3, 2, 1), (8, 4, 4), (15, 8, 7)]
)
def test_a_request_that_nobody_works_on_ends_between_two_sites(
    max_ttl: int, here: int, there: int
) -> None:
    with Device(max_ttl=max_ttl) as york, Device(max_ttl=max_ttl) as london, Req() as req:
        of_york = york.front.bind("tcp://127.0.0.1:0")
        of_london = london.front.bind("tcp://127.0.0.1:0")
        york.back.connect(of_london, name="london", priority=2)
        london.back.connect(of_york, name="york", priority=2)
        req.connect(of_york)
        until_up(york.back, "london")
        until_up(london.back, "york")
        with pytest.raises(SocketTimeoutError):
            req.request(b"anybody?", timeout=0.05)
        until(lambda: total(york, "too_far") + total(london, "too_far") == 1)
        accepted = [total(each, "received") for each in (york, london)]
    assert accepted == [here, there]


def test_two_sites_help_each_other_and_one_prefers_its_own() -> None:
    """The document's picture: a broker at each site, workers behind it, requesters before it."""
    with Device() as york, Device() as london, ExitStack() as stack:
        fronts = [each.front.bind("tcp://127.0.0.1:0") for each in (york, london)]
        york.back.connect(fronts[1], name="london", priority=2)
        london.back.connect(fronts[0], name="york", priority=2)
        workers = {}
        for site, name in ((york, "y"), (london, "l")):
            workers[name] = Rep()
            site.back.connect(workers[name].bind("tcp://127.0.0.1:0"), name=name, priority=1)
            stack.enter_context(serving(workers[name], f"{name} "))
        requesters = [stack.enter_context(Req()) for _ in fronts]
        for req, front in zip(requesters, fronts, strict=True):
            req.connect(front)
        until_up(york.back, "london", "y")
        until_up(london.back, "york", "l")

        def asked() -> list[bytes]:
            return [req.request(b"q", timeout=SECONDS) for req in requesters for _ in range(3)]

        assert asked() == [b"y q"] * 3 + [b"l q"] * 3
        url = next(each.address for each in york.back.endpoints() if each.name == "y")
        workers["y"].close()
        until_up(york.back, "london")
        assert asked() == [b"l q"] * 6
        again = Rep()
        again.bind(url)
        with serving(again, "again "):
            until_up(york.back, "london", "y")
            assert asked() == [b"again q"] * 3 + [b"l q"] * 3


def test_what_a_worker_had_that_goes_is_sent_to_another_at_once(address: str) -> None:
    with Device() as device, Req() as req, Rep() as leaves, Rep() as stays:
        for name, rep in {"leaves": leaves, "stays": stays}.items():
            url = rep.bind("tcp://127.0.0.1:0")
            device.back.connect(url, name=name, priority=1 if rep is leaves else 2)
        req.connect(device.front.bind(address))
        until_up(device.back, "leaves", "stays")
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"q", timeout=SECONDS)))
        asking.start()
        leaves.recv(timeout=SECONDS)
        leaves.close()
        with serving(stays, "stays "):
            asking.join()
        assert found == [b"stays q"]


def test_busy_workers_of_one_site_leave_work_to_the_other() -> None:
    with Device() as device, Req() as req, Rep() as own, Rep() as far:
        device.back.connect(own.bind("tcp://127.0.0.1:0"), name="own", priority=1, capacity=2)
        device.back.connect(far.bind("tcp://127.0.0.1:0"), name="far", priority=2)
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        until_up(device.back, "own", "far")
        asking = [threading.Thread(target=req.request, args=(b"%d" % k,)) for k in range(5)]
        for thread in asking:
            thread.start()
        at_own = [own.recv(timeout=SECONDS) for _ in range(2)]
        at_far = [far.recv(timeout=SECONDS) for _ in range(3)]
        at_own.pop().reply(b"")
        until(lambda: device.back.counters()["own"].get("replied"))
        asking.append(threading.Thread(target=req.request, args=(b"",)))
        asking[-1].start()
        at_own.append(own.recv(timeout=SECONDS))
        for request in at_own + at_far:
            request.reply(b"")
        for thread in asking:
            thread.join()


def test_urgent_requests_have_an_endpoint_of_their_own_and_come_first() -> None:
    with Device() as device, Rep() as rep, Req() as bulk, Req() as urgent:
        device.back.connect(rep.bind("tcp://127.0.0.1:0"), capacity=1)
        bulk.connect(device.front.bind("tcp://127.0.0.1:0", priority=2))
        urgent.connect(device.front.bind("tcp://127.0.0.1:0", priority=1))
        asking = []
        for req, name, n in ((bulk, b"bulk", 6), (urgent, b"urgent", 3)):
            for _ in range(n):
                asking.append(threading.Thread(target=req.request, args=(name,)))
                asking[-1].start()
            until(lambda: total(device, "received") == len(asking))
        found = []
        for _ in asking:
            request = rep.recv(timeout=SECONDS)
            found.append(request.body)
            request.reply(b"")
        for thread in asking:
            thread.join()
    # One is with the worker, and one waits for it.
    assert found == [b"bulk"] * 2 + [b"urgent"] * 3 + [b"bulk"] * 4


def test_what_waits_for_workers_is_bounded_and_worked_on_when_one_comes() -> None:
    asked = 200
    with Device(buffer=4) as device, Req() as req, Rep() as rep:
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        found: list[bytes] = []
        threads = [
            threading.Thread(
                target=lambda k=k: found.append(
                    req.request(b"%d" % k + b" " * 60_000, timeout=SECONDS)
                )
            )
            for k in range(asked)
        ]
        for thread in threads:
            thread.start()
        until(lambda: device.back.waiting)
        until_quiet(lambda: total(device, "received"))
        assert total(device, "received") < asked
        with serving(rep, ""):
            device.back.connect(rep.bind("tcp://127.0.0.1:0"))
            for thread in threads:
                thread.join()
    assert sorted(int(each) for each in found) == [*range(asked)]


def test_requests_of_a_requester_that_goes_are_forgotten(address: str) -> None:
    with Device() as device, Rep() as rep, Req() as stays:
        front = device.front.bind(address)
        with Req() as goes:
            goes.connect(front)
            with pytest.raises(SocketTimeoutError):
                goes.request(b"old", timeout=0.05)
            until(lambda: device.back.waiting == 1)
        until(lambda: device.back.waiting == 0)
        stays.connect(front)
        with serving(rep, ""):
            device.back.connect(rep.bind("tcp://127.0.0.1:0"))
            assert stays.request(b"new", timeout=SECONDS) == b"new"


def test_a_request_that_is_sent_again_takes_the_place_of_the_earlier_one() -> None:
    with Device() as device, Rep() as rep:
        device.back.connect(rep.bind("tcp://127.0.0.1:0"), name="worker")
        port = int(device.front.bind("tcp://127.0.0.1:0").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as asking:
            request = header(5) + request_id(7) + b"q"
            asking.sendall(greeting(Protocol.REQ) + request)
            rep.recv(timeout=SECONDS)
            rep.close()
            until(lambda: device.back.waiting == 1)
            asking.sendall(request)
            until(lambda: total(device, "received") == 2)
            assert device.back.waiting == 1


def test_a_reply_that_comes_after_the_resend_interval_still_comes(address: str) -> None:
    with Device(resend=0.05) as device, Rep() as slow, Req() as req:
        device.back.connect(slow.bind("tcp://127.0.0.1:0"), name="slow")
        req.connect(device.front.bind(address))
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"q", timeout=SECONDS)))
        asking.start()
        request = slow.recv(timeout=SECONDS)
        until(lambda: device.back.waiting)  # for another worker, as this one hangs
        request.reply(b"late")
        asking.join()
        assert found == [b"late"]


def test_workers_that_are_killed_behind_a_device_lose_no_request() -> None:
    with ExitStack() as stack:
        device = stack.enter_context(Device(journal=True))
        req = stack.enter_context(Req())
        workers = [Worker("nng", f"w{k}") for k in range(2)]
        for worker in workers:
            worker.start()
            stack.callback(worker.kill)
            device.back.connect(worker.url, name=worker.name)
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        until_up(device.back, "w0", "w1")
        for k in range(6):
            for n in range(20):
                asked = b"%d-%d" % (k, n)
                assert req.request(asked, timeout=SECONDS).endswith(asked)
            victim = workers[k // 2 % 2]
            (victim.start if victim.process is None else victim.kill)()
        journal, cluster = closed(device)
    chosen = [row["destination"] for row in journal.messages]
    assert len(chosen) >= 120
    assert replayed(cluster, journal) == chosen


def test_a_journal_says_what_would_have_been_under_other_priorities() -> None:
    with Device(journal=True) as device, Rep() as own, Rep() as far, Req() as req:
        device.back.connect(own.bind("tcp://127.0.0.1:0"), name="own", priority=1)
        device.back.connect(far.bind("tcp://127.0.0.1:0"), name="far", priority=2)
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        until_up(device.back, "own", "far")
        with serving(own, ""), serving(far, ""):
            for _ in range(6):
                req.request(b"", timeout=SECONDS)
            journal, cluster = closed(device)
    assert replayed(cluster, journal) == ["own"] * 6
    for table in cluster["destination"]:
        table["priority"] = 1
    assert sorted(replayed(cluster, journal)) == ["far"] * 3 + ["own"] * 3


def closed(device: Device) -> tuple[Any, dict[str, Any]]:
    device.close()
    assert device.back.cluster is not None
    return device.back.recorded(), device.back.cluster.to_dict()


def replayed(cluster: dict[str, Any], journal: Any) -> list[str | None]:
    asked = [{**row, "cluster": ""} for row in journal.messages]
    return [each.destination for each in oracle.route(cluster, asked, journal.changes)]


def test_a_device_that_cannot_be_made_leaves_nothing(tmp_path: Any) -> None:
    with pytest.raises(SocketError, match="max_ttl: found 0"):
        Device(max_ttl=0)
    file = tmp_path / "pool.toml"
    file.write_text('policy = "nanomsg"\n[[destination]]\nname = "A"\naddress = "here"\n')
    with pytest.raises(SocketError, match="address: found 'here'"):
        Device.from_cluster(file)
    with pytest.raises(ConfigError, match="cluster: found 'B', allowed: one of pool"):
        Device.from_cluster(file, cluster="B")
    until(lambda: "fairlead-sockets" not in [each.name for each in threading.enumerate()])
