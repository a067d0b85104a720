"""Many policies in one file: live = in memory = Spark = the plainest oracle."""

from collections.abc import Iterable
from random import Random, SystemRandom
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fairlead import Cluster, route
from fairlead.pipeline.dispatch import prepare
from fairlead.pipeline.measure.counts import count
from fairlead.pipeline.measure.counts import messages as messages_of
from fairlead.runs.options import Options
from tests import engines
from tests.mixed import Expected, Mixed, expected, in_order, mixed

DECIDED = ["id", "destination", "outcome", "sequence"]
SOME, FEW = range(24), range(1)
ROWS_IN_ALL = 1_000_000


def clusters_of(case: Mixed) -> list[Cluster]:
    return [Cluster.from_dict(each, default_name=each["name"]) for each in case.clusters]


def by_id(rows: Iterable[Any]) -> dict[str, Expected]:
    found: dict[str, Expected] = {}
    for id_, *copy in rows:
        found.setdefault(id_, []).append(tuple(copy))
    return found


def live(case: Mixed) -> dict[str, Expected]:
    messages = in_order(case.messages)
    changes = engines.changes_of(case.changes)
    decided = engines.decisions(case.clusters, clusters_of(case), messages, changes)
    return {row["id"]: copies for row, copies in zip(messages, decided, strict=True)}


def in_memory(case: Mixed) -> dict[str, Expected]:
    changes = engines.changes_of(case.changes)
    found = route(engines.table(case.messages), clusters_of(case), changes).select(DECIDED)
    return by_id(row.values() for row in found.to_pylist())


def on_spark(spark: SparkSession, case: Mixed, rows_a_block: int) -> dict[str, Expected]:
    frame = spark.createDataFrame(engines.table(case.messages)).repartition(3)
    changes = engines.changes_of(case.changes)
    ready = prepare(frame, clusters_of(case), changes, Options(rows_a_block=rows_a_block))
    decided = ready.decisions().persist()
    counted = messages_of(decided, ready.plan, count(decided, ready.plan))
    assert sum(counted.values()) == len(case.messages)
    found = by_id(decided.select(DECIDED).collect())
    decided.unpersist()
    ready.release()
    return found


def check(case: Mixed, found: dict[str, Expected], seed: int) -> None:
    """All agree; the first message that differs is shown with its cluster."""
    wanted = expected(case)
    assert found.keys() == wanted.keys()
    for message in in_order(case.messages):
        id_ = message["id"]
        if sorted(found[id_], key=str) != sorted(wanted[id_], key=str):
            cluster = [each for each in case.clusters if each["name"] == message["cluster"]]
            changes = case.own_changes.get(message["cluster"])
            pytest.fail(f"{seed=} {message=} {found[id_]} != {wanted[id_]} {cluster=} {changes=}")


@pytest.mark.parametrize("seed", SOME)
def test_live(seed: int) -> None:
    case = mixed(Random(seed), 6, 120)  # noqa: S311
    check(case, live(case), seed)


@pytest.mark.parametrize("seed", SOME)
def test_in_memory(seed: int) -> None:
    case = mixed(Random(100 + seed), 6, 120)  # noqa: S311
    check(case, in_memory(case), seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", FEW)
def test_spark(seed: int, spark: SparkSession) -> None:
    case = mixed(Random(200 + seed), 12, 1_000)  # noqa: S311
    check(case, on_spark(spark, case, rows_a_block=150), seed)


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_a_million_rows(spark: SparkSession) -> None:
    """Other ones in every run: the seed is told."""
    rows, seed = 0, SystemRandom().randrange(1 << 32)
    while rows < ROWS_IN_ALL:
        seed += 1
        case = mixed(Random(seed), 16, 40_000)  # noqa: S311
        rows += len(case.messages)
        check(case, in_memory(case), seed)
        check(case, on_spark(spark, case, rows_a_block=4_000), seed)
        check(case, live(case), seed)
