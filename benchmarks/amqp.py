"""u: a store over AMQP 1.0, with an unchanged client (rhea), beside the store used directly.

And beside RabbitMQ, where it is installed, with persistent messages on a durable queue. The servers
and the client are processes of their own; the client confirms each message. The store is as durable
as ever: SQLite with synchronous FULL, PostgreSQL with fsync. Node and npm are needed.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import psutil
from tests.rabbitmq import address, rabbitmq

from benchmarks.stores import server
from benchmarks.timing import Line
from fairlead import Store

RHEA: Final = "rhea@3.0.5"
CLIENT: Final = Path(__file__).with_name("amqp.js")
MESSAGES = 20_000
TURNS = 500
IDLE = 1_000
BODY: Final = b"x" * 256
TOGETHER: Final = 100
WINDOWS: Final = (100, 1000)
ORDERS, ONE = "orders", "turns"
"""Queues: for many messages, and for one at a time."""
SYNCS: Final = 300
Took = dict[str, dict[str, float]]
"""What was done (send, receive) → seconds, and of which processes' CPU."""


class Bench:
    """Where it runs, and what every measurement needs."""

    def __init__(self, folder: Path, rabbit: int | None) -> None:
        """`rabbit`: RabbitMQ's port; None: it is not installed."""
        self.folder, self.rabbit = folder, rabbit

    def client(
        self, port: int, what: str, messages: int, window: int, at: str = ORDERS
    ) -> dict[str, float]:
        """What the client says: seconds, and seconds of CPU."""
        line = self.command(port, what, messages, window, at)
        said = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True)
        found: dict[str, float] = json.loads(said.stdout)
        return found

    def command(self, port: int, what: str, messages: int, window: int, at: str) -> list[str]:
        """The client's."""
        rhea = self.folder / "node_modules/rhea"
        given = (CLIENT, rhea, port, messages, window, what, at)
        return [shutil.which("node") or "node", *map(str, given)]

    def over_amqp(self, url: str, window: int, program: str = "fairlead") -> Took:
        """Through `fairlead serve`."""
        found: Took = {}
        with serving(url, program) as (port, process):
            for what in ("send", "receive"):
                before = sum(process.cpu_times()[:2])
                found[what] = self.client(port, what, MESSAGES, window)
                found[what]["server"] = sum(process.cpu_times()[:2]) - before
        return found

    def over_rabbitmq(self, port: int, window: int) -> Took:
        """Through RabbitMQ."""
        return {
            what: self.client(port, what, MESSAGES, window, address(ORDERS))
            for what in ("send", "receive")
        }

    @contextmanager
    def idle(self, port: int) -> Iterator[None]:
        """Connections that say nothing."""
        process = subprocess.Popen(
            self.command(port, "idle", IDLE, 1, ORDERS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)
        try:
            yield
        finally:
            process.communicate()


def part_u(runs: int) -> list[Line]:
    """How much of the store's own speed is left over AMQP, and what a message waits."""
    npm = shutil.which("npm")
    if npm is None:
        print("    u: found no npm, allowed: with Node.js, whose rhea is the client")
        return []
    lines = []
    numbers = count()
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as name:
        folder = Path(name)
        install = [npm, "install", "--silent", "--prefix", name, RHEA]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        print(f"    the disk: {_syncs(folder):,.0f} fdatasync/s", flush=True)
        with (
            server(folder / "pg") as made,
            rabbitmq(folder / "rabbit", (ORDERS, ONE)) as port,
        ):
            if port is None:
                print("    u: found no RabbitMQ (apt-get install rabbitmq-server): without it")
            bench = Bench(folder, port)
            urls: dict[str, Callable[[], str]] = {
                "SQLite": lambda: f"sqlite:///{folder}/{next(numbers)}.db",
                "PostgreSQL": lambda: made(f"u{next(numbers)}"),
            }
            for database, url in urls.items():
                for window in WINDOWS:
                    lines += _beside(bench, database, url, window, runs)
                lines.append(_crowded(bench, database, url()))
    return lines


def _beside(
    bench: Bench, database: str, url: Callable[[], str], window: int, runs: int
) -> list[Line]:
    """All contenders in turn."""
    contenders: dict[str, Callable[[], Took]] = {
        "AMQP": lambda: bench.over_amqp(url(), window),
        "the store": lambda: _directly(url()),
        "no store": lambda: bench.over_amqp(url(), window, "benchmarks.storeless"),
    }
    if (port := bench.rabbit) is not None:
        contenders["RabbitMQ"] = lambda: bench.over_rabbitmq(port, window)
    every: dict[str, list[Took]] = {name: [] for name in contenders}
    for run in range(1 + runs):
        for name, work in contenders.items():
            took = work()
            if run:
                every[name].append(took)
    both: dict[str, float] = {}
    for name, found in every.items():
        median = {
            (what, key): statistics.median(each[what][key] for each in found)
            for what, of in found[0].items()
            for key in of
        }
        both[name] = sum(took for (_, key), took in median.items() if key == "seconds")
        said = ", ".join(_told(what, key, took) for (what, key), took in median.items())
        print(f"    {database}, {window} in flight: {name}: {said}", flush=True)
    flight = f"AMQP, {window} in flight"
    goals = {
        "the store": (f"{database}: the store, {TOGETHER} at a time", ">= 0.8"),
        "no store": (f"{database}: AMQP without a store", ""),
        "RabbitMQ": (f"{database}: RabbitMQ", ">= 0.5" if database == "SQLite" else ""),
    }
    return [
        Line("u", what, flight, both[name] / both["AMQP"], goal)
        for name, (what, goal) in goals.items()
        if name in both
    ]


def _told(what: str, key: str, took: float) -> str:
    if key == "seconds":
        return f"{what} {MESSAGES / took:,.0f}/s"
    whose = {"cpu": "the client's", "server": "the server's"}[key]
    return f"{1e6 * took / MESSAGES:.0f} us of {whose} CPU"


def _crowded(bench: Bench, database: str, url: str) -> Line:
    """One message at a time, from end to end; then many, alone and beside idle connections."""
    if bench.rabbit is not None:
        _tell_turns("RabbitMQ", bench.client(bench.rabbit, "turns", TURNS, 1, address(ONE)))
    with serving(url) as (port, process):
        _tell_turns(database, bench.client(port, "turns", TURNS, 1, ONE))
        bench.client(port, "send", MESSAGES, TOGETHER)
        before_them = bench.client(port, "send", MESSAGES, TOGETHER)["seconds"]
        before = process.memory_info().rss
        with bench.idle(port):
            each = (process.memory_info().rss - before) / IDLE / 1024
            crowded = bench.client(port, "send", MESSAGES, TOGETHER)["seconds"]
        after_them = bench.client(port, "send", MESSAGES, TOGETHER)["seconds"]
    alone = (before_them + after_them) / 2  # the queue grows, as nobody receives
    what = f"{database}: send with {IDLE:,} idle connections"
    note = f"{each:.0f} KiB a connection"
    return Line("u", what, "send alone", alone / crowded, ">= 0.9", note)


def _tell_turns(name: str, found: dict[str, float]) -> None:
    print(
        f"    {name}: one message from end to end: "
        f"p50 {found['p50']:.1f} ms, p99 {found['p99']:.1f} ms",
        flush=True,
    )


def _directly(url: str) -> Took:
    with Store.open(url, create=True) as store:
        began = time.perf_counter()
        for _ in range(MESSAGES // TOGETHER):
            store.send_many(ORDERS, [{"body": BODY}] * TOGETHER)
        sent = time.perf_counter()
        while works := store.take_many(ORDERS, TOGETHER):
            for work in works:
                list(work)
            store.accept(works)
        received = time.perf_counter()
    return {"send": {"seconds": sent - began}, "receive": {"seconds": received - sent}}


@contextmanager
def serving(url: str, program: str = "fairlead") -> Iterator[tuple[int, psutil.Process]]:
    """`fairlead serve` on a new store: its port, and its process."""
    Store.open(url, create=True).close()
    command = [sys.executable, "-m", program, "serve", "--store", url]
    process = subprocess.Popen(
        [*command, "--listen", "amqp://127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline().rpartition(":")[2]), psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _syncs(folder: Path) -> float:
    """So often a second this disk has 4 KiB."""
    path = folder / "syncs"
    with path.open("wb") as file:
        began = time.perf_counter()
        for _ in range(SYNCS):
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())
        took = time.perf_counter() - began
    path.unlink()
    return SYNCS / took
