"""What a report is told of a run, held against plain counting of what was written."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from fairlead import Change, Cluster
from fairlead.balance.times import LATEST
from fairlead.measure.bins import MAX_BINS, Bins, around, over, widths
from fairlead.measure.facts import changes as in_words
from fairlead.pipeline.dispatch import run
from fairlead.pipeline.measure.over_time import bin_of
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.results.summary import Summary
from fairlead.runs.options import Options

SECOND = 1_000_000
DAY = 86_400 * SECOND
TIMES = st.integers(-LATEST * SECOND, LATEST * SECOND)
POOL = Cluster.of(
    "nanomsg",
    name="pool",
    destination=[
        {"name": "Z", "priority": 1},
        {"name": "A", "priority": 1},
        {"name": "B", "priority": 2},
    ],
)
SHOP = Cluster.of(
    "msmq", name="shop", destination=[{"name": f"D{k:02}", "weight": 1 + k} for k in range(20)]
)
CHANGES = [
    Change("Z", "state", "down", 500),
    Change("A", "state", "down", 500),
    Change("A", "state", "up", 510),
    Change("B", "state", "down", 510),
]

# --- bins ------------------------------------------------------------------------------------


@given(TIMES, TIMES)
def test_bins_cover_the_time_and_are_few(one: int, other: int) -> None:
    first, last = sorted((one, other))
    bins = over(first, last)
    assert bins.start <= first
    assert last < bins.end
    assert 1 <= bins.number <= MAX_BINS
    assert bins.start % bins.width == 0
    assert bins.width in (w for w, _ in zip(widths(), range(80), strict=False))


@given(st.lists(st.integers(0, 100 * DAY), max_size=5))
def test_what_is_around_the_changes_is_inside_and_narrower(changes: list[int]) -> None:
    whole = over(0, 100 * DAY)
    close = around(changes, whole)
    if close is not None:
        assert close.width < whole.width
        assert all(close.start <= time < close.end for time in changes if time < whole.end)
    if max(changes, default=0) - min(changes, default=0) > 30 * DAY:
        assert close is None


def test_changes_outside_the_time_are_not_looked_at() -> None:
    assert around([-5, 101 * DAY], over(0, 100 * DAY)) is None


@pytest.mark.parametrize("bins", [over(-LATEST * SECOND, LATEST * SECOND), Bins(-40, 20, 5)])
def test_a_row_is_in_its_bin(spark: SparkSession, bins: Bins) -> None:
    times = [bins.start + k * bins.width // 3 for k in range(-3, 3 * bins.number + 6)]
    times = [t for t in times if abs(t) <= LATEST * SECOND]
    frame = spark.createDataFrame([(t,) for t in times], "t long")
    got = {
        row["t"]: row["bin"] for row in frame.select("t", bin_of(bins, "t").alias("bin")).collect()
    }
    for time in times:
        place = (time - bins.start) // bins.width
        assert got[time] == (place if 0 <= place < bins.number else None)


# --- what a report is told -------------------------------------------------------------------


def table(n: int) -> pa.Table:
    """So many messages, and a row that is none."""
    random = Random(5)  # noqa: S311
    return pa.Table.from_pylist(
        [
            {
                "id": f"m{k}",
                "time": k * 100.0,
                "cluster": random.choice(["pool", "shop", "shop", "nowhere"]),
                "group": random.choice([None, "", "g1", "g2", f"own {k}"]),
            }
            for k in range(n)
        ]
        + [{"id": "", "time": 4e9, "cluster": "pool", "group": "lost"}]
    )


def dispatched(
    spark: SparkSession, rows: pa.Table, folder: Path, **more: Any
) -> tuple[Summary, list[Any]]:
    pq.write_table(rows, folder / "messages.parquet")
    with FolderTables(str(folder / "out"), overwrite=True) as delivery:
        summary = run(
            spark,
            spark.read.parquet(str(folder / "messages.parquet")),
            more.pop("clusters", [POOL, SHOP]),
            more.pop("changes", CHANGES),
            delivery,
            Options(where="messages.parquet", **more),
        )
        delivery.finish()
    return summary, pq.read_table(folder / "out" / "decisions").to_pylist()


def test_facts_are_what_was_written(spark: SparkSession, tmp_path: Path) -> None:
    summary, written = dispatched(spark, table(2_000), tmp_path, command="fairlead dispatch …")
    facts = summary.facts
    assert facts is not None
    assert facts.period is not None
    assert (facts.period.first, facts.period.last) == (0, 199_900 * SECOND)
    whole = facts.over_time
    assert whole is not None
    assert whole.width == 1_800 * SECOND

    def bin_of(row: dict[str, Any]) -> int:
        return int(row["time"]) * SECOND // whole.width

    totals = Counter((r["cluster"], r["destination"]) for r in written if r["destination"])
    by_bin = Counter((r["cluster"], r["destination"], bin_of(r)) for r in written)
    assert len(whole.destinations) == 13
    named, others = whole.destinations[:-1], whole.destinations[-1]
    assert [(s.cluster, s.name) for s in named if s.cluster == "pool"] == [("pool", "A")]
    least = min(totals[s.cluster, s.name] for s in named)
    assert least >= max(
        n for place, n in totals.items() if place not in {(s.cluster, s.name) for s in named}
    )
    for series in named:
        assert series.counts == [
            by_bin[series.cluster, series.name, k] for k in range(len(series.counts))
        ]
    assert others.name is None
    assert sum(map(sum, (s.counts for s in whole.destinations))) == sum(totals.values())
    outcomes = {s.name: sum(s.counts) for s in whole.outcomes}
    assert outcomes == summary.outcomes == Counter(r["outcome"] for r in written)
    levels = {"Z": "1", "A": "1", "B": "2"}
    assert {s.name: sum(s.counts) for s in whole.levels} == Counter(
        levels[r["destination"]] for r in written if r["destination"] in levels
    )
    streams = Counter(r["cluster"] for r in written)
    assert {s.name: s.messages for s in facts.streams.busiest} == streams
    places: dict[tuple[str, str], set[str]] = {}
    for r in written:
        if r["group"] and r["destination"]:
            places.setdefault((r["cluster"], r["group"]), set()).add(r["destination"])
    assert facts.groups is not None
    assert facts.groups.number == len(places)
    assert facts.groups.spread == sum(len(found) > 1 for found in places.values())


@pytest.mark.slow
def test_the_time_around_the_changes_is_told_closer(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([{"id": f"m{k}", "time": 1.0 * k} for k in range(9_000)])
    summary, written = dispatched(spark, rows, tmp_path, clusters=[POOL], command="x")
    assert summary.facts is not None
    close = summary.facts.around_changes
    assert close is not None
    assert close.width == SECOND
    last = close.start + len(close.outcomes[0].counts) * close.width
    inside = [r for r in written if close.start <= r["time"] * SECOND < last]
    assert sum(close.outcomes[0].counts) == len(inside)
    second = next(s for s in close.levels if s.name == "2")
    began = close.start // SECOND
    assert [began + k for k, n in enumerate(second.counts) if n] == list(range(500, 510))
    assert summary.facts.groups is None


def test_a_priority_that_changes_counts_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    cluster = Cluster.of(
        "priority-failover",
        name="pool",
        destination=[{"name": "A", "priority": 0}, {"name": "B", "priority": 1}],
    )
    rows = pa.Table.from_pylist([{"id": f"m{k}", "time": 1.0 * k} for k in range(10)])
    changes = [Change("A", "priority", 2, 4)]
    summary, _ = dispatched(spark, rows, tmp_path, clusters=[cluster], changes=changes, command="x")
    assert summary.facts is not None
    assert summary.facts.over_time is not None
    levels = {s.name: sum(s.counts) for s in summary.facts.over_time.levels}
    assert levels == {"0": 4, "1": 6}


def test_phases_tell_messages_and_rows_apart(spark: SparkSession, tmp_path: Path) -> None:
    both = [{"name": "X"}, {"name": "Y"}]
    clusters = [SHOP, Cluster.of("broadcast", name="pool", destination=both)]
    changes = [Change("X", "state", "down", 500)]
    summary, written = dispatched(spark, table(50), tmp_path, clusters=clusters, changes=changes)
    early = [row for row in written if row["time"] < 500]
    late = [row for row in written if row["time"] >= 500]
    assert [phase.rows for phase in summary.phases] == [len(early), len(late)]
    assert [phase.messages for phase in summary.phases] == [5, 45]
    assert summary.decided == 50
    assert summary.rows == len(written) > 50


@pytest.mark.slow
def test_nobody_asked_nothing_told(spark: SparkSession, tmp_path: Path) -> None:
    rows = table(50)
    asked, _ = dispatched(spark, rows, tmp_path, command="x")
    plain, _ = dispatched(spark, rows, tmp_path)
    assert plain.facts is None
    assert "facts" not in plain.to_dict()
    assert plain.digest == asked.digest
    assert plain.phases == asked.phases
    assert plain.outcomes == asked.outcomes


def test_changes_in_words() -> None:
    many = [Change(f"D{k}", "enabled", False, 7) for k in range(10)]
    found = in_words([*many, Change("*", "reset", None, 3)])
    assert (found.number, found.times) == (11, 2)
    assert [(step.time, step.more) for step in found.first] == [(3 * SECOND, 0), (7 * SECOND, 2)]
    assert found.first[0].changes == ["* reset"]
    assert found.first[1].changes[0] == "D0 enabled → false"
