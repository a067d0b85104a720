"""Tables of Delta: read, written, claimed, followed."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.connectors.desk import (
    ROWS,
    digest,
    done,
    messages,
    pool,
    refused,
    session,
    summary_of,
    version_in,
)

from fairlead import follow, load_clusters
from fairlead.errors import OutputError
from fairlead.pipeline.intake.catalog import one_version, table_of
from fairlead.pipeline.output.catalog import CatalogDelivery

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.sources.default": "delta",
    "spark.databricks.delta.snapshotPartitions": "1",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    running = session("delta", **DELTA)
    running.sql("CREATE DATABASE shop")
    messages(running).write.saveAsTable("shop.calls")
    outage = "SELECT 50.0D AS time, 'a' AS target, 'enabled' AS attribute, 'false' AS value"
    running.sql(outage).write.saveAsTable("shop.outages")
    yield running
    running.stop()


def provider(spark: SparkSession, table: str) -> str:
    rows = spark.sql(f"DESCRIBE EXTENDED {table}").where("col_name = 'Provider'").collect()
    return str(rows[0]["data_type"])


def test_messages_changes_and_results_are_tables(spark: SparkSession, tmp_path: Path) -> None:
    file, changes, cluster = tmp_path / "m.csv", tmp_path / "changes.csv", pool(tmp_path)
    messages(spark).toPandas().to_csv(file, index=False)
    changes.write_text("time,target,attribute,value\n50,a,enabled,false\n")
    here = "dispatch", str(file), "-c", cluster, "--changes", str(changes), "--no-report"
    one = done(*here, "-o", str(tmp_path / "one"), "--engine", "memory")
    given = "table:shop.calls", "-c", cluster, "--changes", "table:shop.outages"
    again = "dispatch", *given, "-o", "table:shop.routed", "--no-report"
    two = done(*again)
    assert digest(one) == digest(two)
    routed = [f"shop.routed{end}" for end in ("", "_rejected", "_run")]
    assert {provider(spark, table) for table in routed} == {"delta"}
    assert spark.table("shop.routed").count() == ROWS
    assert summary_of(spark, "shop.routed")["read"] == ROWS
    line = refused(*again)
    assert line == "table:shop.routed: exists; name another table, or use --overwrite"


@pytest.mark.slow
def test_results_are_replaced_and_compared(spark: SparkSession, tmp_path: Path) -> None:
    given = "dispatch", "table:shop.calls", "-c", pool(tmp_path), "--no-report", "-o"
    done(*given, "table:shop.compared")
    done(*given, "table:shop.compared", "--overwrite")
    done(*given, str(tmp_path / "one"))
    said = done("diff", "table:shop.compared", str(tmp_path / "one"), "--fail-if", "moved > 0")
    assert f"in both: {ROWS}; only in table:shop.compared: 0; " in said


def test_a_run_that_fails_leaves_no_table(spark: SparkSession) -> None:
    with CatalogDelivery("table:shop.left", overwrite=False) as delivery:
        delivery.begin(spark)
        delivery.write(messages(spark), "decisions", "parquet")
    names = [row["tableName"] for row in spark.sql("SHOW TABLES IN shop").collect()]
    assert [name for name in names if name.startswith("left")] == []


def test_who_reads_a_table_reads_one_version_of_it(spark: SparkSession) -> None:
    messages(spark).write.saveAsTable("shop.growing")
    found = table_of(spark, "table:shop.growing")
    assert found.count() == ROWS
    messages(spark, first=ROWS).write.mode("append").saveAsTable("shop.growing")
    assert found.count() == found.selectExpr("id").distinct().count() == ROWS
    assert table_of(spark, "table:shop.growing").count() == 2 * ROWS


@pytest.mark.slow
def test_of_two_that_begin_at_once_one_writes(spark: SparkSession) -> None:
    for k in range(3):
        out = f"table:shop.raced{k}"
        begun = [CatalogDelivery(out, overwrite=False) for _ in range(2)]
        with ThreadPoolExecutor(2) as threads:
            ways = [threads.submit(each.begin, spark) for each in begun]
            errors = [way.exception() for way in ways]
        assert sum(error is None for error in errors) == 1, errors
        (error,) = [error for error in errors if error is not None]
        assert isinstance(error, OutputError)
        assert re.fullmatch(
            rf"{out}: found another run that writes there \(.*\), allowed: one", str(error)
        )


@pytest.mark.slow
def test_a_stream_goes_from_a_table_into_a_table_once(spark: SparkSession, tmp_path: Path) -> None:
    """The sink keeps the number with the rows, so what it is handed again adds nothing."""
    messages(spark).write.saveAsTable("shop.arriving")
    cluster = load_clusters(pool(tmp_path))
    handed: list[int] = []

    def keep(rows: DataFrame, number: int) -> None:
        handed.append(number)
        kept = rows.write.format("delta").mode("append").option("txnAppId", "calls")
        kept.option("txnVersion", number).saveAsTable("shop.decided")
        if len(handed) == 1:
            raise RuntimeError("killed after it was written")

    def to_the_end() -> None:
        source = spark.readStream.option("maxFilesPerTrigger", 1).table("shop.arriving")
        following = follow(source, cluster, tmp_path / "out", each=keep, available_now=True)
        following.wait()

    with pytest.raises(RuntimeError):
        to_the_end()
    assert spark.table("shop.decided").count() > 0
    to_the_end()
    messages(spark, first=ROWS).write.mode("append").saveAsTable("shop.arriving")
    to_the_end()
    assert handed[:2] == [0, 0]
    assert handed[1:] == sorted({*handed})
    decided = spark.table("shop.decided")
    assert decided.count() == decided.select("arrival").distinct().count() == 2 * ROWS
    in_folder = spark.read.parquet(str(tmp_path / "out" / "decisions"))
    columns = "id", "destination", "sequence", "arrival"
    assert in_folder.select(*columns).exceptAll(decided.select(*columns)).isEmpty()


@pytest.mark.slow
def test_an_older_version_is_read_and_named_in_the_results(
    spark: SparkSession, tmp_path: Path
) -> None:
    messages(spark).write.saveAsTable("shop.changing")
    table, cluster = "table:shop.changing", pool(tmp_path)
    first = one_version(spark, table)["versionAsOf"]
    spark.sql("ALTER TABLE shop.changing ADD COLUMNS (size int)")
    more = messages(spark, first=ROWS).selectExpr("*", "7 AS size")
    more.write.mode("append").saveAsTable("shop.changing")
    given = "dispatch", table, "-c", cluster, "--no-report", "-o"
    now = done(*given, "table:shop.chosen")
    assert "in 400 = decided 400" in now
    assert "size" in spark.table("shop.chosen").columns
    last = one_version(spark, table)["versionAsOf"]
    assert version_in(spark, "shop.chosen") == f"versionAsOf={last}"
    at = "--read-option", f"versionAsOf={first}"
    before = done(*given, "table:shop.chosen", "--overwrite", *at)
    assert "in 200 = decided 200" in before
    assert version_in(spark, "shop.chosen") == f"versionAsOf={first}"
    line = refused(*given, str(tmp_path / "o"), "--read-option", "versionAsOf=77")
    assert line.startswith(f"{table}: cannot be read: "), line
    line = refused(*given, str(tmp_path / "o"), "--read-option", "sep=;")
    assert line == f"--read-option: found with {table}, allowed: with files"
