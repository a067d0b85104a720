"""m: a destination from the database: ours, and the document's procedure written by hand."""

import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.stores import server
from benchmarks.timing import Line
from fairlead import Cluster, Store

CALLS = 300
CALLERS = 8
SIZES = (8, 1000)

SCHEMA = """
CREATE TABLE hand_clusters (name text PRIMARY KEY);
CREATE TABLE hand_machines (cluster text, name text, queue_path text,
  sent bigint NOT NULL DEFAULT 0,
  weight bigint NOT NULL, enabled boolean NOT NULL DEFAULT true, PRIMARY KEY (cluster, name))
  WITH (fillfactor = 50);
CREATE TABLE hand_jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text, body text);
INSERT INTO hand_clusters VALUES ('pool');

CREATE FUNCTION hand_racing(p_cluster text, OUT server text, OUT path text) LANGUAGE plpgsql AS $$
BEGIN
  SELECT name, queue_path INTO server, path FROM hand_machines
    WHERE cluster = p_cluster AND enabled
    ORDER BY sent::float / weight, weight DESC, name LIMIT 1;
  UPDATE hand_machines SET sent = sent + 1 WHERE cluster = p_cluster AND name = server;
END $$;

CREATE FUNCTION hand_locked(p_cluster text, OUT server text, OUT path text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM hand_clusters WHERE name = p_cluster FOR UPDATE;
  SELECT name, queue_path INTO server, path FROM hand_machines
    WHERE cluster = p_cluster AND enabled
    ORDER BY sent::float / weight, weight DESC, name LIMIT 1;
  UPDATE hand_machines SET sent = sent + 1 WHERE cluster = p_cluster AND name = server;
END $$;

CREATE TABLE hand_log (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(), who text NOT NULL DEFAULT session_user,
  cluster text NOT NULL, machine text NOT NULL);

CREATE FUNCTION hand_logged(p_cluster text, OUT server text, OUT path text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM hand_clusters WHERE name = p_cluster FOR UPDATE;
  SELECT name, queue_path INTO server, path FROM hand_machines
    WHERE cluster = p_cluster AND enabled
    ORDER BY sent::float / weight, weight DESC, name LIMIT 1;
  UPDATE hand_machines SET sent = sent + 1 WHERE cluster = p_cluster AND name = server;
  INSERT INTO hand_log (cluster, machine) VALUES (p_cluster, server);
END $$;
"""
CALLER = """
import sys, psycopg
url, calls, *statements = sys.argv[1:]
body = "x" * 256
with psycopg.connect(url, autocommit=True) as connection:
    def call():
        found = connection.execute(statements[0], prepare=True).fetchone()
        if len(statements) > 1:
            connection.execute(statements[1], (found[0], body), prepare=True)
        return found[0]
    several = len(statements) > 1
    def one():
        if several:
            with connection.transaction():
                return call()
        return call()
    for _ in range(20):
        one()
    print("ready", flush=True)
    sys.stdin.readline()
    names = [one() for _ in range(int(calls))]
    print(" ".join(names), flush=True)
"""
BY_HAND = "SELECT server FROM hand_locked('pool')"
LOGGED = "SELECT server FROM hand_logged('pool')"
RACING = "SELECT server FROM hand_racing('pool')"
ENQUEUE = "INSERT INTO hand_jobs (queue, body) VALUES (%s, %s)"
OURS = "SELECT destination FROM fairlead.next_destination('{}')"
OURS_SENT = "SELECT destination FROM fairlead.publish('{}', repeat('x', 256))"


def part_m(runs: int) -> list[Line]:
    """Choices a second; a ratio of ours to theirs above 1 means that ours is faster."""
    lines = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-bench-")))
        url = stack.enter_context(server(folder / "pg"))
        numbers = count()
        for size in SIZES:
            place = url(f"choices_{next(numbers)}")
            prepare(place, size)
            lines += on_postgresql(place, size, runs)
            lines += on_sqlite(folder / f"{size}.db", size, runs)
        race(url(f"race_{next(numbers)}"))
    return lines


def machines(size: int) -> list[tuple[str, int]]:
    """Names and weights."""
    return [(f"M{k:04d}", 1 + k * 7 % 10) for k in range(size)]


def prepare(url: str, size: int) -> None:
    """The same machines, by hand and in a store, counted exactly and by tickets."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SCHEMA.encode())
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO hand_machines (cluster, name, queue_path, weight) "
                "VALUES ('pool', %s, 'path', %s)",
                machines(size),
            )
    plain = [{"name": name, "weight": weight} for name, weight in machines(size)]
    with Store.open(url, create=True) as store:
        store.keep_clusters(
            [
                Cluster.of("msmq", name="pool", destination=plain),
                Cluster.of(
                    "msmq", name="tickets", destination=plain, store={"allocation": "ticket"}
                ),
            ]
        )


def on_postgresql(url: str, size: int, runs: int) -> list[Line]:
    """Plain SQL, all contenders in turn."""
    lines = []
    for callers in (1, CALLERS):
        alone = {
            "by hand": [BY_HAND],
            "by hand with a journal": [LOGGED],
            "exact": [OURS.format("pool")],
            "ticket": [OURS.format("tickets")],
        }
        sent = {
            "by hand": [BY_HAND, ENQUEUE],
            "by hand with a journal": [LOGGED, ENQUEUE],
            "exact": [OURS_SENT.format("pool")],
            "ticket": [OURS_SENT.format("tickets")],
        }
        for what, contenders in (("alone", alone), ("with a send", sent)):
            took: dict[str, list[float]] = {name: [] for name in contenders}
            for _ in range(runs):
                for name, statements in contenders.items():
                    took[name].append(together(url, callers, statements)[0])
            median = {name: statistics.median(each) for name, each in took.items()}
            where = f"PostgreSQL: {what}, {size} machines, {callers} callers"
            for name, each in median.items():
                print(f"    {where}: {name}: {callers * CALLS / each:,.0f}/s", flush=True)
            for name in ("exact", "ticket"):
                goal = ">= 2" if name == "ticket" and callers == CALLERS else ">= 0.8"
                for hand in ("by hand", "by hand with a journal"):
                    ratio = median[hand] / median[name]
                    lines.append(Line("m", where, f"{name} against {hand}", ratio, goal))
    return lines


def on_sqlite(path: Path, size: int, runs: int) -> list[Line]:
    """One caller; the statements by hand, in a transaction, as durable as ours."""
    hand = sqlite3.connect(path.with_suffix(".hand"), isolation_level=None)
    hand.execute("PRAGMA journal_mode = WAL")
    hand.execute("PRAGMA synchronous = FULL")
    hand.execute("CREATE TABLE machines (name TEXT PRIMARY KEY, weight INTEGER, sent INTEGER)")
    hand.executemany("INSERT INTO machines VALUES (?, ?, 0)", machines(size))
    pick = "SELECT name FROM machines ORDER BY 1.0 * sent / weight, weight DESC, name LIMIT 1"

    def by_hand() -> None:
        hand.execute("BEGIN IMMEDIATE")
        (name,) = hand.execute(pick).fetchone()
        hand.execute("UPDATE machines SET sent = sent + 1 WHERE name = ?", (name,))
        hand.execute("COMMIT")

    with Store.open(f"sqlite:///{path}") as store:
        plain = [{"name": name, "weight": weight} for name, weight in machines(size)]
        store.keep_clusters([Cluster.of("msmq", name="pool", destination=plain)])
        took: dict[str, list[float]] = {"ours": [], "by hand": []}
        for _ in range(1 + runs):
            took["ours"].append(seconds(lambda: store.next_destination("pool")))
            took["by hand"].append(seconds(by_hand))
    hand.close()
    ours, theirs = (statistics.median(took[name][1:]) for name in ("ours", "by hand"))
    where = f"SQLite: alone, {size} machines, 1 caller"
    print(f"    {where}: ours: {CALLS / ours:,.0f}/s, by hand: {CALLS / theirs:,.0f}/s", flush=True)
    return [Line("m", where, "exact against by hand", theirs / ours, ">= 0.8")]


def race(url: str) -> None:
    """How far callers at once are from the weights, window by window, if nobody waits."""
    prepare(url, 8)
    weights = dict(machines(8))
    window = sum(weights.values())
    for name, statement in (("without a lock", RACING), ("ours", OURS.format("pool"))):
        column, _, source = statement.removeprefix("SELECT ").partition(" ")
        timed = f"SELECT {column} || '@' || extract(epoch FROM clock_timestamp()) {source}"  # noqa: S608
        _, told = together(url, CALLERS, [timed])
        names = [
            each.partition("@")[0] for each in sorted(told, key=lambda each: each.split("@")[1])
        ]
        windows = [names[k : k + window] for k in range(0, len(names) - window, window)]
        wrong = sum(
            abs(each.count(machine) - weight) / 2
            for each in windows
            for machine, weight in weights.items()
        ) / (len(windows) * window)
        print(
            f"    {CALLERS} callers at once, {name}: of {window} messages in a row {wrong:.1%} go "
            "where the weights do not send them",
            flush=True,
        )


def together(url: str, callers: int, statements: list[str]) -> tuple[float, list[str]]:
    """Several processes call at one time: how long that took, and what they were told."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CALLER, url, str(CALLS), *statements],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(callers)
    ]
    for each in lines_of(processes):
        assert each == "ready\n"
    began = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [line.split() for line in lines_of(processes)]
    took = time.perf_counter() - began
    for process in processes:
        process.communicate()
    return took, [name for each in told for name in each]


def lines_of(processes: list[Any]) -> Iterator[str]:
    """The next line of each."""
    for each in processes:
        yield each.stdout.readline()


def seconds(call: Callable[[], object]) -> float:
    """How long many calls take."""
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    return time.perf_counter() - began
