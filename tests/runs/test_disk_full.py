"""A disk without room: where it was, and why, in one line."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fairlead.errors import OutputError
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.runs.paths import SUMMARY

FULL = Path("/dev/full")


@pytest.mark.parametrize("file_format", ["parquet", "csv", "json"])
def test_decisions_that_do_not_fit(spark: SparkSession, small: Path, file_format: str) -> None:
    rows = spark.range(20_000).select(F.sha2(F.col("id").cast("string"), 256).alias("id"))
    out = small / "out"
    with (
        FolderTables(str(out), overwrite=False) as delivery,
        pytest.raises(OutputError) as refused,
    ):
        delivery.write(rows, "decisions", file_format)
    assert str(refused.value) == f"{out}: cannot write there: No space left on device"
    assert list(small.iterdir()) == []


def test_a_summary_that_does_not_fit(small: Path) -> None:
    out = small / "out"
    with (
        FolderTables(str(out), overwrite=False) as delivery,
        pytest.raises(OutputError, match=f"{out}: cannot write there: No space left on device"),
    ):
        delivery.write_json(SUMMARY, {"text": "x" * 200_000})
    assert list(small.iterdir()) == []


@pytest.mark.skipif(not FULL.exists(), reason="not here: /dev/full")
def test_a_report_on_a_full_device(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with FolderTables(str(out), overwrite=False) as delivery:
        (delivery.making / "report.html").symlink_to(FULL)
        with pytest.raises(OutputError, match="cannot write there: No space left on device"):
            delivery.write_text("report.html", "page")
    assert list(tmp_path.iterdir()) == []


def test_other_errors_of_spark_stay_what_they_are(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(1).selectExpr("raise_error('out of patience') as id")
    with (
        FolderTables(str(tmp_path / "out"), overwrite=False) as delivery,
        pytest.raises(Exception, match="out of patience") as found,
    ):
        delivery.write(rows, "decisions", "parquet")
    assert not isinstance(found.value, OutputError)
