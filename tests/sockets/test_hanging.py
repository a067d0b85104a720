"""A peer that hangs: it reads and never answers, or its host is gone. Others answer instead."""

import threading
import time
from contextlib import ExitStack

import pynng
import pytest

from fairlead.errors import SocketTimeoutError
from fairlead.sockets import Device, Rep, Req
from fairlead.sockets.suspects import FADING, LEAST, LONGEST, Suspect, Watch

from .test_req_rep import SECONDS, check_replay, counted, serving
from .waiting import until, until_up


def states(of: Req | Device) -> dict[str, str]:
    back = of.back if isinstance(of, Device) else of
    return {each.name: each.state for each in back.endpoints()}


def two(to: Req | Device, near: Rep, far: Rep, **near_has: int) -> None:
    """A worker that is preferred, and another."""
    back = to.back if isinstance(to, Device) else to
    back.connect(near.bind("tcp://127.0.0.1:0"), name="near", priority=1, **near_has)
    back.connect(far.bind("tcp://127.0.0.1:0"), name="far", priority=2)
    until_up(back, "near", "far")


# -------- The evidence


def test_a_time_to_a_reply_fades() -> None:
    watch = Watch()
    watch.replied(2)
    watch.replied(1)
    assert watch.usual == 2 * FADING
    watch.replied(3)
    assert watch.usual == 3


@pytest.mark.parametrize(
    ("usual", "silent", "hangs"),
    [(0, LEAST, False), (0, 0.06, True), (1, 0.9, False), (1, 1.1, True)],
)
def test_it_hangs_when_it_is_silent_for_longer_than_usual(
    usual: float, silent: float, hangs: bool
) -> None:
    watch = Watch()
    watch.usual = usual
    assert watch.hangs(0, silent) == hangs


def test_the_pauses_between_trials_grow_up_to_a_limit_and_differ() -> None:
    suspect = Suspect(0, "")
    pauses = [suspect.pause(0, 1) for _ in range(8)]
    for pause, most in zip(pauses, (1, 2, 4, 8, 16, LONGEST, LONGEST, LONGEST), strict=True):
        assert 0.8 * most <= pause <= most
    assert len({*pauses}) == len(pauses)


# -------- Behind a device


def test_clients_that_ask_again_each_second_are_answered_by_the_far_site() -> None:
    """As the documentation advises; the device looks after 2 s, and need not."""
    with Device(resend=2) as device, Rep() as near, Rep() as far, ExitStack() as stack:
        two(device, near, far)
        stack.enter_context(serving(far, "far "))
        front = device.front.bind("tcp://127.0.0.1:0")
        asking = [
            stack.enter_context(pynng.Req0(dial=front, resend_time=1000, recv_timeout=20_000))
            for _ in range(4)
        ]
        begun = time.monotonic()
        for req in asking:
            req.send(b"q")
        assert [req.recv() for req in asking] == [b"far q"] * 4
        assert time.monotonic() - begun >= 1
        assert states(device) == {"near": "suspended", "far": "up"}
        for req in asking:  # no client waits for one that hangs any more
            req.send(b"p")
        assert [req.recv() for req in asking] == [b"far p"] * 4


def test_a_device_asks_elsewhere_itself_though_no_client_asks_again() -> None:
    with Device(resend=0.2) as device, Rep() as near, Rep() as far, Req() as req:
        two(device, near, far)
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        with serving(far, "far "):
            assert req.request(b"q", timeout=SECONDS) == b"far q"
        assert device.back.counters()["far"]["failed_over"] == 1


def test_resends_do_not_make_an_attempt_younger() -> None:
    """It is as old as the first, however often whoever asked sends it again."""
    with Device(resend=0.4) as device, Rep() as near, Rep() as far, ExitStack() as stack:
        two(device, near, far)
        front = device.front.bind("tcp://127.0.0.1:0")
        with device.back.lock:  # it usually takes long, so that impatience says nothing
            for watch in device.back._watches.values():
                watch.usual = 60
        stack.enter_context(serving(far, "far "))
        req = stack.enter_context(pynng.Req0(dial=front, resend_time=100, recv_timeout=20_000))
        req.send(b"q")
        assert req.recv() == b"far q"
        assert "no reply within 0.4 s" in device.back.endpoints()[0].trouble


def test_a_client_that_has_gone_is_evidence(address: str) -> None:
    with Device() as device, Rep() as near, Rep() as far, Req() as other:
        two(device, near, far)
        front = device.front.bind(address)
        with Req() as goes:
            goes.connect(front)
            with pytest.raises(SocketTimeoutError):
                goes.request(b"", timeout=0.2)
        until(lambda: states(device)["near"] == "suspended")
        other.connect(front)
        with serving(far, "far "):
            assert other.request(b"q", timeout=SECONDS) == b"far q"


# -------- Without one


def test_time_outs_of_callers_are_evidence() -> None:
    """By defaults: the first request fails, and those after it are answered."""
    with Req(journal=True) as req, Rep() as near, Rep() as far:
        two(req, near, far)
        with serving(far, "far "):
            with pytest.raises(SocketTimeoutError):
                req.request(b"first", timeout=0.3)
            for k in range(20):
                assert req.request(b"%d" % k, timeout=SECONDS) == b"far %d" % k
        assert states(req)["near"] == "suspended"
        assert "somebody waits no more" in req.endpoints()[0].trouble
        check_replay(req)


def test_what_others_wait_for_is_asked_elsewhere_too() -> None:
    with Req() as req, Rep() as near, Rep() as far:
        two(req, near, far)
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"q")))
        asking.start()
        near.recv(timeout=SECONDS)
        with pytest.raises(SocketTimeoutError):
            req.request(b"", timeout=0.1)
        with serving(far, "far "):
            asking.join()
        assert found == [b"far q"]


def test_what_may_be_sent_once_stays_where_it_is() -> None:
    with Req(attempts=1) as req, Rep() as near, Rep() as far:
        two(req, near, far)
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"q")))
        asking.start()
        held = near.recv(timeout=SECONDS)
        with pytest.raises(SocketTimeoutError):
            req.request(b"", timeout=0.1)
        with pytest.raises(SocketTimeoutError):
            far.recv(timeout=0.2)
        held.reply(b"late")
        asking.join()
        assert found == [b"late"]
        assert states(req)["near"] == "up"


def test_one_that_usually_takes_long_does_not_hang() -> None:
    with Req() as req, Rep() as near, Rep() as far:
        two(req, near, far)
        asking = threading.Thread(target=req.request, args=(b"slow",))
        asking.start()
        held = near.recv(timeout=SECONDS)
        time.sleep(0.4)
        held.reply(b"")
        asking.join()
        with pytest.raises(SocketTimeoutError):
            req.request(b"", timeout=0.1)
        assert states(req)["near"] == "up"


def test_one_that_answers_others_does_not_hang() -> None:
    with Req() as req, Rep() as near, Rep() as far:
        two(req, near, far)

        def ask() -> None:
            with pytest.raises(SocketTimeoutError):
                req.request(b"", timeout=0.5)

        asking = threading.Thread(target=ask)
        asking.start()
        near.recv(timeout=SECONDS)
        with serving(near, "near "):
            while asking.is_alive():
                assert req.request(b"q", timeout=SECONDS) == b"near q"
                time.sleep(0.02)
            assert states(req)["near"] == "up"


# -------- Trials


def test_a_suspect_is_tried_with_a_copy_of_what_another_answered() -> None:
    with Req(retry=0.05, journal=True) as req, Rep() as near, Rep() as far:
        two(req, near, far)
        with serving(far, "far "):
            with pytest.raises(SocketTimeoutError):
                req.request(b"first", timeout=0.1)
            near.recv(timeout=SECONDS)
            until(lambda: req._due)
            assert req.request(b"answered", timeout=SECONDS) == b"far answered"
            copy = near.recv(timeout=SECONDS)
            assert copy.body == b"answered"
            assert counted(req, "tried") == {"near": 1}
            copy.reply(b"")
            until(lambda: states(req)["near"] == "up")
        check_replay(req)


def test_a_suspect_is_tried_with_what_waits_where_nobody_else_is_ready() -> None:
    with Req(retry=0.05) as req, Rep() as near, Rep() as far:
        two(req, near, far)
        far.close()
        until_up(req, "near")
        with pytest.raises(SocketTimeoutError):
            req.request(b"first", timeout=0.1)
        near.recv(timeout=SECONDS)
        found: list[bytes] = []
        asking = [
            threading.Thread(target=lambda k=k: found.append(req.request(b"%d" % k)))
            for k in range(3)
        ]
        for thread in asking:
            thread.start()
        trial = near.recv(timeout=SECONDS)
        assert req._waiting.count == 3  # also this one, for whoever is ready sooner
        trial.reply(trial.body)
        for _ in range(2):
            request = near.recv(timeout=SECONDS)
            request.reply(request.body)
        for thread in asking:
            thread.join()
        assert sorted(found) == [b"0", b"1", b"2"]
        with pytest.raises(SocketTimeoutError):
            near.recv(timeout=0.05)


def test_one_that_was_only_slow_does_what_it_has_once() -> None:
    """What it had waits meanwhile, as nobody else is there, and is not sent to it again."""
    with Req(retry=60) as req, Rep() as slow:
        req.connect(slow.bind("tcp://127.0.0.1:0"), name="slow")
        until_up(req, "slow")
        found: list[bytes] = []
        asking = [
            threading.Thread(target=lambda k=k: found.append(req.request(b"%d" % k)))
            for k in range(3)
        ]
        for thread in asking:
            thread.start()
        until(lambda: counted(req, "sent") == {"slow": 3})
        with pytest.raises(SocketTimeoutError):
            req.request(b"impatient", timeout=0.1)
        assert req._waiting.count == 3
        with serving(slow, ""):
            for thread in asking:
                thread.join()
        assert sorted(found) == [b"0", b"1", b"2"]
        assert counted(req, "sent") == {"slow": 4}
        assert not req._waiting.count


def test_a_trial_that_fails_is_followed_by_another_ever_later() -> None:
    with Req(retry=0.02) as req, Rep() as near, Rep() as far:
        two(req, near, far)
        with serving(far, ""):
            with pytest.raises(SocketTimeoutError):
                req.request(b"first", timeout=0.1)
            until(
                lambda: (
                    req.request(b"q", timeout=SECONDS) == b"q"
                    and counted(req, "tried") == {"near": 4}
                )
            )
            suspect = next(w.suspect for w in req._watches.values() if w.suspect is not None)
            assert suspect.trials == 5
            assert states(req)["near"] == "suspended"
