"""Faults: workers that answer wrongly, are killed, stopped and started again, many, or slow."""

import random
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fairlead.errors import SocketTimeoutError
from fairlead.sockets import Device, Push, Rep, Req
from fairlead.sockets.sender import Sender

from .conftest import Addresses
from .raw import RawWorker
from .test_req_rep import SECONDS, Worker, counted, serving
from .waiting import until, until_up


class Load:
    """Threads that ask, each so many times or until the end, and look what is answered."""

    def __init__(self, req: Req, *, requests: int | None = None, timeout: float = SECONDS) -> None:
        self._req, self._requests, self._timeout = req, requests, timeout
        self._done = threading.Event()
        self.answered = 0
        self.late: list[str] = []
        self.wrong: list[object] = []
        self._counting = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, args=(k,)) for k in range(4)]
        for thread in self._threads:
            thread.start()

    def _ask(self, k: int) -> None:
        number = 0
        while number != self._requests and not self._done.is_set():
            self._one(b"%d-%d" % (k, number))
            number += 1

    def _one(self, asked: bytes) -> None:
        try:
            reply = self._req.request(asked, timeout=self._timeout)
        except SocketTimeoutError as error:
            self.late.append(str(error))
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the test's to show
            self.wrong.append(error)
            return
        if reply.split(b" ")[1:] != [asked]:
            self.wrong.append((asked, reply))
        with self._counting:
            self.answered += 1

    def end(self) -> None:
        if self._requests is None:
            self._done.set()
        for thread in self._threads:
            thread.join()

    def check(self, *, late: bool = False) -> None:
        """Each request had its own reply; or, where that is said, an error that names why not."""
        assert not self.wrong
        assert late or not self.late
        for each in self.late:
            assert each.startswith(f"request: no reply within {self._timeout:g} s: "), each


# -------- Workers that answer twice, late, or for others


@pytest.fixture(params=["direct", "device"])
def before(request: pytest.FixtureRequest) -> Iterator[tuple[Req, Req]]:
    """A requester, and whatever has the workers as its endpoints: itself, or a device."""
    with ExitStack() as stack:
        req = stack.enter_context(Req(resend=0.1, retry=0.1))
        if request.param == "direct":
            yield req, req
            return
        device = stack.enter_context(Device())
        front = device.front.bind("tcp://127.0.0.1:0")
        req.connect(front, name="device")
        until_up(req, "device")
        yield req, device.back  # type: ignore[misc]  # all that is used of it is of both


@pytest.mark.costly
def test_a_worker_that_answers_each_request_twice_answers_it_once(before: tuple[Req, Req]) -> None:
    req, back = before

    def twice(worker: RawWorker, stack: bytes, body: bytes) -> None:
        worker.reply(stack + b"first " + body)
        worker.reply(stack + b"second " + body)

    with RawWorker(twice) as worker, req, back:
        back.connect(worker.url)
        for k in range(100):
            assert req.request(b"%d" % k, timeout=SECONDS) == b"first %d" % k
        until(lambda: sum(counted(req, "ignored").values()) >= 100)


def test_the_reply_to_another_request_of_the_same_peer_is_not_given_to_this_one() -> None:
    """Once answered, an id is nobody's, and a later request has another one."""
    stacks: list[bytes] = []

    def old(worker: RawWorker, stack: bytes, body: bytes) -> None:
        for each in stacks:
            worker.reply(each + b"old")
        worker.reply(b"\0\0\0\1" + stack + b"another's hop")
        worker.reply(b"no id")
        worker.reply(stack + body)
        stacks.append(stack)

    with RawWorker(old) as worker, Req() as req:
        req.connect(worker.url)
        for k in range(20):
            assert req.request(b"%d" % k, timeout=SECONDS) == b"%d" % k
        assert sum(counted(req, "ignored").values()) == sum(k + 2 for k in range(20))


def test_a_peer_cannot_answer_what_another_was_asked() -> None:
    asked: list[bytes] = []
    forge = threading.Event()

    def honest(worker: RawWorker, stack: bytes, body: bytes) -> None:
        asked.append(stack)
        forge.wait(SECONDS)
        worker.reply(stack + b"honest " + body)

    def forging(worker: RawWorker, stack: bytes, body: bytes) -> None:
        worker.reply(asked[0] + b"forged")
        worker.reply(stack + body)

    with RawWorker(honest) as one, RawWorker(forging) as other, Req() as req:
        req.connect(one.url, name="honest", priority=1, capacity=1)
        req.connect(other.url, name="forging", priority=2)
        until_up(req, "honest", "forging")
        found: list[bytes] = []
        asking = threading.Thread(
            target=lambda: found.append(req.request(b"question", timeout=SECONDS))
        )
        asking.start()
        until(lambda: asked)
        assert req.request(b"more", timeout=SECONDS) == b"more"
        assert counted(req, "ignored") == {"forging": 1}
        forge.set()
        asking.join()
    assert found == [b"honest question"]


def test_a_late_reply_after_the_other_one_is_given_to_nobody(before: tuple[Req, Req]) -> None:
    req, back = before
    late: list[bytes] = []

    def silent(worker: RawWorker, stack: bytes, body: bytes) -> None:
        late.append(stack)

    with RawWorker(silent) as one, Rep() as other, req, back:
        back.connect(one.url, name="silent", priority=1, capacity=1)
        back.connect(other.bind("tcp://127.0.0.1:0"), name="other", priority=2)
        until_up(back, "silent", "other")
        with serving(other, "other "):
            assert req.request(b"question", timeout=SECONDS) == b"other question"
            one.reply(late[0] + b"late")
            one.reply(late[0] + b"later")
            until(lambda: sum(counted(req, "ignored").values()) >= 2)
            assert req.request(b"next", timeout=SECONDS).endswith(b" next")


def test_among_replies_that_are_doubled_late_and_forged_each_request_has_its_own() -> None:
    chance = random.Random(17)  # noqa: S311 - the same faults in every run
    answered: list[bytes] = []
    late: list[threading.Timer] = []

    def faulty(worker: RawWorker, stack: bytes, body: bytes) -> None:
        fault = chance.randrange(5)
        if fault == 1 and answered:
            worker.reply(chance.choice(answered) + b"forged")
        if fault == 2:
            worker.reply(chance.randbytes(chance.randrange(12)))
        if fault == 3:  # it was sent again by then
            late.append(threading.Timer(0.2, worker.reply, [stack + b"late " + body]))
            late[-1].start()
        if fault < 3:
            for _ in range(1 + chance.randrange(2)):
                worker.reply(stack + b"faulty " + body)
            answered.append(stack)

    with RawWorker(faulty) as one, Rep() as other, Req(resend=0.1, retry=0.05) as req:
        req.connect(one.url, name="faulty")
        req.connect(other.bind("tcp://127.0.0.1:0"), name="sound")
        until_up(req, "faulty", "sound")
        with serving(other, "sound "):
            load = Load(req, requests=25)
            load.end()
        for each in late:
            each.join()
    load.check()
    assert load.answered == sum(counted(req, "replied").values()) == 100


# -------- Peers that are killed, stopped and started again


def harm(worker: Worker, chance: random.Random) -> None:
    """Something happens to a worker; one that is stopped may be killed, too."""
    if worker.stopped and chance.random() < 0.3:
        worker.kill()
    else:
        worker.harm(chance)


def mend(workers: list[Worker]) -> None:
    """All of them work."""
    for worker in workers:
        if worker.process is None:
            worker.start()
        elif worker.stopped:
            worker.signal(signal.SIGCONT)


@pytest.mark.parametrize(
    "faults", [pytest.param(4, id="4"), pytest.param(50, id="50", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("way", ["direct", "device"])
def test_each_request_has_its_reply_or_an_error_whoever_is_killed(
    way: str, faults: int, addresses: Addresses
) -> None:
    chance = random.Random(faults)  # noqa: S311 - the same faults in every run
    with ExitStack() as stack:
        req = stack.enter_context(Req(resend=0.3, retry=0.1))
        back: Sender = req
        if way == "device":
            device = stack.enter_context(Device(resend=0.3, retry=0.1))
            back = device.back
            req.connect(device.front.bind(addresses()))
        workers = [Worker("nng" if k % 2 else "fairlead", f"w{k}") for k in range(3)]
        for k, worker in enumerate(workers):
            worker.url = addresses()
            worker.start()
            stack.callback(worker.kill)
            back.connect(worker.url, name=worker.name, priority=1 + k // 2, capacity=3)
        load = Load(req, timeout=3)
        stack.callback(load.end)
        for _ in range(faults):
            harm(chance.choice(workers), chance)
            done = load.answered + len(load.late)
            until(lambda done=done: load.answered + len(load.late) > done + 10)
        mend(workers)
        until_up(back, *(each.name for each in workers))
        answered = load.answered
        until(lambda: load.answered > answered + 50)
        load.end()
        load.check(late=True)
        assert load.answered == sum(counted(req, "replied").values())
        print(faults, "faults:", load.answered, "answered,", len(load.late), "too late")


@pytest.mark.parametrize(
    "faults", [pytest.param(3, id="3"), pytest.param(30, id="30", marks=pytest.mark.slow)]
)
def test_each_request_has_its_reply_though_devices_are_killed(faults: int) -> None:
    with Rep() as rep, Req(resend=1, retry=0.1) as req, ExitStack() as stack:
        stack.enter_context(serving(rep, "worker "))
        devices = [Worker("device", rep.bind("tcp://127.0.0.1:0")) for _ in range(2)]
        for k, device in enumerate(devices):
            device.start()
            stack.callback(device.kill)
            req.connect(device.url, name=str(k), priority=k + 1)
        load = Load(req)
        stack.callback(load.end)
        for k in range(faults):
            (devices[k // 2 % 2].start if k % 2 else devices[k // 2 % 2].kill)()
            answered = load.answered
            until(lambda answered=answered: load.answered > answered + 10)
        load.end()
        load.check()


@pytest.mark.parametrize(
    "rounds", [pytest.param(1, id="1"), pytest.param(10, id="10", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kind", ["nng", "fairlead"])
def test_requests_go_to_the_worse_priority_while_the_better_is_gone_and_then_back(
    kind: str, rounds: int, addresses: Addresses
) -> None:
    with ExitStack() as stack:
        req = stack.enter_context(Req(resend=2))
        near, far = Worker(kind, "near"), Worker(kind, "far")
        for priority, worker in enumerate((near, far)):
            worker.url = addresses()
            worker.start()
            stack.callback(worker.kill)
            req.connect(worker.url, name=worker.name, priority=priority + 1)
        load = Load(req)
        stack.callback(load.end)

        def more(name: str) -> None:
            replied = counted(req, "replied").get(name, 0)
            until(lambda: counted(req, "replied").get(name, 0) > replied + 20)

        for _ in range(rounds):
            near.kill()
            more("far")
            near.start()
            until_up(req, "near", "far")
            sent = counted(req, "sent")["far"]
            more("near")
            assert counted(req, "sent")["far"] == sent
        near.signal(signal.SIGSTOP)
        more("far")
        near.signal(signal.SIGCONT)
        more("near")
        load.end()
        load.check()


@pytest.mark.parametrize(
    "faults", [pytest.param(4, id="4"), pytest.param(20, id="20", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("killed", [False, True], ids=["stopped", "killed"])
def test_a_message_arrives_at_most_once_and_always_where_nobody_is_killed(
    killed: bool, faults: int, addresses: Addresses, folder: Path
) -> None:
    chance = random.Random(faults)  # noqa: S311 - the same faults in every run
    with ExitStack() as stack:
        workers = [
            Worker(kind, str(folder / f"{kind}{k}"))
            for kind in ("nng-pull", "fairlead-pull")
            for k in range(2)
        ]
        push = stack.enter_context(Push(buffer=8))
        for k, worker in enumerate(workers):
            worker.url = addresses()
            worker.start()
            stack.callback(worker.kill)
            push.connect(worker.url, name=worker.name, priority=1 + k % 2)
        n = 0
        for _ in range(faults):
            worker = chance.choice(workers[:3])  # the last one stays
            if killed:
                (worker.start if worker.process is None else worker.kill)()
            else:
                worker.signal(signal.SIGCONT if worker.stopped else signal.SIGSTOP)
            for _ in range(50):
                push.send(b"%d " % n + b"x" * 30_000, timeout=SECONDS)
                n += 1
        mend(workers)

        def arrived() -> list[int]:
            files = [Path(each.name) for each in workers if Path(each.name).exists()]
            return [
                int(line.split()[0]) for each in files for line in each.read_text().splitlines()
            ]

        if killed:
            until_up(push, *(each.name for each in workers))
            push.send(b"%d" % n, timeout=SECONDS)
            until(lambda: n in arrived())
        else:
            until(lambda: len(arrived()) >= n)
        found = arrived()
    assert len(found) == len({*found})
    if not killed:
        assert sorted(found) == [*range(n)]
