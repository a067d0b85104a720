"""More and less traffic in memory: the messages that Spark gives."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from fairlead.compiled.intake.rows import CheckedTable
from fairlead.errors import MessageError
from fairlead.memory.scale import scale_rate
from fairlead.pipeline.intake.scale import scale_rate as on_spark
from fairlead.replay.scale import Scale

BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)


def traffic(kind: str, n: int = 200) -> pa.Table:
    random = Random(kind)  # noqa: S311
    rows: list[dict[str, Any]] = []
    for k in range(n):
        seconds = random.randint(0, 90_000) / 10
        rows.append(
            {
                "id": f"é{k}" if k % 50 else "",
                "time": told(kind, seconds),
                "group": random.choice(["", None, "g1", "g2", "g3"]) if k % 3 else None,
                "cluster": random.choice(["a", "b", ""]),
                "note": k,
            }
        )
    rows[7]["time"] = None
    if kind == "text":
        rows[8]["time"] = "soon"
    return pa.Table.from_pylist(rows)


def told(kind: str, seconds: float) -> Any:
    moment = BEGIN + timedelta(seconds=seconds)
    return {
        "seconds": seconds,
        "whole": int(seconds),
        "moment": moment,
        "local": moment.replace(tzinfo=None),
        "date": date(2026, 3, 1) + timedelta(days=int(seconds) // 1_000),
        "text": str(seconds) if int(seconds) % 2 else moment.isoformat(),
    }[kind]


def listed(table: pa.Table) -> list[tuple[str, ...]]:
    return sorted(tuple(map(str, row.values())) for row in table.to_pylist())


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["seconds", "whole", "moment", "local", "date", "text"])
def test_the_messages_are_those_of_spark(spark: SparkSession, kind: str) -> None:
    table = traffic(kind)
    frame = spark.createDataFrame(table)
    if kind == "local":  # Spark has given them a zone
        frame = frame.withColumn("time", F.col("time").cast("timestamp_ntz"))
    frame = frame.cache()
    for rate in ("0.4", "1", "1.7", "3"):
        wanted = on_spark(frame, Decimal(rate), 7).toArrow()
        mine = scale_rate(CheckedTable(table, None), Scale(Decimal(rate), 7)).table
        assert listed(mine) == listed(wanted), rate
        assert mine.column_names == wanted.column_names
    frame.unpersist()


@pytest.mark.parametrize(
    ("column", "line"),
    [
        ({"position": [1, 2]}, "found the column 'position', in whose order copies have no place"),
        ({"group": ["a", "b~2"]}, "messages: group: found 'b~2', which ends as a copy's does"),
    ],
)
def test_where_copies_have_no_place_they_are_refused(column: dict[str, Any], line: str) -> None:
    table = pa.table({"id": ["x", "y"], "time": [0.0, 1.0], **column})
    with pytest.raises(MessageError, match=line):
        scale_rate(CheckedTable(table, None), Scale(Decimal(2)))
    assert scale_rate(CheckedTable(table, None), Scale(Decimal("0.5"))).table.num_rows <= 2
