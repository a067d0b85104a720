"""Places that Spark does not reach are not called tables of another format."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fairlead.errors import UserError
from fairlead.pipeline.intake.read import read


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("hdfs://nn.invalid/m.parquet", "there is no host 'nn.invalid'"),
        ("hdfs://nn.invalid:8020/m.csv", "there is no host 'nn.invalid'"),
        ("hdfs://127.0.0.1:9/m.json", "nobody answers there: Connection refused"),
        ("foo://bucket/m.csv", "this Spark lacks a package with the file system foo"),
        (
            "http://nn.invalid/m.csv",
            (
                "Spark cannot read tables from there: org.apache.hadoop.fs.http.HttpFileSystem "
                "does not list files"
            ),
        ),
    ],
)
def test_why_a_place_is_not_reached_is_told(spark: SparkSession, place: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        read(spark, place)
    assert str(refused.value) == f"{place}: {told}"


def test_a_key_that_comes_twice_is_told(spark: SparkSession, tmp_path: Path) -> None:
    for keys in ('"id": "b"', '"ID": "b"'):
        file = tmp_path / "m.json"
        file.write_text(f'{{"id": "a", {keys}, "time": 1}}\n')
        for place in (str(file), file.as_uri()):
            with pytest.raises(UserError) as refused:
                read(spark, place)
            assert str(refused.value) == (
                f"{place}: not a table of format json: column `id`: found twice, allowed: once "
                "(upper and lower case are alike)"
            )


def test_objects_over_several_lines_are_told(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text('{\n  "id": "a",\n  "time": 1\n}\n')
    with pytest.raises(UserError, match="an object over several lines needs --read-option multi"):
        read(spark, str(file))


@pytest.mark.parametrize(
    "option",
    [
        {"number_rows": True},
        {"input_format": "csv"},
        {"options": {"sep": ";"}},
        {"only": ["a.csv"]},
    ],
    ids=str,
)
def test_what_goes_with_files_alone_is_refused_with_a_table(option: Any) -> None:
    session: Any = None
    (name,) = option
    line = f"^{name}: found with table:shop.calls, allowed: with files$"
    with pytest.raises(UserError, match=line):
        read(session, "table:shop.calls", **option)
