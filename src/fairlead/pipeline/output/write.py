"""Tables as files: in which formats, and with which options, results are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, DataFrameWriter
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DecimalType, FractionalType, MapType, StructType

from fairlead.pipeline.columns import quoted
from fairlead.runs.constants import CSV, SPELLED_OUT

FORMATS: Final = ("parquet", "csv", "json")
TIMES: Final = {
    # Spark would cut times to milliseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "parquet": {},
    "csv": {**CSV, **TIMES},
    "json": {"ignoreNullFields": "false", **TIMES},
}
ALL_DIGITS: Final = ("decimal(38,10)", "decimal(38,24)")
"""What holds all digits of the numbers in each of SPELLED_OUT."""


def writer(table: DataFrame, file_format: str) -> DataFrameWriter:
    """What writes a table in files of this format, in the order of its partitions."""
    flat = table.select(*(_flat(table, field.name) for field in table.schema.fields))
    shown = table if file_format != "csv" else flat
    return shown.write.format(file_format).options(**OPTIONS[file_format])


def _flat(table: DataFrame, name: str) -> Column:
    """A column that fits into a text file: nested ones as JSON."""
    column = quoted(name)
    kind = table.schema[name].dataType
    if isinstance(kind, ArrayType | MapType | StructType):
        return F.to_json(column).alias(name)
    if isinstance(kind, FractionalType) and not isinstance(kind, DecimalType):
        return _plain(column).alias(name)
    return column


def _plain(number: Column) -> Column:
    """A floating-point number as text without a power of ten, where that is not too long.

    It has the digits that Spark writes, which name this number and no other.
    """
    written = number.cast("string")
    spelling = written
    for (least, below), exact in zip(SPELLED_OUT, ALL_DIGITS, strict=True):
        digits = F.regexp_replace(written.cast(exact).cast("string"), r"(\.\d+?)0+$", "$1")
        spelling = F.when((F.abs(number) >= least) & (F.abs(number) < below), digits).otherwise(
            spelling
        )
    return spelling
