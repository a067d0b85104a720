"""r: from Parquet to an answer: many scenarios in memory, and whole commands, cold."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pyarrow.parquet as pq

from benchmarks import data
from benchmarks.replays import MANY, WEIGHTS
from benchmarks.scenarios import BY_WEIGHT, IN_ORDER, clusters, dropped, in_simpy, traffic
from benchmarks.timing import Line, medians
from fairlead.compiled.intake.rows import CheckedTable
from fairlead.compiled.plan import Plan
from fairlead.memory.columns import mapped
from fairlead.memory.dispatch import MemoryOptions
from fairlead.memory.files import read
from fairlead.memory.replay import run
from fairlead.runs.files import kind_of

SIMPY_PART = 10
FEW, HUNDREDS = 8, 200
GOALS = {FEW: ">= 20", HUNDREDS: ">= 100"}
SIZES = (1_000, 100_000, 10_000_000)
POOL = "".join(
    f'[[destination]]\nname = "D{k}"\nweight = {weight}\n' for k, weight in enumerate(data.WEIGHTS)
)
POLARS = """
import sys, numpy as np, polars as pl
spots = sys.argv[3].split(",")
ordered = pl.read_parquet(sys.argv[1]).sort("time", "id")
places = pl.Series(np.resize(np.arange(len(spots)), len(ordered)))
ordered.with_columns(destination=pl.Series(spots).gather(places)).write_parquet(sys.argv[2])
"""
DUCK = """
import sys, duckdb
spots = sys.argv[3].split(",")
con = duckdb.connect()
con.execute("create table s (place bigint, destination text)")
con.executemany("insert into s values (?, ?)", list(enumerate(spots)))
con.execute(f'''copy (select t.*, s.destination from (select *, (row_number() over
    (order by time, id) - 1) % {len(spots)} as place from '{sys.argv[1]}') t join s using (place))
    to '{sys.argv[2]}' (format parquet)''')
"""


def part_r(folder: Path, rows: int, runs: int) -> list[Line]:
    """`rows`: a tenth of them in each scenario; commands take at most so many."""
    lines = []
    for what, readers in ((BY_WEIGHT, sum(WEIGHTS)), (IN_ORDER, MANY)):
        lines += scenarios(folder, max(1, rows // 10), what, readers)
    for size in SIZES:
        if size <= rows:
            lines += commands(folder, size, runs)
    return lines


def scenarios(folder: Path, rows: int, what: str, readers: int) -> list[Line]:
    """Parquet to `comparison.json`, 8 and 200 scenarios, against as many runs of SimPy."""
    least = max(1, rows // SIMPY_PART)
    lines = []
    alone = seconds(lambda: in_simpy(traffic(folder, least, readers), folder / "s.parquet", what))
    replayed(folder, traffic(folder, least, readers), what, 1)  # a warm-up
    for number in (FEW, HUNDREDS):
        source = traffic(folder, rows, readers)
        took = seconds(lambda n=number, s=source: replayed(folder, s, what, n))
        ratio = (alone / least) / (took / rows / number)
        print(f"    {what}, {number}: {took:.1f} s; SimPy: {alone:.1f} s for {least:,}", flush=True)
        lines.append(Line("r", f"SimPy, {what}", f"memory, each of {number}", ratio, GOALS[number]))
    return lines


def replayed(folder: Path, source: Path, what: str, number: int) -> None:
    """Read, validate, replay and measure; no rows are written."""
    out = folder / "out-of-memory"
    shutil.rmtree(out, ignore_errors=True)
    found = read(str(source), kind_of(str(source), None, {}))
    table = mapped(found.table, str(source), {}, dropped(what))
    plans = {f"s{k}": Plan([each], []) for k, each in enumerate(clusters(what, number))}
    compared = run(CheckedTable(table, found.malformed), plans, out, MemoryOptions(rows="none"))
    assert len(compared.scenarios) == number


def commands(folder: Path, rows: int, runs: int) -> list[Line]:
    """One stream by weight, Parquet to Parquet, each in a process of its own."""
    source = folder / f"one-{rows}.parquet"
    if not source.exists():
        columns = ["id", "time", "size"]
        pq.write_table(pq.read_table(data.messages(folder, rows), columns=columns), source)
    pool = folder / "one.toml"
    pool.write_text(f'policy = "msmq"\n{POOL}', encoding="utf-8")
    out = folder / "one-out"
    from benchmarks.in_memory import schedule

    spots = ",".join(schedule())

    def ours(*more: str) -> Callable[[], object]:
        line = ["dispatch", str(source), "-c", str(pool), "-o", str(out), "--overwrite"]
        return lambda: process("-m", "fairlead", *line, "--trust-ids", "--no-report", *more)

    def script(text: str) -> Callable[[], object]:
        return lambda: process("-c", text, str(source), f"{out}.parquet", spots)

    found = medians(
        {
            "--engine memory": ours("--engine", "memory"),
            "--engine spark": ours(),
            "Polars": script(POLARS),
            "DuckDB": script(DUCK),
        },
        runs,
    )
    mine = found.pop("--engine memory")
    note = f"memory: {mine:.1f} s"
    return [
        Line("r", f"{name}, {rows:,} rows, whole command", "--engine memory", each / mine, "", note)
        for name, each in found.items()
    ]


def process(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def seconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began
