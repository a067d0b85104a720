"""A stream arrives in a store, each micro-batch in one transaction: once, whatever comes again."""

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.pipeline.test_deliver import CLUSTERS
from tests.stores import made_url

from fairlead import Store, deliver_stream
from fairlead.errors import MessageError, QueueFullError
from fairlead.runs.store_delivery import DeliveredRun


def bring(folder: Path, number: int) -> None:
    rows = [
        {"id": f"m{number}-{k}", "time": 10 * number + k, "cluster": "pool", "body": "x"}
        for k in range(10)
    ]
    (folder / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    schema = "id string, time double, cluster string, body string"
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


@pytest.mark.costly
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_each_micro_batch_arrives_once(dialect: str, spark: SparkSession, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", str(tmp_path / "checkpoint")
    source.mkdir()
    found: list[DeliveredRun] = []

    def to_the_end(place: str = checkpoint, fails: bool = False) -> None:
        def each(delivered: DeliveredRun) -> None:
            found.append(delivered)
            if fails:
                raise ZeroDivisionError

        deliver_stream(
            stream(spark, source),
            store,
            place,
            [CLUSTERS[0]],
            run="calls",
            available_now=True,
            each=each,
        ).wait()

    with Store.open(made_url(dialect)) as store:
        store.keep_clusters(CLUSTERS)
        for number in range(3):
            bring(source, number)
        with pytest.raises(ZeroDivisionError):
            to_the_end(fails=True)
        assert store.pool("pool").choices == 10
        to_the_end()
        assert [each.published for each in found] == [10, 10, 10]  # the first did not come again
        assert [each.batch for each in found] == [1, 2, 3]
        assert store.pool("pool").choices == 30
        bring(source, 3)
        store.set_limits("of-b", max_waiting=2)
        with pytest.raises(QueueFullError):
            to_the_end()
        store.set_limits("of-b", max_waiting=None)
        to_the_end(str(tmp_path / "another"))
        assert sum(each.left_out["known"] for each in found) == 30
        assert store.pool("pool").choices == 40
        to_the_end()
        assert store.pool("pool").choices == 40
        assert store.check() == []


def test_what_is_no_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with Store.open(made_url("sqlite")) as store:
        store.keep_clusters(CLUSTERS)
        with pytest.raises(MessageError, match="allowed: a streaming DataFrame; fairl"):
            deliver_stream(spark.range(1), store, str(tmp_path / "c"), run="x")
        with pytest.raises(MessageError, match="every: found 0, allowed: a number of seconds"):
            deliver_stream(stream(spark, tmp_path), store, str(tmp_path / "c"), run="x", every=0)
