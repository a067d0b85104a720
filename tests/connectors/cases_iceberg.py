"""Tables of Iceberg: read, written, claimed."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
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

from fairlead.errors import OutputError
from fairlead.pipeline.intake.catalog import one_version, table_of
from fairlead.pipeline.output.catalog import CatalogDelivery

PATIENCE = 120.0


def iceberg(folder: Path) -> dict[str, str]:
    """The settings of a catalog in a folder of this machine."""
    return {
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": folder.as_uri(),
        "spark.sql.catalog.lake.cache-enabled": "false",  # another process writes there, too
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the catalog."""
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def spark(lake: Path) -> Iterator[SparkSession]:
    running = session("iceberg", **iceberg(lake))
    running.sql("CREATE NAMESPACE lake.shop")
    messages(running).writeTo("lake.shop.calls").create()
    outage = "SELECT 50.0D AS time, 'a' AS target, 'enabled' AS attribute, 'false' AS value"
    running.sql(outage).writeTo("lake.shop.outages").create()
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
    given = "table:lake.shop.calls", "-c", cluster, "--changes", "table:lake.shop.outages"
    again = "dispatch", *given, "-o", "table:lake.shop.routed", "--no-report"
    two = done(*again)
    assert digest(one) == digest(two)
    routed = [f"lake.shop.routed{end}" for end in ("", "_rejected", "_run")]
    assert {provider(spark, table) for table in routed} == {"iceberg"}
    assert spark.table("lake.shop.routed").count() == ROWS
    assert summary_of(spark, "lake.shop.routed")["read"] == ROWS
    line = refused(*again)
    assert line == "table:lake.shop.routed: exists; name another table, or use --overwrite"


@pytest.mark.slow
def test_results_are_replaced_and_compared(spark: SparkSession, tmp_path: Path) -> None:
    given = "dispatch", "table:lake.shop.calls", "-c", pool(tmp_path), "--no-report", "-o"
    done(*given, "table:lake.shop.compared")
    done(*given, "table:lake.shop.compared", "--overwrite")
    done(*given, str(tmp_path / "one"))
    said = done("diff", "table:lake.shop.compared", str(tmp_path / "one"), "--fail-if", "moved > 0")
    assert f"in both: {ROWS}; only in table:lake.shop.compared: 0; " in said


def test_a_run_that_fails_leaves_no_table(spark: SparkSession) -> None:
    with CatalogDelivery("table:lake.shop.left", overwrite=False) as delivery:
        delivery.begin(spark)
        delivery.write(messages(spark), "decisions", "parquet")
    names = [row["tableName"] for row in spark.sql("SHOW TABLES IN lake.shop").collect()]
    assert [name for name in names if name.startswith("left")] == []


def test_who_reads_a_table_reads_one_version_of_it(spark: SparkSession) -> None:
    messages(spark).writeTo("lake.shop.growing").create()
    found = table_of(spark, "table:lake.shop.growing")
    assert found.count() == ROWS
    messages(spark, first=ROWS).writeTo("lake.shop.growing").append()
    assert found.count() == found.selectExpr("id").distinct().count() == ROWS
    assert table_of(spark, "table:lake.shop.growing").count() == 2 * ROWS


@pytest.mark.slow
def test_of_two_that_begin_at_once_one_writes(spark: SparkSession) -> None:
    for k in range(3):
        out = f"table:lake.shop.raced{k}"
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
def test_an_older_version_is_read_and_named_in_the_results(
    spark: SparkSession, tmp_path: Path
) -> None:
    messages(spark).writeTo("lake.shop.changing").create()
    table, cluster = "table:lake.shop.changing", pool(tmp_path)
    first = one_version(spark, table)["versionAsOf"]
    spark.sql("ALTER TABLE lake.shop.changing ADD COLUMNS (size int)")
    more = messages(spark, first=ROWS).selectExpr("*", "7 AS size")
    more.writeTo("lake.shop.changing").append()
    given = "dispatch", table, "-c", cluster, "--no-report", "-o"
    now = done(*given, "table:lake.shop.chosen")
    assert "in 400 = decided 400" in now
    assert "size" in spark.table("lake.shop.chosen").columns
    last = one_version(spark, table)["versionAsOf"]
    assert version_in(spark, "lake.shop.chosen") == f"versionAsOf={last}"
    at = "--read-option", f"versionAsOf={first}"
    before = done(*given, "table:lake.shop.chosen", "--overwrite", *at)
    assert "in 200 = decided 200" in before
    assert version_in(spark, "lake.shop.chosen") == f"versionAsOf={first}"
    line = refused(*given, str(tmp_path / "o"), "--read-option", "versionAsOf=77")
    assert line.startswith(f"{table}: cannot be read: "), line
    line = refused(*given, str(tmp_path / "o"), "--read-option", "sep=;")
    assert line == f"--read-option: found with {table}, allowed: with files"


KILLED = """
import sys
from pathlib import Path
from tests.connectors.cases_iceberg import iceberg
from tests.connectors.desk import done, session

session("iceberg", **iceberg(Path(sys.argv[1])))
done(*sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["killed_run", "killed", "killed_rejected"])
def test_a_run_that_is_killed_leaves_no_results(
    moment: str, spark: SparkSession, lake: Path, tmp_path: Path
) -> None:
    """With kill -9 of all its processes, as soon as it has made a table; the next run goes on."""
    given = "dispatch", "table:lake.shop.calls", "-c", pool(tmp_path), "--no-report", "-o"
    out = "table:lake.shop.killed"
    for ending in ("", "_rejected", "_run"):
        spark.sql(f"DROP TABLE IF EXISTS lake.shop.killed{ending} PURGE")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(lake), *given, out],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        end = time.monotonic() + PATIENCE
        while not [*(lake / "shop" / moment / "metadata").glob("*.metadata.json")]:
            assert process.poll() is None, "it ended before"
            assert time.monotonic() < end
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    if spark.catalog.tableExists("lake.shop.killed_run"):  # it was just being made
        names = {row["name"] for row in spark.table("lake.shop.killed_run").collect()}
        assert "summary.json" not in names
    one = done(*given, str(tmp_path / "one"))
    assert digest(done(*given, out)) == digest(one)
    assert spark.table("lake.shop.killed").count() == ROWS
    assert summary_of(spark, "lake.shop.killed")["read"] == ROWS
    assert refused(*given, out) == f"{out}: exists; name another table, or use --overwrite"
