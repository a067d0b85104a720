"""What Spark generates is small: Java compiles no method of more than 8,000 bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests import engines
from tests.golden_cases import POLICIES
from tests.mixed import mixed
from tests.strategies import random_scenario
from tests.test_mixed import clusters_of

from fairlead import Change, Cluster
from fairlead.compiled.plan import Plan
from fairlead.pipeline import dispatch, replay
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.pipeline.routing.by_place import MOST_COUNTED
from fairlead.pipeline.spark.session import LONGEST_METHOD
from fairlead.pipeline.streaming.follow import follow
from fairlead.runs.options import Options

COMMAND = "fairlead dispatch"


class Listener:
    """Hears of every query that Spark has run: the size of the largest method of each stage."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        """Bytes, and the plan of the stage."""

    def onSuccess(self, name: str, query: Any, nanoseconds: int) -> None:  # noqa: N802 - Spark's
        del name, nanoseconds
        stages = query.debug().codegenToSeq()
        for k in range(stages.size()):
            stage = stages.apply(k)
            self.found.append((stage._3().maxMethodCodeSize(), stage._1()))

    def onFailure(self, name: str, query: Any, error: Any) -> None:  # noqa: N802 - Spark's
        """The test fails by itself."""

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)


@pytest.fixture
def largest(spark: SparkSession) -> Iterator[Callable[[], tuple[int, str]]]:
    """The largest method that was generated since the test began, and its stage's plan."""
    context: Any = spark.sparkContext
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]
    listener, every = Listener(), spark._jsparkSession.listenerManager()
    every.register(listener)

    def found() -> tuple[int, str]:
        context._jsc.sc().listenerBus().waitUntilEmpty(120_000)
        return max(listener.found)

    yield found
    every.unregister(listener)


def frame_of(spark: SparkSession, messages: list[dict[str, Any]]) -> DataFrame:
    messages[0].setdefault("service_time", 0)
    return spark.createDataFrame(engines.table(messages)).repartition(3)


def delivered(frame: DataFrame, out: Path, clusters: list[Cluster], changes: list[Change]) -> None:
    """Dispatched as the command does it: with ids checked, and with what a report tells."""
    options = Options(where="messages", rows_a_block=100, command=COMMAND)
    with FolderTables(str(out), overwrite=False) as delivery:
        dispatch.run(frame.sparkSession, frame, clusters, changes, delivery, options)
        delivery.finish()


@pytest.mark.parametrize(
    "policy", [pytest.param(each, marks=pytest.mark.slow) for each in POLICIES]
)
def test_of_each_policy(
    policy: str, spark: SparkSession, tmp_path: Path, largest: Callable[[], tuple[int, str]]
) -> None:
    scenario = random_scenario(policy, Random(5))  # noqa: S311
    clusters, messages, changes = engines.together([scenario])
    delivered(frame_of(spark, messages), tmp_path / "out", clusters, changes)
    assert largest() < (LONGEST_METHOD,)


@pytest.mark.slow
@pytest.mark.parametrize("many", [1, 8, 32])
def test_of_policies_together(
    many: int, spark: SparkSession, tmp_path: Path, largest: Callable[[], tuple[int, str]]
) -> None:
    case = mixed(Random(many), many, 1_000)  # noqa: S311
    frame, changes = frame_of(spark, case.messages), engines.changes_of(case.changes)
    delivered(frame, tmp_path / "out", clusters_of(case), changes)
    rows = dispatch.dispatch(frame, clusters_of(case), changes, journal=True).collect()
    assert len({row["id"] for row in rows}) == len(case.messages)
    assert largest() < (LONGEST_METHOD,)


@pytest.mark.parametrize(
    "kind",
    [
        "double",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("bigint", "decimal(20,3)", "string", "timestamp")
        ),
    ],
)
@pytest.mark.parametrize(
    "many", [pytest.param(each, marks=pytest.mark.slow) for each in (1, 10, MOST_COUNTED)]
)
def test_of_streams_side_by_side(
    many: int,
    kind: str,
    spark: SparkSession,
    tmp_path: Path,
    largest: Callable[[], tuple[int, str]],
) -> None:
    destinations = [{"name": "a", "weight": 3}, {"name": "b", "weight": 2}]
    clusters = [Cluster.of("weighted", name=f"c{k}", destination=destinations) for k in range(many)]
    changes = [
        Change(f"a@c{k}", "weight", 1 + step, 50 + 100 * step)
        for k in range(many)
        for step in range(20)
    ]
    frame = spark.range(5_000).select(
        F.format_string("m%d", "id").alias("id"),
        F.col("id").cast("double").cast(kind).alias("time"),
        F.format_string("c%d", F.col("id") % many).alias("cluster"),
    )
    delivered(frame, tmp_path / "out", clusters, changes)
    assert largest() < (LONGEST_METHOD,)


@pytest.mark.slow
def test_of_a_replay(
    spark: SparkSession, tmp_path: Path, largest: Callable[[], tuple[int, str]]
) -> None:
    scenarios = [
        random_scenario(each, Random(7))  # noqa: S311
        for each in ("weighted", "msmq", "fewest-pending")
    ]
    clusters, messages, changes = engines.together(scenarios)
    for k, message in enumerate(messages):
        message |= {
            "service_time": k % 7 / 10,
            "group": f"g{k % 5}",
            "tenant": "t",
            "priority": k % 3,
        }
    plans = {"as it was": Plan(clusters, changes), "without changes": Plan(clusters, [])}
    options = Options(where="messages", rows_a_block=100, command=COMMAND)
    with FolderTables(str(tmp_path / "out"), overwrite=False) as delivery:
        replay.run(spark, frame_of(spark, messages), plans, delivery, options)
        delivery.finish()
    assert largest() < (LONGEST_METHOD,)


@pytest.mark.slow
def test_of_a_stream(
    spark: SparkSession, tmp_path: Path, largest: Callable[[], tuple[int, str]]
) -> None:
    case = mixed(Random(3), 3, 200)  # noqa: S311
    source = tmp_path / "in"
    frame_of(spark, case.messages).repartition(2).write.parquet(str(source))
    reader = spark.readStream.schema(spark.read.parquet(str(source)).schema)
    messages = reader.option("maxFilesPerTrigger", 1).parquet(str(source))
    changes = engines.changes_of(case.changes)
    out = tmp_path / "out"
    follow(messages, clusters_of(case), out, changes, available_now=True).wait()
    assert largest() < (LONGEST_METHOD,)
