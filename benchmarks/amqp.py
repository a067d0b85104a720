"""u: a store over AMQP 1.0, with an unchanged client (rhea), beside the store used directly.

The server and the client are processes of their own; the client confirms each message. The store is
as durable as ever: SQLite with synchronous FULL, PostgreSQL with fsync. Node and npm are needed.
"""

from __future__ import annotations

import json
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
from typing import Any

import psutil

from benchmarks.stores import server
from benchmarks.timing import Line, medians
from fairlead import Store

RHEA = "rhea@3.0.5"
CLIENT = Path(__file__).with_name("amqp.js")
MESSAGES = 20_000
TURNS = 500
IDLE = 1_000
BODY = b"x" * 256
TOGETHER = 100


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
        with server(folder / "pg") as made:
            urls: dict[str, Callable[[], str]] = {
                "SQLite": lambda: f"sqlite:///{folder}/{next(numbers)}.db",
                "PostgreSQL": lambda: made(f"u{next(numbers)}"),
            }
            for database, url in urls.items():
                lines += _on(folder / "node_modules/rhea", database, url, runs)
    return lines


def _on(rhea: Path, database: str, url: Callable[[], str], runs: int) -> list[Line]:
    lines = []
    for window in (100, 1000):
        times = [_over(rhea, url(), window) for _ in range(runs)]
        found = {what: statistics.median(each[what] for each in times) for what in times[0]}
        direct = medians({"store": lambda: _directly(url())}, runs)["store"]
        both = found["send"] + found["receive"]
        note = " ".join(f"{what} {MESSAGES / found[what]:,.0f}/s" for what in found)
        what = f"{database}: the store, {TOGETHER} at a time"
        lines.append(Line("u", what, f"AMQP, {window} in flight", direct / both, ">= 0.8", note))
    with _serving(url()) as (port, process):
        turns = _client(rhea, port, TURNS, 1, "turns")
        note = f"p50 {turns['p50']:.1f} ms, p99 {turns['p99']:.1f} ms"
        before = psutil.Process(process.pid).memory_info().rss
        alone = _client(rhea, port, MESSAGES, 100, "send")["seconds"]
        with _idle(rhea, port):
            each = (psutil.Process(process.pid).memory_info().rss - before) / IDLE / 1024
            crowded = _client(rhea, port, MESSAGES, 100, "send")["seconds"]
    lines.append(
        Line(
            *("u", f"{database}: send with {IDLE:,} idle connections", "send alone"),
            alone / crowded,
            ">= 0.9",
            f"{each:.0f} KiB a connection; one message end to end {note}",
        )
    )
    return lines


def _over(rhea: Path, url: str, window: int) -> dict[str, float]:
    """Seconds to send, and to receive, over AMQP."""
    with _serving(url) as (port, _):
        return {
            what: _client(rhea, port, MESSAGES, window, what)["seconds"]
            for what in ("send", "receive")
        }


def _directly(url: str) -> None:
    with Store.open(url, create=True) as store:
        for _ in range(MESSAGES // TOGETHER):
            store.send_many("orders", [{"body": BODY}] * TOGETHER)
        while works := store.take_many("orders", TOGETHER):
            for work in works:
                list(work)
            store.accept(works)


@contextmanager
def _serving(url: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    Store.open(url, create=True).close()
    command = [sys.executable, "-m", "fairlead", "serve", "--store", url]
    process = subprocess.Popen(
        [*command, "--listen", "amqp://127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline().rpartition(":")[2]), process
    finally:
        process.terminate()
        process.wait()


def _client(rhea: Path, port: int, messages: int, window: int, what: str) -> dict[str, Any]:
    said = subprocess.run(
        _command(rhea, port, messages, window, what),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def _command(rhea: Path, *given: object) -> list[str]:
    return [shutil.which("node") or "node", str(CLIENT), str(rhea), *map(str, given)]


@contextmanager
def _idle(rhea: Path, port: int) -> Iterator[None]:
    process = subprocess.Popen(
        _command(rhea, port, IDLE, 1, "idle"),
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
