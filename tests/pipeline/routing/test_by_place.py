"""Messages of streams with a schedule are routed in the JVM, as the router would."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fairlead import Change, Cluster, dispatch, route
from fairlead.compiled import timetable
from fairlead.compiled.timetable import Timetable
from fairlead.pipeline.dispatch import PreparedTable, prepare
from fairlead.pipeline.intake.read import read
from fairlead.pipeline.routing import by_place as module
from fairlead.pipeline.routing.by_place import timetable_of
from fairlead.pipeline.routing.places import Blocks
from fairlead.rows import DECISION
from fairlead.runs.options import Options

MEMBERS: list[dict[str, Any]] = [{"name": name} for name in "ABCD"]
WEIGHING = [{**each, "weight": 3 + k} for k, each in enumerate(MEMBERS)]
CLUSTERS = {
    "weighted": Cluster.of("weighted", destination=WEIGHING),
    "msmq": Cluster.of("msmq", destination=WEIGHING),
    "round-robin": Cluster.of("round-robin", destination=MEMBERS),
    "hot-standby": Cluster.of("hot-standby", destination=MEMBERS),
    "nanomsg": Cluster.of(
        "nanomsg", destination=[{**each, "priority": 1 + k % 2} for k, each in enumerate(MEMBERS)]
    ),
}
FEW = 20
"""So few are written down in these tests, where somebody lags."""
CHANGES = [
    Change("A", "present", False, 100),
    Change("C", "present", False, 300),
    Change("A", "present", True, 310),
    *(Change(name, "present", False, 700) for name in "ABD"),
    Change("B", "address", "tcp://new", 800),
    Change("B", "present", True, 850),
]


def traffic(n: int = 1_500, *, positions: bool = False) -> pa.Table:
    random = Random(9)  # noqa: S311
    times = [round(random.uniform(0, 1_000), 1) for _ in range(n)]
    table = pa.table({"id": [f"m{k:05}" for k in range(n)], "time": times})
    if positions:
        table = table.append_column("position", pa.array([random.randrange(n) for _ in range(n)]))
    return table


def table_of(ready: PreparedTable) -> Timetable | None:
    found = ready.survey
    return timetable_of(ready.plan, found.counts, found.blocks, ready.states[0])


def without_python(plan: str) -> bool:
    return "Python" not in plan and "ArrowEval" not in plan


@pytest.mark.costly
@pytest.mark.parametrize("policy", CLUSTERS)
@pytest.mark.parametrize("partitions", ["1", "7"])
def test_each_message_gets_what_a_table_in_memory_gets(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, policy: str, partitions: str
) -> None:
    monkeypatch.setattr(timetable, "FEW", FEW)
    cluster, table = CLUSTERS[policy], traffic()
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    try:
        frame = spark.createDataFrame(table).repartition(3)
        ready = prepare(frame, cluster, CHANGES, Options(rows_a_block=200))
        table_found = table_of(ready)
        assert table_found is not None
        assert bool(table_found.later) == (policy == "msmq")
        decisions = ready.decisions()
        shown = decisions._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
        assert without_python(shown)
        found = decisions.orderBy("sequence").select("id", *DECISION).collect()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before or "")
    wanted = route(table, cluster, CHANGES).select(["id", *DECISION]).to_pylist()
    assert [row.asDict() for row in found] == wanted


def several(n: int) -> tuple[list[Cluster], pa.Table]:
    """So many clusters, and messages of each, of none, of one that is not there, and orders."""
    random = Random(n)  # noqa: S311
    policies = [*CLUSTERS.values()]
    clusters = [
        Cluster.from_dict(policies[k % len(policies)].to_dict(), default_name=f"c{k}")
        for k in range(n)
    ]
    table = traffic(n * 150)
    names = [*(each.name for each in clusters), "", "nowhere"]
    table = table.append_column("cluster", pa.array(random.choices(names, k=len(table))))
    kinds = random.choices(["", "SetPriority"], [9, 1], k=len(table))
    return clusters, table.append_column("type", pa.array(kinds))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "counted"), [(2, True), (10, True), (12, False)])
def test_many_streams_are_counted_side_by_side(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, n: int, *, counted: bool
) -> None:
    monkeypatch.setattr(module, "MOST_COUNTED", 12)
    clusters, table = several(n)
    changes = [
        Change(f"{each.target}@c{k}", each.attribute, each.value, each.time)
        for k in range(0, n, 4)
        for each in CHANGES
    ]
    frame = spark.createDataFrame(table).repartition(3)
    ready = prepare(frame, clusters, changes, Options(rows_a_block=400))
    assert (table_of(ready) is not None) == counted
    decisions = ready.decisions()
    shown = decisions._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert without_python(shown) == counted
    found = decisions.select("id", *DECISION).collect()
    wanted = route(table, clusters, changes).select(["id", *DECISION]).to_pylist()
    assert [row.asDict() for row in found] == wanted


def test_streams_are_counted_alike_where_nothing_is_compiled(spark: SparkSession) -> None:
    """A stream's running number must move for its own rows only, however Spark works it out."""
    clusters, table = several(5)
    names = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        frame = spark.createDataFrame(table).repartition(3)
        found = dispatch(frame, clusters, trust_ids=True).select("id", *DECISION).collect()
    finally:
        for name, was in before.items():
            spark.conf.set(name, was or "")
    wanted = route(table, clusters).select(["id", *DECISION]).to_pylist()
    assert [row.asDict() for row in found] == wanted


@pytest.mark.costly
@pytest.mark.parametrize("n", [1, 6, 30])
def test_files_that_follow_one_another_stay_where_they_are(
    spark: SparkSession, tmp_path: Path, n: int
) -> None:
    """Several of them in one task, and the rows of a file in any order."""
    clusters, table = several(n)
    table = table.sort_by([("time", "ascending"), ("id", "ascending")])
    size = len(table) // 5 + 1
    for k in range(5):
        part = table.slice(k * size, size)
        part = part.take(pa.array(Random(k).sample(range(len(part)), len(part))))  # noqa: S311
        pq.write_table(part, tmp_path / f"{'cadbe'[k]}.parquet")
    frame = read(spark, str(tmp_path))
    assert frame.rdd.getNumPartitions() < 5
    options = Options(rows_a_block=size, as_in_files=True, trust_ids=True)
    ready = prepare(frame, clusters, (), options)
    blocks = ready.survey.blocks
    assert blocks.in_place
    assert len({*blocks.tasks}) < len(blocks)
    assert table_of(ready) is not None
    found = ready.decisions().select("id", *DECISION).collect()
    wanted = route(table, clusters).select(["id", *DECISION]).to_pylist()
    assert sorted((row.asDict() for row in found), key=lambda row: str(row["id"])) == sorted(
        wanted, key=lambda row: str(row["id"])
    )


def test_files_that_other_tasks_read_stop_the_job(spark: SparkSession, tmp_path: Path) -> None:
    """A task counts on from one file to the next, so it must be known which ones it has."""
    table = traffic().sort_by("time")
    for k in range(3):
        pq.write_table(table.slice(k * 500, 500), tmp_path / f"{k}.parquet")
    options = Options(as_in_files=True, trust_ids=True)
    ready = prepare(read(spark, str(tmp_path)), CLUSTERS["weighted"], (), options)
    found = ready.survey
    tasks = tuple(task + 1 for task in found.blocks.tasks)
    other = replace(ready, survey=replace(found, blocks=Blocks(found.blocks.starts, tasks)))
    with pytest.raises(Exception, match="the input changed while it was read"):
        other.decisions().collect()


@pytest.mark.slow
def test_positions_order_the_messages(spark: SparkSession) -> None:
    table = traffic(positions=True)
    frame = spark.createDataFrame(table).repartition(3)
    ready = prepare(frame, CLUSTERS["weighted"], CHANGES, Options(rows_a_block=200))
    assert table_of(ready) is not None
    found = ready.decisions().orderBy("sequence").select("id", *DECISION).collect()
    wanted = route(table, CLUSTERS["weighted"], CHANGES).select(["id", *DECISION]).to_pylist()
    assert [row.asDict() for row in found] == wanted


def test_the_order_in_a_file_stays(spark: SparkSession) -> None:
    frame = spark.createDataFrame(traffic()).repartition(3)
    ready = prepare(frame, CLUSTERS["weighted"], (), Options(rows_a_block=400))
    placed = ready.decisions().withColumn("p", F.spark_partition_id())
    rows = [(row["p"], row["time"], row["id"]) for row in placed.toLocalIterator()]
    assert rows == sorted(rows)
    assert len({p for p, _, _ in rows}) > 2


def test_a_row_more_than_were_counted_stops_the_job(spark: SparkSession) -> None:
    frame = spark.createDataFrame(traffic(50))
    ready = prepare(frame, CLUSTERS["weighted"], (), Options())
    ready.survey.counts[0][0][0] -= 1
    with pytest.raises(Exception, match="the input changed while it was read"):
        ready.decisions().collect()
