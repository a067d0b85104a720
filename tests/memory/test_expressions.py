"""Expressions in memory, held against Spark's own values."""

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fairlead.errors import UserError
from fairlead.memory.columns import mapped

TIME = pa.timestamp("us", "UTC")
TABLE = pa.table(
    {
        "s": ["12", " 7.5 ", "x", None, "", "-3e2", "2023-11-16 18:17:03.97", "NA"],
        "t": ["a b", "Ab'c", "é", "12", None, "", "a", "NA"],
        "i": pa.array([1, -7, 0, None, 2**31 - 1, 5, 60, 3], pa.int32()),
        "l": pa.array([1700000000000, 2, 3, 4, None, 0, -9, 10], pa.int64()),
        "d": [0.1, -2.5, None, 1e10, 0.0, 1e-5, 3.0, 123456.789],
        "b": [True, False, None, True, False, True, None, False],
        "m": pa.array([Decimal("1.50"), None, *[Decimal("-2.25")] * 6], pa.decimal128(10, 2)),
        "w": pa.array([datetime(2023, 1, 2, 3, 4, 5, 600000, UTC)] * 8, pa.timestamp("us", "UTC")),
        "v": pa.array([None, *[datetime(1969, 12, 31, 23, 59, 58, 500000, UTC)] * 7], TIME),
        "late": pa.array([datetime(9999, 12, 31, tzinfo=UTC), None] * 4, TIME),
        "n": [math.nan, -0.0, 1e30, math.inf, -math.inf, None, 1.5, -2.0],
        "ns": pa.array([1772442003123456789, -(2**63), 2**63 - 1, 2**53 + 1, 5, None, 0, -1]),
        "e": pa.array([None, "x", None, "", None, None, "y", None], pa.string()),
        "month": [
            "2026-11",
            "2026-13",
            "2026",
            "2026-1",
            " 2026-07 ",
            "202",
            "\uff11\uff12",
            "1e3",
        ],
    }
)
EXPRESSIONS = [
    "s", "`t`", "S || '-' || t", "concat(t, i)", "concat_ws(' ', t, s, i)", "nullif(t, 'NA')",
    "0.0002*s + 0.03*i", "0.5 * i", "i / 3", "s / 100", "l / 1000", "d * 2 - 1", "-i", "- s",
    "i % 3", "l div 7", "-l % 4", "m * 2", "m + 0.005", "m / 3", "m * m", "i * 0.25", "1 / 0",
    "d / 0", "i + l", "s + s", "CAST(s AS double)", "cast(s AS int)", "cast(d as int)",
    "cast(d as string)", "cast(i as string)", "cast(m as string)", "cast(w as string)",
    "cast(m as double)", "try_cast(t as bigint)", "cast(s as timestamp)", "cast(b as string)",
    "cast(s as decimal(10,2))", "timestamp_millis(l)", "timestamp_millis(bigint(l))",
    "timestamp_micros(l)", "timestamp_seconds(i)", "to_timestamp(s)", "bigint(s)",
    "timestampadd(MINUTE, cast(i AS INT), w)", "if(i > 1, 'many', 'few')",
    "CASE WHEN i IS NULL THEN 'none' WHEN d >= 1 AND NOT b THEN 'x' ELSE t END",
    "CASE t WHEN 'NA' THEN 1 ELSE 2 END", "i > 1 OR b", "s = 12", "t <=> NULL", "i != 5 AND l < 5",
    "t IS NOT NULL", "coalesce(s, t, 'zz')", "upper(t)", "lower(t)", "trim(s)", "length(t)",
    "substring(t, 2, 2)", "substring(t, -2)", "abs(i)", "floor(d)", "ceil(d)", "round(d, 1)",
    "greatest(i, 3)", "least(l, i)", "'it''s'", "\"q\"", "1.5e3", "TRUE", "NULL", "12L", "1.50",
    r"regexp_extract(t, '(\\w)b', 1)", r"regexp_extract(s, r'^(\d+)-(\d+)', 2)",
    "try_to_timestamp('16/Nov/2023:18:17:03 +0100', 'dd/MMM/yyyy:HH:mm:ss Z')",
    "double(s)", "string(d)", "int(s)", "2 * (i + 1) - -3",
    "concat_ws('-', e, nullif(t, t))", "concat_ws('-', e, s, t)", "concat_ws(e, s, t)", "ns / 1e9",
    "if(ns > 0.5D, 1, 0)", "coalesce(d, ns)", "double(ns)", "boolean(ns)", "least(w, v)",
    "greatest(w, v, late)", "greatest(n, 1.0D)", "least(n, 1.0D)", "greatest(m, 1.0)",
    "least(t, s)",
    "double(late)", "bigint(late)", "int(late)", "int(v)", "bigint(v)", "double(v)",
    "n > 2", "n = n", "n <= 0", "n < 0.0D", "n <=> 0.0D", "n != 1.5", "d >= n", "n > 1e300D",
    "string(m * 0.00000001)", "concat(m * 0.000001, s)",
    "timestamp(n)", "timestamp(month)", "bigint(month)", "int(month)", "double(month)",
]  # fmt: skip


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """Times as microseconds, for Python has none after the year 9999."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    found: list[Any] = column.to_pylist()
    return found


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return bool(one == other) and (one is None) == (other is None)


def test_each_expression_has_the_values_of_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame(TABLE).coalesce(1)
    named = {f"c{k}": text for k, text in enumerate(EXPRESSIONS)}
    wanted = frame.selectExpr(*(f"{text} AS {name}" for name, text in named.items())).toArrow()
    found = mapped(TABLE, "t", named, TABLE.column_names)
    wrong = []
    for name, text in named.items():
        mine, theirs = values_of(found[name]), values_of(wanted[name])
        if not all(map(same, mine, theirs)):
            wrong.append((text, mine, theirs))
    assert not wrong, "\n".join(map(str, wrong))
    numbers = [name for name in named if pa.types.is_decimal(wanted[name].type)]
    assert [found[name].type for name in numbers] == [wanted[name].type for name in numbers]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("foo(i)", "found the function foo, allowed: abs, bigint"),
        ("i BETWEEN 1 AND 2", "found 'BETWEEN', allowed: an operator, or the end; Spark has more"),
        ("j + 1", "found no column 'j'.*; the table has: s, t, i"),
        ("i +", "found 'the end', allowed: a name, a value or \\("),
        ("cast(i as interval)", "found the type interval, allowed: decimal"),
        ("b + 1", r"\+: found bool, allowed: numbers"),
        ("substring(t)", "substring: found 1 arguments, allowed: 2 to 3"),
        ("i ? 2", r"found '\? 2', allowed: names"),
        ("regexp_extract(t, s)", "found a column, allowed: a pattern as a constant"),
        ("regexp_extract(t, '(')", "regexp_extract: found '\\('"),
        ("if(i, 1, 2)", "if: found int32, allowed: a condition"),
        ("(" * 3_000 + "i" + ")" * 3_000, "found expressions more than 100 deep in each other"),
        ("i" + " + i" * 3_000, "found expressions more than 100 deep in each other"),
        ("not " * 3_000 + "b", "found expressions more than 100 deep in each other"),
    ],
    ids=lambda each: each[:40],
)
def test_what_only_spark_has_is_refused_by_name(text: str, line: str) -> None:
    with pytest.raises(UserError, match=f"^t: columns: x=.*: {line}") as refused:
        mapped(TABLE, "t", {"x": text}, [])
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 1_000
