"""o: messages of several sizes, p50 and p99 of requests, and devices, each beside nng."""

import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.timing import Line

SIZES = {"100 B": (100, 30_000), "4 KiB": (4096, 20_000), "64 KiB": (65_536, 3_000)}
SIZES["1 MiB"] = (1 << 20, 250)
BUFFER = 128
LARGEST = 1 << 21
PEER = """
import sys, pynng
kind, url, size, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if kind == "pull":
    with pynng.Pull0(listen=url, recv_buffer_size=128, recv_max_size=0) as peer:
        print("ready", flush=True)
        while True:
            for _ in range(n):
                peer.recv()
            print("done", flush=True)
else:
    with pynng.Rep0(listen=url, recv_max_size=0) as peer:
        print("ready", flush=True)
        while True:
            peer.send(peer.recv())
"""
OURS_DEVICE = """
import sys
from fairlead.sockets import Device
with Device(max_size=1 << 21, journal=sys.argv[3] == "journal") as device:
    device.front.bind(sys.argv[1])
    device.back.connect(sys.argv[2])
    print("ready", flush=True)
    while sys.stdin.readline():
        pass
    if sys.argv[3] == "journal":
        device.back.recorded()
"""
NNG_DEVICE = """
import sys, pynng
from pynng import ffi, lib
front, back = ffi.new("nng_socket *"), ffi.new("nng_socket *")
lib.nng_rep0_open_raw(front)
lib.nng_req0_open_raw(back)
for each in (front, back):
    lib.nng_socket_set_size(each[0], b"recv-size-max", 0)
lib.nng_listen(front[0], sys.argv[1].encode(), ffi.NULL, 0)
lib.nng_dial(back[0], sys.argv[2].encode(), ffi.NULL, 0)
print("ready", flush=True)
lib.nng_device(front[0], back[0])
"""


def free() -> str:
    with socket.create_server(("127.0.0.1", 0)) as end:
        return f"tcp://127.0.0.1:{end.getsockname()[1]}"


@contextmanager
def running(script: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A program that says when it is ready, and is killed at the end."""
    command = [sys.executable, "-c", script, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as found:
        assert found.stdout is not None
        assert found.stdout.readline() == "ready\n"
        yield found
        found.kill()


def pushes(size: int, n: int, ours: bool) -> float:
    """Seconds until a peer of nng has n messages."""
    from fairlead.sockets import Push

    url, body = free(), b"x" * size
    with running(PEER, "pull", url, str(size), str(n)) as peer:
        assert peer.stdout is not None
        send: Callable[[bytes], object]
        if ours:
            push = Push(buffer=BUFFER, max_size=LARGEST)
            push.connect(url)
            send = push.send
        else:
            import pynng

            push = pynng.Push0(dial=url, block_on_dial=True, send_buffer_size=BUFFER)
            send = push.send
        took = []
        for _ in range(3):
            began = time.perf_counter()
            for _ in range(n):
                send(body)
            assert peer.stdout.readline() == "done\n"
            took.append(time.perf_counter() - began)
        push.close()
    return min(took)


def asks(url: str, size: int, n: int, ours: bool) -> list[float]:
    """Seconds of each of n requests."""
    from fairlead.sockets import Req

    body, took = b"x" * size, []
    if ours:
        with Req(max_size=LARGEST) as req:
            req.connect(url)
            for _ in range(n):
                began = time.perf_counter()
                req.request(body)
                took.append(time.perf_counter() - began)
        return took
    import pynng

    with pynng.Req0(dial=url, block_on_dial=True, recv_max_size=0) as nng:
        for _ in range(n):
            began = time.perf_counter()
            nng.send(body)
            nng.recv()
            took.append(time.perf_counter() - began)
    return took


def p50_p99(took: list[float]) -> tuple[float, float]:
    """Of requests, without the first ones."""
    cuts = statistics.quantiles(took[len(took) // 10 :], n=100)
    return cuts[49], cuts[98]


def direct(size: int, n: int, ours: bool) -> tuple[float, float]:
    """From one requester to a worker of nng."""
    url = free()
    with running(PEER, "rep", url, str(size), "0"):
        return p50_p99(asks(url, size, n, ours))


def through(script: str, size: int, n: int, more: str = "") -> tuple[float, float]:
    """From a requester of nng through a device to a worker of nng."""
    front, back = free(), free()
    with running(PEER, "rep", back, str(size), "0"), running(script, front, back, more):
        time.sleep(0.3)
        return p50_p99(asks(front, size, n, False))


def lines(runs: int) -> list[Line]:
    """A row for each size."""
    found = []
    for name, (size, n) in SIZES.items():
        asked = min(3000, n)
        rows: list[list[float]] = []
        for _ in range(runs):
            nng, ours = (pushes(size, n, each) for each in (False, True))
            nng_asks, our_asks = (direct(size, asked, each) for each in (False, True))
            nng_device = through(NNG_DEVICE, size, asked)
            device = through(OURS_DEVICE, size, asked)
            journal = through(OURS_DEVICE, size, asked, "journal")
            rows.append(
                [
                    nng / ours,
                    *(a / b for a, b in zip(our_asks, nng_asks, strict=True)),
                    nng_device[0] / device[0],
                    nng_device[0] / journal[0],
                ]
            )
            print(f"    {name}: {' '.join(f'{each:.2f}' for each in rows[-1])}", flush=True)
        middle = [statistics.median(each) for each in zip(*rows, strict=True)]
        whats = (
            (f"messages a second, push, {name}", "nng push", ">= 0.8"),
            (f"seconds of a request, p50, {name}", "nng req", "<= 1.2"),
            (f"seconds of a request, p99, {name}", "nng req", "<= 1.5"),
            (f"requests a second through a device, {name}", "nng_device", ">= 0.8"),
            (f"the same with a journal, {name}", "nng_device", ">= 0.7"),
        )
        for (what, against, goal), ratio in zip(whats, middle, strict=True):
            found.append(Line("o", what, against, ratio, goal))
    return found
