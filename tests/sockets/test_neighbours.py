"""Devices of two sites: what they say to each other, and that requests wait where all are busy."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pynng
import pytest

from fairlead.errors import SocketError, SocketTimeoutError
from fairlead.sockets import Device, Rep, Req
from fairlead.sockets.neighbours import LONGEST, MARK, UNLIMITED, Neighbour, Word, heard, sum_of
from fairlead.sockets.wire import HIGHEST_TTL, WORD, split

from .conftest import Addresses
from .test_device import TIMEOUTS, total
from .test_events import Told
from .test_req_rep import SECONDS, serving
from .waiting import until, until_up

# -------- The words


def test_a_word_has_more_hops_than_any_request_may_have() -> None:
    frame = Word("ab", True, 5).frame()
    assert split(frame, HIGHEST_TTL) is None
    assert len(MARK) == (HIGHEST_TTL + 2) * WORD.size
    assert len(frame) < LONGEST
    assert heard(frame) == Word("ab", True, 5)


@pytest.mark.parametrize(
    "said", [b"", b"{", b"[]", b'["a", 1, 2]', b'["a", true]', b"[5, true, 1]", b'["a", true, "x"]']
)
def test_what_is_no_word_is_none(said: bytes) -> None:
    assert heard(MARK + said) is None


def test_room_is_what_the_other_would_have_received_without_what_it_was_sent() -> None:
    neighbour = Neighbour(Word("a", True, 7), 0)
    assert [neighbour.room(sent) for sent in (0, 6, 7, 9)] == [7, 1, 0, 0]
    assert Neighbour(Word("a", True), 0).room(10**6) == UNLIMITED
    assert sum_of([1, 0, 4]) == 5
    assert sum_of([1, UNLIMITED]) == UNLIMITED


def test_workers_of_nng_and_of_ours_never_see_a_word(addresses: Addresses) -> None:
    with Device(heartbeat=0.02) as device, Rep() as own, Req() as req, ExitStack() as stack:
        nng_at = addresses()
        nng = stack.enter_context(pynng.Rep0(listen=nng_at, **TIMEOUTS))
        device.back.connect(nng_at, name="nng", priority=1)
        device.back.connect(own.bind("tcp://127.0.0.1:0"), name="own", priority=2)
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        until_up(device.back, "nng", "own")
        with pytest.raises(SocketTimeoutError):
            own.recv(timeout=0.1)
        assert total(device, "ignored") == 0
        assert all("too_far" not in each for each in own.counters().values())
        asking = threading.Thread(target=req.request, args=(b"q",))
        asking.start()
        assert nng.recv() == b"q"
        nng.send(b"")
        asking.join()
        assert not device.back._neighbours


# -------- Two sites


@contextmanager
def sites(*slots: int, heartbeat: float | None = 2.0) -> Iterator[tuple[list[Device], list[str]]]:
    """Devices that name each other at a worse priority, and addresses of their fronts."""
    with ExitStack() as stack:
        devices = [stack.enter_context(Device(heartbeat=heartbeat)) for _ in slots]
        fronts = [each.front.bind("tcp://127.0.0.1:0") for each in devices]
        for k, device in enumerate(devices):
            for j, front in enumerate(fronts):
                if j != k:
                    device.back.connect(front, name=f"site{j}", priority=2)
        yield devices, fronts


def knows_all(devices: list[Device]) -> bool:
    return all(len(each.back._neighbours) == len(devices) - 1 for each in devices)


def works(devices: list[Device]) -> bool:
    return all(n.word.works for each in devices for n in each.back._neighbours.values())


@pytest.mark.costly
@pytest.mark.parametrize("count", [2, 3])
def test_where_all_sites_are_full_requests_wait_and_none_is_dropped(count: int) -> None:
    """Four slots each, sixteen clients for each site; all ask at the first site."""
    done: Counter[bytes] = Counter()
    longest = 0.0

    async def handle(body: bytes) -> bytes:
        done[body] += 1
        await asyncio.sleep(0.02)
        return body

    async def run(reps: list[Rep], front: str) -> None:
        serving = [asyncio.create_task(rep.aserve(handle)) for rep in reps for _ in range(4)]
        with ExitStack() as stack:
            reqs = [stack.enter_context(Req()) for _ in range(16 * count)]
            for req in reqs:
                req.connect(front)

            async def ask(k: int) -> None:
                nonlocal longest
                for n in range(12):
                    begun = time.monotonic()
                    await reqs[k].arequest(b"%d-%d" % (k, n), timeout=SECONDS)
                    longest = max(longest, time.monotonic() - begun)

            await asyncio.gather(*(ask(k) for k in range(len(reqs))))
        for rep in reps:
            rep.close()
        await asyncio.gather(*serving, return_exceptions=True)

    with sites(*[4] * count) as (devices, fronts), ExitStack() as stack:
        reps = [stack.enter_context(Rep()) for _ in devices]
        for device, rep in zip(devices, reps, strict=True):
            device.back.connect(rep.bind("tcp://127.0.0.1:0"), name="own", priority=1, capacity=4)
        until(lambda: knows_all(devices) and works(devices))
        asyncio.run(run(reps, fronts[0]))
        assert sum(total(each, "too_far") + total(each, "lost") for each in devices) == 0
        shares = [each.back.counters()["own"]["sent"] for each in devices]
        went_round = [total(each, "resent") + total(each, "failed_over") for each in devices]
    assert {*done.values()} == {1}
    assert len(done) == 12 * 16 * count
    assert sum(shares) == len(done)  # each request was given to a worker once
    assert min(shares) > len(done) // count // 2
    assert not any(went_round)
    assert longest < 5  # as long as four rounds of 20 ms take; it was a minute


def test_a_request_that_waits_goes_to_whichever_site_is_free_first() -> None:
    with sites(1, 1) as (devices, fronts), Rep() as york, Rep() as london, ExitStack() as stack:
        for device, rep in zip(devices, (york, london), strict=True):
            device.back.connect(rep.bind("tcp://127.0.0.1:0"), name="own", priority=1, capacity=1)
        until(lambda: knows_all(devices) and works(devices))
        reqs = [stack.enter_context(Req()) for _ in range(4)]
        asking = []
        for k, req in enumerate(reqs):
            req.connect(fronts[0])
            asking.append(threading.Thread(target=req.request, args=(b"%d" % k,)))
        asking[0].start()
        at_york = york.recv(timeout=SECONDS)
        asking[1].start()
        at_london = london.recv(timeout=SECONDS)
        asking[2].start()
        until(lambda: devices[0].back.waiting == 1)  # it waits here, not there
        at_london.reply(b"")
        at_london = london.recv(timeout=SECONDS)
        assert at_london.body == b"2"
        asking[3].start()
        until(lambda: devices[0].back.waiting == 1)
        at_york.reply(b"")
        last = york.recv(timeout=SECONDS)
        assert last.body == b"3"
        for each in (at_london, last):
            each.reply(b"")
        for thread in asking:
            thread.join()
        assert devices[1].back.waiting == 0


def test_a_request_does_not_go_back_to_where_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker has just become busy by another: it waits there, though the first site is free."""
    with ExitStack() as stack:
        devices, fronts = stack.enter_context(sites(1, 1, heartbeat=None))
        york, london, req = (stack.enter_context(each()) for each in (Rep, Rep, Req))
        url = york.bind("tcp://127.0.0.1:0")
        devices[0].back.connect(url, name="own", priority=1, capacity=1)
        devices[1].back.connect(
            london.bind("tcp://127.0.0.1:0"), name="own", priority=1, capacity=1
        )
        until(lambda: knows_all(devices) and works(devices))
        devices[0].back.drain("own")
        monkeypatch.setattr(devices[1].front, "_tell", lambda *_: None)
        time.sleep(0.1)  # what it has said before has come
        with devices[0].back.lock:  # it believes that London has room for two
            neighbour = next(iter(devices[0].back._neighbours.values()))
            neighbour.word = neighbour.word._replace(total=2)
        req.connect(fronts[0])
        asking = [threading.Thread(target=req.request, args=(b"%d" % k,)) for k in range(2)]
        for thread in asking:
            thread.start()
        first = london.recv(timeout=SECONDS)
        until(lambda: devices[1].back.waiting == 1)
        devices[0].back.resume("own")
        with pytest.raises(SocketTimeoutError):
            york.recv(timeout=0.1)
        first.reply(b"")
        london.recv(timeout=SECONDS).reply(b"")
        for thread in asking:
            thread.join()
        assert sum(total(each, "too_far") for each in devices) == 0


def test_where_the_own_workers_have_gone_the_other_site_works_and_then_they_do() -> None:
    with sites(1, 1) as (devices, fronts), Rep() as london, Req() as req:
        york = Rep()
        url = york.bind("tcp://127.0.0.1:0")
        devices[0].back.connect(url, name="own", priority=1)
        devices[1].back.connect(london.bind("tcp://127.0.0.1:0"), name="own", priority=1)
        until(lambda: knows_all(devices) and works(devices))
        req.connect(fronts[0])
        york.close()
        until_up(devices[0].back, "site1")
        with serving(london, "london "):
            assert req.request(b"q", timeout=SECONDS) == b"london q"
            until(lambda: not next(iter(devices[1].back._neighbours.values())).word.works)
            again = Rep()
            again.bind(url)
            with serving(again, "york "):
                until_up(devices[0].back, "own", "site1")
                assert req.request(b"q", timeout=SECONDS) == b"york q"


def test_a_device_in_the_middle_passes_on_what_those_behind_it_can_take() -> None:
    with Device() as hub, Device() as site, Rep() as rep, Req() as req, Device() as first:
        site.back.connect(rep.bind("tcp://127.0.0.1:0"), name="worker", capacity=1)
        hub.back.connect(site.front.bind("tcp://127.0.0.1:0"), name="site")
        first.back.connect(hub.front.bind("tcp://127.0.0.1:0"), name="hub")
        req.connect(first.front.bind("tcp://127.0.0.1:0"))

        def told() -> list[int]:
            return [each.room(0) for each in first.back._neighbours.values()]

        until(lambda: told() == [1])
        asking = [threading.Thread(target=req.request, args=(b"%d" % k,)) for k in range(3)]
        for thread in asking:
            thread.start()
        held = rep.recv(timeout=SECONDS)
        until(lambda: first.back.waiting == 1)
        held.reply(b"")
        for _ in range(2):
            rep.recv(timeout=SECONDS).reply(b"")
        for thread in asking:
            thread.join()


# -------- Heartbeats


def test_a_device_that_says_nothing_hangs_though_nobody_asks_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told()
    with Device(heartbeat=0.05, on_event=told) as device, Device() as other:
        device.back.connect(other.front.bind("tcp://127.0.0.1:0"), name="other")
        until(lambda: device.back._neighbours)
        monkeypatch.setattr(other.front, "_tell", lambda *_: None)
        assert told.of("hangs").why == "no word in 0.15 s"
        assert device.back.endpoints()[0].state == "suspended"
        monkeypatch.undo()
        assert told.of("returned").peer == "other"


@pytest.mark.parametrize("found", [0, -1, True, "1", float("nan")])
def test_a_heartbeat_that_cannot_be_is_refused(found: float) -> None:
    with pytest.raises(SocketError, match=r"heartbeat: found .*allowed: more than 0 seconds"):
        Device(heartbeat=found)


def test_a_word_that_comes_before_its_device_is_let_in(caplog: pytest.LogCaptureFixture) -> None:
    """As where many come at once; nothing goes wrong, and it is heeded afterwards."""
    with Device() as device, Device() as other, Rep() as own, Rep() as far, Req() as req:
        other.back.connect(far.bind("tcp://127.0.0.1:0"), name="far", capacity=1)
        device.back.connect(own.bind("tcp://127.0.0.1:0"), name="own", capacity=1)
        until_up(device.back, "own")
        until_up(other.back, "far")
        device.back._cost = 0.3
        device.back.connect(other.front.bind("tcp://127.0.0.1:0"), name="other", priority=16)
        until(lambda: device.back._neighbours)
        assert device.back.endpoints()[1].trouble == "not let in yet"
        until_up(device.back, "own", "other")
        req.connect(device.front.bind("tcp://127.0.0.1:0"))
        asking = [threading.Thread(target=req.request, args=(b"%d" % k,)) for k in range(3)]
        for thread in asking:
            thread.start()
        held = [rep.recv(timeout=SECONDS) for rep in (own, far)]
        until(lambda: device.back.waiting == 1)
        held[1].reply(b"")
        far.recv(timeout=SECONDS).reply(b"")
        held[0].reply(b"")
        for thread in asking:
            thread.join()
    assert "a fault of fairlead" not in caplog.text
