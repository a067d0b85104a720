"""A stream decides as one dispatch of the same messages in the order of their arrival."""

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.elsewhere import view

from fairlead import Change, Cluster, dispatch, follow
from fairlead.cli.table import MessagesTable
from fairlead.errors import ChangeError, MessageError, OutputError, UserError
from fairlead.pipeline.dispatch import prepare
from fairlead.pipeline.streaming.differing import differing
from fairlead.runs.options import Options
from fairlead.runs.stream_folder import Commit

SCHEMA = (
    "id string, time double, cluster string, queue string, `group` string, bind string, "
    "service_time double"
)
MQ = Cluster.of(
    "ibm-mq",
    name="mq",
    queue_manager={"name": "QM0", "clusters": ["C"]},
    remote=[{"name": f"QM{k}", "clusters": ["C"]} for k in (1, 2, 3)],
    channel=[{"name": f"TO{k}", "queue_manager": f"QM{k}", "clusters": ["C"]} for k in (1, 2, 3)],
    queue=[
        {"name": name, "queue_manager": f"QM{k}", "clusters": ["C"], "bind": bind}
        for k in (1, 2, 3)
        for name, bind in (("ORDERS", "not-fixed"), ("BOUND", "on-group"))
    ],
)
MSMQ = Cluster.of(
    "msmq",
    name="msmq",
    destination=[
        {"name": "A", "weight": 3},
        {"name": "B", "weight": 2},
        {"name": "C", "weight": 1},
    ],
)
GROUPS = Cluster.of(
    "priority-failover",
    name="groups",
    options={"affinity": "group"},
    destination=[
        {"name": "P", "priority": 1},
        {"name": "Q", "priority": 1},
        {"name": "R", "priority": 2},
    ],
)
BUSY = Cluster.of(
    "fewest-pending", name="busy", destination=[{"name": "X", "readers": 2}, {"name": "Y"}]
)
EVERYONE = Cluster.of("broadcast", name="all", destination=[{"name": "S"}, {"name": "T"}])
CLUSTERS = [MQ, MSMQ, GROUPS, BUSY, EVERYONE]
CHANGES = [
    Change("A", "weight", 1, 30),
    Change("P", "state", "down", 40),
    Change("P", "state", "up", 90),
    Change("TO1", "state", "stopped", 50),
    Change("X", "state", "down", 70),
]
HORIZON = 25.0


def rows_of(seed: int, batches: int, most: int = 60) -> list[list[dict[str, Any]]]:
    """Micro-batches of messages: late ones among them, ids again, groups that come back."""
    random = Random(seed)  # noqa: S311
    found, clock, number = [], 0.0, 0
    for _ in range(batches):
        batch = []
        for _ in range(random.randint(1, most)):
            clock += random.choice([0, 0.25, 0.5, 1])
            number += 1
            again = number > 5 and random.random() < 0.1
            batch.append(
                {
                    "id": f"m{number - random.randint(1, 60) if again else number}",
                    "time": clock - random.choice([0, 0, 0, 0, 20, 60]),
                    "cluster": random.choice([*(each.name for each in CLUSTERS), "nobody"]),
                    "queue": random.choice(["ORDERS", "BOUND"]),
                    "group": random.choice(["", "g1", "g2", f"g{number // 20 + 3}"]),
                    "bind": random.choice(["", "", "not-fixed", "on-group", "on-open"]),
                    "service_time": random.choice([0.5, 2.0, 10.0]),
                }
            )
        found.append(batch)
    return found


def streaming(spark: SparkSession, folder: Path, most: int = 1) -> DataFrame:
    """A stream of JSON files, so many to a micro-batch."""
    folder.mkdir(exist_ok=True)
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", most)
    return reader.json(str(folder))


def bring(folder: Path, number: int, rows: Iterable[dict[str, Any]]) -> None:
    """Put a file into the folder of the stream, whole."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{number:05}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.utime(hidden, (1_700_000_000 + number,) * 2)  # Spark takes the oldest first
    hidden.rename(folder / f"{number:05}.json")


def decided(out: Path) -> list[tuple[Any, ...]]:
    """What the stream wrote, in the order of arrival."""
    names = ["arrival", "id", "destination", "outcome", "sequence"]
    rows: list[tuple[Any, ...]] = []
    for place in out.glob("decisions/batch=*/*.parquet"):
        rows += [tuple(row.values()) for row in pq.read_table(place, columns=names).to_pylist()]
    return sorted(rows, key=lambda row: (row[0], row[2] or ""))


def as_one(
    spark: SparkSession,
    batches: Sequence[Sequence[dict[str, Any]]],
    clusters: Sequence[Cluster],
    changes: Sequence[Change],
) -> list[tuple[Any, ...]]:
    """What one dispatch decides on all of it, in the same order."""
    every = [
        {**row, "position": (number << 32) + place}
        for number, batch in enumerate(batches)
        for place, row in enumerate(sorted(batch, key=lambda row: (row["time"], row["id"])))
    ]
    table = spark.createDataFrame(pa.Table.from_pylist(every))
    ready = prepare(table, clusters, changes, Options(horizon=round(HORIZON * 1e6)))
    names = ["position", "id", "destination", "outcome", "sequence"]
    found = sorted(ready.decisions().select(*names).collect(), key=lambda r: (r[0], r[2] or ""))
    ready.release()
    places = {at: k for k, at in enumerate(dict.fromkeys(row[0] for row in found))}
    return [(places[row[0]], *row[1:]) for row in found]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_stream_decides_as_one_dispatch(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Whatever the policies, with late messages, ids again, and groups that were forgotten."""
    # Each micro-batch takes as long as a whole dispatch, and longer the more policies there are.
    batches, clusters = rows_of(seed, 5 if seed else 3), CLUSTERS if seed else [MSMQ, GROUPS]
    source, out = tmp_path / "in", tmp_path / "out"
    for number, batch in enumerate(batches):
        bring(source, number, batch)
    stream = streaming(spark, source)
    known = {ref.name for each in clusters for ref in each.start().objects}
    changes = [change for change in CHANGES if change.target in known]
    following = follow(stream, clusters, out, changes, horizon=HORIZON, available_now=True)
    following.wait()
    assert decided(out) == as_one(spark, batches, clusters, changes)


ROWS = [{"id": f"m{k}", "time": float(k), "cluster": "msmq"} for k in range(40)]


def follow_to_the_end(spark: SparkSession, source: Path, out: Path, **more: Any) -> None:
    """All that is in the folder, under one policy."""
    asked: dict[str, Any] = {"clusters": [MSMQ], "horizon": 100.0, **more}
    follow(streaming(spark, source), out=out, available_now=True, **asked).wait()


@pytest.mark.slow
def test_it_goes_on_where_it_ended(spark: SparkSession, tmp_path: Path) -> None:
    """Also where it was killed before Spark knew, or before it was committed."""
    source, out = tmp_path / "in", tmp_path / "out"
    bring(source, 0, ROWS[:10])
    follow_to_the_end(spark, source, out)
    first = decided(out)
    # Killed after our commit, before Spark's: the micro-batch comes again, and is known.
    (out / "checkpoint/commits/0").unlink()
    (out / "checkpoint/commits/.0.crc").unlink(missing_ok=True)
    bring(source, 1, ROWS[10:20])
    follow_to_the_end(spark, source, out)
    assert decided(out)[:10] == first
    assert [row[1] for row in decided(out)] == [row["id"] for row in ROWS[:20]]
    # Killed while a micro-batch was put into its place: what is there is not counted.
    shutil.copytree(out / "decisions/batch=0", out / "decisions/batch=2")
    shutil.copytree(out / "decisions/batch=0", out / ".making/decisions")
    bring(source, 2, ROWS[20:30])
    follow_to_the_end(spark, source, out)
    assert [row[1] for row in decided(out)] == [row["id"] for row in ROWS[:30]]
    assert not (out / ".making").exists()
    assert decided(out) == as_one(spark, [ROWS[:10], ROWS[10:20], ROWS[20:30]], [MSMQ], [])
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert (summary["read"], summary["outcomes"]) == (30, {"routed": 30})


@pytest.mark.slow
def test_a_change_that_comes_late_holds_for_what_follows(
    spark: SparkSession, tmp_path: Path
) -> None:
    """And the one dispatch that is compared takes the changes that the commit names."""
    source, out = tmp_path / "in", tmp_path / "out"
    changes = [Change("A", "enabled", False, 100)]
    asked: dict[str, Any] = {"clusters": [MSMQ], "changes": lambda: changes, "horizon": HORIZON}
    bring(source, 0, ROWS[:20])
    follow_to_the_end(spark, source, out, **asked)
    changes.append(Change("B", "enabled", False, 5))  # all before 19 s is decided
    bring(source, 1, ROWS[20:])
    follow_to_the_end(spark, source, out, **asked)
    held = json.loads((out / "stream.json").read_text(encoding="utf-8"))["changes"]
    assert [(each["target"], each["time"]) for each in held] == [
        ("A", 100_000_000),
        ("B", 19_000_001),
    ]
    assert {row[2] for row in decided(out)[20:]} == {"A", "C"}
    known = [Change.at_micros(**each) for each in held]
    assert decided(out) == as_one(spark, [ROWS[:20], ROWS[20:]], [MSMQ], known)
    del changes[0]
    bring(source, 2, ROWS[:1])
    with pytest.raises(ChangeError, match="no more the change of 'A' enabled"):
        follow_to_the_end(spark, source, out, **asked)


@pytest.mark.slow
def test_what_cannot_go_on_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """In one line, and nothing is lost: the same micro-batch comes again."""
    source, out = tmp_path / "in", tmp_path / "out"
    bring(source, 0, ROWS[:10])
    follow_to_the_end(spark, source, out)
    first = decided(out)
    heavier = Cluster.of(
        "msmq",
        name="msmq",
        destination=[{"name": n, "weight": w} for n, w in (("A", 3), ("B", 2), ("C", 9))],
    )
    with pytest.raises(OutputError, match=r"destination\[C\].weight: was 1, found 9"):
        follow_to_the_end(spark, source, out, clusters=[heavier])
    with pytest.raises(OutputError, match=r"options.horizon: was '100 s', found '7 s'"):
        follow_to_the_end(spark, source, out, horizon=7)
    with pytest.raises(OutputError, match="no stream's"):
        follow_to_the_end(spark, source, tmp_path)
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(MessageError, match="horizon: found"):
            follow_to_the_end(spark, source, tmp_path / "new", horizon=wrong)
    with pytest.raises(MessageError, match="allowed: a streaming DataFrame"):
        follow(spark.range(3), [MSMQ], tmp_path / "new")
    with pytest.raises(MessageError, match=r"a stream.*fairlead\.follow"):
        dispatch(streaming(spark, source), [MSMQ])
    bring(source, 1, ROWS[10:20])
    other = streaming(spark, source).withColumn("size", F.lit(1))
    with pytest.raises(MessageError, match="other columns than the stream began with"):
        follow(other, [MSMQ], out, horizon=100, available_now=True).wait()
    (out / "checkpoint").rename(tmp_path / "checkpoint")
    with pytest.raises(OutputError, match="found no checkpoint"):
        follow_to_the_end(spark, source, out)
    bring(tmp_path / "other", 0, ROWS)
    follow_to_the_end(spark, tmp_path / "other", tmp_path / "out2")
    shutil.copytree(tmp_path / "out2/checkpoint", out / "checkpoint")
    bring(tmp_path / "other", 1, ROWS)
    with pytest.raises(OutputError, match="found another checkpoint"):
        follow_to_the_end(spark, tmp_path / "other", out)
    shutil.rmtree(out / "checkpoint")
    (tmp_path / "checkpoint").rename(out / "checkpoint")
    assert decided(out) == first
    follow_to_the_end(spark, source, out)
    assert len(decided(out)) == 20


@pytest.mark.slow
def test_files_that_cannot_be_read_end_it_in_one_line(spark: SparkSession, tmp_path: Path) -> None:
    """Such as one whose columns have other types; the same micro-batch comes again."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()

    def to_the_end() -> None:
        stream = spark.readStream.schema("id string, time double").parquet(str(source))
        follow(stream, [MSMQ], out, available_now=True).wait()

    pq.write_table(pa.table({"id": ["a"], "time": [1.0]}), source / "1.parquet")
    to_the_end()
    pq.write_table(pa.table({"id": ["b"], "time": ["late"]}), source / "2.parquet")
    with pytest.raises(UserError, match=rf"^{source}/2.parquet: cannot be read: ") as refused:
        to_the_end()
    assert "\n" not in str(refused.value)
    (source / "2.parquet").write_bytes(b"PAR1 and no table")
    table = MessagesTable.asked(str(source), None, None, False, None, None)
    with pytest.raises(UserError, match=f"^{source}/2.parquet: not a table of format parquet: "):
        table.read(spark)
    pq.write_table(pa.table({"id": ["b"], "time": [2.0]}), source / "2.parquet")
    to_the_end()
    assert [row[1] for row in decided(out)] == ["a", "b"]


@pytest.mark.slow
def test_a_stream_that_runs(spark: SparkSession, tmp_path: Path) -> None:
    """It waits for files, nobody else may write there, and it ends when it is told to."""
    source, out = tmp_path / "in", tmp_path / "out"
    stream = streaming(spark, source)
    following = follow(stream, [MSMQ], out, horizon=100, every=0.1)
    assert following.active
    assert following.summary is None
    with pytest.raises(OutputError, match="another process that writes"):
        follow(stream, [MSMQ], out, horizon=100)
    bring(source, 0, ROWS[:10])
    while following.summary is None:
        assert not following.wait(0.1)
    assert following.summary.read == 10
    following.stop()
    assert not following.active
    bring(source, 1, [{"id": "m3", "time": 11.0, "cluster": "msmq"}, {"id": None, "time": 12.0}])
    follow_to_the_end(spark, source, out)
    reasons = [
        row["reason"]
        for place in out.glob("rejected/batch=*/*.parquet")
        for row in pq.read_table(place).to_pylist()
    ]
    assert sorted(reasons) == [
        "id: found 'm3' again, allowed: once",
        "id: found nothing, allowed: a text",
    ]


@pytest.mark.slow
def test_many_small_batches_keep_few_files(spark: SparkSession, tmp_path: Path) -> None:
    """What is remembered is put together, and what is older than the horizon goes."""
    source, out = tmp_path / "in", tmp_path / "out"
    for number in range(20):
        bring(source, number, [{"id": f"m{number}", "time": number * 2.0, "group": "g"}])
    follow_to_the_end(spark, source, out, clusters=[GROUPS], horizon=100.0)
    commit = json.loads((out / "stream.json").read_text(encoding="utf-8"))
    assert len(commit["ids"]) < 16
    assert {each.name for each in (out / "state/ids").iterdir()} == {
        f"batch={each['batch']}" for each in commit["ids"]
    }
    assert [each.name for each in (out / "state/groups").iterdir()] == ["batch=19"]
    bring(source, 20, [{"id": "m15", "time": 41.0}, {"id": "m1", "time": 200.0}])
    follow_to_the_end(spark, source, out, clusters=[GROUPS], horizon=100.0)
    assert [row[1] for row in decided(out)][20:] == ["m1"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"destination": [{"name": "A", "weight": 3}]}, "destination[B] is gone"),
        (
            {"destination": [{"name": "A", "weight": 3}, {"name": "B"}, {"name": "C"}]},
            "destination[C] is new",
        ),
        (
            {"destination": [{"name": "B"}, {"name": "A", "weight": 3}]},
            "destination: was in another order",
        ),
        ({"options": {"newcomer": "level"}}, "options is new"),
        ({"policy": "round-robin"}, "policy: was 'weighted', found 'round-robin'"),
    ],
)
def test_what_differs_from_the_stream_of_before(change: dict[str, Any], said: str) -> None:
    tables = {"policy": "weighted", "destination": [{"name": "A", "weight": 3}, {"name": "B"}]}
    found = differing(begun("pool", tables), begun("pool", tables | change))
    assert found == f"cluster 'pool'.{said}"


def test_a_cluster_of_another_name_is_another_one() -> None:
    assert differing(begun("pool", {"policy": "weighted"}), begun("other", {})) == (
        "cluster 'pool' is gone, cluster 'other' is new"
    )


def begun(name: str, tables: dict[str, Any]) -> Commit:
    """A stream with one cluster."""
    return Commit(clusters=[{"name": name, "tables": tables}], options={"horizon": "1 s"})


class Sink:
    """A sink of a user's: it keeps the number with the rows, so that each counts once."""

    def __init__(self, fails_at: int = -1) -> None:
        self.fails_at = fails_at
        self.calls: list[int] = []
        self.rows: dict[int, list[tuple[Any, ...]]] = {}
        self.types: dict[str, str] = {}

    def __call__(self, rows: DataFrame, number: int) -> None:
        self.calls.append(number)
        if number == self.fails_at:
            raise RuntimeError("the sink is full")
        self.types = dict(rows.dtypes)
        cells = rows.select("arrival", "id", "destination", "outcome", "sequence").collect()
        self.rows[number] = [tuple(row) for row in cells]

    def all_rows(self) -> list[tuple[Any, ...]]:
        return sorted(row for rows in self.rows.values() for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_a_sink_gets_each_micro_batch_until_it_returns(
    spark: SparkSession, tmp_path: Path, file_format: str
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    for number in range(2):
        bring(source, number, ROWS[10 * number : 10 * number + 10])
    sink = Sink(fails_at=1)
    more: dict[str, Any] = {"file_format": file_format, "each": sink}
    with pytest.raises(RuntimeError, match="the sink is full"):
        follow_to_the_end(spark, source, out, **more)
    assert sink.calls == [0, 1]
    # It is committed, and comes again although nothing new has come, before anything else does.
    sink.fails_at = -1
    stream = streaming(spark, source)
    following = follow(
        stream, [MSMQ], out, horizon=100, available_now=True, file_format=file_format, each=sink
    )
    assert sink.calls == [0, 1, 1]
    assert following.summary is not None
    assert following.summary.read == 20
    following.wait()
    bring(source, 2, [])
    bring(source, 3, ROWS[20:30])
    follow_to_the_end(spark, source, out, **more)
    assert sink.calls[:3] == [0, 1, 1]
    assert len(sink.calls) == 4, "one without a row is nobody's"
    assert [row[1] for row in sink.all_rows()] == [row["id"] for row in ROWS[:30]]
    assert sink.types["time"] == "double"
    assert sink.types["sequence"] == "bigint"
    if file_format == "parquet":
        assert sink.all_rows() == decided(out)


def test_what_is_no_function_is_no_sink(spark: SparkSession, tmp_path: Path) -> None:
    stream = streaming(spark, tmp_path / "in")
    with pytest.raises(MessageError, match=r"^each: found 'sink', allowed: a function of the rows"):
        follow(stream, [MSMQ], tmp_path / "out", each="sink")  # type: ignore[arg-type]


def test_a_place_on_which_no_stream_commits_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with view(spark, tmp_path / "view") as uri:
        for out, line in (
            (f"{uri}/out", "found a file system on which no stream commits, allowed: one of this"),
            (f"{uri}/.out", "found '.out' as the folder's name, allowed: a name that begins neit"),
            ("table:out", "found a table, allowed: a folder"),
        ):
            with pytest.raises(OutputError, match=f"^{out}: {line}"):
                follow(streaming(spark, tmp_path / "in"), [MSMQ], out)
    assert not (tmp_path / "view" / "out").exists()
