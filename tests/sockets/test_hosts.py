"""Hosts that vanish, and one that is only slow. The other host is a network namespace."""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairlead.errors import SocketTimeoutError
from fairlead.sockets import Push, Rep, Req, hosts
from fairlead.sockets.base import Socket
from tests.ports import free_port

from .test_req_rep import SECONDS, serving
from .waiting import until, until_up

WORKER = Path(__file__).with_name("worker.py")
NUMBERS = itertools.count()
NETWORK = "10.213.77."


class Host:
    """Another host, behind a network of which only we are the other end."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address

    def ip(self, *words: str) -> None:
        subprocess.run(["ip", "-n", self.name, *words], check=True, capture_output=True)  # noqa: S607

    def vanish(self) -> None:
        self.ip("link", "set", "there", "down")

    def come_back(self) -> None:
        self.ip("link", "set", "there", "up")
        # what the system believes of its neighbour is no older than that
        subprocess.run(["ip", "neighbour", "flush", "dev", self.name], check=True)  # noqa: S607

    @contextmanager
    def worker(self, kind: str, name: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
        url = f"tcp://{self.address}:{free_port()}"
        command = ["ip", "netns", "exec", self.name, sys.executable, str(WORKER), kind, url, name]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as found:
            assert found.stdout is not None
            assert found.stdout.readline()
            try:
                yield url, found
            finally:
                found.kill()
                found.wait()


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    for what, seconds in (("IDLE", 1), ("BETWEEN", 1), ("TRIES", 2)):
        monkeypatch.setattr(hosts, what, seconds)
    number = (
        next(NUMBERS) % 60
    )  # what is removed lasts a moment: another name and network each time
    name, here, there = f"fl{os.getpid()}-{number}", *(f"{NETWORK}{4 * number + k}" for k in (1, 2))
    commands = [
        f"ip netns add {name}",
        f"ip link add {name} type veth peer name there netns {name}",
        f"ip address add {here}/30 dev {name}",
        f"ip link set {name} up",
        f"ip -n {name} address add {there}/30 dev there",
        f"ip -n {name} link set there up",
    ]
    try:
        for each in commands:
            subprocess.run(each.split(), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)  # noqa: S607
        pytest.skip(f"not here: an own network: {error}")
    try:
        yield Host(name, there)
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)  # noqa: S607


def state(of: Socket, name: str) -> tuple[str, str]:
    return next((each.state, each.trouble) for each in of.endpoints() if each.name == name)


@pytest.mark.slow
def test_a_host_that_vanishes_while_nothing_is_on_its_way_is_down(host: Host) -> None:
    with host.worker("nng", "far") as (url, _), Req() as req:
        req.connect(url, name="far")
        assert req.request(b"1", timeout=SECONDS) == b"far 1"
        host.vanish()
        until(lambda: state(req, "far")[0] == "down")
        host.come_back()
        assert req.request(b"2", timeout=SECONDS) == b"far 2"


def test_a_host_that_vanishes_while_a_request_is_on_its_way_is_down(host: Host) -> None:
    with host.worker("nng", "far") as (url, _), Rep() as near, Req() as req:
        address = near.bind("tcp://127.0.0.1:0")
        req.connect(url, name="far", priority=1)
        req.connect(address, name="near", priority=2)
        until_up(req, "far", "near")
        host.vanish()
        with serving(near, "near "):
            assert req.request(b"1", timeout=SECONDS) == b"near 1"
            assert state(req, "far") == ("down", "its host has vanished")


def sent_until_full(push: Push) -> int:
    """Messages that were sent until there was no room for ten seconds."""
    for sent in itertools.count():
        try:
            push.send(b"%08d" % sent + bytes(100_000), timeout=10)
        except SocketTimeoutError:
            return sent
    raise AssertionError


@pytest.mark.slow
def test_a_reader_that_is_only_slow_keeps_its_connection(host: Host, tmp_path: Path) -> None:
    with host.worker("fairlead-pull", str(tmp_path / "got")) as (url, worker), Push() as push:
        push.connect(url, name="far")
        until_up(push, "far")
        # the child of `ip netns exec` is that process itself
        worker.send_signal(signal.SIGSTOP)
        sent = sent_until_full(push)
        worker.send_signal(signal.SIGCONT)
        until(lambda: (tmp_path / "got").stat().st_size == sent * 100_009)
        assert push.counters()["far"] == {"sent": sent}
