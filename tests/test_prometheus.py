"""Who answers Prometheus, and whom nobody keeps from that."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.request import urlopen

import pytest

from fairlead import prometheus
from fairlead.errors import ConfigError
from fairlead.prometheus import MOST, MetricsServer

HALF = b"GET /metrics HTTP/1.1\r\n"


@pytest.fixture
def served() -> Iterator[MetricsServer]:
    with MetricsServer(lambda: "all is well\n", "0", ConfigError) as found:
        yield found


def half(of: MetricsServer) -> socket.socket:
    """A request that does not end."""
    host, port = of.url.removeprefix("http://").removesuffix("/metrics").split(":")
    found = socket.create_connection((host, int(port)), timeout=20)
    found.sendall(HALF)
    return found


def answer(of: MetricsServer) -> str:
    with urlopen(of.url, timeout=20) as found:  # noqa: S310 - of our own
        return str(found.read().decode())


def test_many_requests_that_do_not_end_keep_nobody_out(served: MetricsServer) -> None:
    before = threading.active_count()
    halves = []
    for _ in range(3 * MOST):
        halves.append(half(served))
        assert answer(served) == "all is well\n"
    assert threading.active_count() <= before + MOST + 2
    for each in halves[:MOST]:
        assert each.recv(100) == b""
    for each in halves:
        each.close()


def test_a_request_that_does_not_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "SECONDS", 0.5)
    with MetricsServer(lambda: "", "0", ConfigError) as served, half(served) as silent:
        with suppress(OSError):
            for _ in range(100):  # a byte now and then makes it no younger
                silent.sendall(b"x")
                time.sleep(0.05)
        assert silent.recv(100) == b""


def test_who_asks_and_goes_leaves_no_line(capfd: pytest.CaptureFixture[str]) -> None:
    gone = threading.Event()

    def text() -> str:
        gone.wait(10)
        return "x" * 10_000_000

    with MetricsServer(text, "0", ConfigError) as served:
        asking = half(served)
        asking.sendall(b"\r\n")
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        asking.close()
        gone.set()
        assert len(answer(served)) == 10_000_000
    assert capfd.readouterr().err == ""
