"""Diff: two runs held against each other, and against plain Python."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fairlead.errors import MessageError
from fairlead.pipeline.questions.diff import compare, diff, joined, moved
from fairlead.results.diff import Balance, Move

Decided = dict[str, tuple[str | None, str, str]]
SCHEMA = "id string, destination string, outcome string, `group` string"


def frame(spark: SparkSession, decided: Decided) -> DataFrame:
    return spark.createDataFrame([(id_, *rest) for id_, rest in decided.items()], SCHEMA)


def some(random: Random, n: int) -> Decided:
    ids = random.sample(range(2 * n), n)
    groups = {str(k): random.choice(["", "g1", "g2", "é"]) for k in range(2 * n)}
    found: Decided = {}
    for k in ids:
        destination = random.choice(["A", "B", "C", None])
        outcome = "routed" if destination else random.choice(["no-destination", "lost"])
        found[str(k)] = (destination, outcome, groups[str(k)])
    return found


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_plain_python(spark: SparkSession, seed: int) -> None:
    random = Random(seed)  # noqa: S311
    one, other = some(random, 60), some(random, 60)
    for id_ in one.keys() & other.keys():  # a message has one group
        other[id_] = (*other[id_][:2], one[id_][2])
    found = diff(compare(frame(spark, one), frame(spark, other)))
    both = sorted(one.keys() & other.keys())
    assert (found.before, found.after, found.both) == (60, 60, len(both))
    assert (found.only_before, found.only_after) == (60 - len(both), 60 - len(both))
    moves = Counter((one[i][0], other[i][0]) for i in both if one[i][0] != other[i][0])
    assert found.moved == sum(moves.values())
    assert {(m.before, m.after): m.messages for m in found.moves} == dict(moves)
    assert found.no_longer_routed == sum(one[i][1] == "routed" != other[i][1] for i in both)
    assert found.newly_routed == sum(one[i][1] != "routed" == other[i][1] for i in both)
    before, after = (Counter(d for d, _, _ in run.values()) for run in (one, other))
    wanted = {Balance(d, before[d], after[d]) for d in (*before, *after)}
    assert set(found.destinations) == wanted
    groups = {one[i][2] for i in both} - {""}
    assert found.groups == len(groups)
    moved_groups = [g for g in groups if _places(one, both, g) != _places(other, both, g)]
    assert found.groups_moved == len(moved_groups)


def _places(run: Decided, both: list[str], group: str) -> set[str]:
    return {name for i in both if run[i][2] == group and (name := run[i][0]) is not None}


def test_a_run_is_the_same_as_itself(spark: SparkSession) -> None:
    run = frame(spark, some(Random(9), 40))  # noqa: S311
    found = diff(compare(run, run))
    assert (found.both, found.moved, found.no_longer_routed, found.newly_routed) == (40, 0, 0, 0)
    assert (found.groups_moved, found.moves) == (0, [])


def test_what_moved_is_listed(spark: SparkSession) -> None:
    one: Any = {"a": ("A", "routed", ""), "b": ("A", "routed", "g"), "c": ("A", "routed", "")}
    other: Any = {"a": ("A", "routed", ""), "b": ("B", "routed", "g"), "d": ("A", "routed", "")}
    rows = moved(compare(frame(spark, one), frame(spark, other))).collect()
    assert [tuple(row) for row in rows] == [("b", "g", "A", "B", "routed", "routed", "", "")]


def test_groups_that_only_one_run_knows_count(spark: SparkSession) -> None:
    run = frame(spark, {"a": ("A", "routed", "")}).drop("group")
    other = frame(spark, {"a": ("B", "routed", "g")})
    found = diff(compare(run, other))
    assert found.moves == [Move("A", "B", 1)]
    assert (found.groups, found.groups_moved) == (1, 1)


WITH_CLUSTERS = f"{SCHEMA}, cluster string"


def test_a_move_to_an_equal_name_in_another_cluster_is_a_move(spark: SparkSession) -> None:
    one = [
        ("a", "front", "routed", "g", "east"),
        ("b", "front", "routed", "g", "west"),
        ("c", None, "no-destination", "", "east"),
    ]
    other = [
        ("a", "front", "routed", "g", "west"),
        ("b", "front", "routed", "g", "west"),
        ("c", None, "no-destination", "", "west"),
    ]
    compared = compare(*(spark.createDataFrame(rows, WITH_CLUSTERS) for rows in (one, other)))
    found = diff(compared)
    assert found.moves == [Move("front", "front", 1, "east", "west")]
    assert (found.groups, found.groups_moved) == (2, 1)  # g of east, and g of west
    assert found.destinations == [
        Balance("front", 1, 0, "east"),
        Balance("front", 1, 2, "west"),
        Balance(None, 1, 1),
    ]
    assert [row["id"] for row in moved(compared).collect()] == ["a"]


def test_clusters_that_only_one_run_names_do_not_count(spark: SparkSession) -> None:
    run = spark.createDataFrame([("a", "A", "routed", "", "east")], WITH_CLUSTERS)
    found = diff(compare(run, run.drop("cluster")))
    assert (found.moved, found.destinations) == (0, [Balance("A", 1, 1)])


def test_a_table_that_dispatch_did_not_make_is_refused(spark: SparkSession) -> None:
    run = frame(spark, {"a": ("A", "routed", "")})
    with pytest.raises(MessageError, match="after: no column 'outcome'"):
        compare(run, run.drop("outcome"))


@pytest.mark.costly
@pytest.mark.parametrize(
    ("early", "late"), [("9.5", "10.0"), ("2026-11-16T08:00:00Z", "2026-11-16T08:00:00.500Z")]
)
def test_starts_that_are_texts_are_compared_as_times(
    spark: SparkSession, early: str, late: str
) -> None:
    """As CSV and JSON have them: of a message for two, the first start counts."""
    names = ["id", "destination", "outcome", "start"]
    rows = [("m", "A", "routed", late), ("m", "B", "routed", early), ("n", "A", None, None)]
    before = joined(spark.createDataFrame(rows, names))
    after = spark.createDataFrame([("m", "A", "routed", late), ("n", "A", "", late)], names)
    found = diff(compare(before, after))
    assert (found.started, found.later, found.mean_delay) == (1, 1, 0.5)
