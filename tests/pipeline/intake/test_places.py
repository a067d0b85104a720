"""Places that Spark does not reach are not called tables of another format."""

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
