"""REQ and REP between our sockets and those of nng, both ways, with workers that fail."""

import asyncio
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pynng
import pytest

import oracle
from fairlead.errors import SocketError, SocketTimeoutError
from fairlead.sockets import Rep, Req, Request
from fairlead.sockets.base import Socket
from fairlead.sockets.wire import Decoder, Protocol, greeting, header, request_id
from tests.ports import free_port

from .conftest import Addresses
from .waiting import until, until_up

SECONDS = 30
WORKER = Path(__file__).with_name("worker.py")


@contextmanager
def serving(rep: Rep, name: str) -> Iterator[None]:
    """Answers as a worker of this name, until the socket is closed."""
    thread = threading.Thread(target=rep.serve, args=(lambda body: name.encode() + body,))
    thread.start()
    yield
    rep.close()
    thread.join()


def test_a_request_is_answered_by_nng(addresses: Addresses) -> None:
    with Req() as req, ExitStack() as stack:
        there = addresses()
        one = stack.enter_context(pynng.Rep0(listen=there, recv_timeout=SECONDS * 1000))
        here = req.bind(addresses(), priority=1)
        other = stack.enter_context(pynng.Rep0(dial=here, recv_timeout=SECONDS * 1000))
        req.connect(there, priority=2)
        until_up(req, there, f"{here}#1")
        found: list[bytes] = []
        for rep in (other, other, one):
            if rep is one:
                other.close()
                until_up(req, there)
            asking = threading.Thread(
                target=lambda: found.append(req.request(b"question", timeout=SECONDS))
            )
            asking.start()
            assert rep.recv() == b"question"
            rep.send(b"answer")
            asking.join()
    assert found == [b"answer"] * 3


def test_nng_is_answered(addresses: Addresses) -> None:
    there = addresses()
    timeouts = {"recv_timeout": SECONDS * 1000, "send_timeout": SECONDS * 1000}
    with Rep() as rep, pynng.Req0(listen=there, **timeouts) as one, ExitStack() as stack:
        here = rep.bind(addresses())
        rep.connect(there)
        other = stack.enter_context(pynng.Req0(dial=here, **timeouts))
        with serving(rep, "ours "):
            for req in (one, other, one):
                req.send(b"question")
                assert req.recv() == b"ours question"


def test_requests_run_side_by_side_and_are_answered_in_any_order(address: str) -> None:
    with Req() as req, Rep() as rep:
        req.connect(rep.bind(address))

        async def ask() -> list[bytes]:
            asked = [asyncio.create_task(req.arequest(b"%d" % k)) for k in range(50)]
            questions = [await rep.arecv(timeout=SECONDS) for _ in asked]
            for question in reversed(questions):
                question.reply(b"re " + question.body)
            return await asyncio.gather(*asked)

        assert asyncio.run(ask()) == [b"re %d" % k for k in range(50)]


def test_coroutines_serve(address: str) -> None:
    async def run() -> list[bytes]:
        async def handler(body: bytes) -> bytes:
            await asyncio.sleep(0)
            return body.upper()

        with Req() as req, Rep() as rep:
            req.connect(rep.bind(address))
            served = [asyncio.create_task(rep.aserve(handler)) for _ in range(3)]
            found = [await req.arequest(b"a%d" % k, timeout=SECONDS) for k in range(5)]
            await asyncio.to_thread(rep.close)
            await asyncio.gather(*served)
            return found

    assert asyncio.run(run()) == [b"A%d" % k for k in range(5)]


# -------- Capacity


def test_capacities_of_the_document(addresses: Addresses) -> None:
    """A 2, B 1, L without limit: A B A L L; A completes one: A L; B and A one each: B A L."""
    with Req(journal=True) as req, ExitStack() as stack:
        reps = {name: stack.enter_context(Rep()) for name in "ABL"}
        for name, (priority, capacity) in {"A": (1, 2), "B": (1, 1), "L": (2, 0)}.items():
            url = reps[name].bind(addresses())
            req.connect(url, name=name, priority=priority, capacity=capacity)
            until(lambda name=name: name in {e.name for e in req.endpoints() if e.state == "up"})
        asked: list[threading.Thread] = []
        held: dict[str, list[Request]] = {"A": [], "B": [], "L": []}

        def sends(n: int) -> str:
            found = ""
            for _ in range(n):
                before = counted(req, "sent")
                asked.append(threading.Thread(target=req.request, args=(b"",)))
                asked[-1].start()
                until(lambda before=before: counted(req, "sent") != before)
                (name,) = (k for k, v in counted(req, "sent").items() if v != before.get(k, 0))
                held[name].append(reps[name].recv(timeout=SECONDS))
                found += name
            return found

        def completes(name: str) -> None:
            before = counted(req, "replied").get(name, 0)
            held[name].pop(0).reply(b"")
            until(lambda: counted(req, "replied").get(name, 0) > before)

        assert sends(5) == "ABALL"
        assert {each.name: each.state for each in req.endpoints()} == {
            "A": "busy",
            "B": "busy",
            "L": "up",
        }
        completes("A")
        assert sends(2) == "AL"
        completes("B")
        completes("A")
        assert sends(3) == "BAL"
        for name in "ABL":
            while held[name]:
                completes(name)
        for thread in asked:
            thread.join()
        check_replay(req)


def counted(req: Socket, what: str) -> dict[str, int]:
    return {name: each[what] for name, each in req.counters().items() if what in each}


def check_replay(req: Req) -> None:
    """The journal, replayed, gives the same choices."""
    req.close()
    journal, cluster = req.recorded(), req.cluster
    assert cluster is not None
    asked = [{**row, "cluster": ""} for row in journal.messages]
    again = oracle.route(cluster.to_dict(), asked, journal.changes)
    chosen = [row["destination"] for row in journal.messages]
    assert [each.destination for each in again] == chosen


def test_a_request_waits_while_all_are_busy_and_goes_to_whom_becomes_free(address: str) -> None:
    with Req() as req, Rep() as rep:
        req.connect(rep.bind(address), name="A", capacity=1)
        found: list[bytes] = []
        threads = [
            threading.Thread(target=lambda: found.append(req.request(b"q", timeout=SECONDS)))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        first = rep.recv(timeout=SECONDS)
        with pytest.raises(SocketTimeoutError):
            rep.recv(timeout=0.05)
        first.reply(b"1")
        rep.recv(timeout=SECONDS).reply(b"2")
        for thread in threads:
            thread.join()
        assert sorted(found) == [b"1", b"2"]


# -------- Sending again


def test_a_silent_worker_and_its_late_reply() -> None:
    """After the resend interval the other one has it, too; the first reply counts."""
    with Req(resend=0.1, retry=60) as req, Rep() as silent, Rep() as other:
        for name, rep in {"silent": silent, "other": other}.items():
            req.connect(rep.bind("tcp://127.0.0.1:0"), name=name)
            until(lambda name=name: name in {e.name for e in req.endpoints() if e.state == "up"})
        found: list[bytes] = []
        asking = threading.Thread(target=lambda: found.append(req.request(b"question")))
        asking.start()
        first = silent.recv(timeout=SECONDS)
        with pytest.raises(SocketTimeoutError):
            other.recv(timeout=0)
        second = other.recv(timeout=SECONDS)
        states = {each.name: each.state for each in req.endpoints()}
        assert states == {"silent": "suspended", "other": "up"}
        first.reply(b"late")
        asking.join()
        second.reply(b"second")
        until(lambda: counted(req, "ignored") == {"other": 1})
        assert found == [b"late"]
        assert counted(req, "sent") == {"silent": 1, "other": 1}
        assert counted(req, "resent") == {"other": 1}
        until(lambda: {each.state for each in req.endpoints()} == {"up"})  # it has spoken


def test_a_silent_worker_is_tried_with_one_request_at_a_time() -> None:
    with Req(resend=0.05, retry=0.05) as req, Rep() as silent, Rep() as other:
        req.connect(silent.bind("tcp://127.0.0.1:0"), name="silent", priority=1)
        req.connect(other.bind("tcp://127.0.0.1:0"), name="other", priority=2)
        until_up(req, "silent", "other")
        with serving(other, ""):
            for k in range(20):
                assert req.request(b"%d" % k, timeout=SECONDS) == b"%d" % k
            until(lambda: counted(req, "sent")["silent"] >= 2 or req.request(b"more"))
            waiting = []
            while True:  # it works again
                try:
                    waiting.append(silent.recv(timeout=0))
                except SocketTimeoutError:
                    break
            waiting[-1].reply(b"")
            with serving(silent, "silent "):
                until(lambda: req.request(b"x", timeout=SECONDS) == b"silent x")


def test_requests_of_a_worker_that_goes_are_sent_to_others_at_once(addresses: Addresses) -> None:
    with Req(journal=True) as req, Rep() as leaves, Rep() as stays:
        req.connect(leaves.bind(addresses()), name="leaves", priority=1)
        req.connect(stays.bind(addresses()), name="stays", priority=2)
        until_up(req, "leaves", "stays")
        found: list[bytes] = []
        threads = [
            threading.Thread(target=lambda: found.append(req.request(b"q", timeout=SECONDS)))
            for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        for _ in threads:
            leaves.recv(timeout=SECONDS)
        leaves.close()
        with serving(stays, "stays "):
            for thread in threads:
                thread.join()
        assert found == [b"stays q"] * 5
        assert counted(req, "failed_over") == {"stays": 5}
        check_replay(req)


def test_a_worker_that_answers_twice_answers_once(address: str) -> None:
    with Req() as req, Rep() as rep:
        req.connect(rep.bind(address), name="A")
        asking = threading.Thread(target=req.request, args=(b"",))
        asking.start()
        request = rep.recv(timeout=SECONDS)
        request.reply(b"once")
        asking.join()
        with pytest.raises(SocketError, match="reply: found a second one"):
            request.reply(b"twice")
        with rep.lock:
            rep.answer(next(iter(rep._of)), request.stack, b"twice")
        until(lambda: counted(req, "ignored") == {"A": 1})


def test_a_request_that_nobody_answers_in_time_names_the_endpoints() -> None:
    with Req() as req, Rep() as rep:
        with pytest.raises(SocketTimeoutError, match=r"request: no reply within 0.01 s: found no"):
            req.request(b"", timeout=0.01)
        req.connect(rep.bind("tcp://127.0.0.1:0"), name="A")
        until_up(req, "A")
        with pytest.raises(SocketTimeoutError, match=r"within 0\.01 s: A up"):
            req.request(b"", timeout=0.01)
        rep.recv(timeout=SECONDS).reply(b"too late")
        until(lambda: counted(req, "ignored") == {"A": 1})
        assert not req._pending
        assert not req._waiting.count


def test_a_requester_that_has_gone_gets_no_reply_and_harms_nobody(address: str) -> None:
    with Rep() as rep, Req() as stays:
        url = rep.bind(address)
        with Req() as goes:
            goes.connect(url)
            with pytest.raises(SocketTimeoutError):
                goes.request(b"", timeout=0.05)
            lost = rep.recv(timeout=SECONDS)
        until(lambda: not rep._of)
        lost.reply(b"")
        stays.connect(url)
        with serving(rep, "still "):
            assert stays.request(b"here", timeout=SECONDS) == b"still here"


def test_a_requester_that_reads_no_replies_is_not_read_from_and_starves_nobody() -> None:
    asked = 300
    with Rep(buffer=2) as rep, Req() as other:
        url = rep.bind("tcp://127.0.0.1:0")
        port = int(url.rpartition(":")[2])
        other.connect(url)
        with serving(rep, "x" * 100_000), socket.create_connection(("127.0.0.1", port)) as lazy:
            decoder = Decoder(Protocol.REQ)
            lazy.sendall(greeting(Protocol.REQ))
            sending = threading.Thread(
                target=lambda: [lazy.sendall(header(4) + request_id(k)) for k in range(asked)]
            )
            sending.start()
            for _ in range(50):
                assert len(other.request(b"", timeout=SECONDS)) == 100_000
            found: list[bytes] = []
            while len(found) < asked:
                found += decoder.feed(lazy.recv(65_536))
            sending.join()
            assert [each[:4] for each in found] == [request_id(k) for k in range(asked)]


def test_a_ttl_that_no_peer_would_keep_is_refused() -> None:
    with pytest.raises(SocketError, match="max_ttl: found 16, allowed: 1 to 15"):
        Rep(max_ttl=16)


# -------- Workers in processes of their own, which are killed and stopped


class Worker:
    """A process that is started, killed, stopped and started again."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        self.url = f"tcp://127.0.0.1:{free_port()}"
        self.process: subprocess.Popen[str] | None = None
        self.stopped = False

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), self.kind, self.url, self.name],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process, self.stopped = None, False

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.stopped = number == signal.SIGSTOP

    def harm(self, chance: random.Random) -> None:
        """Something happens to it."""
        if self.process is None:
            self.start()
        elif self.stopped:
            self.signal(signal.SIGCONT)
        elif chance.random() < 0.5:
            self.kill()
        else:
            self.signal(signal.SIGSTOP)


class Load:
    """Threads that ask, and check what is answered."""

    def __init__(self, req: Req) -> None:
        self.req = req
        self.done = threading.Event()
        self.answers: list[int] = []
        self.wrong: list[object] = []
        self.threads = [threading.Thread(target=self.ask, args=(k,)) for k in range(4)]
        for thread in self.threads:
            thread.start()

    def ask(self, k: int) -> None:
        number = 0
        while not self.done.is_set():
            asked = f"{k}-{number}"
            try:
                reply = self.req.request(asked.encode(), timeout=SECONDS)
            except SocketError as error:
                self.wrong.append(error)
                return
            if reply.decode().split(" ")[1:] != [asked]:
                self.wrong.append((asked, reply))
            number += 1
        self.answers.append(number)

    def end(self) -> None:
        self.done.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.parametrize(
    "faults", [pytest.param(12, id="12"), pytest.param(200, id="200", marks=pytest.mark.slow)]
)
def test_whatever_happens_to_workers_every_request_has_one_answer(faults: int) -> None:
    chance = random.Random(17)  # noqa: S311 - the same faults in every run
    with ExitStack() as stack:
        workers = [Worker("nng" if k % 2 else "fairlead", f"w{k}") for k in range(4)]
        req = stack.enter_context(Req(resend=0.3, retry=0.1, journal=True))
        for k, worker in enumerate(workers):
            worker.start()
            stack.callback(worker.kill)
            req.connect(worker.url, name=worker.name, priority=1 + k // 2, capacity=3)
        load = Load(req)
        stack.callback(load.end)
        for _ in range(faults):
            before = sum(counted(req, "replied").values())
            chance.choice(workers[:3]).harm(chance)  # the last one stays
            until(lambda before=before: sum(counted(req, "replied").values()) > before + 20)
        load.end()
        assert not load.wrong
        assert sum(load.answers) == sum(counted(req, "replied").values())
        check_replay(req)
