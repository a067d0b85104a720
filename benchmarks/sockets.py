"""o: PUSH, PULL and REQ through us against plain nng, between the same two processes."""

import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import failover, socket_sizes, waiting
from benchmarks.timing import Line, medians
from fairlead.sockets.pipe import TOGETHER
from fairlead.sockets.wire import Protocol, greeting, header

MESSAGES, REQUESTS = 50_000, 5_000
BODY = b"x" * 100
BUFFER = 128
PEER = """
import sys, pynng
kind, url, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
body = b"x" * 100
if kind == "pull":
    with pynng.Pull0(listen=url, recv_buffer_size=128) as peer:
        print("ready", flush=True)
        for _ in range(n):
            peer.recv()
elif kind == "push":
    with pynng.Push0(listen=url, send_buffer_size=128) as peer:
        print("ready", flush=True)
        for _ in range(n):
            peer.send(body)
        sys.stdin.read()
else:
    with pynng.Rep0(listen=url) as peer:
        print("ready", flush=True)
        for _ in range(n):
            peer.send(peer.recv())
        sys.stdin.read()
print("done", flush=True)
"""


def with_peer(kind: str, n: int, work: Callable[[str], object]) -> Callable[[], object]:
    """Work with an nng peer in another process, until that has done its part."""

    def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            url = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        command = [sys.executable, "-c", PEER, kind, url, str(n)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as peer:
            assert peer.stdout is not None
            assert peer.stdin is not None
            peer.stdout.readline()
            work(url)
            peer.stdin.close()
            assert peer.stdout.readline() == "done\n"

    return run


def ours_sends(buffer: int, *, journal: bool = False) -> Callable[[str], None]:
    from fairlead.sockets import Push

    def work(url: str) -> None:
        with Push(buffer=buffer, journal=journal) as push:
            push.connect(url)
            for _ in range(MESSAGES):
                push.send(BODY)

    return work


def nng_sends(buffer: int) -> Callable[[str], None]:
    import pynng

    def work(url: str) -> None:
        push = pynng.Push0(dial=url, block_on_dial=True, send_buffer_size=buffer)
        for _ in range(MESSAGES):
            push.send(BODY)
        SENDERS.append(push)  # nng drops what it holds when it is closed

    return work


SENDERS: list[Any] = []


def ours_receives(url: str) -> None:
    from fairlead.sockets import Pull

    with Pull() as pull:
        pull.connect(url)
        for _ in range(MESSAGES):
            pull.recv()


def nng_receives(url: str) -> None:
    import pynng

    with pynng.Pull0(dial=url, recv_buffer_size=BUFFER) as pull:
        for _ in range(MESSAGES):
            pull.recv()


def ours_asks(url: str) -> None:
    from fairlead.sockets import Req

    with Req() as req:
        req.connect(url)
        for _ in range(REQUESTS):
            req.request(BODY)


def nng_asks(url: str) -> None:
    import pynng

    with pynng.Req0(dial=url, block_on_dial=True) as req:
        for _ in range(REQUESTS):
            req.send(BODY)
            req.recv()


SINK = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
print(f"tcp://127.0.0.1:{listener.getsockname()[1]}", flush=True)
def read(end):
    end.sendall(bytes.fromhex("0053500000510000"))
    room = bytearray(1 << 20)
    while end.recv_into(room):
        pass
while True:
    threading.Thread(target=read, args=(listener.accept()[0],), daemon=True).start()
"""
"""A PULL that only reads bytes, so that the sender is the limit."""


def bare(url: str, together: int) -> None:
    """What the interpreter allows: frames, and nothing else."""
    host, _, port = url.removeprefix("tcp://").partition(":")
    with socket.create_connection((host, int(port))) as end:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.sendall(greeting(Protocol.PUSH))
        end.recv(8, socket.MSG_WAITALL)
        frames: list[bytes] = []
        for _ in range(MESSAGES):
            frames.append(header(len(BODY)) + BODY)
            if len(frames) == together:
                end.sendall(b"".join(frames))
                frames.clear()


def into_a_sink(runs: int) -> list[Line]:
    """How fast a sender is by itself."""
    command = [sys.executable, "-c", SINK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sink:
        assert sink.stdout is not None
        url = sink.stdout.readline().strip()
        nng, ours, journal = nng_sends(BUFFER), ours_sends(BUFFER), ours_sends(BUFFER, journal=True)
        one, many = "a bare loop of socket.send", f"the same, {TOGETHER} frames a call"
        found = medians(
            {
                "nng push": lambda: nng(url),
                "push": lambda: ours(url),
                "push, journal": lambda: journal(url),
                one: lambda: bare(url, 1),
                many: lambda: bare(url, TOGETHER),
            },
            runs,
        )
        sink.kill()
    theirs = found.pop("nng push")
    return [
        Line("o", f"sender alone, messages a second, {each}", "nng push", theirs / took, "")
        for each, took in found.items()
    ]


def part_o(runs: int) -> list[Line]:
    """How much of nng's own speed is left; of a request, how much longer it takes."""
    found = medians(
        {
            "nng push, buffered": with_peer("pull", MESSAGES, nng_sends(BUFFER)),
            "push, buffered": with_peer("pull", MESSAGES, ours_sends(BUFFER)),
            "nng push, unbuffered": with_peer("pull", MESSAGES, nng_sends(0)),
            "push, buffer 1": with_peer("pull", MESSAGES, ours_sends(1)),
            "nng pull": with_peer("push", MESSAGES, nng_receives),
            "pull": with_peer("push", MESSAGES, ours_receives),
            "nng req": with_peer("rep", REQUESTS, nng_asks),
            "req": with_peer("rep", REQUESTS, ours_asks),
        },
        runs,
    )
    alone = into_a_sink(runs)
    while SENDERS:
        SENDERS.pop().close()
    rates = (
        ("push, buffered", "nng push, buffered", ">= 0.8"),
        ("push, buffer 1", "nng push, unbuffered", ">= 0.6"),
        ("pull", "nng pull", ""),
    )
    lines = [
        Line("o", f"messages a second, {ours}", theirs, found[theirs] / found[ours], goal)
        for ours, theirs, goal in rates
    ]
    more = [*socket_sizes.lines(runs), *socket_sizes.many_and_tls(runs), *waiting.lines()]
    req = Line("o", "seconds, req", "nng req", found["req"] / found["nng req"], "<= 1.5")
    return [*lines, req, *more, *alone, *failover.lines()]
