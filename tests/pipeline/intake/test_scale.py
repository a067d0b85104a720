"""Scaled traffic: so much more or less of the same, by whole conversations, whatever happens."""

from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from fairlead.errors import MessageError
from fairlead.pipeline.intake.scale import scale_rate
from fairlead.pipeline.intake.validate import micros
from fairlead.replay.scale import GAPS

SECOND = 1_000_000
N = 2_000
"""Messages: one each second, three of four in groups of five."""
GROUPS = N * 3 // 4 // 5
START = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def traffic(spark: SparkSession) -> DataFrame:
    """Messages with the columns id, time (a timestamp), group and note."""
    n = F.col("n")
    which = F.floor(n / 20) * 3 + n % 4 - 1
    group = F.when(n % 4 != 0, F.concat(F.lit("g"), which.cast("string")))
    return (
        spark.range(N)
        .withColumnRenamed("id", "n")
        .select(
            F.concat(F.lit("m"), n.cast("string")).alias("id"),
            F.timestamp_seconds(F.lit(int(START.timestamp())) + n).alias("time"),
            group.alias("group"),
            n.alias("note"),
        )
        .cache()
    )


def rows(scaled: DataFrame) -> list[Row]:
    return sorted(scaled.select("*", micros(scaled).alias("at")).collect())


def number(name: str) -> int:
    """Which copy it is."""
    return int(name.partition("~")[2] or 0)


def conversation(row: Row) -> str:
    """The original's name."""
    return str(row["group"] or row["id"]).partition("~")[0]


def test_the_rate_1_changes_nothing(traffic: DataFrame) -> None:
    assert scale_rate(traffic, Decimal(1), 0) is traffic


@pytest.mark.parametrize("rate", ["0.25", "0.5", "1.5", "2", "2.75"])
def test_there_are_so_many(traffic: DataFrame, rate: str) -> None:
    found = rows(scale_rate(traffic, Decimal(rate), 7))
    alone = [row for row in found if row["group"] is None]
    part = float(Decimal(rate) % 1)
    # Messages without a group are decided one by one; groups of five, so with more scatter.
    for got, of in ((len(alone), N // 4), (len({row["group"] for row in found} - {None}), GROUPS)):
        scatter = (of * part * (1 - part)) ** 0.5
        assert abs(got - float(rate) * of) <= 3 * scatter, (got, of)
    for number_of_copy in range(int(Decimal(rate))):
        assert sum(number(row["id"]) == number_of_copy for row in found) == N


def test_other_seeds_choose_others(traffic: DataFrame) -> None:
    one, other, again = (
        {row["id"] for row in scale_rate(traffic, Decimal("0.5"), seed).collect()}
        for seed in (7, 8, 7)
    )
    assert one == again
    # Two independent halves have a quarter in common.
    assert abs(len(one & other) - N / 4) < N / 20


@pytest.mark.costly
@pytest.mark.parametrize("rate", ["0.5", "2.5"])
def test_partitions_do_not_matter(traffic: DataFrame, rate: str) -> None:
    one, other = (
        rows(scale_rate(traffic.repartition(parts), Decimal(rate), 3)) for parts in (1, 7)
    )
    assert one == other


@pytest.mark.parametrize("rate", ["0.4", "1.6"])
def test_conversations_are_whole_and_keep_their_gaps(traffic: DataFrame, rate: str) -> None:
    recorded = defaultdict(list)
    for row in rows(traffic):
        if row["group"]:
            recorded[row["group"]].append((row["note"], row["at"]))
    copied = defaultdict(list)
    for row in rows(scale_rate(traffic, Decimal(rate), 5)):
        if row["group"]:
            assert number(row["id"]) == number(row["group"])
            copied[row["group"]].append((row["note"], row["at"]))
    assert 0 < len(copied) != len(recorded)
    for group, messages in copied.items():
        original = recorded[group.partition("~")[0]]
        (later,) = {
            at - before
            for (_, at), (_, before) in zip(sorted(messages), sorted(original), strict=True)
        }
        assert (later == 0) == (number(group) == 0)


def test_copies_come_later_by_some_gaps(traffic: DataFrame) -> None:
    recorded = {row["id"]: row["at"] for row in rows(traffic)}
    shifts = {}
    for row in rows(scale_rate(traffic, Decimal(3), 1)):
        if number(row["id"]):
            later = row["at"] - recorded[row["id"].partition("~")[0]]
            shifts[conversation(row), number(row["id"])] = later
    gap = N * SECOND / (GROUPS + N // 4)
    assert 0 <= min(shifts.values()) < max(shifts.values()) < 1.1 * GAPS * gap
    mean = sum(shifts.values()) / len(shifts)
    assert abs(mean - GAPS * gap / 2) < 0.1 * GAPS * gap
    # The copies of one conversation do not come together, nor all first copies.
    assert len(set(shifts.values())) > 0.99 * len(shifts)


def test_a_higher_rate_only_adds(traffic: DataFrame) -> None:
    found = [set(rows(scale_rate(traffic, Decimal(rate), 2))) for rate in ("1.2", "1.7", "2.3")]
    assert found[0] < found[1] < found[2]


def test_the_minutes_keep_their_shares(spark: SparkSession) -> None:
    """A rush stays one: two thirds of the messages come in a sixth of the time."""
    n = F.col("n")
    at = F.when(n < 2000, 1000 + n * 0.1).otherwise((n - 2000) * 1.2)
    table = (
        spark.range(3000)
        .select(F.col("id").alias("n"))
        .select(n.cast("string").alias("id"), at.alias("time"))
    )
    seen = Counter(
        1000 <= float(row["time"]) < 1200 for row in scale_rate(table, Decimal(3), 1).collect()
    )
    assert seen.total() == 9000
    assert 0.68 < seen[True] / seen.total() < 0.73


@pytest.mark.parametrize(
    ("times", "kind", "later"),
    [
        ([START, START + timedelta(seconds=100)], "timestamp", "timestamp"),
        ([datetime(2026, 3, 2), datetime(2026, 3, 3)], "timestamp_ntz", "timestamp_ntz"),  # noqa: DTZ001
        ([date(2026, 3, 2), date(2026, 6, 2)], "date", "timestamp_ntz"),
        ([5, 105], "int", "decimal(38,6)"),
        ([5.25, 105.5], "double", "decimal(38,6)"),
        ([Decimal("-5.125"), Decimal("105.5")], "decimal(9,3)", "decimal(38,6)"),
        (["5", "105.5"], "string", "string"),
        (["2026-03-02T09:00:00+01:00", "2026-03-02 10:00:00"], "string", "string"),
        (["2026-03-02", "2026-03-09"], "string", "string"),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_times_stay_what_they_are(
    spark: SparkSession, times: list[Any], kind: str, later: str, zone: str
) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", str(zone))
    try:
        table = spark.createDataFrame([("a", times[0]), ("b", times[1])], f"id string, time {kind}")
        scaled = scale_rate(table, Decimal(20), 1)
        assert dict(scaled.dtypes) == {"id": "string", "time": later}
        was = {row["id"]: row["at"] for row in rows(table)}
        period = was["b"] - was["a"]
        found = {row["id"]: row["at"] for row in rows(scaled)}
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    assert len(found) == 40
    assert {name: found[name] for name in was} == was
    shifts = {at - was[name[0]] for name, at in found.items()}
    assert 0 <= min(shifts) < max(shifts) <= period // 10
    assert len(shifts) > 30


def test_originals_keep_the_text_of_their_times(spark: SparkSession) -> None:
    table = spark.createDataFrame(
        [("a", "1e1", ""), ("b", "soon", "")], "id string, time string, `group` string"
    )
    found = {row["id"]: row for row in scale_rate(table, Decimal(2), 1).collect()}
    assert sorted(found) == ["a", "a~1", "b", "b~1"]
    assert found["a"]["time"] == "1e1"
    assert found["b"]["time"] == "soon"
    # What is no time has no later one; the row is rejected as the original is.
    assert found["b~1"]["time"] is None
    assert {row["group"] for row in found.values()} == {""}


def test_what_could_be_taken_for_a_copy_is_refused(spark: SparkSession) -> None:
    table = spark.createDataFrame([("a~1", 0, "g")], "id string, time int, `group` string")
    with pytest.raises(MessageError, match="id: found 'a~1', which ends as a copy's does, allowed"):
        scale_rate(table, Decimal(2), 0)
    grouped = table.select(F.lit("a").alias("id"), "time", F.lit("g~12").alias("group"))
    with pytest.raises(MessageError, match="group: found 'g~12', which ends as a copy's does"):
        scale_rate(grouped, Decimal(2), 0)
    assert scale_rate(table, Decimal("0.999999"), 0).count() == 1


def test_copies_have_no_place_by_position(spark: SparkSession) -> None:
    table = spark.createDataFrame([("a", 0, 1)], "id string, time int, position int")
    with pytest.raises(MessageError, match=r"found the column 'position', .* allowed with a scale"):
        scale_rate(table, Decimal("1.5"), 0)
    assert scale_rate(table, Decimal("0.999999"), 0).columns == ["id", "time", "position"]
