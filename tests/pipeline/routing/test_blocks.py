"""Blocks and versions are found as `bisect` finds them, with code that grows by the logarithm."""

from bisect import bisect_right
from random import Random

import pytest
from pyspark.sql import SparkSession

from fairlead.pipeline.columns import BLOCK, ID, KEY, TIME, VERSION
from fairlead.pipeline.routing.blocks import with_block, with_version
from fairlead.pipeline.routing.places import Blocks

LARGEST = 2**63 - 1


@pytest.mark.parametrize("many", [0, 1, 2, 3, 7, 8, 300])
def test_each_row_is_in_its_block(spark: SparkSession, many: int) -> None:
    random = Random(many)  # noqa: S311
    keys = [-LARGEST - 1, -5, 0, 7, 8, LARGEST, *(random.randint(-999, 999) for _ in range(many))]
    places = [(random.choice(keys), f"m{random.randint(0, 30)}é") for _ in range(600)]
    starts = tuple(sorted({random.choice(places) for _ in range(many)}))
    rows = spark.createDataFrame(places, f"{KEY} long, {ID} string")
    found = with_block(rows, Blocks(starts)).collect()
    wanted = [bisect_right(starts, (row[KEY], row[ID])) for row in found]
    assert [row[BLOCK] for row in found] == wanted


@pytest.mark.parametrize("many", [0, 1, 5, 300])
def test_each_time_has_its_version(spark: SparkSession, many: int) -> None:
    random = Random(many)  # noqa: S311
    times = sorted({random.randint(-50, 50) for _ in range(many)})
    given = [(each,) for each in (None, LARGEST, -LARGEST - 1, *range(-60, 60))]
    found = with_version(spark.createDataFrame(given, f"{TIME} long"), times, TIME).collect()
    wanted = [0 if row[TIME] is None else bisect_right(times, row[TIME]) for row in found]
    assert [row[VERSION] for row in found] == wanted
