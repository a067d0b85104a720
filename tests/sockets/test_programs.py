"""nanocat, of nanomsg itself, and nngcat, where they are installed: both directions."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fairlead.sockets import Device, Pull, Push, Rep, Req
from tests import peers

from .conftest import Addresses
from .waiting import until

SECONDS = 30


@pytest.fixture(params=["nanocat", "nngcat"])
def program(request: pytest.FixtureRequest) -> str:
    return peers.program(request.param)


@contextmanager
def running(program: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [program, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("binds", [True, False])
def test_what_a_program_pushes_is_pulled(program: str, binds: bool, addresses: Addresses) -> None:
    with Pull() as pull:
        url = addresses() if binds else pull.bind(addresses())
        if binds:
            pull.connect(url)
        where = "--bind" if binds else "--connect"
        with running(program, "--push", where, url, "--data", "work", "--interval", "1"):
            assert pull.recv(timeout=SECONDS) == b"work"


@pytest.mark.parametrize("binds", [True, False])
def test_a_program_pulls_what_is_pushed(program: str, binds: bool, addresses: Addresses) -> None:
    with Push() as push:
        url = addresses() if binds else push.bind(addresses(), priority=3)
        if binds:
            push.connect(url)
        with running(program, "--pull", "--bind" if binds else "--connect", url, "-Q") as process:
            push.send(b"work", timeout=SECONDS)
            push.send(b"more", timeout=SECONDS)
            assert [line_of(process), line_of(process)] == ['"work"', '"more"']


def test_a_program_answers_requests_and_another_takes_over(
    program: str, addresses: Addresses
) -> None:
    first, second = addresses(), addresses()
    with Req() as req, running(program, "--rep", "--bind", second, "--data", "second", "-Q"):
        req.connect(first, name="first", priority=1)
        req.connect(second, name="second", priority=2)
        with running(program, "--rep", "--bind", first, "--data", "first", "-Q"):
            until(lambda: req.request(b"question", timeout=SECONDS) == b"first")
        assert req.request(b"question", timeout=SECONDS) == b"second"


def test_a_program_asks_through_a_device(program: str, addresses: Addresses) -> None:
    with Device() as device, Rep() as rep:
        device.back.connect(rep.bind(addresses()))
        url = device.front.bind(addresses())
        serving = threading.Thread(target=rep.serve, args=(lambda body: body + b" answered",))
        serving.start()
        with running(program, "--req", "--connect", url, "--data", "question", "-Q") as process:
            assert line_of(process) == '"question answered"'
        rep.close()
        serving.join()
