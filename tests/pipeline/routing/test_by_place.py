"""Messages of one stream are routed in the JVM, as the router would."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fairlead import Change, Cluster, route
from fairlead.compiled.timetable import timetable
from fairlead.pipeline.dispatch import prepare
from fairlead.pipeline.options import Options
from fairlead.rows import DECISION

MEMBERS: list[dict[str, Any]] = [{"name": name} for name in "ABCD"]
CLUSTERS = {
    "weighted": Cluster.of(
        "weighted", destination=[{**each, "weight": 3 + k} for k, each in enumerate(MEMBERS)]
    ),
    "round-robin": Cluster.of("round-robin", destination=MEMBERS),
    "hot-standby": Cluster.of("hot-standby", destination=MEMBERS),
    "nanomsg": Cluster.of(
        "nanomsg", destination=[{**each, "priority": 1 + k % 2} for k, each in enumerate(MEMBERS)]
    ),
}
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


def without_python(plan: str) -> bool:
    return "Python" not in plan and "ArrowEval" not in plan


@pytest.mark.parametrize("policy", CLUSTERS)
@pytest.mark.parametrize("partitions", ["1", "7"])
def test_each_message_gets_what_a_table_in_memory_gets(
    spark: SparkSession, policy: str, partitions: str
) -> None:
    cluster, table = CLUSTERS[policy], traffic()
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    try:
        frame = spark.createDataFrame(table).repartition(3)
        ready = prepare(frame, cluster, CHANGES, Options(rows_a_block=200))
        assert timetable(ready.plan, ready.survey.counts, ready.states) is not None
        decisions = ready.decisions()
        shown = decisions._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
        assert without_python(shown)
        found = decisions.orderBy("sequence").select("id", *DECISION).collect()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before or "")
    wanted = route(table, cluster, CHANGES).select(["id", *DECISION]).to_pylist()
    assert [row.asDict() for row in found] == wanted


def test_positions_order_the_messages(spark: SparkSession) -> None:
    table = traffic(positions=True)
    frame = spark.createDataFrame(table).repartition(3)
    ready = prepare(frame, CLUSTERS["weighted"], CHANGES, Options(rows_a_block=200))
    assert timetable(ready.plan, ready.survey.counts, ready.states) is not None
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
