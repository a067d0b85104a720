"""k: replays from Parquet to Parquet on Spark: against SimPy, by messages and by scenarios."""

from collections.abc import Callable, Generator
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import simpy
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.jobs import Jobs
from benchmarks.replays import LOAD, MANY, ONE_ROUND, WEIGHTS
from benchmarks.timing import Line
from benchmarks.watch import Memory
from fairlead import Cluster
from fairlead.runs.constants import ALL_ROWS, NO_ROWS

SIMPY_PART = 10
FEWER = 10
MANY_SCENARIOS = 8
HUNDREDS = 200
MORE = 6
"""So many numbers of readers each destination has in turn."""
ROWS_A_FILE = 1_000_000
BY_WEIGHT = "weighted over 3"
IN_ORDER = f"priorities and groups, {MANY} readers"


def part_k(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """One run of each, whatever `runs` is: they are long."""
    del runs
    jobs = Jobs(spark, folder)
    models = ((BY_WEIGHT, sum(WEIGHTS)), (IN_ORDER, MANY))
    return [line for model in models for line in measured(jobs, folder, rows, *model)]


def measured(jobs: Jobs, folder: Path, rows: int, what: str, readers: int) -> list[Line]:
    """One model."""
    fewer, least = max(1, rows // FEWER), max(1, rows // SIMPY_PART)
    seconds: dict[str, float] = {}
    memory: dict[str, float] = {}

    def run(name: str, work: Callable[[], None]) -> None:
        began = perf_counter()
        with Memory() as watched:
            work()
        seconds[name], memory[name] = perf_counter() - began, watched.worker
        print(f"    {what}, {name}: {seconds[name]:.1f} s, {memory[name]:.0f} MiB", flush=True)

    def ours(name: str, n: int, scenarios: int, kept: str = ALL_ROWS) -> None:
        source = traffic(folder, n, readers)
        run(name, lambda: replayed(jobs, source, what, n, scenarios, kept))

    ours("warm-up", least, 1)
    ours("fewer", fewer, 1)
    ours("one", rows, 1)
    ours("many", rows, MANY_SCENARIOS)
    ours("answers", rows, MANY_SCENARIOS, NO_ROWS)
    ours("hundreds", rows, HUNDREDS, NO_ROWS)
    source = traffic(folder, rows, readers)
    run("limit", lambda: jobs.write(rows_alone(jobs.spark, source, what), "scenario"))
    source = traffic(folder, least, readers)
    run("SimPy", lambda: in_simpy(source, folder / "simpy.parquet", what))
    pace = {
        "SimPy": seconds["SimPy"] / least,
        "fewer": seconds["fewer"] / fewer,
        "one": seconds["one"] / rows,
        "many": seconds["many"] / rows / MANY_SCENARIOS,
        "answers": seconds["answers"] / rows / MANY_SCENARIOS,
        "hundreds": seconds["hundreds"] / rows / HUNDREDS,
    }
    several, bytes_ = f"{MANY_SCENARIOS} scenarios", memory["one"] / memory["fewer"]
    return [
        Line("k", f"SimPy, {what}", "replay", pace["SimPy"] / pace["one"], ""),
        Line("k", f"SimPy, {what}", f"each of {several}", pace["SimPy"] / pace["many"], ""),
        Line(
            "k",
            f"SimPy, {what}",
            f"each of {several}, no rows written",
            pace["SimPy"] / pace["answers"],
            ">= 20",
        ),
        Line(
            "k",
            f"SimPy, {what}",
            f"each of {HUNDREDS} scenarios, no rows written",
            pace["SimPy"] / pace["hundreds"],
            ">= 100",
        ),
        Line(
            "k",
            f"{several}, {what}",
            "writing the same rows",
            seconds["many"] / seconds["limit"],
            "",
        ),
        Line("k", f"a message of {several}, {what}", "of 1", pace["many"] / pace["one"], ""),
        Line("k", f"a message of {rows:,}, {what}", f"{fewer:,}", pace["one"] / pace["fewer"], ""),
        Line("k", f"memory of the largest worker, {rows:,}, {what}", f"{fewer:,}", bytes_, ""),
    ]


def traffic(folder: Path, rows: int, readers: int) -> Path:
    """Poisson arrivals, exponential work, ten priorities, four messages to a group; made once."""
    place = folder / f"traffic-{rows}-{readers}"
    if place.exists():
        return place
    making = folder / f"making-{place.name}"
    making.mkdir(parents=True)
    random = np.random.default_rng(7)
    latest = 0.0
    for k in range(0, rows, ROWS_A_FILE):
        n = min(ROWS_A_FILE, rows - k)
        times = latest + np.cumsum(random.exponential(1 / (LOAD * readers), n))
        latest = times[-1]
        table = {
            "id": pa.array([f"m{i:09d}" for i in range(k, k + n)]),
            "time": times.round(6),
            "service_time": random.exponential(1, n).round(6).clip(1e-6),
            "priority": random.integers(0, 10, n),
            "group": pa.array(random.integers(0, rows // 4 + 1, n)).cast(pa.string()),
        }
        pq.write_table(pa.table(table), making / f"part-{k // ROWS_A_FILE:05d}.parquet")
    making.rename(place)
    return place


def clusters(what: str, scenarios: int) -> list[Cluster]:
    """As many that differ a little."""
    if what == IN_ORDER:
        return [
            Cluster.of(
                "round-robin",
                order={"discipline": "priority", "ageing": k // MANY},
                destination=[{"name": "A", "readers": MANY + k % MANY}],
            )
            for k in range(scenarios)
        ]
    every = []
    for k in range(scenarios):
        readers = [w + k // MORE**i % MORE for i, w in enumerate(WEIGHTS)]
        named = enumerate(zip(WEIGHTS, readers, strict=True))
        destination = [{"name": f"D{i}", "weight": w, "readers": r} for i, (w, r) in named]
        every.append(Cluster.of("weighted", destination=destination))
    return every


def dropped(what: str) -> list[str]:
    return ["priority", "group"] if what == BY_WEIGHT else []


def replayed(jobs: Jobs, source: Path, what: str, rows: int, scenarios: int, kept: str) -> None:
    found = jobs.replay(source, clusters(what, scenarios), drop=dropped(what), kept=kept)
    assert [each.messages for each in found.scenarios] == [rows] * scenarios
    assert all(each.groups_out_of_order == 0 for each in found.scenarios)


def rows_alone(spark: SparkSession, source: Path, what: str) -> DataFrame:
    """The limit: as many rows of the same columns, of messages that never wait."""
    table = spark.read.parquet(str(source)).drop(*dropped(what))
    every = F.explode(F.array(*(F.lit(k) for k in range(MANY_SCENARIOS)))).alias("scenario")
    decided = {
        "destination": F.lit("D0"),
        "address": F.lit("D0"),
        "outcome": F.lit("routed"),
        "sequence": F.crc32("id"),
        "attempt": F.lit(1),
        "reader": F.lit(1),
        "start": F.col("time"),
        "finish": F.col("time") + F.col("service_time"),
        "wait": F.lit(0.0),
    }
    return table.select("*", every).withColumns(decided)


def in_simpy(source: Path, out: Path, what: str) -> None:
    """Read, simulate, write; it knows no groups and gets the priorities alone."""
    table = pq.read_table(source)
    times, services = table["time"].to_pylist(), table["service_time"].to_pylist()
    raised = what == IN_ORDER
    priorities = table["priority"].to_pylist()
    env = simpy.Environment()
    readers = (MANY,) if raised else WEIGHTS
    kind = simpy.PriorityResource if raised else simpy.Resource
    places = [kind(env, capacity=n) for n in readers]
    turn = cycle((0,) if raised else ONE_ROUND)
    start, finish = [0.0] * len(times), [0.0] * len(times)

    def served(k: int, place: simpy.Resource) -> Generator[Any, Any, None]:
        more = {"priority": -priorities[k]} if raised else {}
        with place.request(**more) as granted:
            yield granted
            start[k] = env.now
            yield env.timeout(services[k])
            finish[k] = env.now

    def sent() -> Generator[Any, Any, None]:
        for k, time in enumerate(times):
            yield env.timeout(time - env.now)
            env.process(served(k, places[next(turn)]))

    env.process(sent())
    env.run()
    added = table.append_column("start", pa.array(start))
    pq.write_table(added.append_column("finish", pa.array(finish)), out)
