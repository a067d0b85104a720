"""h: groups that stay together, against the same run without affinity."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks import data
from benchmarks.jobs import Jobs
from benchmarks.timing import Line, medians
from benchmarks.watch import Memory
from fairlead import Cluster, route
from fairlead.config.changes import load_changes

PART_OF_ROWS = 2
MESSAGES_A_GROUP = 5
IN_ORDER = "route in order"


def part_h(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """With and without affinity, with and without a destination that goes down and comes back."""
    messages = max(MESSAGES_A_GROUP, rows // PART_OF_ROWS)
    source = data.messages(folder, messages, groups=messages // MESSAGES_A_GROUP)
    changes = data.down_and_back(folder, messages)
    return [
        *on_spark(Jobs(spark, folder), source, changes, messages, runs),
        *in_memory(source, changes, runs),
    ]


def cluster(affinity: str) -> Cluster:
    """Eight weighted destinations."""
    destinations = [{"name": f"D{k}", "weight": w} for k, w in enumerate(data.WEIGHTS)]
    return Cluster.of("weighted", options={"affinity": affinity}, destination=destinations)


def on_spark(jobs: Jobs, source: Path, changes: Path, messages: int, runs: int) -> list[Line]:
    """Time, and the memory of the largest Python worker."""

    def ours(affinity: str, happened: Path | None) -> Callable[[], None]:
        chosen = cluster(affinity)

        def work() -> None:
            found = jobs.dispatch(source, chosen, happened, {}, trust_ids=True)
            assert (found.read, found.outcomes) == (messages, {"routed": messages})

        return work

    contenders = {
        "no affinity": ours("none", None),
        "no affinity, down and back": ours("none", changes),
        "affinity": ours("group", None),
        "affinity, down and back": ours("group", changes),
    }
    memory = {}
    for name, work in contenders.items():
        with Memory() as memory[name]:
            work()
        print(f"    {name}: largest Python worker {memory[name].worker:.0f} MiB", flush=True)
        if name.startswith("affinity"):
            check_together(jobs, moved=name != "affinity")
    took = jobs.stages[IN_ORDER]
    pace = messages // MESSAGES_A_GROUP / took / 1e6
    print(f"    pass in order: {took:.1f} s, {pace:.2f} M groups a second", flush=True)
    found = medians(contenders, runs, warm=0)
    lines = []
    for end in ("", ", down and back"):
        with_, without = f"affinity{end}", f"no affinity{end}"
        ratio = found[with_] / found[without]
        lines.append(Line("h", f"dispatch, {with_}", without, ratio, ""))
        ratio = memory[with_].worker / memory[without].worker
        lines.append(Line("h", f"memory of the largest worker, {with_}", without, ratio, ""))
    return lines


def check_together(jobs: Jobs, *, moved: bool) -> None:
    """A group is on one destination; or on two, of which one is that which went down."""
    written = jobs.spark.read.parquet(jobs.out + "/decisions")
    places = written.groupBy("group").agg(F.collect_set("destination").alias("places"))
    spread = places.where(F.size("places") > 1)
    left = F.array_contains("places", data.GOES_DOWN) & (F.size("places") == 2)
    assert (spread.count() > 0) == moved
    assert spread.where(~left).count() == 0


def in_memory(source: Path, changes: Path, runs: int) -> list[Line]:
    """`route`, the same four ways."""
    table = pq.read_table(source, columns=["id", "time", "group"]).combine_chunks()
    happened = load_changes(changes)
    contenders: dict[str, Callable[[], object]] = {
        "route": lambda: route(table, cluster("none"), trust_ids=True),
        "route, affinity": lambda: route(table, cluster("group"), trust_ids=True),
        "route, down and back": lambda: route(table, cluster("none"), happened, trust_ids=True),
        "route, affinity, down and back": lambda: route(
            table, cluster("group"), happened, trust_ids=True
        ),
    }
    found = medians(contenders, runs)
    return [
        Line("h", f"route in memory, affinity{end}", "no affinity", ratio, "")
        for end in ("", ", down and back")
        for ratio in [found[f"route, affinity{end}"] / found[f"route{end}"]]
    ]
