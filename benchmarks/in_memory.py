"""c: single-machine scripts on the same work, and our compiled `route`, all in memory."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import data
from benchmarks.timing import Line, medians
from fairlead import Cluster, route

SPOTS_ON = sum(data.WEIGHTS)
DUCK = """
select t.*, s.destination
from (
    select *, (row_number() over (order by time, id) - 1) % (select count(*) from s) as place
    from t
) t
join s using (place)
"""


def schedule() -> list[str]:
    """One period of the choices among the eight destinations."""
    cluster = Cluster.of(
        "msmq", destination=[{"name": f"D{k}", "weight": w} for k, w in enumerate(data.WEIGHTS)]
    )
    state = cluster.start()
    return [state.members[i] for i in state.rule.upcoming(range(len(data.WEIGHTS)), SPOTS_ON)]


def part_c(folder: Path, rows: int, runs: int) -> list[Line]:
    """One stream, eight weights, by (time, id): table in, table with a destination out."""
    table = pq.read_table(data.messages(folder, rows), columns=["id", "time"]).combine_chunks()
    spots = schedule()
    cluster = Cluster.of(
        "msmq", destination=[{"name": f"D{k}", "weight": w} for k, w in enumerate(data.WEIGHTS)]
    )

    def plain() -> list[tuple[object, object, str]]:
        sorted_rows = sorted(
            zip(table["time"].cast(pa.int64()).to_pylist(), table["id"].to_pylist(), strict=True)
        )
        served, weights = [0] * len(data.WEIGHTS), data.WEIGHTS
        out = []
        for time, id_ in sorted_rows:
            best = 0
            for k in range(1, len(weights)):
                one, other = served[k] * weights[best], served[best] * weights[k]
                if one < other or (one == other and weights[k] > weights[best]):
                    best = k
            served[best] += 1
            out.append((time, id_, f"D{best}"))
        return out

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)

    def polars() -> pl.DataFrame:
        ordered = frame.sort("time", "id")
        places = pl.Series(np.resize(np.arange(SPOTS_ON), rows))
        return ordered.with_columns(destination=pl.Series(spots).gather(places))

    def duck() -> pa.Table:
        places = pa.table({"place": list(range(SPOTS_ON)), "destination": spots})
        con = duckdb.connect()
        con.register("t", table)
        con.register("s", places)
        return con.sql(DUCK).to_arrow_table()

    contenders: dict[str, Callable[[], object]] = {
        "route": lambda: route(table, cluster, trust_ids=True),
        "route, ids checked": lambda: route(table, cluster),
        "Polars": polars,
        "DuckDB": duck,
        "plain Python": plain,
    }
    found = medians(contenders, runs)
    return [
        Line("c", name, "route, in memory", found[name] / found["route"], ">= 1")
        for name in ("Polars", "DuckDB", "plain Python")
    ]
