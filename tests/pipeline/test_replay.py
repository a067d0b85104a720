"""Replay on Spark: as in memory, whatever the partitioning; and what it counts of what it wrote."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException, SparkRuntimeException
from pyspark.sql import DataFrame, Row, SparkSession

from fairlead import Change, Cluster, route
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError
from fairlead.measure.workers import available
from fairlead.pipeline.columns import BLOCK
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.pipeline.replay import (
    PreparedReplay,
    prepare,
    replay,
    run,
)
from fairlead.pipeline.routing.route import numbered
from fairlead.pipeline.simulate.attempts import simulated, together
from fairlead.replay.scale import Scale
from fairlead.replay.table import replay as in_memory
from fairlead.runs.options import Options
from fairlead.runs.scenario_folders import folder_names

SECOND = 1_000_000


def traffic(seed: int, n: int = 400) -> pa.Table:
    random = Random(seed)  # noqa: S311
    rows = []
    for k in range(n):
        group = random.choice(["", *(f"g{i}" for i in range(12))])
        raised = bool(group) and random.random() < 0.05
        rows.append(
            {
                "id": f"{k:04}",
                "time": random.randint(0, 900) / 10,
                "service_time": random.choice([0.0, 0.3, 0.7, 1.5]),
                "group": group,
                "type": "SetPriority" if raised else "",
                "priority": random.choice([None, None, 3, 200]),
                "tenant": f"t{int(group[1:]) % 2}" if group else "t0",
                "cost": random.randint(1, 4),
                "rollbacks": 1 if random.random() < 0.03 else 0,
                "note": f"n{k}",
            }
        )
    return pa.Table.from_pylist(rows)


def cluster(policy: str, **more: Any) -> Cluster:
    destinations = [{"name": "A", "readers": 2}, {"name": "B"}, {"name": "C", "speed": 0.5}]
    if policy == "nanomsg":
        destinations[0]["capacity"] = 3
    return Cluster.of(policy, destination=destinations, **more)


CHANGES = [
    Change("A", "state", "failed", 20),
    Change("A", "state", "up", 40),
    Change("B", "readers", 3, 50),
]


def plans() -> dict[str, Plan]:
    order = {"discipline": "priority", "ageing": 5, "weights": {"t0": 2}}
    return {
        "weighted": Plan([cluster("weighted", order=order)], CHANGES),
        "fewest": Plan([cluster("fewest-pending")], []),
        "by rings": Plan([cluster("nanomsg", order={"discipline": "priority"})], CHANGES),
        "by key": Plan([cluster("rendezvous", options={"key": "group"})], CHANGES[2:]),
        "together": Plan([cluster("weighted", options={"affinity": "group"})], CHANGES),
    }


def values_of(row: Any) -> tuple[Any, ...]:
    names = ("id", "attempt", "destination", "outcome", "sequence", "reader")
    times = tuple(
        None if row[name] is None else round(Fraction(row[name]) * SECOND)
        for name in ("start", "finish", "wait")
    )
    return (*(str(row[name]) for name in names), row["note"], *times)


def spread(spark: SparkSession, table: pa.Table, partitions: int) -> DataFrame:
    return spark.createDataFrame(table).repartition(partitions)


def collected(found: PreparedReplay) -> dict[int, list[tuple[Any, ...]]]:
    rows: dict[int, list[tuple[Any, ...]]] = {}
    each: Row
    for each in found.attempts().collect():
        rows.setdefault(each[0], []).append(values_of(each))
    return {scenario: sorted(own, key=str) for scenario, own in rows.items()}


@pytest.mark.parametrize(
    ("partitions", "rows_a_block"),
    [
        pytest.param(1, 500_000, marks=pytest.mark.slow),
        (7, 90),
        pytest.param(200, 13, marks=pytest.mark.slow),
    ],
)
def test_spark_tells_what_the_table_in_memory_does(
    spark: SparkSession, partitions: int, rows_a_block: int
) -> None:
    table = traffic(partitions)
    found = collected(
        prepare(spread(spark, table, partitions), plans(), Options(rows_a_block=rows_a_block))
    )
    for scenario, plan in enumerate(plans().values()):
        wanted = in_memory(table, plan.clusters, plan.changes).to_pylist()
        assert found[scenario] == sorted(map(values_of, wanted), key=str)


SPELLINGS = ("{}", "{}.0", "{}e0", "{}0e-1", "+{}", "0{}")


@pytest.mark.slow
def test_a_whole_number_counts_however_it_is_written(spark: SparkSession) -> None:
    table = traffic(3)
    random = Random(3)  # noqa: S311
    for name in ("priority", "cost", "rollbacks"):
        texts = [
            each if each is None else random.choice(SPELLINGS).format(each)
            for each in table[name].to_pylist()
        ]
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.array(texts, pa.string()))
    found = collected(prepare(spread(spark, table, 3), plans(), Options()))
    for scenario, plan in enumerate(plans().values()):
        wanted = in_memory(table, plan.clusters, plan.changes).to_pylist()
        assert found[scenario] == sorted(map(values_of, wanted), key=str)
    plain = collected(prepare(spread(spark, traffic(3), 3), plans(), Options()))
    assert found == plain


def test_an_open_loop_policy_routes_as_dispatch_does(spark: SparkSession) -> None:
    table = traffic(5).drop_columns(["rollbacks"])
    own = cluster("weighted")
    rows = replay(spread(spark, table, 3), {"only": Plan([own], [])}).collect()
    routed = {row["id"]: row for row in route(table, own).to_pylist()}
    assert len(rows) == len(routed)
    for row in rows:
        wanted = routed[row["id"]]
        assert (row["destination"], row["sequence"]) == (wanted["destination"], wanted["sequence"])


def test_columns_may_be_called_as_a_replay_calls_its_own_in_between(spark: SparkSession) -> None:
    names = ["id", "time", "service_time", "label", "since", "block"]
    messages = spark.createDataFrame([("a", 1.0, 1.0, "x", "y", "z")], names)
    (row,) = replay(messages, {"only": Plan([cluster("weighted")], [])}).collect()
    assert [row[name] for name in names] == ["a", 1.0, 1.0, "x", "y", "z"]


@pytest.mark.slow
def test_bad_rows_are_rejected_each_with_its_reason(spark: SparkSession) -> None:
    rows = [
        ("good", "1", "0.5", "7", "1", ""),
        ("late", "x", "1", "", "", ""),
        ("none", "2", "", "", "", ""),
        ("short", "2", "-1", "", "", ""),
        ("high", "2", "1", "256", "", ""),
        ("half", "2", "1", "1.5", "", ""),
        ("free", "2", "1", "", "0", ""),
        ("often", "2", "1", "", "", "-1"),
        ("good", "3", "1", "", "", ""),
    ]
    names = ["id", "time", "service_time", "priority", "cost", "rollbacks"]
    found = prepare(spark.createDataFrame(rows, names), {"only": Plan([cluster("weighted")], [])})
    reasons = {row["id"]: row["reason"] for row in found.rejected().collect()}
    assert reasons == {
        "late": "time: found 'x', allowed: a timestamp, or a number of seconds",
        "none": "service_time: found nothing, allowed: a number of seconds from 0 to 4000000000",
        "short": "service_time: found '-1', allowed: a number of seconds from 0 to 4000000000",
        "high": "priority: found '256', allowed: an integer from 0 to 255, or empty",
        "half": "priority: found '1.5', allowed: an integer from 0 to 255, or empty",
        "free": "cost: found '0', allowed: an integer from 1 to 1000000000, or empty",
        "often": "rollbacks: found '-1', allowed: an integer from 0 to 1000, or empty",
        "good": "id: found 'good' again, allowed: once",
    }
    assert [row["id"] for row in found.attempts().collect()] == ["good"]


@pytest.mark.slow
def test_a_group_is_its_first_tenants_and_others_are_rejected(spark: SparkSession) -> None:
    rows = [
        ("m3", 3.0, 1.0, "g", "y", ""),
        ("m1", 1.0, 1.0, "g", "x", "pool"),
        ("m4", 4.0, 1.0, "g", None, ""),
        ("m2", 2.0, 1.0, "g", "x", ""),
        ("m5", 5.0, 1.0, "", "z", ""),
        ("m6", 6.0, 1.0, "h", "z", ""),
        ("m7", 7.0, 1.0, "g", "y", "nowhere"),
    ]
    names = ["id", "time", "service_time", "group", "tenant", "cluster"]
    own = Cluster.of("weighted", name="pool", destination=[{"name": "A"}])
    found = prepare(spark.createDataFrame(rows, names), {"only": Plan([own], [])})
    assert {row["id"]: row["reason"] for row in found.rejected().collect()} == {
        "m3": "tenant: found 'y', allowed: 'x', as the first message of its group has",
        "m4": "tenant: found nothing, allowed: 'x', as the first message of its group has",
    }
    kept = {row["id"] for row in found.attempts().collect()}
    assert kept == {"m1", "m2", "m5", "m6", "m7"}
    assert found.gathered.rejected == 2


def test_a_table_without_service_times_is_refused(spark: SparkSession) -> None:
    messages = spark.createDataFrame([("a", 1.0)], ["id", "time"])
    with pytest.raises(MessageError, match=r"no column 'service_time', found: id, time; a replay"):
        replay(messages, {"only": Plan([cluster("weighted")], [])})


@pytest.mark.parametrize("name", ["Wait", "scenario", "sequence"])
def test_a_column_that_a_replay_adds_is_refused(spark: SparkSession, name: str) -> None:
    messages = spark.createDataFrame([("a", 1.0, 1.0, 3)], ["id", "time", "service_time", name])
    with pytest.raises(MessageError, match=f"(?i)column '{name}' is what"):
        replay(messages, {"only": Plan([cluster("weighted")], [])})


def test_a_scenario_that_cannot_be_is_refused_before_any_is_replayed(
    spark: SparkSession, tmp_path: Path
) -> None:
    several = {
        "as it is": Plan([cluster("weighted")], []),
        "less": Plan([cluster("rendezvous", options={"key": "producer"})], []),
    }
    with FolderTables(str(tmp_path / "out"), overwrite=False) as delivery:
        with pytest.raises(MessageError, match="no column 'producer'"):
            run(
                spark,
                spread(spark, traffic(1), 1),
                several,
                delivery,
                scaled={"less": Scale(Decimal("0.5"))},
            )
        assert not list(delivery.making.iterdir())


def test_nothing_is_moved_for_the_join(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that stand in other partitions than their blocks would be written out of order."""
    found = prepare(spread(spark, traffic(3), 4), plans(), Options(rows_a_block=50))
    found.attempts().explain()
    plan = capsys.readouterr().out
    assert "SortMergeJoin" in plan
    assert "ENSURE_REQUIREMENTS" not in plan


def in_files(spark: SparkSession, out: Path) -> list[list[dict[str, Any]]]:
    """What a run wrote of each scenario, in the order of its files."""
    with FolderTables(str(out), overwrite=False) as delivery:
        frame = spread(spark, traffic(3), 4)
        run(spark, frame, plans(), delivery, Options(rows_a_block=50))
        delivery.finish()
    found = []
    for folder in folder_names(plans()):
        files = sorted((out / folder / "decisions").glob("*.parquet"))
        assert len(files) > 1
        found.append([row for file in files for row in pq.read_table(file).to_pylist()])
    return found


@pytest.mark.slow
def test_decisions_stand_in_order_from_file_to_file(spark: SparkSession, tmp_path: Path) -> None:
    for rows in in_files(spark, tmp_path / "out"):
        places = [(row["time"], row["id"], row["attempt"]) for row in rows]
        assert places == sorted(places)


@pytest.mark.slow
def test_a_session_of_other_settings_writes_the_same_files(
    odd_session: SparkSession, tmp_path: Path
) -> None:
    table, found = traffic(3), in_files(odd_session, tmp_path / "out")
    for plan, rows in zip(plans().values(), found, strict=True):
        wanted = in_memory(table, plan.clusters, plan.changes).to_pylist()
        names = wanted[0].keys()
        assert [[row[name] for name in names] for row in rows] == [
            [row[name] for name in names] for row in wanted
        ]


def changed(spark: SparkSession) -> tuple[PreparedReplay, DataFrame]:
    """Messages that were counted in several blocks, and a message less than these."""
    own = {"only": Plan([cluster("weighted")], [])}
    found = prepare(spread(spark, traffic(2, n=40), 2), own, Options(rows_a_block=10))
    return found, found.good.where("id != '0003'")


def test_a_table_that_loses_a_row_while_it_is_read_stops_the_job(spark: SparkSession) -> None:
    found, fewer = changed(spark)
    with pytest.raises(PythonException, match="39 rows, counted were 40: the input changed while"):
        replace(found, good=fewer).attempts().collect()


@pytest.mark.slow
def test_a_table_that_gets_a_row_more_while_it_is_read_stops_the_job(spark: SparkSession) -> None:
    found, fewer = changed(spark)
    found.gathered.sizes[found.good.where("id = '0003'").collect()[0][BLOCK]] -= 1
    with pytest.raises(SparkRuntimeException, match="the input changed while it was read"):
        numbered(found.good, found.gathered.survey.blocks, found.gathered.sizes).collect()
    with pytest.raises(PythonException, match="40 rows, counted were 39: the input changed while"):
        simulated(found.good, found.gathered, list(found.plans.values())).collect()
    assert (
        numbered(fewer, found.gathered.survey.blocks, found.gathered.sizes).count() == fewer.count()
    )


@pytest.mark.slow
def test_what_is_told_of_a_row_that_is_gone_stops_the_job(spark: SparkSession) -> None:
    found, fewer = changed(spark)
    messages = numbered(fewer, found.gathered.survey.blocks, found.gathered.sizes)
    attempts = simulated(found.good, found.gathered, list(found.plans.values()))
    with pytest.raises(SparkRuntimeException, match="the input changed while it was read"):
        together(attempts, messages, len(found.gathered.sizes)).collect()


@pytest.mark.slow
def test_the_comparison_counts_what_was_written(spark: SparkSession, tmp_path: Path) -> None:
    table = traffic(9)
    digests = []
    for partitions, rows_a_block in ((1, 500_000), (7, 50)):
        with FolderTables(str(tmp_path / f"out-{partitions}"), overwrite=False) as delivery:
            found = run(
                spark,
                spread(spark, table, partitions),
                plans(),
                delivery,
                Options(rows_a_block=rows_a_block),
            )
            delivery.finish()
        digests.append([scenario.digest for scenario in found.scenarios])
    assert digests[0] == digests[1]
    assert (found.read, found.rejected) == (len(table), 0)
    for scenario, plan in zip(found.scenarios, plans().values(), strict=True):
        rows = in_memory(table, plan.clusters, plan.changes).to_pylist()
        last = [row for row in rows if row["outcome"] not in ("released", "rolled-back")]
        started = [row for row in last if row["start"] is not None]
        whole = {row["id"]: round(row["start"] - row["time"], 6) for row in started}
        waits = sorted(whole.values())
        assert scenario.messages == len(last) == len(table)
        assert scenario.redeliveries == len(rows) - len(table)
        assert scenario.failovers == sum(row["outcome"] == "released" for row in rows)
        assert scenario.waits.messages == len(waits)
        assert scenario.waits.mean == pytest.approx(sum(waits) / len(waits))
        assert scenario.waits.max == pytest.approx(waits[-1])
        assert scenario.longest is not None
        assert scenario.longest.id == min(id_ for id_ in whole if whole[id_] == waits[-1])
        assert scenario.longest.wait == pytest.approx(waits[-1])
        for name, part in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            exact = waits[-int(-len(waits) * part // 1) - 1]
            assert getattr(scenario.waits, name) == pytest.approx(exact, rel=0.002)
        busy = dict.fromkeys("ABC", 0.0)
        for row in rows:
            if row["start"] is not None and row["finish"] is not None:
                busy[row["destination"]] += row["finish"] - row["start"]
        assert {each.destination: each.busy for each in scenario.workers} == pytest.approx(busy)
        assert sum(each.messages for each in scenario.by_tenant) == len(waits)
        queue = scenario.queue
        assert queue is not None
        # Little's law: as much as all rows waited, what still waits to the end of the last bin.
        end = (queue.start + queue.width * len(queue.waiting)) / SECOND
        area = sum(
            end - row["time"] if row["wait"] is None else row["wait"]
            for row in rows
            if row["wait"] is not None or row["outcome"] == "routed"
        )
        assert sum(queue.waiting) * queue.width / SECOND == pytest.approx(area)
    assert found.scenarios[4].groups_out_of_order == torn(table, list(plans().values())[4])


def test_each_scenario_has_a_folder_of_its_own() -> None:
    names = ["a_-3", "a/", "a:", "A_", "rejected", ".."]
    found = folder_names(dict.fromkeys(names, Plan([cluster("weighted")], [])))
    assert found == ["a_-3", "a_", "a_-4", "A_-5", "rejected-5", "_"]
    found = folder_names(dict.fromkeys(["名" * 300, "名" * 301], Plan([cluster("weighted")], [])))
    assert found == ["名" * 60, "名" * 60 + "-2"]


def test_readers_are_there_from_the_first_arrival_to_the_last_finish() -> None:
    """What changes before or after counts for none of that time."""
    changes = [Change("B", "readers", n, time) for n, time in ((3, -5), (2, 4), (7, 20))]
    plan = Plan([cluster("weighted")], changes)
    found = available(plan, 0, 10 * SECOND)
    only = plan.clusters[0].name
    assert found == {(only, "A"): 20, (only, "B"): 3 * 4 + 2 * 6, (only, "C"): 10}


def torn(table: pa.Table, plan: Plan) -> int:
    """In how many groups a message was started before an earlier one."""
    rows = in_memory(table, plan.clusters, plan.changes).to_pylist()
    last = [row for row in rows if row["outcome"] == "routed" and row["start"] is not None]
    starts: dict[str, list[float]] = {}
    for row in sorted(last, key=lambda row: (row["time"], row["id"])):
        starts.setdefault(row["group"], []).append(row["start"])
    return sum(own != sorted(own) for name, own in starts.items() if name)
