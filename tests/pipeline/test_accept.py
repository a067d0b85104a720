"""Times and services as numbers: however they come, they are the same whole microseconds."""

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import DoubleType

from fairlead.compiled.columns import micros
from fairlead.pipeline.accept import time_of

AT_SEVEN_DIGITS = (0.0000005, 1.0000005, 12345.6789005, 4503599627.3704955, 1732000000.1234565)


def exact(seconds: float) -> int:
    """As a decimal that has nine digits after the point, halves away from zero."""
    said = Decimal(repr(seconds)).quantize(Decimal("1e-9"), ROUND_HALF_UP)
    return int((said * 1_000_000).quantize(Decimal(1), ROUND_HALF_UP))


def doubles() -> list[float]:
    random = np.random.default_rng(11)
    found = list(AT_SEVEN_DIGITS)
    for largest in (1e-6, 1e-3, 1.0, 1e3, 1e6, 2e9, 2.3e9, 4e9, 1e11, 9e12):
        seconds = random.uniform(0, largest, 200)
        found += [*seconds, *seconds.round(6), *seconds.round(7), *np.nextafter(seconds, 0)]
        found += [*((seconds * 1e6).round() / 1e6 + 5e-7)]
    return [sign * float(x) for x in found for sign in (1, -1)]


def test_in_memory_it_is_the_same() -> None:
    seconds = doubles()
    assert micros(pa.table({"time": seconds}), "time").tolist() == [exact(x) for x in seconds]


def test_a_floating_point_number_is_the_decimal_that_it_is_written_as(spark: SparkSession) -> None:
    seconds = doubles()
    table = spark.createDataFrame(pa.table({"time": seconds}))
    found = table.select("time", time_of(DoubleType()).alias("micros")).collect()
    assert [row["micros"] for row in found] == [exact(row["time"]) for row in found]
    assert len(found) == len(seconds)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), float("-inf"), 1e300, None])
def test_what_is_no_time_is_none(spark: SparkSession, seconds: float | None) -> None:
    table = spark.createDataFrame([(seconds,)], "time double")
    assert table.select(time_of(DoubleType()).alias("micros")).collect()[0]["micros"] is None
