"""Sockets that nobody closes, and nobody has any more: their files are closed all the same."""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead import Cluster
from fairlead.errors import ConfigError, SocketTimeoutError
from fairlead.sockets import Device, Pull, Push, Rep, Req
from fairlead.sockets.base import Socket

from .waiting import until, until_up


@pytest.fixture(autouse=True)
def _only_what_is_new() -> Iterator[None]:
    """What hundreds of tests have left is not looked through at each collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def threads() -> set[threading.Thread]:
    """Fairlead's; what other tests have left may begin some of its own when it is collected."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("fairlead-")}


def until_collected(holds: Callable[[], bool]) -> None:
    """The loop's thread may have a socket for a moment, just when rubbish is collected.

    So it gets time between two collections, which are long where much is in memory.
    """
    until(lambda: time.sleep(0.1) or (gc.collect() >= 0 and holds()))


def connected(kind: type[Socket], to: type[Socket]) -> Callable[[], object]:
    def begin() -> None:
        end, other = kind(), to()
        end.connect(other.bind("tcp://127.0.0.1:0"), name="other")
        end.connect("tcp://127.0.0.1:1", name="nobody")
        until_up(end, "other")

    return begin


def hanging(url: str) -> None:
    """A device behind a device, and a suspect, who is tried again and again."""
    near, far, req = Device(heartbeat=0.01), Device(heartbeat=0.01), Req(resend=0.05, retry=0.01)
    near.back.connect(far.front.bind("tcp://127.0.0.1:0"), name="far")
    req.connect(url, name="silent")
    until_up(near.back, "far")
    until_up(req, "silent")
    with pytest.raises(SocketTimeoutError):
        req.request(b"", timeout=0.2)
    assert req.endpoints()[0].state == "suspended"


@pytest.mark.costly
@pytest.mark.parametrize(
    "begin",
    [connected(Push, Pull), connected(Pull, Push), connected(Req, Rep), connected(Rep, Req)],
    ids=["push", "pull", "req", "rep"],
)
def test_a_socket_that_is_forgotten_leaves_no_file_open(begin: Callable[[], object]) -> None:
    gc.collect()
    before, others = files(), threads()
    begin()
    assert files() > before
    with pytest.warns(ResourceWarning, match="found a socket that was not closed: "):
        until_collected(lambda: files() <= before)
    until(lambda: threads() <= others)


def test_no_pause_and_no_heartbeat_keeps_a_socket() -> None:
    with Rep() as silent:
        url = silent.bind("tcp://127.0.0.1:0")
        gc.collect()
        before = files()
        hanging(url)
        assert files() > before
        with pytest.warns(ResourceWarning):
            until_collected(lambda: files() <= before)


def test_what_was_sent_by_it_still_arrives() -> None:
    with Pull() as pull:
        url = pull.bind("tcp://127.0.0.1:0")

        def forget() -> None:
            push = Push()
            push.connect(url, name="pull")
            until_up(push, "pull")
            for k in range(1000):
                push.send(b"%d" % k)

        forget()
        with pytest.warns(ResourceWarning, match="PUSH: ") as warned:
            until_collected(lambda: len(warned) > 0)
        assert [int(pull.recv(timeout=20)) for _ in range(1000)] == [*range(1000)]


def test_one_who_waits_has_it() -> None:
    """A thread that waits for a message keeps the socket."""
    found: list[bytes] = []
    urls: list[str] = []

    def wait() -> None:
        with Pull() as pull:
            urls.append(pull.bind("tcp://127.0.0.1:0"))
            found.append(pull.recv(timeout=20))

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: urls)
    gc.collect()
    time.sleep(0.05)
    with Push() as push:
        push.connect(urls[0])
        push.send(b"work", timeout=20)
        thread.join()
    assert found == [b"work"]


def test_one_that_could_not_be_made_leaves_nothing() -> None:
    cluster = Cluster.of("broadcast", destination=[{"name": "A", "address": "tcp://127.0.0.1:1"}])
    gc.collect()
    before = files()
    for _ in range(30):
        with pytest.raises(ConfigError):
            Push(cluster)
    gc.collect()
    until(lambda: files() <= before)
