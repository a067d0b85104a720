"""Limits: of open files, which are named; of peers, a thousand of whom have their turns."""

import errno
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from fairlead.sockets import Device, Pull, Push, Rep, Req
from fairlead.sockets.files import reason
from fairlead.sockets.forwarding import UNDERWAY
from fairlead.sockets.pipe import PIECE
from fairlead.sockets.wire import WORD, Decoder, Protocol, greeting, header, request_id

from . import memory
from .crowd import Crowd
from .test_req_rep import SECONDS, counted, serving
from .waiting import until, until_quiet, until_up

SIZE = 1_000
"""Bytes of each request in bulk, besides its header."""


def test_where_no_files_are_left_the_limit_is_named_and_it_goes_on_when_there_are(
    folder: Path,
) -> None:
    script = Path(__file__).with_name("limited.py")
    done = subprocess.run(
        [sys.executable, script, folder], capture_output=True, text=True, check=False, timeout=60
    )
    found = "found 40 open files, allowed: at most 40 (ulimit -n)"
    assert (done.stdout.splitlines(), done.stderr) == (
        [
            *[f"socket: {found}"] * 3,
            f"bind: tcp://127.0.0.1:0: {found}",
            f"bind: tcp://localhost:0: {found}",
            f"bind: ipc://{folder}/other: {found}",
            f"bind: tls+tcp://127.0.0.1:0: {found}",
            f"connect: tls+tcp://127.0.0.1:1: {found}",
            f"unix down ({found})",
            f"named down (localhost: {found})",
            f"ipc://{folder}/pull#1 up",
            f"ipc://{folder}/pull down ({found})",
            "idle",
            *["b'a message'"] * 2,
            "nothing is left open",
        ],
        "",
    )


@pytest.mark.parametrize(
    "error",
    [socket.gaierror(socket.EAI_AGAIN, "try again"), OSError(errno.EBUSY, "resource busy")],
    ids=["gaierror", "EBUSY"],
)
def test_a_resolver_that_found_no_file_left_is_told_as_that(error: OSError) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert "ulimit" not in reason(error)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        assert reason(error) == "found 0 open files, allowed: at most 0 (ulimit -n)"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


# -------- A thousand peers


@pytest.fixture(params=[pytest.param(100, id="100"), pytest.param(1000, marks=pytest.mark.slow)])
def many(request: pytest.FixtureRequest) -> Iterator[int]:
    """So many peers, each of which takes three files: both ends, and where it listens."""
    n: int = request.param
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 3 * n + 200
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"not here: found at most {hard} open files (ulimit -Hn), needed {needed}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield n
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("kind", [Push, Req])
def test_of_many_peers_each_has_its_turn_and_a_third_goes_and_comes_back(
    kind: type[Push] | type[Req], many: int, folder: Path
) -> None:
    third = range(0, many, 3)
    names = [str(k) for k in range(many)]
    stay = [name for name in names if int(name) not in third]
    with Crowd(folder, many, kind.protocol.peer) as crowd, kind() as found:

        def send(n: int) -> None:
            for _ in range(n):
                if isinstance(found, Push):
                    found.send(b"work", timeout=SECONDS)
                else:
                    assert found.request(b"work", timeout=SECONDS) == b"work"

        for name, url in zip(names, crowd.urls, strict=True):
            found.connect(url, name=name)
        until_up(found, *names)
        send(2 * many)
        assert counted(found, "sent") == dict.fromkeys(names, 2)
        until(lambda: crowd.received == [2] * many)
        crowd.go(*third)
        until_up(found, *stay)
        send(len(stay))
        crowd.come(*third)
        until_up(found, *names)
        send(many)
        expected = {name: 4 if name in stay else 3 for name in names}
        assert counted(found, "sent") == expected
        until(lambda: crowd.received == [*expected.values()])


def test_of_many_sources_each_has_its_turn(many: int) -> None:
    with Pull() as pull:
        url = pull.bind("tcp://127.0.0.1:0")
        pushes = [Push() for _ in range(many)]
        for k, push in enumerate(pushes):
            push.connect(url)
            for _ in range(3):
                push.send(b"%d" % k, timeout=SECONDS)
        until(lambda: sum(counted(pull, "received").values()) == 3 * many)
        for _ in range(3):
            found = [int(pull.recv(timeout=SECONDS)) for _ in range(many)]
            assert sorted(found) == [*range(many)]
        for push in pushes:
            push.close()


# -------- A million messages


def grown(kind: str, before: int, after: int, measure: str) -> int:
    """By how much a process of its own grew: what other tests left counts nowhere."""
    command = [sys.executable, memory.__file__, kind, str(before), str(after), measure]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [("push", 2_000, 10_000), ("req", 500, 2_000), ("device", 500, 1_000)],
)
def test_nothing_is_kept_of_messages_that_have_arrived(kind: str, before: int, after: int) -> None:
    assert grown(kind, before, after, "blocks") < 200


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", [*memory.KINDS])
def test_memory_is_flat_over_a_million_messages(kind: str) -> None:
    assert grown(kind, 200_000, 800_000, "bytes") < 2 << 20


# -------- Who is slow harms nobody else


class Deaf:
    """A requester that speaks the wire by hand: it asks so much, and reads when it is told."""

    def __init__(self, path: str, requests: int) -> None:
        self._end = socket.socket(socket.AF_UNIX)
        self._end.connect(path)
        body = b"deaf" + b"x" * SIZE
        one = header(WORD.size + len(body), ipc=True)
        self._frames = [one + request_id(k) + body for k in range(requests)]
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        self._end.sendall(greeting(Protocol.REQ))
        for frame in self._frames:
            self._end.sendall(frame)

    def listen(self) -> int:
        """Read until each request has its reply; how many have."""
        found: set[bytes] = set()
        decoder = Decoder(Protocol.REQ, ipc=True)
        while len(found) < len(self._frames):
            found |= {each[: WORD.size] for each in decoder.feed(self._end.recv(65_536))}
        return len(found)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._end.close()


def test_who_reads_no_replies_is_asked_no_more_and_others_are_answered(folder: Path) -> None:
    asked, buffer = 3_000, 4
    reply = b"y" * 10_000
    with Device(buffer=buffer) as device, Rep() as rep, Req() as other:
        device.back.connect(rep.bind(f"ipc://{folder}/worker"))
        other.connect(device.front.bind(f"ipc://{folder}/front"))
        until_up(other, f"ipc://{folder}/front")
        with serving(rep, reply.decode()), Deaf(f"{folder}/front", asked) as deaf:
            deaf_one = f"ipc://{folder}/front#2"
            until_quiet(lambda: counted(device.front, "replied").get(deaf_one, 0))
            taken = counted(device.front, "received")[deaf_one]
            assert taken < asked // 4
            for _ in range(20):
                assert other.request(b"", timeout=SECONDS) == reply
            assert counted(device.front, "received")[deaf_one] == taken
            assert sum(pipe.waiting for pipe in device.front._pipes) <= taken
            assert deaf.listen() == asked


@pytest.mark.costly
@pytest.mark.parametrize(
    ("capacity", "most"), [(2, 2 + 1 + 1), (0, UNDERWAY * 4 + PIECE // SIZE + 1 + 1)]
)
def test_who_asks_in_bulk_is_answered_in_turn_with_others(
    capacity: int, most: int, folder: Path
) -> None:
    """Before others come those that the workers have, the one that waits for them, and a turn.

    Where workers have no capacity, they have what a requester may have underway, and what came with
    its latest read.
    """
    front = f"ipc://{folder}/front"
    with Device(buffer=4) as device, Rep() as rep, Req() as other:
        device.back.connect(rep.bind(f"ipc://{folder}/worker"), capacity=capacity)
        other.connect(device.front.bind(front))
        until_up(other, front)
        with Deaf(f"{folder}/front", 1_000) as bulk:
            until_quiet(lambda: counted(device.front, "received").get(f"{front}#2", 0))
            asking = threading.Thread(target=other.request, args=(b"other",))
            asking.start()
            until(lambda: f"{front}#1" in counted(device.front, "received"))
            before = 0
            while (request := rep.recv(timeout=SECONDS)).body != b"other":
                request.reply(b"")
                before += 1
            request.reply(b"")
            asking.join()
            with serving(rep, ""):
                assert bulk.listen() == 1_000
    assert before <= most


def beginning(url: str, size: int) -> socket.socket:
    """A peer that has begun a message, and left one byte out."""
    host, port = url.removeprefix("tcp://").split(":")
    end = socket.create_connection((host, int(port)), timeout=SECONDS)
    end.sendall(greeting(Protocol.PUSH) + header(size) + bytes(size - 1))
    return end


def test_messages_that_have_come_in_part_are_held_to_memory() -> None:
    size, most = 100_000, 1_000_000
    with Pull(memory=most) as pull:
        url = pull.bind("tcp://127.0.0.1:0")
        ends = [beginning(url, size) for _ in range(40)]
        until(lambda: sum(is_over(each) for each in ends) >= 30)
        until(lambda: 8 <= len(pull._pipes) <= 10)
        assert pull.unfinished._all <= most
        until_quiet(lambda: len(pull._pipes))
        stays = [each for each in ends if not is_over(each)]
        assert stays == ends[-len(stays) :]  # those that were begun first have gone
        for each in stays:
            each.sendall(b"\0")
        assert [pull.recv(timeout=SECONDS) for _ in stays] == [bytes(size)] * len(stays)
        assert pull.unfinished._all == 0
        for each in ends:
            each.close()


def test_one_message_alone_may_be_longer_than_memory() -> None:
    with Pull(memory=10_000) as pull, Push() as push:
        push.connect(pull.bind("tcp://127.0.0.1:0"))
        push.send(bytes(900_000))
        assert pull.recv(timeout=SECONDS) == bytes(900_000)


def is_over(end: socket.socket) -> bool:
    """Whether the other side has hung up."""
    end.setblocking(False)
    try:
        while end.recv(100):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    finally:
        end.settimeout(SECONDS)
    return True
