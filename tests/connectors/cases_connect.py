"""Under Spark Connect: what works gives what it gives on Spark classic, the rest is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.connectors.connect import server
from tests.connectors.desk import ROWS, digest, done, messages, pool, refused

from fairlead import dispatch, follow, load_clusters
from fairlead.errors import UserError
from fairlead.pipeline.spark.session import spark_session

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with server() as address:
        running = spark_session(address)
        yield running
        running.stop()


def test_dispatch_takes_a_table_of_its(spark: SparkSession, tmp_path: Path) -> None:
    cluster, file = pool(tmp_path), tmp_path / "m.csv"
    decided = dispatch(messages(spark), load_clusters(cluster))
    counts = {
        row["destination"]: row["count"] for row in decided.groupBy("destination").count().collect()
    }
    assert counts == {"a": ROWS * 3 // 5, "b": ROWS * 2 // 5}
    messages(spark).toPandas().to_csv(file, index=False)
    given = "dispatch", str(file), "-c", cluster, "--no-report", "-o"
    here = done(*given, str(tmp_path / "here"), "--engine", "memory")
    assert digest(done(*given, str(tmp_path / "there"))) == digest(here)


def test_tables_are_dispatched_into_tables(spark: SparkSession, tmp_path: Path) -> None:
    messages(spark).write.saveAsTable("calls")
    given = "-c", pool(tmp_path), "--no-report", "-o"
    done("dispatch", "table:calls", *given, "table:routed")
    assert spark.table("routed").count() == ROWS
    line = refused("dispatch", "table:calls", *given, "table:routed")
    assert line == "table:routed: exists; name another table, or use --overwrite"
    done("dispatch", "table:calls", *given, "table:routed", "--overwrite")
    done(
        *("replay", "table:calls", *given, str(tmp_path / "replayed"), "--column", "service_time=1")
    )


def test_what_it_cannot_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    cluster = pool(tmp_path)
    stream = (
        spark.readStream.format("rate")
        .load()
        .selectExpr("string(value) AS id", "timestamp AS time")
    )
    with pytest.raises(
        UserError, match="follow: found Spark Connect, allowed: a session with a JVM"
    ):
        follow(stream, load_clusters(cluster), tmp_path / "out")
    with pytest.raises(UserError, match="found a stream, allowed: a table"):
        dispatch(stream, load_clusters(cluster))
    file = tmp_path / "m.parquet"
    messages(spark).write.parquet(str(file))
    given = "dispatch", str(file), "-c", cluster, "--no-report", "-o"
    for line in (
        refused(*given, "s3a://bucket/out"),
        refused(*given, str(tmp_path / "out"), "--changes", "s3a://bucket/changes.csv"),
    ):
        assert (
            "found a session of Spark Connect, which reaches files elsewhere only as tables" in line
        )
