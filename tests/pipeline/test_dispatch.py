"""The pipeline: the same rows whatever the partitioning, nothing lost, nothing half done."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.engines import live

from fairlead import Balancer, Change, Cluster, dispatch, route
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError
from fairlead.pipeline.columns import TIME
from fairlead.pipeline.dispatch import prepare, rejected, run
from fairlead.pipeline.intake.read import read
from fairlead.pipeline.intake.validate import validate
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.results.summary import Summary
from fairlead.runs.options import Options

SHOP = Cluster.of(
    "msmq",
    name="shop",
    destination=[
        {"name": "A", "weight": 3},
        {"name": "B", "weight": 2},
        {"name": "é", "weight": 1},
    ],
)
LAB = Cluster.of(
    "nanomsg",
    name="lab",
    destination=[{"name": "X", "priority": 1}, {"name": "Y", "priority": 1}, {"name": "Z"}],
)
CHANGES = [
    Change("A", "weight", 1, 400),
    Change("B", "enabled", False, 900),
    Change("X", "state", "down", 900),
    Change("Y", "state", "down", 950),
    Change("B", "enabled", True, 1_300),
]
DECIDED = ("id", "destination", "address", "outcome", "sequence")
MANY = 250


def shuffled(n: int, seed: int = 1) -> pa.Table:
    """Messages for two clusters and for none, in no order, several at one time."""
    random = Random(seed)  # noqa: S311
    rows = [
        {
            "id": f"{random.choice('zZaAé')}{k}",
            "time": datetime(1970, 1, 1) + timedelta(seconds=random.randint(0, 3 * n // 4)),  # noqa: DTZ001
            "cluster": random.choice(["shop", "shop", "lab", "", "nowhere"]),
            "type": random.choice(["", "", "", "", "SetPriority", "other"]),
            "note": random.choice([None, "x,y", 'a "b"']),
        }
        for k in range(n)
    ]
    random.shuffle(rows)
    return pa.Table.from_pylist(rows).cast(
        pa.schema(
            [
                ("id", pa.string()),
                ("time", pa.timestamp("us")),
                ("cluster", pa.string()),
                ("type", pa.string()),
                ("note", pa.string()),
            ]
        )
    )


def expected(table: pa.Table) -> list[tuple[Any, ...]]:
    """What the compiled engine decides, in order."""
    found = route(table, [SHOP, LAB], CHANGES).select(list(DECIDED))
    return [tuple(row.values()) for row in found.to_pylist()]


def write(table: pa.Table, folder: Path, files: int, kind: str, seed: int) -> str:
    """The table in so many files, whose names say nothing about the order."""
    folder.mkdir()
    names = [f"{k:03}" for k in range(files)]
    Random(seed).shuffle(names)  # noqa: S311
    size = -(-len(table) // files)
    for k, name in enumerate(names):
        part = table.slice(k * size, size)
        if kind == "parquet":
            pq.write_table(part, folder / f"{name}.parquet")
        else:
            pyarrow.csv.write_csv(part, folder / f"{name}.csv")
    return str(folder)


def deliver(
    spark: SparkSession, frame: DataFrame, out: Path, clusters: Sequence[Cluster], **more: Any
) -> tuple[list[tuple[Any, ...]], Summary]:
    """Run a dispatch; returns what was written, in the order of the files, and the summary."""
    changes = more.pop("changes", CHANGES)
    with FolderTables(str(out), overwrite=False) as delivery:
        summary = run(spark, frame, clusters, changes, delivery, Options(**more))
        delivery.finish()
    rows: list[tuple[Any, ...]] = []
    for file in sorted((out / "decisions").glob("part-*")):
        rows += [tuple(r.values()) for r in pq.read_table(file, columns=list(DECIDED)).to_pylist()]
    written = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert written["digest"] == summary.digest
    return rows, summary


# --- the same rows whatever happens ----------------------------------------------------------


@pytest.mark.slow
def test_files_and_partitions_do_not_matter(spark: SparkSession, tmp_path: Path) -> None:
    table = shuffled(600)
    wanted = expected(table)
    digests = set()
    ways = [("parquet", 1, 1, 500_000), ("parquet", 7, 11, 200), ("csv", 4, 3, 77)]
    for place, (kind, files, partitions, size) in enumerate(ways):
        mixed = table.take(pa.array(Random(place).sample(range(len(table)), len(table))))  # noqa: S311
        folder = write(mixed, tmp_path / f"in{place}", files, kind, place)
        frame = read(spark, folder).repartition(partitions)
        out = tmp_path / f"out{place}"
        found, summary = deliver(spark, frame, out, [SHOP, LAB], rows_a_block=size)
        assert found == wanted
        digests.add(summary.digest)
        assert summary.read == len(table)
        assert sum(summary.outcomes.values()) == len(table)
    assert len(digests) == 1


def test_a_session_of_other_settings_writes_the_same_files(
    odd_session: SparkSession, tmp_path: Path
) -> None:
    table = shuffled(600)
    frame = odd_session.createDataFrame(table).repartition(4)
    found, _ = deliver(odd_session, frame, tmp_path / "out", [SHOP, LAB], rows_a_block=77)
    assert found == expected(table)


def test_files_that_touch_in_one_instant_are_one_order(spark: SparkSession, tmp_path: Path) -> None:
    """Between the last row of the first file and itself stands the first row of the second."""
    files = {"1": (["z", "b"], [0, 1]), "2": (["a", "y"], [1, 2])}
    for name, (ids, times) in files.items():
        pq.write_table(pa.table({"id": ids, "time": times}), tmp_path / f"{name}.parquet")
    turns = Cluster.of("round-robin", destination=[{"name": "A"}, {"name": "B"}])
    frame = read(spark, str(tmp_path))
    found, _ = deliver(spark, frame, tmp_path / "out", [turns], changes=[], as_in_files=True)
    assert {row[0]: row[1] for row in found} == {"z": "A", "a": "B", "b": "A", "y": "B"}


def test_many_blocks_are_one_order(spark: SparkSession) -> None:
    """Blocks are cut only where there are enough messages to sample."""
    table = shuffled(9_000, seed=4)
    frame = spark.createDataFrame(table).repartition(5)
    ready = prepare(frame, [SHOP, LAB], CHANGES, Options(rows_a_block=1_000))
    assert len(ready.survey.blocks) > 4
    assert [tuple(row) for row in ready.decisions().select(*DECIDED).collect()] == expected(table)


def test_position_is_the_order_where_there_is_one(spark: SparkSession) -> None:
    random = Random(3)  # noqa: S311
    rows = [
        {"id": f"m{k}", "time": random.randint(0, 1_500), "position": (k * 37) % 200 // 2}
        for k in range(200)
    ]
    table = pa.Table.from_pylist(rows)
    destinations = [{"name": "A", "weight": 3}, {"name": "B", "weight": 2}]
    clusters = [Cluster.of("msmq", name="shop", destination=destinations)]
    changes = [each for each in CHANGES if each.target in "AB"]
    frame = spark.createDataFrame(table).repartition(4)
    found = dispatch(frame, clusters, changes).select("position", *DECIDED).collect()
    order = sorted(rows, key=lambda row: (row["position"], str(row["id"]).encode()))
    assert [row["id"] for row in found] == [row["id"] for row in order]
    wanted = route(table, clusters, changes).select(list(DECIDED)).to_pylist()
    assert [row.asDict() for row in found] == [
        {"position": row["position"], **decided} for row, decided in zip(order, wanted, strict=True)
    ]


def test_changes_hold_for_messages_of_their_time(spark: SparkSession) -> None:
    plain = {
        "policy": "msmq",
        "destination": [{"name": "A", "weight": 1}, {"name": "B", "weight": 1}],
    }
    messages = [{"id": f"m{k}", "time": k // 4} for k in range(40)]
    changes = [
        {"time": at, "target": "A", "attribute": "enabled", "value": at % 2 == 0}
        for at in (0, 1, 2, 3, 5, 9, 10)
    ]
    frame = spark.createDataFrame([(row["id"], row["time"]) for row in messages], ["id", "time"])
    happened = [
        Change(str(c["target"]), str(c["attribute"]), c["value"], int(c["time"])) for c in changes
    ]
    cluster = Cluster.from_dict(plain, default_name="c")
    found = dispatch(frame, cluster, happened).collect()
    assert [(r["destination"], r["outcome"], r["sequence"]) for r in found] == live(
        plain, messages, changes
    )


@pytest.mark.slow
def test_hundreds_of_changes(spark: SparkSession, tmp_path: Path) -> None:
    """More times than Java compiles nested conditions for; in place, and cut into blocks."""
    destinations = [{"name": name, "weight": 10} for name in "ABC"]
    slow = Cluster.of("weighted", options={"slow_start": 20}, destination=destinations)
    changes = [
        Change("ABC"[k % 3], "state", state, 50 * k + second)
        for k in range(40)
        for second, state in ((3, "down"), (9, "up"))
    ]
    assert len(Plan([slow], changes).times) > MANY
    n = 2_000
    table = pa.table({"id": [f"m{k:05}" for k in range(n)], "time": pa.array(range(n))})
    wanted = [tuple(r.values()) for r in route(table, slow, changes).select(DECIDED).to_pylist()]
    ordered = read(spark, write(table, tmp_path / "in", 4, "parquet", 0))
    lost = spark.createDataFrame([("lost", None)], "id string, time long")
    mixed = ordered.unionByName(lost).repartition(3)
    for k, (frame, rejects) in enumerate(((ordered, 0), (mixed, 1))):
        found, summary = deliver(
            spark, frame, tmp_path / f"out{k}", [slow], changes=changes, as_in_files=not rejects
        )
        assert sorted(found) == wanted  # the ids are in the order of the messages
        assert summary.rejected == rejects
        assert len(summary.phases) == len(Plan([slow], changes).times) + 1


def test_several_clusters_keep_apart(spark: SparkSession) -> None:
    names = ["shop", "lab", "", "elsewhere", "shop", "lab", "shop"]
    rows = [(k, k, name) for k, name in enumerate(names)]
    frame = spark.createDataFrame(rows, "id int, time int, cluster string")
    found = dispatch(frame, [SHOP, LAB]).collect()
    assert [(row["destination"], row["outcome"], row["sequence"]) for row in found] == [
        ("A", "routed", 0),
        ("X", "routed", 0),
        (None, "no-destination", 0),
        (None, "no-destination", 0),
        ("B", "routed", 1),
        ("Y", "routed", 1),
        ("é", "routed", 2),
    ]


KEYED = {
    "destination": [
        {"name": "A"},
        {"name": "B", "weight": 2},
        {"name": "é", "weight": 5},
        {"name": "full", "weight": 2**40, "present": False},
    ]
}
IBM = Cluster.of(
    "ibm-mq",
    name="hub",
    queue_manager={"name": "HUB", "clusters": ["C"]},
    remote=[{"name": "X"}, {"name": "Y"}],
    channel=[{"name": f"TO.{q}", "queue_manager": q} for q in "XY"],
    queue=[{"name": "Q", "queue_manager": q, "bind": "on-group"} for q in "XY"],
)


def keyed_messages(n: int) -> pa.Table:
    """Messages with keys of all kinds for clusters of all kinds, in no order."""
    random = Random(7)  # noqa: S311
    words = ["", None, "a", "A", "é", "e\u0301", "\U0001f600", "a\nb", "2024-01-01", "1.0"]
    rows = [
        {
            "id": f"{k:05}",
            "time": datetime(1970, 1, 1) + timedelta(seconds=k // 2),  # noqa: DTZ001
            "position": k,
            "cluster": random.choice(["by group", "by type", "shop", "hub", "busy", "nowhere"]),
            "group": random.choice(words),
            "type": random.choice(["", "SetPriority", "a", "é"]),
            "queue": "Q",
            "bind": random.choice(["", "on-group", "not-fixed"]),
            "service_time": 1,
        }
        for k in range(n)
    ]
    random.shuffle(rows)
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("also", ["alone", "by position", "bound", "in order"])
@pytest.mark.slow
def test_keys_are_chosen_for_alike_everywhere(spark: SparkSession, also: str) -> None:
    """Alone by arithmetic; beside messages that are bound, or completed: then in one pass."""
    clusters = [
        Cluster.of("rendezvous", name="by group", **KEYED),
        Cluster.of("rendezvous", name="by type", options={"key": "type"}, **KEYED),
        SHOP,
    ]
    clusters += [IBM] if also in ("bound", "in order") else []
    if also == "in order":
        clusters += [Cluster.of("fewest-pending", name="busy", destination=[{"name": "A"}])]
    rows = keyed_messages(1_500)
    rows = rows if also == "by position" else rows.drop_columns("position")
    changes = [
        Change("B@by group", "state", "down", 200),
        Change("é@by type", "weight", 1, 200),
        Change("full@by group", "present", True, 600),
    ]
    stages: list[str] = []

    def progress(stage: str) -> nullcontext[None]:
        stages.append(stage)
        return nullcontext()

    frame = spark.createDataFrame(rows).repartition(3)
    ready = prepare(frame, clusters, changes, Options(rows_a_block=200, progress=progress))
    found = ready.decisions().select(*DECIDED).collect()
    assert ("route in order" in stages) == (also == "in order")
    assert len(ready.survey.blocks) > 3
    expected = route(rows, clusters, changes).select(list(DECIDED)).to_pylist()
    assert [row.asDict() for row in found] == expected


@pytest.mark.parametrize("kind", ["double", "timestamp", "decimal(9,2)"])
def test_a_key_that_engines_spell_otherwise_is_refused(spark: SparkSession, kind: str) -> None:
    cluster = Cluster.of("rendezvous", name="c", **KEYED)
    frame = spark.sql(f"select '1' as id, 1 as time, cast(1 as {kind}) as `group`")
    with pytest.raises(MessageError, match=r"group: found .*, allowed: text, whole numbers"):
        dispatch(frame, cluster)
    with pytest.raises(
        MessageError, match=r"no column 'group', found: .*; cluster \w+ chooses by it"
    ):
        dispatch(frame.drop("group"), cluster)


@pytest.mark.parametrize("kind", ["int", "bigint", "boolean", "string", "void"])
def test_keys_of_any_type_that_is_spelled_alike(spark: SparkSession, kind: str) -> None:
    cluster = Cluster.of("rendezvous", name="c", **KEYED)
    given = "null" if kind == "void" else f"cast(id % 2 as {kind})"
    frame = spark.sql(f"select id, id as time, {given} as `group` from range(20)")  # noqa: S608
    found = dispatch(frame, cluster).collect()
    balancer = Balancer(cluster)
    for row in found:
        assert row["destination"] == balancer.choose({"group": row["group"]}).destination
    in_memory = route(frame.toArrow(), cluster)
    assert in_memory["destination"].to_pylist() == [row["destination"] for row in found]


# --- a stage like any other ------------------------------------------------------------------


def test_dispatch_is_a_transformation(spark: SparkSession) -> None:
    frame = spark.sql(
        "select cast(id as string) as id, id as time, named_struct('a', id, 'b', array(id)) as s,"
        " map('k', id) as m, cast('x' as binary) as raw, id as `a.b`, id as `we``ird name`"
        " from range(6)"
    )
    found = frame.transform(dispatch, SHOP)
    assert found.columns == [*frame.columns, "destination", "address", "outcome", "sequence"]
    rows = found.where("destination = 'A'").collect()
    assert [row["id"] for row in rows] == ["0", "3", "5"]
    assert rows[1]["s"].asDict() == {"a": 3, "b": [3]}
    assert rows[1]["m"] == {"k": 3}
    assert bytes(rows[1]["raw"]) == b"x"
    assert (rows[1]["a.b"], rows[1]["we`ird name"]) == (3, 3)


@pytest.mark.slow
def test_duplicates_among_awkward_columns(spark: SparkSession) -> None:
    frame = spark.sql(
        "select 'x' as id, nullif(id, 0) as time, map('k', id) as m, id as `a.b`,"
        " id as `we``ird name`, named_struct('a', id) as s from range(4)"
    )
    assert [row["time"] for row in dispatch(frame, SHOP).collect()] == [1]
    bad = rejected(frame, SHOP).orderBy("time").collect()
    no_time = "time: found nothing, allowed: a timestamp, or a number of seconds"
    assert [(row["time"], row["reason"]) for row in bad] == [
        (None, no_time),  # so it is no message, and its id is free
        *((k, "id: found 'x' again, allowed: once") for k in (2, 3)),
    ]
    assert [row["time"] for row in dispatch(frame, SHOP, trust_ids=True).collect()] == [1, 2, 3]


def test_set_priority_is_control(spark: SparkSession) -> None:
    rows = [("a", 0, "SetPriority"), ("b", 1, "work"), ("c", 2, None), ("d", 3, "setpriority")]
    found = dispatch(spark.createDataFrame(rows, "id string, time int, type string"), SHOP)
    assert [
        (r["destination"], r["outcome"], r["sequence"], r["type"]) for r in found.collect()
    ] == [
        (None, "control", None, "SetPriority"),
        ("A", "routed", 0, "work"),
        ("B", "routed", 1, None),
        ("é", "routed", 2, "setpriority"),
    ]


@pytest.mark.parametrize(
    "name", ["destination", "outcome", "Outcome", "SEQUENCE", "__fairlead_key"], ids=str
)
def test_columns_that_the_decisions_add_are_refused(spark: SparkSession, name: str) -> None:
    frame = spark.sql(f"select 'a' as id, 1 as time, 2 as `{name}`")
    with pytest.raises(MessageError, match=f"column '{name}'"):
        dispatch(frame, SHOP)


def test_times_of_every_type_are_one_order(spark: SparkSession) -> None:
    moments = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(microseconds=k) for k in (5, 3, 4, 1)]
    frame = spark.createDataFrame(list(zip("abcd", moments, strict=True)), "id string, t timestamp")
    kinds = {
        "zoneless": F.col("t").cast("timestamp_ntz"),
        "decimal": F.expr("cast(unix_micros(t) as decimal(20, 0)) / 1000000"),
        "text": F.col("t").cast("string"),
    }
    tables = [
        frame.select(F.concat(F.lit(k), "id").alias("id"), kind.alias("time"))
        for k, kind in enumerate(kinds.values())
    ]
    orders = [[row["id"][1:] for row in dispatch(each, SHOP).collect()] for each in tables]
    assert orders == [list("dbca")] * len(kinds)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
def test_a_time_without_a_zone_is_utc(spark: SparkSession, zone: str) -> None:
    """So that the changes, which are UTC, come at the right message in any session."""
    texts = [
        "2024-03-10 02:30:00",
        "2024-03-10T02:30:00",
        "2024-03-10T02:30:00Z",
        "2024-03-10T03:30:00+01:00",
        "2024-03-09T21:30:00-05:00",
        "1710037800",
    ]
    rows = [(str(k), text) for k, text in enumerate(texts)]
    frame = spark.createDataFrame([*rows, ("day", "2024-03-10")], "id string, time string")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        plan = Plan([SHOP], [])
        found = {row["id"]: row[TIME] for row in validate(frame, plan).collect()}
        literals = {"zoneless": "timestamp_ntz'2024-03-10 02:30:00'", "date": "date'2024-03-10'"}
        for name, literal in literals.items():
            one = spark.sql(f"select '{name}' as id, {literal} as time")
            found[name] = validate(one, plan).collect()[0][TIME]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    moment, midnight = 1_710_037_800_000_000, 1_710_028_800_000_000
    days = {"day": midnight, "date": midnight}
    assert found == {str(k): moment for k in range(len(texts))} | days | {"zoneless": moment}


def test_several_clusters_need_the_column_that_names_them(spark: SparkSession) -> None:
    with pytest.raises(MessageError, match="no column 'cluster', found: id, time"):
        dispatch(spark.createDataFrame([("a", 1)], "id string, time long"), [SHOP, LAB])
    with pytest.raises(MessageError, match="no column 'cluster', found: id, time"):
        route(pa.table({"id": ["a"], "time": [1]}), [SHOP, LAB])


@pytest.mark.slow
def test_what_is_rejected_depends_on_the_changes(spark: SparkSession) -> None:
    """A change that sets a capacity makes a service time needed."""
    frame = spark.createDataFrame(
        [("a", 1, None), ("b", 2, 1.0)], "id string, time long, service_time double"
    )
    limit = [Change("X", "capacity", 1, 0)]
    assert rejected(frame, LAB).count() == 0
    assert [row["id"] for row in rejected(frame, LAB, limit).collect()] == ["a"]
    assert [row["id"] for row in dispatch(frame, LAB, limit).collect()] == ["b"]


# --- the compiled engine on the same table ---------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        {"id": ["", "b"]},
        {"id": ["a", None]},
        {"id": ["a", "a"]},
        {"time": [1, None]},
        {"service_time": [-1.0, 1.0]},
        {"service_time": [1.0, 1e10]},
    ],
    ids=str,
)
def test_the_compiled_engine_refuses_what_spark_rejects(column: dict[str, list[Any]]) -> None:
    table = pa.table({"id": ["a", "b"], "time": [1, 2], **column})
    with pytest.raises(MessageError):
        route(table, SHOP)


def test_what_is_no_table_is_refused() -> None:
    wrong: Any = "m.csv"
    with pytest.raises(MessageError, match=r"found a str, allowed: a pyarrow\.Table"):
        route(wrong, SHOP)
    with pytest.raises(MessageError, match="found a str, allowed: a DataFrame of Spark"):
        dispatch(wrong, SHOP)


def test_a_service_time_may_only_be_empty_where_no_completion_decides(spark: SparkSession) -> None:
    plain = {"destination": [{"name": "A"}]}
    clusters = [Cluster.of("fewest-pending", name="busy", **plain)]
    clusters.append(Cluster.of("round-robin", name="idle", **plain))
    frame = spark.sql(
        "select * from values ('a', 1, 'busy', 'x'), ('b', 2, 'idle', 'x'), ('c', 3, 'busy', '') "
        "as t(id, time, cluster, service_time)"
    )
    reasons = [row["reason"] for row in rejected(frame, clusters).orderBy("id").collect()]
    number = "service_time: found 'x', allowed: a number of seconds from 0 to 4000000000"
    missing = "service_time: found nothing, allowed: a number; completions decide here"
    assert reasons == [number, f"{number}, or empty", missing]


def test_words_are_checked_where_a_policy_reads_them() -> None:
    table = pa.table({"id": ["a", "b"], "time": [1, 2], "mode": ["", "sometimes"]})
    assert route(table, SHOP).num_rows == 2
    published = Cluster.of("smartsockets", subscriber=[{"name": "A", "subject": "/s"}])
    with pytest.raises(MessageError, match="mode: found 'sometimes', allowed: none, round-robin"):
        route(table, published)


@pytest.mark.parametrize("kind", ["number", "decimal"])
def test_the_compiled_engine_takes_what_spark_takes(spark: SparkSession, kind: str) -> None:
    ids: Any = pa.array([10, 9, 1]) if kind == "number" else pa.array(["10", "9", "1"])
    times: Any = {
        "number": pa.array([1, 1, 1]),
        "text": pa.array(["1", "1.0", "1e0"]),
        "decimal": pa.array([1, 1, 1], pa.decimal128(10, 2)),
    }[kind]
    table = pa.table({"id": ids, "time": times})
    found = dispatch(spark.createDataFrame(table), SHOP).collect()
    assert [str(row["id"]) for row in found] == ["1", "10", "9"]
    wanted = route(table, SHOP).select(list(DECIDED)).to_pylist()
    assert [{name: row[name] for name in DECIDED} for row in found] == wanted


# --- a process that is killed ----------------------------------------------------------------

KILLED = """
import sys
from fairlead.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_killed_process_leaves_nothing_that_looks_done(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = shuffled(2_000)
    pq.write_table(table, tmp_path / "m.parquet")
    (tmp_path / "c.toml").write_text(
        'policy = "msmq"\nname = "shop"\n[[destination]]\nname = "A"\nweight = 1\n'
    )
    place, out = str(tmp_path / "m.parquet"), tmp_path / "out"
    arguments = ["dispatch", place, "-c", str(tmp_path / "c.toml"), "-o", str(out)]
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, *arguments, "--master", "local[1]"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            deadline = time.monotonic() + 120
            while not list(tmp_path.glob(".out.*/decisions")) and time.monotonic() < deadline:
                assert process.poll() is None, "it was over before it could be killed"
                time.sleep(0.02)
            assert list(tmp_path.glob(".out.*/decisions"))
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert not out.exists()
    only = Cluster.of("msmq", name="shop", destination=[{"name": "A", "weight": 1}])
    found, summary = deliver(spark, read(spark, place), out, [only], changes=[])
    assert summary.read == len(found) == len(table)


def test_a_run_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql("select 'a' as id, 1 as time, raise_error('no') as note")
    with pytest.raises(Exception, match="no"):
        deliver(spark, frame, tmp_path / "out", [SHOP], changes=[])
    assert list(tmp_path.iterdir()) == []


# --- a table that is large enough to be partitioned differently each time --------------------


@pytest.mark.slow
def test_two_runs_over_millions_agree(spark: SparkSession, tmp_path: Path) -> None:
    rows = 2_200_000
    frame = spark.range(rows).select(
        F.concat(F.lit("m"), F.xxhash64("id").cast("string")).alias("id"),
        F.pmod(F.xxhash64("id", F.lit(7)), F.lit(900_000)).alias("time"),
        F.element_at(
            F.array(*map(F.lit, ["shop", "lab", "shop"])), F.pmod("id", F.lit(3)).cast("int") + 1
        ).alias("cluster"),
    )
    changes = [replace(each, time=each.micros / 2_000) for each in CHANGES]
    frame.write.parquet(str(tmp_path / "in"))
    digests = []
    for partitions in (3, 17):
        out = tmp_path / f"out{partitions}"
        source = spark.read.parquet(str(tmp_path / "in")).repartition(partitions)
        with FolderTables(str(out), overwrite=False) as delivery:
            summary = run(spark, source, [SHOP, LAB], changes, delivery)
            delivery.finish()
        assert summary.blocks > 1
        assert summary.read == sum(summary.outcomes.values()) == rows
        digests.append(summary.digest)
    assert digests[0] == digests[1]
    wanted = route(pq.read_table(tmp_path / "in"), [SHOP, LAB], changes).select(list(DECIDED))
    parts = sorted((tmp_path / "out17" / "decisions").glob("part-*"))
    found = pa.concat_tables(pq.read_table(part, columns=list(DECIDED)) for part in parts)
    for name in DECIDED:
        kind = found.schema.field(name).type
        assert wanted[name].cast(kind).combine_chunks() == found[name].combine_chunks(), name
