"""a, b, d: dispatch on Spark against the same job without routing, and against a user's own."""

import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks import data
from benchmarks.jobs import Jobs
from benchmarks.timing import Line, medians
from benchmarks.watch import Memory, longest_task
from fairlead import Cluster

EVENTS = "events"
"""Where the session writes what its tasks did."""
WEIGHTED = {"cluster": "queue"}
ENTANGLED = {"queue": "concat('ORDERS.', pmod(size, 50))"}


def part_a(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """Against the same Spark job with the routing left out."""
    jobs, source = Jobs(spark, folder), data.messages(folder, rows)
    weighted, entangled = data.weighted(folder), data.entangled(folder)
    changes = data.changes(folder, rows)
    in_order = folder / f"in-order-{rows}"
    if not in_order.exists():
        jobs.order(source)
        Path(jobs.out).rename(in_order)

    def ours(place: Path, *, trust: bool) -> Callable[[], object]:
        return lambda: jobs.dispatch(place, weighted, changes, WEIGHTED, trust_ids=trust)

    found = medians(
        {
            "read, order, write": lambda: jobs.order(source),
            "floor": lambda: jobs.floor(source, in_order=False),
            "dispatch, one stream": lambda: jobs.dispatch(
                source, one_stream(), None, {}, trust_ids=True
            ),
            "dispatch --trust-ids": ours(source, trust=True),
            "dispatch": ours(source, trust=False),
            "dispatch, entangled": lambda: jobs.dispatch(
                source, entangled, None, ENTANGLED, trust_ids=True
            ),
            "plain copy": lambda: jobs.copy(in_order),
            "floor, in order": lambda: jobs.floor(in_order, in_order=True),
            "dispatch, in order": ours(in_order, trust=True),
        },
        runs,
    )
    base, copy = found["read, order, write"], found["plain copy"]
    limit = "read, order, write"
    one = found["dispatch, one stream"] / base
    return [
        Line("a", "only what nobody can do without", limit, found["floor"] / base, ""),
        Line("a", "dispatch --trust-ids, one stream", limit, one, "<= 1.0"),
        Line("a", "dispatch --trust-ids", limit, found["dispatch --trust-ids"] / base, "<= 1.15"),
        Line("a", "dispatch", limit, found["dispatch"] / base, "<= 1.25", "ids checked"),
        Line("a", "dispatch, entangled", limit, found["dispatch, entangled"] / base, "<= 1.5"),
        Line("a", "only what nobody can", "plain copy", found["floor, in order"] / copy, ""),
        Line("a", "dispatch, in order", "plain copy", found["dispatch, in order"] / copy, "<= 1.8"),
    ]


def one_stream() -> Cluster:
    """The cluster of one of the ten streams."""
    destinations = [{"name": f"D{k}", "weight": w} for k, w in enumerate(data.WEIGHTS)]
    return Cluster.of("msmq", destination=destinations)


def part_b(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """Against a window and a join."""
    jobs, weighted = Jobs(spark, folder), data.weighted(folder)
    lines = []
    for hot, goal in ((False, ">= 1.15"), (True, ">= 1.6")):
        source = data.messages(folder, rows, hot=hot)

        def ours(place: Path = source) -> None:
            jobs.dispatch(place, weighted, None, WEIGHTED, trust_ids=True)

        def window(place: Path = source) -> None:
            jobs.window(place)

        found = medians({"row_number and join": window, "dispatch": ours}, runs)
        spread = "99 % in one stream" if hot else "evenly spread"
        ratio = found["row_number and join"] / found["dispatch"]
        lines.append(Line("b", "row_number and join", f"dispatch, {spread}", ratio, goal))
        began = time.time()
        ours()
        longest = longest_task(folder / EVENTS, began, time.time())
        lines.append(Line("b", "longest task", f"median task, {spread}", longest, "<= 1.5"))
    return lines


def part_d(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """Growth: a tenth, the whole, five times as much."""
    jobs, weighted = Jobs(spark, folder), data.weighted(folder)
    sizes = (rows // 10, rows, rows * 5)

    def ours(n: int) -> Callable[[], object]:
        source = data.messages(folder, n)
        return lambda: jobs.dispatch(source, weighted, None, WEIGHTED, trust_ids=True)

    memory = {}
    each = {}
    for n in sizes:
        with Memory() as seen:
            each[n] = medians({f"{n:,}": ours(n)}, runs)[f"{n:,}"] / n
        memory[n] = seen
    lines = []
    for n in (sizes[0], sizes[2]):
        at = f"at {rows:,}"
        lines.append(Line("d", f"time a message at {n:,}", at, each[n] / each[rows], "about 1"))
        driver = memory[n].driver / memory[rows].driver
        lines.append(Line("d", f"memory of the driver's Python at {n:,}", at, driver, "about 1"))
        worker = memory[n].worker / memory[rows].worker
        lines.append(Line("d", f"memory of the largest worker at {n:,}", at, worker, "about 1"))
    return lines
