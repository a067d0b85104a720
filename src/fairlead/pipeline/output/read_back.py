"""What was written, read again."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from fairlead.pipeline.output.write import OPTIONS


def load(spark: SparkSession, path: str, file_format: str, schema: StructType) -> DataFrame:
    """A written table, with the columns that it was written with."""
    nested = ArrayType | MapType | StructType
    flat = StructType(
        [
            StructField(field.name, StringType())
            if file_format == "csv" and isinstance(field.dataType, nested)
            else field
            for field in schema.fields
        ]
    )
    options: Mapping[str, str] = OPTIONS[file_format]
    if file_format == "csv":
        options = {**options, "multiLine": "true"}
    return spark.read.schema(flat).format(file_format).options(**options).load(path)


def rejections(rejected: DataFrame) -> dict[str, int]:
    """Rejected rows by what was wrong: the reason up to what was found."""
    kind = F.split(F.col("reason"), ": found|: a message", 2)[0]
    rows = rejected.groupBy(kind.alias("kind")).agg(F.count(F.lit(1)).alias("n")).collect()
    return {row["kind"]: row["n"] for row in sorted(rows, key=lambda row: str(row["kind"]))}
