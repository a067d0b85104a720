"""`df.write.format("fairlead")`: a table goes into queues, whole and once."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.pipeline.test_deliver import CLUSTERS, frame, published, some_rows
from tests.store.test_publish_many import cluster_rows
from tests.stores import Clock, made_url

from fairlead import Store

Opened = Callable[..., Store]
BOTH = pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])


@pytest.fixture
def opened() -> Iterator[Opened]:
    with ExitStack() as stack:

        def open_store(dialect: str, clock: Clock | None = None) -> Store:
            store = stack.enter_context(Store.open(made_url(dialect), clock=clock))
            store.keep_clusters(CLUSTERS)
            return store

        yield open_store


def save(table: DataFrame, to: Store, **options: str) -> None:
    """`options`: other ones than usual; "": without it."""
    every = {"store": to.url, "cluster": "pool", "run": "night", **options}
    given = {name: value for name, value in every.items() if value}
    table.write.format("fairlead").mode("append").options(**given).save()


def rows_for(cluster: str, n: int = 80) -> list[dict[str, Any]]:
    rows = some_rows(Random(cluster), n)  # noqa: S311
    for row in rows:
        row.update(cluster=cluster, delay=None)
    return rows


@pytest.mark.costly
@BOTH
@pytest.mark.parametrize("cluster", ["pool", "busy", "groups"])
def test_it_is_as_many_calls_of_publish(
    dialect: str, cluster: str, spark: SparkSession, opened: Opened
) -> None:
    """Where turns are reserved, where one transaction holds the cluster, and where groups bind."""
    stores = [opened(dialect) for _ in range(2)]
    rows = rows_for(cluster)
    for store in stores:
        store.publish(cluster, "before", group="g3")
    published(stores[0], rows)
    Random(1).shuffle(rows)  # noqa: S311
    save(frame(spark, rows).repartition(3), stores[1], cluster=cluster)
    assert cluster_rows(stores[0]) == cluster_rows(stores[1])
    before, after = (
        [
            (event.kind, event.queue, event.id, event.group, event.priority, event.sequence)
            for event in store.journal()
            if event.kind in {"decided", "sent"} and event.id
        ]
        for store in stores
    )
    assert sorted(before, key=str) == sorted(after, key=str)
    assert [row for row in before if row[0] == "decided"] == [
        row for row in after if row[0] == "decided"
    ]
    assert stores[1].decision_about(cluster, "m0007").run == "night"
    assert stores[1].check() == []


@pytest.mark.costly
@BOTH
def test_it_arrives_once(dialect: str, spark: SparkSession, opened: Opened) -> None:
    store = opened(dialect)
    table = frame(spark, rows_for("pool", 30))
    save(table, store)
    with pytest.raises(PySparkException, match="run 'night': found one that was brought at"):
        save(table, store)
    save(table, store, run="by day")
    runs = store.bulk_run("night"), store.bulk_run("by day")
    assert [run and run.messages for run in runs] == [30, 0]
    assert store.pool("pool").choices == 30


@pytest.mark.costly
@BOTH
def test_what_a_task_cannot_read_is_not_published(
    dialect: str, spark: SparkSession, opened: Opened
) -> None:
    store = opened(dialect)
    table = frame(spark, rows_for("pool", 30)).repartition(3)
    failing = table.withColumn(
        "body",
        F.when(F.col("id") == "m0013", F.raise_error(F.lit("torn"))).otherwise(F.col("body")),
    )
    with pytest.raises(PySparkException, match="torn"):
        save(failing, store)
    assert store.bulk_run("night") is None
    assert store.pool("pool").choices == 0
    assert store.check() == []
    save(table, store)
    assert store.pool("pool").choices == 30


def changed(**values: Any) -> list[dict[str, Any]]:
    rows = rows_for("pool", 4)
    rows[2].update(values)
    return rows


@pytest.mark.parametrize(
    ("rows", "options", "line"),
    [
        (changed(), {"cluster": ""}, "found no option cluster, allowed: with it"),
        (changed(), {"cluster": "pol"}, "cluster: found 'pol', allowed: all, busy, groups, pool"),
        (
            changed(),
            {"runn": "x"},
            "option: found 'runn', allowed: store, cluster, run, body, othe",
        ),
        (changed(), {"run": "a\nb"}, r"run: found 'a\\nb', allowed: a text of printable"),
        (changed(), {"body": "load"}, "found no column 'load', allowed: it among id, time"),
        (changed(), {"others": "queue"}, "others: found 'queue', allowed: wait, or refuse"),
        (changed(), {"store": "sqlite:////tmp/none/there.db"}, "found no file, allowed: one that"),
        (changed(id=None), {}, "id: found nothing, allowed: an id of its own for each message"),
        (changed(id="m0001"), {}, "id: found 'm0001' twice, allowed: an id of its own"),
        (changed(time=None), {}, "message 'm0002': time: found None, allowed: a timestamp"),
        (
            changed(priority="high"),
            {},
            "message 'm0002': priority: found 'high', allowed: a number",
        ),
        (changed(priority="256"), {}, "priority: found 256, allowed: an integer from 0 to 255"),
        (changed(group="a\nb"), {}, r"group: found 'a\\nb', allowed"),
        (
            changed(),
            {"body": "id,body"},
            "message 'm0000': body: .* is not JSON serializable, allo",
        ),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_published(
    rows: list[dict[str, Any]],
    options: dict[str, str],
    line: str,
    spark: SparkSession,
    opened: Opened,
) -> None:
    store = opened("sqlite")
    with pytest.raises(PySparkException, match=line) as refused:
        save(frame(spark, rows), store, **options)
    assert store.url not in str(refused.value)
    assert store.bulk_run("night") is None
    assert store.queues() == []


def test_only_append_is_known(spark: SparkSession, opened: Opened) -> None:
    store = opened("sqlite")
    writer = frame(spark, rows_for("pool", 3)).write.format("fairlead").mode("overwrite")
    with pytest.raises(
        PySparkException, match=r'found mode\("overwrite"\), allowed: mode\("append"'
    ):
        writer.options(store=store.url, cluster="pool", run="night").save()


def test_several_columns_become_json(spark: SparkSession, opened: Opened) -> None:
    store = opened("sqlite")
    save(frame(spark, rows_for("pool", 1)), store, body="size, id")
    work = store.take("A")
    assert work is not None
    with work:
        assert [message.body for message in work] == [{"size": 1.5, "id": "m0000"}]


@pytest.mark.slow
def test_a_password_is_in_no_plan_and_on_no_page(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = urlsplit(made_url("postgresql"))
    host = parts.netloc.rpartition("@")[2]
    url = parts._replace(netloc=f"postgres:s3cret@{host}").geturl()
    with Store.open(url) as store:
        store.keep_clusters(CLUSTERS)
        save(frame(spark, rows_for("pool", 5)), store)
        assert store.pool("pool").choices == 5
        with pytest.raises(PySparkException) as refused:
            save(
                frame(spark, rows_for("pool", 5)), store, store=url.replace("postgres:", "nobody:")
            )
    assert "nobody" in str(refused.value)
    shared: Any = spark._jsparkSession.sharedState().statusStore()  # type: ignore[attr-defined]
    runs = shared.executionsList()
    shown = [runs.apply(k) for k in range(runs.size())]
    pages = "".join(
        run.description() + run.physicalPlanDescription() + run.details() for run in shown
    )
    assert "AppendData" in pages
    assert "s3cret" not in pages + str(refused.value) + capsys.readouterr().out
