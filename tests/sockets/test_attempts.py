"""A request that is sent again: how often, and what the journal says of it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa
import pytest

from fairlead import Change, Cluster, route
from fairlead.errors import SocketError, SocketTimeoutError
from fairlead.replay import replay
from fairlead.sockets import Device, Pull, Push, Rep, Req
from fairlead.sockets.requester import Requester

from .test_device import closed, replayed
from .test_req_rep import SECONDS, Worker, serving
from .waiting import until, until_up


@contextmanager
def processes(count: int) -> Iterator[dict[str, str]]:
    """Workers that a request can kill, by name."""
    with ExitStack() as stack:
        found = [Worker("fairlead", f"w{k}") for k in range(count)]
        starting = [threading.Thread(target=worker.start) for worker in found]
        for thread in starting:
            thread.start()
        for thread in starting:
            thread.join()
        for worker in found:
            stack.callback(worker.kill)
        yield {worker.name: worker.url for worker in found}


def connect(to: Requester, workers: dict[str, str]) -> None:
    """One after the other: that is the order in which they are chosen."""
    for number, (name, url) in enumerate(workers.items()):
        to.connect(url, name=name)
        until_up(to, *[*workers][: number + 1])


def lost(requester: Requester) -> dict[str, int]:
    return {name: each["lost"] for name, each in requester.counters().items() if "lost" in each}


def test_a_request_that_kills_its_workers_fails_and_some_are_left() -> None:
    with processes(3) as workers, Req(attempts=2) as req:
        connect(req, workers)
        said = (
            "no reply in 2 attempts, as each peer went before it replied; the last was w1: [a-zC]"
        )
        with pytest.raises(SocketError, match=said):
            req.request(b"poison", timeout=SECONDS)
        assert lost(req) == {"w1": 1}
        until_up(req, "w2")
        assert req.request(b"work", timeout=SECONDS) == b"w2 work"
        assert not req._pending


def test_a_device_drops_a_request_that_kills_its_worker() -> None:
    with processes(2) as workers, Device(attempts=1) as device, Req() as req:
        connect(device.back, workers)
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        with pytest.raises(SocketTimeoutError):
            req.request(b"poison", timeout=0.3)
        until(lambda: lost(device.back) == {"w0": 1})
        until_up(device.back, "w1")
        assert req.request(b"work", timeout=SECONDS) == b"w1 work"
        assert not device.back._pending


@pytest.mark.parametrize(("kind", "sends"), [(Push, Pull), (Req, Rep)])
def test_why_a_message_was_refused_can_be_seen_where_its_peer_is_gone(
    kind: Any, sends: Any
) -> None:
    size = 100 - (4 if kind is Req else 0)
    found = "found a message of 100 bytes, allowed: at most 10 (max_size)"
    with sends(max_size=10) as receiver:
        url = receiver.bind("tcp://127.0.0.1:0")
        with kind() as sender:
            sender.connect(url, name="w")
            if kind is Req:
                said = "in 10 attempts, as each peer went before it replied; the last was w: [cC]"
                with pytest.raises(SocketError, match=said):
                    sender.request(b"x" * size, timeout=SECONDS)
            else:
                sender.send(b"x" * size, timeout=SECONDS)
                until(lambda: receiver._endpoints[url].trouble == found)
        until(
            lambda: [each[:5] for each in receiver.endpoints()] == [(url, url, "nobody", 0, found)]
        )


def test_a_worker_that_is_disconnected_here_does_not_count() -> None:
    with Req(attempts=1) as req, Rep() as goes, Rep() as stays:
        req.connect(goes.bind("tcp://127.0.0.1:0"), name="goes")
        until_up(req, "goes")
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"q", timeout=SECONDS)))
        asking.start()
        goes.recv(timeout=SECONDS)
        req.disconnect("goes")
        req.connect(stays.bind("tcp://127.0.0.1:0"), name="stays")
        with serving(stays, ""):
            asking.join()
        assert found == [b"q"]


@pytest.mark.parametrize("attempts", [-1, True, "3", None])
def test_a_limit_that_is_none_is_refused(attempts: Any) -> None:
    with pytest.raises(SocketError, match=r"attempts: found .*, allowed: 1 or more, 0 for"):
        Req(attempts=attempts)


def test_the_rows_of_a_request_that_failed_over_are_known_and_replay_the_same() -> None:
    """Two of three requests are held by the worker that goes."""
    with Device(journal=True) as device, Req() as req, Rep() as goes, Rep() as stays:
        device.back.connect(goes.bind("tcp://127.0.0.1:0"), name="goes", priority=1, capacity=2)
        device.back.connect(stays.bind("tcp://127.0.0.1:0"), name="stays", priority=2)
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        until_up(device.back, "goes", "stays")
        asking = [
            threading.Thread(target=req.request, args=(b"",), kwargs={"timeout": SECONDS})
            for _ in range(3)
        ]
        for thread in asking:
            thread.start()
        held = [goes.recv(timeout=SECONDS), goes.recv(timeout=SECONDS)]
        until(lambda: device.back.counters().get("stays", {}).get("sent") == 1)
        assert len(held) == 2
        goes.close()
        with serving(stays, ""):
            for thread in asking:
                thread.join()
        journal, cluster = closed(device)
    rows = [(row["id"], row["attempt"], row["destination"]) for row in journal.messages]
    assert rows == [
        ("0", 1, "goes"),
        ("1", 1, "goes"),
        ("2", 1, "stays"),
        ("0.2", 2, "stays"),
        ("1.2", 2, "stays"),
    ]
    chosen = [row["destination"] for row in journal.messages]
    assert replayed(cluster, journal) == chosen
    table = pa.Table.from_pylist([{**row, "address": ""} for row in journal.messages])
    changes = [Change(c["target"], c["attribute"], c["value"], c["time"]) for c in journal.changes]
    anew = route(table, Cluster.from_dict(cluster, default_name="req"), changes)
    assert anew["destination"].to_pylist() == chosen
    again = replay(table, Cluster.from_dict(cluster, default_name="req"), changes)
    assert [row["destination"] for row in again.to_pylist()] == chosen
    assert [row["wait"] for row in again.to_pylist()] == [0] * len(chosen)


def test_there_need_be_no_limit() -> None:
    with Req(attempts=0) as req:
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"q", timeout=SECONDS)))
        asking.start()
        for number in range(12):
            with Rep() as rep:
                req.connect(rep.bind("tcp://127.0.0.1:0"), name=str(number))
                rep.recv(timeout=SECONDS)
        with Rep() as last:
            req.connect(last.bind("tcp://127.0.0.1:0"))
            with serving(last, ""):
                asking.join()
        assert found == [b"q"]
