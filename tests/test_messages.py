"""What a message is: every engine takes the same rows, and refuses the same."""

from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fairlead import Balancer, Cluster, dispatch, route
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError
from fairlead.pipeline import replay as on_spark
from fairlead.pipeline.dispatch import rejected
from fairlead.replay.table import replay

Row = dict[str, Any]
NAMES = ({"name": "A", "weight": 1}, {"name": "B", "weight": 1})
CLUSTERS = [
    Cluster.of("msmq", name="counts", destination=list(NAMES)),
    Cluster.of("fewest-pending", name="waits", destination=[{"name": "A"}, {"name": "B"}]),
    Cluster.of("nanomsg", name="full", destination=[{"name": "A", "capacity": 1}, {"name": "B"}]),
]
NAMED = ("counts", "waits", "full", "nowhere", "", None)
TYPES = ("", "SetPriority", "INFO", None)
IN_TEXT = ("", None, "1.5", "-1", "soon", "4000000001")
IN_NUMBERS = (None, 0.0, 1.5, -1.0, float("nan"), 4e9 + 1)
WORK = {"counts": False, "waits": True, "full": True}


def rows_of(services: tuple[Any, ...]) -> list[Row]:
    every = product(NAMED, TYPES, services)
    return [
        {"id": f"m{k:03}", "time": k, "cluster": cluster, "type": type_, "service_time": service}
        for k, (cluster, type_, service) in enumerate(every)
    ]


def needs(row: Row, *, worked: bool) -> bool:
    """By the docs: where completions decide, and in a replay; but never a SetPriority."""
    return row["type"] != "SetPriority" and (worked or WORK.get(row["cluster"], False))


def is_message(row: Row, *, worked: bool) -> bool:
    given = row["service_time"]
    if given in ("", None):
        return not needs(row, worked=worked)
    return given in ("1.5", 0.0, 1.5)


def taken_alone(rows: list[Row], decide: Callable[[pa.Table], Any]) -> list[str]:
    """The ids of rows that are taken, each in a table of its own."""
    kind = pa.string() if any(isinstance(r["service_time"], str) for r in rows) else pa.float64()
    found = []
    for row in rows:
        table = pa.Table.from_pylist([row])
        for name in ("cluster", "type", "service_time"):
            place = table.column_names.index(name)
            column = table[name].cast(kind if name == "service_time" else pa.string())
            table = table.set_column(place, name, column)
        with suppress(MessageError):
            decide(table)
            found.append(row["id"])
    return found


def in_text(services: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist(rows_of(services))


@pytest.mark.parametrize("services", [IN_TEXT, IN_NUMBERS])
@pytest.mark.parametrize("worked", [False, True])
def test_in_memory(services: tuple[Any, ...], worked: bool) -> None:
    rows = rows_of(services)
    wanted = [row for row in rows if is_message(row, worked=worked)]
    decide = replay if worked else route
    assert taken_alone(rows, lambda table: decide(table, CLUSTERS)) == [r["id"] for r in wanted]
    schema = in_text(services).schema
    found = decide(pa.Table.from_pylist(wanted, schema=schema), CLUSTERS)
    assert found["id"].unique().to_pylist() == [row["id"] for row in wanted]
    outcome = dict(zip(found["id"].to_pylist(), found["outcome"].to_pylist(), strict=True))
    for row in wanted:
        assert (outcome[row["id"]] == "control") == (row["type"] == "SetPriority")


@pytest.mark.costly
@pytest.mark.parametrize("services", [IN_TEXT, IN_NUMBERS])
def test_on_spark(services: tuple[Any, ...], spark: SparkSession) -> None:
    rows = rows_of(services)
    frame = spark.createDataFrame(in_text(services))
    for worked in (False, True):
        wanted = pa.Table.from_pylist(
            [row for row in rows if is_message(row, worked=worked)], schema=in_text(services).schema
        )
        others = {row["id"] for row in rows} - {*wanted["id"].to_pylist()}
        if worked:
            plans = {"only": Plan(CLUSTERS, [])}
            prepared = on_spark.prepare(frame, plans)
            bad, found = prepared.rejected(), prepared.attempts()
            decided = replay(wanted, CLUSTERS)
        else:
            bad, found = rejected(frame, CLUSTERS), dispatch(frame, CLUSTERS)
            decided = route(wanted, CLUSTERS)
        assert {row["id"] for row in bad.collect()} == others
        columns = ["id", "destination", "outcome", "sequence"]
        assert sorted(map(tuple, found.select(columns).collect())) == sorted(
            tuple(row.values()) for row in decided.select(columns).to_pylist()
        )


def test_what_no_policy_reads_is_no_reason_to_reject(spark: SparkSession) -> None:
    said = {"pcf": "true", "queue": "q", "queue_manager": "m", "mode": "of another program"}
    rows = pa.Table.from_pylist([{"id": "m", "time": 1, **said}])
    assert Balancer(CLUSTERS[0]).choose(said).destination == "A"
    assert route(rows, CLUSTERS[0])["destination"].to_pylist() == ["A"]
    frame = spark.createDataFrame(rows)
    assert rejected(frame, CLUSTERS[0]).isEmpty()
    assert [row["destination"] for row in dispatch(frame, CLUSTERS[0]).collect()] == ["A"]
