"""The journal on Spark: the rows of the engines in memory; and journals as messages."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests import engines
from tests.cli.test_cli import Desk, msmq
from tests.test_engines_agree import drawn
from tests.test_journal import POOL, in_seconds, live_table

from fairlead import Balancer, Change, dispatch, load_clusters, rejected, route
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError
from fairlead.pipeline.dispatch import prepare
from fairlead.pipeline.replay import replay as replay_on_spark
from fairlead.replay import replay
from fairlead.rows import ATTEMPT, JOURNAL
from fairlead.runs.options import Options

SYSTEMS = ("smartsockets", "ibm-mq", "priority-failover")
"""With several destinations and streams, with bindings, with steps that follow of themselves."""


def first_quickly(systems: tuple[str, ...]) -> list[Any]:
    """Each of them; on Spark all but the first are slow tests."""
    return [systems[0], *(pytest.param(each, marks=pytest.mark.slow) for each in systems[1:])]


def of(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted(in_seconds(frame.toArrow()), key=_place)


def _place(row: dict[str, Any]) -> tuple[int, int, bytes]:
    return row["position"], row["attempt"], (row["destination"] or "").encode()


@pytest.mark.slow
@pytest.mark.parametrize("system", first_quickly(SYSTEMS))
def test_dispatch_has_the_journal_of_a_table_in_memory(system: str, spark: SparkSession) -> None:
    clusters, rows, changes = engines.together(drawn(system, 4))
    table = engines.table(rows)
    expected = in_seconds(route(table, clusters, changes, journal=True))
    options = Options(rows_a_block=40)
    frame = spark.createDataFrame(table).repartition(3)
    journal = prepare(frame, clusters, changes, options).journal()
    assert journal.columns[-len(JOURNAL) :] == list(JOURNAL)
    assert of(journal) == sorted(expected, key=_place)
    again = spark.createDataFrame(journal.toArrow()).repartition(3)
    assert of(prepare(again, clusters, changes, options).journal()) == sorted(expected, key=_place)


@pytest.mark.parametrize("system", first_quickly(SYSTEMS[::2]))
def test_a_replay_has_the_journal_of_a_table_in_memory(system: str, spark: SparkSession) -> None:
    clusters, rows, changes = engines.together(drawn(system, 4))
    table = engines.table([{**row, "service_time": 0.5} for row in rows])
    plans = {"as it was": Plan(clusters, changes), "nothing happened": Plan(clusters, [])}
    found = replay_on_spark(spark.createDataFrame(table), plans, journal=True)
    last = [name for name in ATTEMPT if name not in JOURNAL]
    assert found.columns[-len(JOURNAL) - len(last) :] == [*JOURNAL, *last]
    for name, plan in plans.items():
        expected = in_seconds(replay(table, clusters, plan.changes, journal=True))
        own = found.where(found["scenario"] == name)
        assert of(own) == sorted(expected, key=_place)


def test_dispatch_takes_each_message_of_a_journal_once(spark: SparkSession) -> None:
    news = {"subject": "/a"}
    sockets = engines.cluster_of(
        {
            "policy": "smartsockets",
            "subscriber": [{"name": name, "subject": "/a"} for name in ("R1", "R2")]
            + [{"name": "all", "subject": "/a", "load_balanced": False}],
        }
    )
    journal = live_table([sockets], [news] * 5)
    assert len(journal) == 15
    other = replace(sockets, name="other")
    frame = spark.createDataFrame(journal)
    found = dispatch(frame, other)
    assert "cluster" not in found.columns
    assert "version" not in found.columns
    expected = route(journal, other)
    names = expected.column_names
    assert sorted(found.select(names).collect()) == sorted(
        tuple(row.values()) for row in expected.to_pylist()
    )
    assert rejected(frame, other).count() == 0


def test_a_column_that_a_journal_would_hide_is_refused_on_spark(spark: SparkSession) -> None:
    table = pa.table({"id": ["m"], "time": [1], "service_time": [1], "Stream": ["x"]})
    frame = spark.createDataFrame(table)
    with pytest.raises(MessageError, match="column 'Stream' is what a journal adds; rename it"):
        dispatch(frame, POOL, journal=True)
    with pytest.raises(MessageError, match="column 'Stream' is what a journal adds; rename it"):
        replay_on_spark(frame, {"pool": Plan([POOL], [])}, journal=True)


@pytest.mark.slow
def test_a_live_journal_is_dispatched_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    desk = Desk(tmp_path, capsys)
    desk.write("swapped.toml", msmq({"A": 2, "B": 1}))
    journal = tmp_path / "journal.jsonl"
    with journal.open("w") as out:
        balancer = Balancer(
            load_clusters(desk / "two.toml"),
            journal=lambda row: print(json.dumps(row.to_dict()), file=out),
        )
        for k in range(9):
            if k == 4:
                balancer.apply(Change("A", "weight", 3, k))
            decision = balancer.choose({"id": f"m{k}", "time": k, "group": f"g{k % 2}"})
            balancer.completed(decision)
        balancer.choose({"id": "raise", "time": 9, "type": "SetPriority", "group": "g1"})
    happened = Path(desk.write("happened.jsonl", journal.read_bytes()))
    with journal.open("a") as out:
        print('{"id": "broken off', file=out)
    for name, more in (("two", ["--changes", str(happened)]), ("swapped", [])):
        given = [str(journal), "--no-report", *more]
        assert desk.dispatch(*given, cluster=f"{name}.toml", to=name) == 0, desk.err
        assert "in 11 = decided 10 + rejected 1" in desk.out
    assert desk.run("diff", str(journal), desk / "two", "--fail-if", "moved > 0") == 0
    assert "in both: 10; only in" in desk.out
    assert desk.run("diff", desk / "swapped", str(journal), "--fail-if", "moved > 0") == 3
    assert "swapped/A" not in desk.out
    assert not {"target", "attribute", "value"} & {*desk.rows(to="two")[0]}
