"""o: messages of several sizes, p50 and p99 of requests, and devices, each beside nng.

And to 1,000 peers, and over TLS.
"""

import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.timing import Line

SIZES = {"100 B": (100, 30_000), "4 KiB": (4096, 20_000), "64 KiB": (65_536, 3_000)}
SIZES["1 MiB"] = (1 << 20, 250)
BUFFER = 128
LARGEST = 1 << 21
MANY = 1000
PEER = """
import sys, pynng
from pathlib import Path
kind, url, n, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
tls = {}
if folder:
    config, name = pynng.TLSConfig, "certificate.pem"
    key, certificate = (Path(folder, each).read_text() for each in ("key.pem", name))
    tls["tls_config"] = config(
        config.MODE_SERVER, own_key_string=key, own_cert_string=certificate
    )
if kind == "pull":
    with pynng.Pull0(recv_buffer_size=128, recv_max_size=0, **tls) as peer:
        peer.listen(url)
        print("ready", flush=True)
        while True:
            for _ in range(n):
                peer.recv()
            print("done", flush=True)
else:
    with pynng.Rep0(recv_max_size=0, **tls) as peer:
        peer.listen(url)
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


@dataclass(frozen=True)
class Link:
    """How a sender is connected to the peers, which are one process."""

    peers: int = 1
    folder: str = ""
    """Of a certificate for TLS."""

    def url(self) -> str:
        """A free one."""
        return free().replace(
            "tcp://127.0.0.1", "tls+tcp://localhost" if self.folder else "tcp://127.0.0.1"
        )

    def connect(self, end: Any, url: str) -> None:  # noqa: ANN401 - one of our sockets
        """Each of them, and wait until all are there."""
        from fairlead.sockets.tls import authority

        tls = authority(f"{self.folder}/certificate.pem") if self.folder else None
        for k in range(self.peers):
            end.connect(url, name=f"peer-{k}", tls=tls)
        while any(each.state != "up" for each in end.endpoints()):
            time.sleep(0.05)

    def dial(self, end: Any, url: str) -> None:  # noqa: ANN401 - one of nng's sockets
        """The same."""
        import pynng

        if self.folder:
            config = pynng.TLSConfig
            text = Path(self.folder, "certificate.pem").read_text()
            end.tls_config = config(
                config.MODE_CLIENT,
                server_name="localhost",
                ca_string=text,
                auth_mode=config.AUTH_MODE_REQUIRED,
            )
        for _ in range(self.peers):
            end.dial(url, block=True)


ONE = Link()


def pushes(size: int, n: int, ours: bool, link: Link = ONE) -> float:
    """Seconds until a peer of nng has n messages."""
    from fairlead.sockets import Push

    url, body = link.url(), b"x" * size
    with running(PEER, "pull", url, str(n), link.folder) as peer:
        assert peer.stdout is not None
        end: Any
        if ours:
            end = Push(buffer=BUFFER, max_size=LARGEST)
            link.connect(end, url)
        else:
            import pynng

            end = pynng.Push0(send_buffer_size=BUFFER)
            link.dial(end, url)
        send: Callable[[bytes], object] = end.send
        took = []
        for _ in range(3):
            began = time.perf_counter()
            for _ in range(n):
                send(body)
            assert peer.stdout.readline() == "done\n"
            took.append(time.perf_counter() - began)
        end.close()
    return min(took)


def asks(url: str, size: int, n: int, ours: bool, link: Link = ONE) -> list[float]:
    """Seconds of each of n requests."""
    from fairlead.sockets import Req

    body, took = b"x" * size, []
    if ours:
        with Req(max_size=LARGEST) as req:
            link.connect(req, url)
            for _ in range(n):
                began = time.perf_counter()
                req.request(body)
                took.append(time.perf_counter() - began)
        return took
    import pynng

    with pynng.Req0(recv_max_size=0) as nng:
        link.dial(nng, url)
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


def direct(size: int, n: int, ours: bool, link: Link = ONE) -> tuple[float, float]:
    """From one requester to a worker of nng."""
    url = link.url()
    with running(PEER, "rep", url, "0", link.folder):
        return p50_p99(asks(url, size, n, ours, link))


def through(script: str, size: int, n: int, more: str = "") -> tuple[float, float]:
    """From a requester of nng through a device to a worker of nng."""
    front, back = free(), free()
    with running(PEER, "rep", back, "0", ""), running(script, front, back, more):
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


@contextmanager
def certificate() -> Iterator[str]:
    """The folder of one for localhost, which has signed itself; "" where there is no openssl."""
    program = shutil.which("openssl")
    if program is None:
        print("    found no openssl, which makes a certificate: nothing over TLS", flush=True)
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder:
        options = ["req", "-x509", "-nodes", "-days", "2", "-newkey", "rsa:2048"]
        files = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem"]
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        subprocess.run([program, *options, *names, *files], check=True, capture_output=True)
        yield folder


def many_and_tls(runs: int) -> list[Line]:
    """The same to 1,000 peers, and over TLS, of two sizes."""
    found = []
    with certificate() as folder:
        links = {f"{MANY:,} peers": Link(MANY)} | ({"TLS": Link(1, folder)} if folder else {})
        for kind, link in links.items():
            for name in ("100 B", "64 KiB"):
                size, n = SIZES[name]
                asked = min(3000, n)
                rows: list[list[float]] = []
                for _ in range(runs):
                    nng, ours = (pushes(size, n, each, link) for each in (False, True))
                    theirs, own = (direct(size, asked, each, link) for each in (False, True))
                    rows.append([nng / ours, *(a / b for a, b in zip(own, theirs, strict=True))])
                    numbers = " ".join(f"{each:.2f}" for each in rows[-1])
                    print(f"    {kind}, {name}: {numbers}", flush=True)
                whats = (
                    (f"messages a second, push, {kind}, {name}", "nng push", ">= 0.8"),
                    (f"seconds of a request, p50, {kind}, {name}", "nng req", "<= 1.2"),
                    (f"seconds of a request, p99, {kind}, {name}", "nng req", "<= 1.5"),
                )
                middle = [statistics.median(each) for each in zip(*rows, strict=True)]
                for (what, against, goal), ratio in zip(whats, middle, strict=True):
                    found.append(Line("o", what, against, ratio, goal))
    return found
