"""What a delivery writes and where: numbers in CSV, names, and what a run reads."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.elsewhere import other_default

from fairlead.errors import OutputError, UserError
from fairlead.pipeline.intake.read import read
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.runs.folder import LONGEST_NAME
from fairlead.runs.paths import SUMMARY
from fairlead.runs.run_folder import MANIFEST, read_manifest


def numbers() -> list[float]:
    random = np.random.default_rng(5)
    found = [
        0.0,
        -0.0,
        1.0,
        0.1,
        1e7,
        9999999.5,
        1_772_442_000.0,
        1_772_442_000.1,
        1e-3,
        1e-4,
        1.5e-6,
    ]
    for power in range(-12, 24):
        found += (random.uniform(1, 10, 20) * 10.0**power).tolist()
        found += [10.0**power, np.nextafter(10.0**power, 0)]
    return [sign * float(each) for each in found for sign in (1, -1)]


def test_a_folder_of_this_machine_whatever_the_default_file_system_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A cluster's default is often another one, which has a folder of that name, or none."""
    with other_default(spark, tmp_path / "elsewhere"):
        with FolderTables(str(tmp_path / "a b"), overwrite=False) as delivery:
            rows = spark.range(3)
            delivery.write(rows, "x", "parquet")
            assert delivery.load(spark, "x", "parquet", rows.schema).count() == 3
            delivery.finish()
        for place in (f"{tmp_path}/a b/x", f"file://{tmp_path}/a%20b/x", f"{tmp_path}/a b/x/part*"):
            assert read(spark, place, input_format="parquet").count() == 3
    assert list((tmp_path / "a b" / "x").glob("part-*"))


def test_numbers_in_csv_are_plain_and_read_back_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = numbers()
    places = pa.array(range(len(given)))
    short = np.array(given, np.float32)
    rows = pa.table({"k": places, "x": given, "y": short, "n": pa.nulls(len(given), pa.float64())})
    with FolderTables(str(tmp_path / "o"), overwrite=False) as delivery:
        delivery.write(spark.createDataFrame(rows).orderBy("k"), "x", "csv")
        delivery.finish()
    read = []
    for file in sorted((tmp_path / "o" / "x").glob("part-*")):
        with file.open(encoding="utf-8") as lines:
            read += list(csv.DictReader(lines))
    assert [float(row["x"]) for row in read] == given
    assert [str(float(row["x"]))[0] for row in read] == [str(each)[0] for each in given]  # -0.0
    assert (np.array([row["y"] for row in read], np.float32) == short).all()
    assert {row["n"] for row in read} == {""}
    for row in read:
        assert ("E" in row["x"]) == (
            not (float(row["x"]) == 0 or 1e-6 <= abs(float(row["x"])) < 1e18)
        )
    assert read[given.index(1_772_442_000.0)]["x"] == "1772442000.0"
    assert read[given.index(1_772_442_000.1)]["x"] == "1772442000.1"
    assert read[given.index(1e-4)]["x"] == "0.0001"


def test_a_name_leaves_room_for_the_folder_in_the_making(tmp_path: Path) -> None:
    with FolderTables(str(tmp_path / ("x" * LONGEST_NAME)), overwrite=False) as delivery:
        delivery.write_json(SUMMARY, {})
        delivery.finish()
    for name in ("x" * (LONGEST_NAME + 1), "ü" * LONGEST_NAME, "x" * 300):
        with pytest.raises(OutputError, match=f"found a name of .* at most {LONGEST_NAME}$"):
            FolderTables(str(tmp_path / name), overwrite=False)


@pytest.mark.parametrize("name", ["o[1]", "{x}", "*", "what?", "at-12:30", "back\\slash"])
def test_a_place_that_spark_would_read_otherwise_is_refused(tmp_path: Path, name: str) -> None:
    for place in (name, f"{name}/inside"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        with pytest.raises(OutputError, match=r"found '.*' in the path .*, allowed: any without"):
            FolderTables(str(tmp_path / place), overwrite=False)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"{}", b'{"format": 2}'])
def test_a_manifest_that_is_not_whole_is_refused_in_one_line(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(UserError, match=f"{MANIFEST}: found what this version did not write"):
        read_manifest(tmp_path)
    whole = {"format": 1, "file_format": "csv", "clusters": [], "changes": []}
    (tmp_path / MANIFEST).write_text(json.dumps(whole))
    with pytest.raises(UserError, match=r"found results that are not whole \(there is no summary"):
        read_manifest(tmp_path)
    (tmp_path / SUMMARY).touch()
    assert read_manifest(tmp_path) == whole
