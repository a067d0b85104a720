"""Times and services as numbers: however they come, they are the same whole microseconds."""

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import DoubleType, StringType

from fairlead import Cluster, load_changes, route
from fairlead.balance.objects import on_one_line
from fairlead.balance.times import LATEST, MICROS, THEN, UNITS
from fairlead.balance.times import micros as of_a_change
from fairlead.compiled.intake.numbers import times as times_in
from fairlead.compiled.plan import Plan
from fairlead.errors import ChangeError, MessageError
from fairlead.pipeline.columns import GOOD, REASON, TIME
from fairlead.pipeline.dispatch import dispatch, rejected
from fairlead.pipeline.intake.validate import time_of, validate

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
    assert times_in(pa.array(seconds)).values.tolist() == [exact(x) for x in seconds]


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


def at(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1_000_000)  # type: ignore[misc,arg-type]


NOON = at(2026, 11, 21, 12, 30)
READ = {
    "2026-11-21": at(2026, 11, 21),
    "2026-1-5": at(2026, 1, 5),
    "2026-11-21T12:30": NOON,
    "2026-11-21 12:30": NOON,
    "2026-11-21T12:30Z": NOON,
    "2026-11-21T12:30+01": NOON - 3_600_000_000,
    "2026-11-21 12:30:00": NOON,
    " 2026-11-21 12:30:00\t": NOON,
    " 2026-11-21 ": at(2026, 11, 21),
    "2026-11-21 9:5:3": at(2026, 11, 21, 9, 5, 3),
    "2026-11-21T12:30:00.5Z": NOON + 500_000,
    "2026-11-21T12:30:00.123456789": NOON + 123_456,
    "2026-11-21 12:30:00 UTC": NOON,
    "2026-11-21 12:30:00GMT": NOON,
    "2026-11-21 12:30:00 +0100": NOON - 3_600_000_000,
    "2026-11-21T12:30:00-1:30": NOON + 5_400_000_000,
    "2026-11-21T12:30:00+18:00": NOON - 64_800_000_000,
    "0001-01-01T00:00:00Z": -62_135_596_800_000_000,
    "9999-12-31T23:59:59.999999Z": 253_402_300_799_999_999,
    "2026": 2_026_000_000,
    "1e3": 1_000_000_000,
    " 5. ": 5_000_000,
    "-.5": -500_000,
    "0.0000005": 1,
    "0.0000004999999999": 1,
    "0.0000004": 0,
}
NO_TIMES = (
    # A day, a month or minutes would have to be made up.
    *("12:30", "12:30:00", "T12:30", "T12:30:00.5", "12:30:00Z", "23:59:59+14:00"),
    *("2026-11", "2026-11-21T", "2026-11-21T12", "2026-11-21 12", "2026-11-21T12Z"),
    *("now", "today", "yesterday", "tomorrow", "epoch", "current_timestamp", "noon"),
    # These zones have hours that are there twice, or names that mean several.
    *("2026-11-21 12:30:00 Europe/Berlin", "2026-11-21 12:30:00 PST", "2026-11-21 12:30:00 IST"),
    *("2026-11-21 12:30:00 UTC+1", "2026-11-21T12:30:00[UTC]", "2026-11-21T12:30:00z"),
    *("2026-11-21+01:00", "2026-11-21Z", "2026-11-21T12:30:00+18:30", "2026-11-21T12:30:00+1:99"),
    # Other orders, other calendars, and what no clock shows.
    *("2026/11/21", "21.11.2026", "11/21/2026", "2026-W47-6", "20261121T123000", "12026-11-21"),
    *("0000-01-01", "2026-02-30", "2026-13-01", "2026-11-21T24:00:00", "2026-11-21T23:59:60"),
    *("2026-11-21T12:30:00,5", "2026-11-21T12:30:00.", "2026-11-21T12:30.5"),
    *("2026-11-21  12:30:00", "2026-11-21\n12:30:00", "+2026-11-21"),
    *("", " ", "1_000", "0x10", "1d", "nan", "inf", "1e300", "9000000000001", "\u00a05", "5 5"),
)


def test_a_text_is_the_same_time_on_spark_in_memory_and_in_the_changes(spark: SparkSession) -> None:
    """And it is the same tomorrow: nothing of it is taken from the day of the run."""
    expected: dict[str, int | None] = {**READ, **dict.fromkeys(NO_TIMES)}
    frame = spark.createDataFrame([(text,) for text in expected], "time string")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        rows = frame.select("time", time_of(StringType()).alias("micros")).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    assert {row["time"]: row["micros"] for row in rows} == expected
    assert {text: of_a_change(text) for text in expected} == expected
    assert times_in(pa.array(READ)).values.tolist() == list(READ.values())


@pytest.mark.parametrize("text", NO_TIMES)
def test_in_memory_a_text_that_is_no_time_is_refused(text: str) -> None:
    messages = pa.table({"id": ["a", "b"], "time": ["2026-11-21", text]})
    found = f"'{on_one_line(text)}'" if text else "nothing"
    with pytest.raises(MessageError) as caught:
        route(messages, Cluster.of("round-robin", destination=[{"name": "A"}]))
    allowed = "a timestamp, or a number of seconds"
    assert str(caught.value) == f"messages: row 1: time: found {found}, allowed: {allowed}"


POOL = Cluster.of("round-robin", destination=[{"name": "A"}])
SINCE = 1_772_442_000
OTHER_UNITS = {
    "milliseconds": (SINCE * 10**3, "timestamp_millis(bigint(ts))", "ms"),
    "microseconds": (SINCE * 10**6, "timestamp_micros(bigint(ts))", "us"),
    "nanoseconds": (SINCE * 10**9, "timestamp_micros(bigint(ts) div 1000)", "ns"),
}


@pytest.mark.parametrize("unit", OTHER_UNITS)
@pytest.mark.parametrize("kind", ["number", "text"])
def test_numbers_that_count_another_unit_since_1970_are_refused(
    spark: SparkSession, tmp_path: Path, unit: str, kind: str
) -> None:
    number, way, arrow = OTHER_UNITS[unit]
    given: Any = number if kind == "number" else str(number)
    table = pa.table({"id": ["a", "b"], "time": [given, given]})
    expected = f"time: found '{given}', which counts {unit} since 1970, allowed: a timestamp, or a"
    with pytest.raises(MessageError) as caught:
        route(table, POOL)
    assert expected in str(caught.value)
    assert f"pyarrow.timestamp('{arrow}')" in str(caught.value)
    with pytest.raises(MessageError) as caught:
        dispatch(spark.createDataFrame(table), POOL)
    assert expected in str(caught.value)
    assert f"Spark SQL makes one of the number ts by {way}" in str(caught.value)
    assert "--" not in str(caught.value)
    assert caught.value.in_shell == f"{caught.value}: --column 'time={way}'"
    ways = {"time": pa.array([number, number]).cast(pa.timestamp(arrow)), "id": ["a", "b"]}
    assert route(pa.table(ways), POOL).num_rows == 2
    file = tmp_path / "x.csv"
    file.write_text(f"time,target,attribute,value\n{number},A,enabled,false\n")
    with pytest.raises(ChangeError, match=f"x.csv:2: time: found {number}, which counts {unit}"):
        load_changes(file)


def test_of_a_table_with_some_of_them_only_those_are_rejected(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    """And a notebook is told, for it sees only the rows that are left."""
    rows = [("a", SINCE * 1000), ("b", SINCE), ("c", 0), ("d", 700_000_000_000_000)]
    frame = spark.createDataFrame(rows, "id string, time long")
    with caplog.at_level("WARNING", "fairlead"):
        assert [row["id"] for row in dispatch(frame, POOL).collect()] == ["c", "b"]
    (line,) = caplog.messages
    assert "2 rows are no messages and are left out (time: 2); rejected(" in line
    reasons = [row["reason"] for row in rejected(frame, POOL).orderBy("id").collect()]
    assert "milliseconds" in reasons[0]
    assert "microseconds" in reasons[1]


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["string", "binary"])
def test_what_is_read_must_be_utf8(spark: SparkSession, kind: str) -> None:
    rows = [(bytearray(b"caf\xe9"), 1), (bytearray("café".encode()), 1)]
    frame = spark.createDataFrame(rows, "id binary, time int")
    frame = frame.select(frame.id.cast(kind).alias("id"), "time")
    good = dispatch(frame, POOL)
    assert [row["id"] for row in good.select(good.id.cast("string").alias("id")).collect()] == [
        "café"
    ]
    (bad,) = rejected(frame, POOL).select("reason").collect()
    assert bad["reason"] == "id: found 'caf\ufffd', allowed: text in UTF-8"
    ids = pa.array([b"caf\xe9", b"b"])
    column = ids if kind == "binary" else pa.StringArray.from_buffers(2, *ids.buffers()[1:])
    for name in ("id", "group"):
        columns = {"id": ["a", "b"], "time": [1, 2]} | {name: column}
        line = f"messages: row 0: {name}: found 'caf\ufffd', allowed: text in UTF-8"
        with pytest.raises(MessageError, match=line):
            route(pa.table(columns), POOL)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "value"),
    [("double", 1.7), ("decimal(3,1)", Decimal("1.7")), ("double", float("nan")), ("string", "x")],
)
def test_a_position_is_not_cut_off(spark: SparkSession, kind: str, value: Any) -> None:
    whole = {"double": 1.0, "decimal(3,1)": Decimal(1), "string": "1"}[kind]
    frame = spark.createDataFrame(
        [("a", 1, whole), ("b", 1, value)], f"id string, time int, position {kind}"
    )
    assert [row["id"] for row in dispatch(frame, POOL).collect()] == ["a"]
    (bad,) = rejected(frame, POOL).select("reason").collect()
    assert bad["reason"].startswith("position: found '")
    assert bad["reason"].endswith("', allowed: an integer")


def test_texts_that_are_integers_are_the_same_ones_in_memory_and_on_spark(
    spark: SparkSession,
) -> None:
    words = ["1", " 2\t", "+3", "-4", "05", "1e1", "1.0", "1_0", "0x1", "1.", "٣", "9" * 19]
    names = [f"m{k:02}" for k in range(len(words))]
    frame = spark.createDataFrame(
        [(name, 1, word) for name, word in zip(names, words, strict=True)],
        "id string, time int, position string",
    )
    taken = {row["id"] for row in dispatch(frame, POOL).collect()}
    for name, word in zip(names, words, strict=True):
        table = pa.table({"id": [name], "time": [1], "position": [word]})
        if name in taken:
            assert route(table, POOL).num_rows == 1
        else:
            with pytest.raises(MessageError, match=r"position: found .* allowed: an integer"):
                route(table, POOL)
    assert taken == set(names[:5])


@pytest.mark.parametrize("kind", ["boolean", "timestamp", "date", "array<int>", "binary"])
@pytest.mark.parametrize("name", ["position", "service_time", "priority", "cost", "rollbacks"])
def test_a_column_of_a_type_that_is_no_number_is_refused(
    spark: SparkSession, name: str, kind: str
) -> None:
    frame = spark.createDataFrame([], f"id string, time int, {name} {kind}")
    with pytest.raises(MessageError, match=rf"{name}: found a column of type {kind}, allowed: a"):
        dispatch(frame, POOL)


def test_ids_of_floating_point_are_refused(spark: SparkSession) -> None:
    with pytest.raises(MessageError, match="id: found a column of type double, allowed: text, who"):
        dispatch(spark.createDataFrame([], "id double, time int"), POOL)


SHOP = Cluster.of("round-robin", destination=[{"name": "a"}])
MEANT_OTHERWISE = [(THEN[0] * many, THEN[1] * many) for many in UNITS.values()]
EDGES = (0.0, LATEST, *(each * many for each in THEN for many in UNITS.values()))


@pytest.mark.parametrize("kind", ["double", "float", "bigint", "decimal(28,6)", "string"])
def test_a_row_is_a_message_or_there_is_a_reason(spark: SparkSession, kind: str) -> None:
    """At the borders of what is a time, whatever type the number has."""
    seconds = [
        sign * float(each)
        for edge in map(float, EDGES)
        for each in (edge, np.nextafter(edge, np.inf), np.nextafter(edge, -np.inf), edge + 1)
        for sign in (1, -1)
    ]
    odd = [float("nan"), float("inf"), float("-inf"), None]
    frame = spark.createDataFrame([(each,) for each in (*seconds, *odd)], "seconds double")
    table = frame.selectExpr(f"try_cast(seconds as {kind}) as time").selectExpr(
        "cast(monotonically_increasing_id() as string) as id", "time"
    )
    rows = validate(table, Plan([SHOP], [])).collect()
    for row in rows:
        kept = row[TIME] is not None and not any(
            low * MICROS <= row[TIME] <= high * MICROS for low, high in MEANT_OTHERWISE
        )
        assert (row[GOOD], row[REASON] is None) == (kept, kept), row
    assert {row[GOOD] for row in rows} == {True, False}
