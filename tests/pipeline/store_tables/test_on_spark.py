"""A store as tables of Spark: found by its name, read side by side, decided on, followed."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.stores import Clock, made_url

from fairlead import Cluster, Store, dispatch
from fairlead.runs.changes import load_changes
from fairlead.store.journal.export import changes, decisions

POOL = Cluster.of(
    "weighted",
    name="pool",
    destination=[
        {"name": "a", "queue": "qa", "weight": 2},
        {"name": "b", "queue": "qb"},
    ],
)
PUBLISHED = 1500


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return made_url(request.param)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    clock = Clock(time.time() // 1 - 7200)
    with Store.open(url, clock=clock) as found:
        found.keep_clusters([POOL])
        for k in range(PUBLISHED):
            clock.now += 1
            found.publish("pool", {"n": k}, id=f"m{k}", group=f"g{k % 7}")
            if k == PUBLISHED // 2:
                found.change("pool", "a", "weight", 5)
        yield found


def table(spark: SparkSession, url: str, name: str, **options: object) -> DataFrame:
    texts = {key: str(value) for key, value in options.items()}
    return spark.read.format("fairlead").options(store=url, **texts).load(name)


@pytest.mark.slow
def test_it_is_found_by_its_name_and_read_side_by_side(
    spark: SparkSession, store: Store, url: str
) -> None:
    found = table(spark, url, "journal", partitions=3)
    assert found.rdd.getNumPartitions() == 3
    events = {event.position: event.to_dict() for event in store.journal()}
    assert {row["position"]: row.asDict() for row in found.collect()} == events
    assert table(spark, url, "waiting", queue="qa").agg({"messages": "sum"}).first() == (
        sum(queue.messages for queue in store.queues() if queue.queue == "qa"),
    )
    assert table(spark, url, "dead_letters").count() == 0


@pytest.mark.slow
def test_a_dispatch_of_decisions_is_that_of_the_export(
    spark: SparkSession, store: Store, url: str, tmp_path: Path
) -> None:
    written = tmp_path / "changes.jsonl"
    written.write_text("".join(f"{json.dumps(row)}\n" for row in changes(store.journal(), "pool")))
    happened = load_changes(written)
    exported = tmp_path / "pool.jsonl"
    exported.write_text("".join(f"{json.dumps(r)}\n" for r in decisions(store.journal(), "pool")))
    expected = dispatch(spark.read.json(str(exported)), [POOL], happened)
    found = dispatch(table(spark, url, "decisions", cluster="pool"), [POOL], happened)
    columns = ("id", "destination", "sequence")
    one, other = (sorted(map(tuple, each.select(*columns).collect())) for each in (expected, found))
    assert len(one) == PUBLISHED
    assert one == other


@pytest.mark.slow
def test_rows_are_of_one_moment_while_two_sessions_write(
    spark: SparkSession, store: Store, url: str
) -> None:
    ended = threading.Event()

    def write() -> None:
        with Store.open(url) as own:
            while not ended.is_set():
                with own.transaction() as tx:
                    tx.send("twins", 1, group="x")
                    tx.send("twins", 2, group="y")

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(3):
            rows = table(spark, url, "journal", partitions=4).where("queue = 'twins'")
            found = [row["group"] for row in rows.select("group").collect()]
            assert found.count("x") == found.count("y")
    finally:
        ended.set()
        for writer in writers:
            writer.join(60)
    assert found


@pytest.mark.slow
def test_a_stream_goes_on_where_it_ended(
    spark: SparkSession, store: Store, url: str, tmp_path: Path
) -> None:
    def follow() -> None:
        stream = spark.readStream.format("fairlead").option("store", url).load("journal")
        query = (
            stream.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "events"))
        )
        assert query.awaitTermination(120)

    for k in range(3):
        follow()
        rows = spark.read.parquet(str(tmp_path / "events"))
        positions = sorted(row["position"] for row in rows.select("position").collect())
        assert positions == sorted(event.position for event in store.journal())
        store.send("later", k)


@pytest.mark.slow
def test_a_password_is_in_no_plan_and_on_no_page(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = urlsplit(made_url("postgresql"))
    host = parts.netloc.rpartition("@")[2]
    url = parts._replace(netloc=f"postgres:s3cret@{host}").geturl()
    with Store.open(url) as store:
        store.send("q", 1)
    found = table(spark, url, "journal")
    assert found.count() == 1
    found.explain("extended")
    wrong = url.replace("postgres:", "nobody:")
    with pytest.raises(PySparkException) as refused:
        table(spark, wrong, "journal").count()
    assert "nobody" in str(refused.value)
    shared: Any = spark._jsparkSession.sharedState().statusStore()  # type: ignore[attr-defined]
    runs = shared.executionsList()
    shown = [runs.apply(k) for k in range(runs.size())]
    pages = "".join(run.physicalPlanDescription() + run.details() for run in shown)
    graphs = "".join(
        shared.planGraph(run.executionId()).makeDotFile(shared.executionMetrics(run.executionId()))
        for run in shown[-3:]
    )
    assert "fairlead" in pages
    assert "s3cret" not in pages + graphs + str(refused.value) + capsys.readouterr().out


def test_a_mistake_is_named_in_one_line(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="option: found 'filter' with journal, allowed: st"):
        table(spark, "sqlite:///x.db", "journal", filter="x")
    with pytest.raises(
        PySparkException, match=r"none\.db: found no file, allowed: one that is ther"
    ):
        table(spark, "sqlite:////tmp/none.db", "journal").count()
