"""What an operator asks for the next morning: each event once, with its cause, and draining."""

import logging
import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest

from fairlead import Cluster
from fairlead.balance.policies import POLICIES
from fairlead.errors import ChangeError, SocketError, SocketTimeoutError
from fairlead.sockets import Device, Pull, Push, Rep, Req, SocketEvent
from fairlead.sockets.cluster_tables import _can_be_asked

from .test_follow import cluster
from .test_req_rep import SECONDS, check_replay, serving
from .waiting import until, until_up


class Told:
    """What was told, in order."""

    def __init__(self) -> None:
        self.events: list[SocketEvent] = []

    def __call__(self, event: SocketEvent) -> None:
        self.events.append(event)

    def kinds(self, peer: str = "") -> list[str]:
        return [each.kind for each in self.events if peer in ("", each.peer)]

    def of(self, kind: str) -> SocketEvent:
        until(lambda: kind in self.kinds())
        return next(each for each in self.events if each.kind == kind)


def test_a_failover_and_the_way_back_have_their_causes() -> None:
    told = Told()
    with Req(on_event=told) as req, Rep() as near, Rep() as far:
        url = near.bind("tcp://127.0.0.1:0")
        req.connect(url, name="near", priority=1)
        req.connect(far.bind("tcp://127.0.0.1:0"), name="far", priority=2)
        until_up(req, "near", "far")
        assert not {"failover", "failback"} & {*told.kinds()}
        near.close()
        assert told.of("failover").why.startswith("from priority 1 to priority 2: it has left: ")
        assert told.of("failover").peer == "near"
        with Rep() as again:
            again.bind(url)
            assert told.of("failback").why == "from priority 2 to priority 1: it has joined"
        far.close()
        until(lambda: "from priority 2 to nobody" in told.events[-1].why)
    assert told.kinds("near")[:5] == ["joined", "left", "failover", "joined", "failback"]
    assert told.events[0].socket == "REQ"
    assert abs(told.events[0].time - time.time()) < 60


def test_of_two_peers_of_one_priority_one_is_no_failover() -> None:
    told = Told()
    with Push(on_event=told) as push, Pull() as one, Pull() as two:
        push.connect(one.bind("tcp://127.0.0.1:0"), name="one")
        push.connect(two.bind("tcp://127.0.0.1:0"), name="two")
        until_up(push, "one", "two")
        one.close()
        until(lambda: "left" in told.kinds())
        until_up(push, "two")
        assert "failover" not in told.kinds()


def test_a_peer_that_hangs_and_returns(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fairlead.sockets")
    told = Told()
    with Req(on_event=told) as req, Rep() as near, Rep() as far:
        req.connect(near.bind("tcp://127.0.0.1:0"), name="near", priority=1)
        req.connect(far.bind("tcp://127.0.0.1:0"), name="far", priority=2)
        until_up(req, "near", "far")
        with pytest.raises(SocketTimeoutError):
            req.request(b"", timeout=0.1)
        assert told.of("hangs").peer == "near"
        assert "somebody waits no more" in told.of("failover").why
        near.recv(timeout=SECONDS).reply(b"")
        assert told.of("returned").why.startswith("it has spoken after 0.")
        assert told.of("failback").why == "from priority 2 to priority 1: it has returned"
        url = req.endpoints()[0].address
    lines = [each.getMessage() for each in caplog.records if "hangs" in each.getMessage()]
    assert lines[0].startswith(f'socket=REQ event=hangs peer="near" address={url} why="no reply')
    levels = {each.getMessage().split()[1]: each.levelname for each in caplog.records}
    assert levels["event=hangs"] == levels["event=failover"] == "WARNING"
    assert levels["event=returned"] == levels["event=joined"] == "INFO"


def test_a_request_that_is_given_up_is_told() -> None:
    told = Told()
    with Req(attempts=1, on_event=told) as req, Rep() as rep:
        req.connect(rep.bind("tcp://127.0.0.1:0"), name="A")
        until_up(req, "A")
        threading.Thread(target=lambda: (rep.recv(), rep.close())).start()
        with pytest.raises(SocketError, match="found no reply in 1 attempts"):
            req.request(b"", timeout=SECONDS)
        assert told.of("gave-up").number == 1
        assert "found no reply in 1 attempts" in told.of("gave-up").why


def test_whoever_is_told_may_look() -> None:
    """Nobody holds a lock then; and what he raises harms nobody."""
    found: list[Any] = []

    def look(event: SocketEvent) -> None:
        found.append(push.endpoints())
        raise ValueError(event.kind)

    with Push(on_event=look) as push, Pull() as pull:
        push.connect(pull.bind("tcp://127.0.0.1:0"), name="A")
        until_up(push, "A")
        push.send(b"", timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b""
        until(lambda: found)


# -------- Draining


@pytest.mark.parametrize("policy", [each.name for each in POLICIES.values() if _can_be_asked(each)])
def test_what_runs_is_finished_and_nothing_new_begins_whatever_the_policy(policy: str) -> None:
    told = Told()
    more = {"weight": 1} if policy == "msmq" else {}
    tables = [{"name": name, **more} for name in "AB"]
    with Rep() as one, Rep() as two:
        for table, rep in zip(tables, (one, two), strict=True):
            table["address"] = rep.bind("tcp://127.0.0.1:0")
        options = {"options": {"key": "group"}} if policy == "rendezvous" else {}
        found = Cluster.of(policy, destination=tables, **options)
        with Req(found, on_event=told, journal=True) as req:
            until_up(req, "A", "B")
            asking = [
                threading.Thread(target=req.request, args=(b"%d" % k,), daemon=True)
                for k in range(2)
            ]
            reps = {"A": one, "B": two}
            asking[0].start()
            until(lambda: any(each.held for each in req.endpoints()))
            has = next(each.name for each in req.endpoints() if each.held)
            held = reps[has].recv(timeout=SECONDS)
            req.drain(has)
            assert {e.name: e.state for e in req.endpoints()}[has] == "draining"
            asking[1].start()
            other = "B" if has == "A" else "A"
            reps[other].recv(timeout=SECONDS).reply(b"")
            asking[1].join()
            assert "drained" not in told.kinds()
            held.reply(b"")
            asking[0].join()
            assert told.of("drained").peer == has
            req.disconnect(other)
            with pytest.raises(SocketTimeoutError, match=rf"{has} drained"):
                req.request(b"", timeout=0.05)
            req.resume(has)
            with serving(reps[has], ""):
                assert req.request(b"q", timeout=SECONDS) == b"q"
            drained = [
                kind for kind in told.kinds(has) if kind in ("draining", "drained", "resumed")
            ]
            assert drained == ["draining", "drained", "resumed"]
            req.resume(has)  # it does already
            assert told.kinds(has).count("resumed") == 1
            check_replay(req)


def test_a_worker_that_goes_while_it_drains_is_drained_and_what_it_had_is_counted() -> None:
    told = Told()
    with Req(on_event=told) as req, Rep() as other:
        worker = Rep()
        req.connect(worker.bind("tcp://127.0.0.1:0"), name="worker", priority=1)
        req.connect(other.bind("tcp://127.0.0.1:0"), name="other", priority=2)
        until_up(req, "worker", "other")
        asking = [threading.Thread(target=req.request, args=(b"%d" % k,)) for k in range(2)]
        for each in asking:
            each.start()
        until(lambda: {e.name: e.held for e in req.endpoints()}["worker"] == 2)
        req.drain("worker")
        worker.close()
        with serving(other, ""):
            for each in asking:
                each.join()
            assert told.of("left").number == 2
            assert told.of("drained").why == "it has left"
            assert {e.name: e.state for e in req.endpoints()}["worker"] == "down"


def test_a_device_drains_a_worker_by_its_file_and_the_job_runs_once() -> None:
    told = Told()
    with ExitStack() as stack:
        one, two, req = (stack.enter_context(each()) for each in (Rep, Rep, Req))
        at = {"s1": {"address": one.bind("tcp://127.0.0.1:0"), "priority": 1}}
        at["s2"] = {"address": two.bind("tcp://127.0.0.1:0"), "priority": 2}
        device = stack.enter_context(Device(cluster(**at), on_event=told))
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        until_up(device.back, "s1", "s2")
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"job")))
        asking.start()
        job = one.recv(timeout=SECONDS)
        device.follow(cluster(**{**at, "s1": {**at["s1"], "draining": True}}))
        with pytest.raises(SocketTimeoutError):
            two.recv(timeout=0.1)
        job.reply(b"done")
        asking.join()
        assert found == [b"done"]
        assert told.of("drained").peer == "s1"
        assert told.of("failover").why == "from priority 1 to priority 2: the file has changed"
        with serving(two, "s2 "):
            assert req.request(b"q", timeout=SECONDS) == b"s2 q"
        device.follow(cluster(**at))
        with serving(one, "s1 "):
            assert req.request(b"q", timeout=SECONDS) == b"s1 q"


def test_all_who_connect_to_an_endpoint_drain_with_it_also_later() -> None:
    with Push() as push, Pull() as one, Pull() as two:
        url = push.bind("tcp://127.0.0.1:0")
        one.connect(url)
        until_up(push, f"{url}#1")
        push.drain(url)
        two.connect(url)
        until(lambda: len(push.endpoints()) == 2)
        until(lambda: {each.state for each in push.endpoints()} == {"drained"})
        push.resume(f"{url}#2")
        push.send(b"to the second", timeout=SECONDS)
        assert two.recv(timeout=SECONDS) == b"to the second"


def test_what_cannot_be_drained_is_refused() -> None:
    with Push() as push:
        with pytest.raises(SocketError, match="found 'x', allowed: none, as there is none"):
            push.drain("x")
        push.connect("tcp://127.0.0.1:1", name="A")
        with pytest.raises(SocketError, match="endpoint: found 'x', allowed: A"):
            push.drain("x")
        with pytest.raises(SocketError, match="endpoint: found 'x', allowed: A"):
            push.disconnect("x")
        push.disconnect("A")
        with pytest.raises(SocketError, match="found 'A', allowed: none, as there is none"):
            push.disconnect("A")
    own = {"policy": {"eliminate": ["down"], "choose": "circular"}, "name": "own"}
    plain = {**own, "destination": [{"name": "A", "address": "tcp://127.0.0.1:1"}]}
    with (
        Push(Cluster.from_dict(plain, default_name="own")) as push,
        pytest.raises(ChangeError, match=r"'A'.*found 'draining'"),
    ):
        push.drain("A")
