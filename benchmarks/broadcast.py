"""h: a message to a thousand subscribers, against the plain cross join that a user writes."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks import data
from benchmarks.jobs import Jobs
from benchmarks.timing import Line, medians
from fairlead import Cluster, route

NAMES = [f"S{k:03d}" for k in range(1_000)]


def part_h(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """Rows out per second; so many messages that `rows` rows come out."""
    messages = max(1, rows // len(NAMES))
    source = data.messages(folder, messages)
    cluster = Cluster.of("broadcast", destination=[{"name": name} for name in NAMES])
    return [
        *on_spark(Jobs(spark, folder), source, cluster, messages, runs),
        *in_memory(source, cluster, messages, runs),
    ]


def on_spark(jobs: Jobs, source: Path, cluster: Cluster, messages: int, runs: int) -> list[Line]:
    """Both write the same columns, for as many rows."""
    copies = messages * len(NAMES)
    names = jobs.spark.createDataFrame([(name,) for name in NAMES], "destination string")

    def ours() -> None:
        found = jobs.dispatch(source, cluster, None, {}, trust_ids=True, drop=["payload"])
        assert (found.read, found.outcomes) == (messages, {"routed": copies})

    def plain() -> None:
        table = jobs.spark.read.parquet(str(source)).drop("payload").orderBy("time", "id")
        numbered = table.withColumn("sequence", F.monotonically_increasing_id())
        every = numbered.crossJoin(F.broadcast(names))
        decided = {"address": F.lit(None).cast("string"), "outcome": F.lit("routed")}
        jobs.write(every.withColumns(decided))

    found = medians({"cross join": plain, "broadcast": ours}, runs)
    for name, seconds in found.items():
        print(f"    {name}: {copies / seconds / 1e6:.2f} M rows out a second", flush=True)
    print("    ", *(f"{stage}: {took:.2f} s;" for stage, took in jobs.stages.items()), flush=True)
    ratio = found["broadcast"] / found["cross join"]
    return [Line("h", "dispatch, broadcast to 1,000", "plain cross join", ratio, "")]


def in_memory(source: Path, cluster: Cluster, messages: int, runs: int) -> list[Line]:
    """The same from table to table, against Polars."""
    columns = ["id", "time"]
    table = pq.read_table(source, columns=columns).combine_chunks()
    names = pl.DataFrame({"destination": NAMES})
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)

    def polars() -> pl.DataFrame:
        ordered = frame.sort("time", "id").with_row_index("sequence")
        every = ordered.join(names, how="cross")
        return every.with_columns(address=pl.lit(None, pl.String), outcome=pl.lit("routed"))

    def ours() -> pa.Table:
        return route(table, cluster, trust_ids=True)

    copies = messages * len(NAMES)
    mine, theirs = ours(), polars().select(*columns, "destination", "sequence")
    assert len(mine) == copies
    assert (
        mine.select(theirs.columns).to_pylist()[: 2 * len(NAMES)]
        == theirs.to_dicts()[: 2 * len(NAMES)]
    )
    del mine, theirs
    found = medians({"Polars' cross join": polars, "route, broadcast": ours}, runs)
    ratio = found["route, broadcast"] / found["Polars' cross join"]
    return [Line("h", "route in memory, broadcast to 1,000", "Polars' cross join", ratio, "")]
