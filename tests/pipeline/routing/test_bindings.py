"""Messages that follow earlier ones, beside others: no later binding reaches back."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fairlead import Balancer, Change, Cluster, dispatch, route
from fairlead.pipeline.dispatch import prepare, run
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.pipeline.routing import affinity
from fairlead.runs.options import Options

PLAIN: dict[str, Any] = {
    "queue_manager": {"name": "hub", "clusters": ["X"]},
    "remote": [{"name": "A"}],
    "channel": [{"name": "TO.A", "queue_manager": "A"}],
    "queue": [
        {"name": "Q", "queue_manager": "A", "bind": "on-open", "put_enabled": False},
        {"name": "R", "queue_manager": "A", "bind": "on-open"},
    ],
}
MQ = Cluster.of("ibm-mq", name="c", **PLAIN)
TURNS = Cluster.of(
    "round-robin",
    name="f",
    options={"affinity": "group"},
    destination=[{"name": "x"}, {"name": "y"}],
)
"""Its groups lose their destination: then one pass in order tells who goes where."""
GROUP = [{"id": f"f{k}", "time": k, "cluster": "f", "group": "g"} for k in range(4)]
DOWN = Change("x@f", "state", "down", 2)
ENABLED = Change("queue:Q@A@c", "put_enabled", True, 7)
PUTS = [
    {"id": "q0", "time": 0, "cluster": "c", "queue": "Q"},
    {"id": "q5", "time": 5, "cluster": "c", "queue": "Q"},
    {"id": "q8", "time": 8, "cluster": "c", "queue": "Q"},
    {"id": "r0", "time": 0, "cluster": "c", "queue": "R"},
]
SENT = {"pcf": "true", "bind": "on-open", "producer": "p"}
PUBLICATIONS = [
    {"id": "p1", "time": 1, "cluster": "c", "already_sent": "A", **SENT},
    {"id": "p3", "time": 3, "cluster": "c", **SENT},
]
DECIDED = ("id", "destination", "outcome", "sequence")


def messages(rows: list[dict[str, Any]]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    numbers = ("time", "position")
    return pa.table(
        {
            name: pa.array(
                [row.get(name) for row in rows], *([] if name in numbers else ["string"])
            )
            for name in names
        }
    )


def in_memory(
    rows: list[dict[str, Any]], clusters: list[Cluster], changes: list[Change]
) -> list[dict[str, Any]]:
    found = route(messages(rows), clusters, changes).select(list(DECIDED)).to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


def on_spark(
    spark: SparkSession,
    rows: list[dict[str, Any]],
    clusters: list[Cluster],
    changes: list[Change],
) -> list[dict[str, Any]]:
    frame = spark.createDataFrame(messages(rows)).repartition(2)
    found = dispatch(frame, clusters, changes).select(*DECIDED).collect()
    return sorted((row.asDict() for row in found), key=lambda row: str(row["id"]))


@pytest.mark.slow
def test_what_erred_before_its_opener_was_bound_stays_an_error(spark: SparkSession) -> None:
    rows = [*PUTS, *PUBLICATIONS, *GROUP]
    found = on_spark(spark, rows, [MQ, TURNS], [DOWN, ENABLED])
    went = {row["id"]: (row["destination"], row["outcome"]) for row in found}
    assert went == {
        "q0": (None, "put-inhibited"),
        "q5": (None, "put-inhibited"),
        "q8": ("TO.A", "routed"),
        "r0": ("TO.A", "routed"),
        "p1": (None, "no-destination"),
        "p3": ("TO.A", "routed"),
        "f0": ("x", "routed"),
        "f1": ("x", "routed"),
        "f2": ("y", "routed"),
        "f3": ("y", "routed"),
    }
    assert found == in_memory(rows, [MQ, TURNS], [DOWN, ENABLED])


@pytest.mark.slow
def test_the_latest_time_so_far_tells_how_a_message_is_bound(spark: SparkSession) -> None:
    """Where positions order the messages, a change once made stays made."""
    pair = {**PLAIN, "remote": [{"name": "A"}, {"name": "B"}]}
    pair["channel"] = [{"name": f"TO.{x}", "queue_manager": x} for x in "AB"]
    pair["queue"] = [{"name": "Q", "queue_manager": x, "bind": "not-fixed"} for x in "AB"]
    cluster = Cluster.of("ibm-mq", name="c", **pair)
    changes = [Change(f"queue:Q@{x}", "bind", "on-open", 5) for x in "AB"]
    times = [0, 6, 1, 2, 3]
    rows = [
        {"id": f"m{k}", "position": k, "time": time, "producer": "p", "queue": "Q"}
        for k, time in enumerate(times)
    ]
    found = on_spark(spark, rows, [cluster], changes)
    # Unbound, then bound to where the first message after the change went.
    assert [row["destination"] for row in found] == ["TO.A", "TO.B", "TO.B", "TO.B", "TO.B"]
    assert found == in_memory(rows, [cluster], changes)


@pytest.mark.parametrize("changes", [[], [DOWN]], ids=["stays", "drops out"])
@pytest.mark.parametrize("joined", ["broadcast", "in memory", "sorted"])
@pytest.mark.slow
def test_groups_are_joined_to_their_firsts_alike(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, joined: str, changes: list[Change]
) -> None:
    """However many there are; some messages belong to no group, and blocks are small."""
    monkeypatch.setattr(affinity, "MOST_BROADCAST", 1_000 if joined == "broadcast" else 0)
    monkeypatch.setattr(affinity, "MOST_IN_MEMORY", 0 if joined == "sorted" else 1_000)
    random = Random(5)  # noqa: S311
    rows = [
        {"id": f"{k:04}", "time": random.randrange(4), "cluster": "f", "group": group}
        for k, group in enumerate(random.choices(["", *"abcdefghij"], k=1_200))
    ]
    frame = spark.createDataFrame(messages(rows)).repartition(3)
    ready = prepare(frame, [TURNS], changes, Options(rows_a_block=300))
    assert len(ready.survey.blocks) > 2
    found = ready.decisions().select(*DECIDED).collect()
    ready.release()
    wanted = in_memory(rows, [TURNS], changes)
    assert sorted((row.asDict() for row in found), key=lambda row: str(row["id"])) == wanted


def keeps(spark: SparkSession) -> bool:
    """Whether Spark keeps what was persisted."""
    return not spark._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.mark.slow
def test_spark_keeps_nothing_of_a_run(spark: SparkSession, tmp_path: Any) -> None:
    spark.catalog.clearCache()
    with FolderTables(str(tmp_path / "out"), overwrite=False) as delivery:
        run(spark, spark.createDataFrame(messages(GROUP)), [TURNS], [DOWN], delivery)
    assert not keeps(spark)


def test_spark_keeps_of_a_table_what_somebody_has(spark: SparkSession) -> None:
    spark.catalog.clearCache()
    table = spark.createDataFrame(messages(GROUP))
    decided = dispatch(table, [TURNS], [DOWN])
    assert keeps(spark)
    went = decided.select("id", "destination")
    before = sorted(went.collect())
    del decided
    assert not keeps(spark)
    assert sorted(went.collect()) == before == [("f0", "x"), ("f1", "x"), ("f2", "y"), ("f3", "y")]
    journal = dispatch(table, [TURNS], [DOWN], journal=True)
    assert keeps(spark)
    del journal
    assert not keeps(spark)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["broadcast", "smartsockets"])
def test_each_message_is_counted_once_beside_clusters_that_fan_out(
    spark: SparkSession, tmp_path: Any, policy: str
) -> None:
    """Two streams of the only queue's cluster are told apart by nothing that the table says."""
    one_queue = {**PLAIN, "queue": [{"name": "R", "queue_manager": "A"}]}
    kind = "subscriber" if policy == "smartsockets" else "destination"
    subject = {"subject": "/s"} if policy == "smartsockets" else {}
    copies = Cluster.of(policy, name="n", **{kind: [{"name": x, **subject} for x in "DE"]})
    clusters = [Cluster.of("ibm-mq", name="c", **one_queue), copies]
    rows = [
        *({"id": f"put{k}", "time": k, "cluster": "c", "pcf": ""} for k in range(3)),
        *({"id": f"pub{k}", "time": k, "cluster": "c", "pcf": "true"} for k in range(4)),
        *({"id": f"n{k}", "time": k, "cluster": "n", "pcf": ""} for k in range(2)),
        {"id": "s", "time": 0, "cluster": "n", "pcf": "", "type": "SetPriority"},
    ]
    with FolderTables(str(tmp_path / "out"), overwrite=False) as delivery:
        frame = spark.createDataFrame(messages(rows))
        summary = run(spark, frame, clusters, [], delivery)
    assert summary.rows == 3 + 4 + 2 * 2 + 1
    assert [phase.messages for phase in summary.phases] == [len(rows)]


def test_a_live_balancer_agrees() -> None:
    balancer = Balancer([MQ, TURNS])
    changes = [DOWN, ENABLED]
    found = []
    for row in sorted([*PUTS, *PUBLICATIONS, *GROUP], key=lambda row: (row["time"], row["id"])):
        for change in [each for each in changes if each.micros <= row["time"] * 1_000_000]:
            balancer.apply(change)
            changes.remove(change)
        decision = balancer.choose(row)
        found.append((row["id"], decision.destination, decision.outcome, decision.sequence))
    wanted = in_memory([*PUTS, *PUBLICATIONS, *GROUP], [MQ, TURNS], [DOWN, ENABLED])
    assert sorted(found) == [tuple(row[name] for name in DECIDED) for row in wanted]
