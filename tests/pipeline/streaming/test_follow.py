"""A stream decides as one dispatch of the same messages in the order of their arrival."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from fairlead import Change, Cluster, follow
from fairlead.pipeline.dispatch import prepare
from fairlead.pipeline.options import Options

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


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_decides_as_one_dispatch(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Whatever the policies, with late messages, ids again, and groups that were forgotten."""
    batches = rows_of(seed, 5)
    source, out = tmp_path / "in", tmp_path / "out"
    for number, batch in enumerate(batches):
        bring(source, number, batch)
    stream = streaming(spark, source)
    following = follow(stream, CLUSTERS, out, CHANGES, horizon=HORIZON, available_now=True)
    following.wait()
    assert decided(out) == as_one(spark, batches, CLUSTERS, CHANGES)
