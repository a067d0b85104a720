"""v: a table delivered into queues, beside the least that anybody could do with the same rows."""

import itertools
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import DataFrame, SparkSession

from benchmarks.stores import server
from benchmarks.timing import Line, medians
from fairlead import Cluster, Store, deliver
from fairlead.pipeline.output.copy_out import copy_out

CLUSTER = Cluster.of(
    "msmq",
    name="pool",
    destination=[{"name": f"DEV{k}", "weight": k} for k in range(1, 9)],
)
BODY = 256
STEP = 1000
PART_OF_ROWS = 5
FEW = 100_000
COLUMNS = ("id", "time", "body")


def part_v(spark: SparkSession, folder: Path, rows: int, runs: int) -> list[Line]:
    """A fifth of the rows into PostgreSQL, and at most 100,000 into SQLite."""
    with server(folder / "pg") as url:
        many = rows // PART_OF_ROWS
        lines = on_postgresql(messages(spark, folder, many), many, url, runs)
    few = min(FEW, rows // PART_OF_ROWS)
    return lines + on_sqlite(messages(spark, folder, few), few, folder, runs)


def messages(spark: SparkSession, folder: Path, rows: int) -> DataFrame:
    """Messages without a group, in files; made once."""
    place = folder / f"deliveries-{rows}"
    if not place.exists():
        spark.range(rows).selectExpr(
            "concat('m', id) AS id", "id AS time", f"repeat('x', {BODY}) AS body"
        ).write.parquet(str(place))
    return spark.read.parquet(str(place))


def on_postgresql(table: DataFrame, rows: int, url: Callable[[str], str], runs: int) -> list[Line]:
    numbers = itertools.count()

    def new() -> str:
        return url(f"deliveries_{next(numbers)}")

    def delivered() -> None:
        with Store.open(new(), create=True) as store:
            store.keep_clusters([CLUSTER])
            assert deliver(table, store, run="night").published == rows

    def copied() -> None:
        """The same rows by the same tasks into a table with a key, and nothing else."""
        place = new()
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("CREATE TABLE plain (id TEXT PRIMARY KEY, time BIGINT, body TEXT)")
        counts = copy_out(table, place, "plain", COLUMNS, lambda _, row: tuple(row.values()))
        assert sum(n for _, n in counts) == rows

    def sent() -> None:
        """One program reads the rows and sends them, 1,000 at a time; nobody chooses."""
        with Store.open(new(), create=True) as store:
            in_steps(table, lambda step: store.send_many("work", step))

    took = medians({"deliver": delivered, "COPY": copied, "send": sent}, runs)
    name = f"messages a second into PostgreSQL, {rows:,}"
    return [
        Line("v", name, "a plain COPY by the same tasks", took["COPY"] / took["deliver"], ">= 0.5"),
        Line("v", name, "a loop of send, 1,000 each", took["send"] / took["deliver"], ">= 5"),
    ]


def on_sqlite(table: DataFrame, rows: int, folder: Path, runs: int) -> list[Line]:
    numbers = itertools.count()

    def new() -> str:
        return f"sqlite:///{folder}/deliveries-{next(numbers)}.db"

    def delivered() -> None:
        with Store.open(new()) as store:
            store.keep_clusters([CLUSTER])
            assert deliver(table, store, run="night").published == rows

    def executed() -> None:
        """The same rows by executemany into a table with a key, in one transaction."""
        with sqlite3.connect(folder / f"plain-{next(numbers)}.db") as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE plain (id TEXT PRIMARY KEY, time INTEGER, body TEXT)")
            values = (tuple(row) for row in table.toLocalIterator())
            connection.executemany("INSERT INTO plain VALUES (?, ?, ?)", values)

    def sent() -> None:
        with Store.open(new()) as store:
            in_steps(table, lambda step: store.send_many("work", step))

    took = medians({"deliver": delivered, "executemany": executed, "send": sent}, runs)
    name = f"messages a second into SQLite, {rows:,}"
    return [
        Line("v", name, "executemany", took["executemany"] / took["deliver"], ">= 0.5"),
        Line("v", name, "a loop of send, 1,000 each", took["send"] / took["deliver"], ""),
    ]


def in_steps(table: DataFrame, send: Callable[[list[dict[str, Any]]], object]) -> None:
    """Read rows in one program, and send them in steps."""
    rows = table.toLocalIterator()
    while step := list(itertools.islice(rows, STEP)):
        send([{"id": row["id"], "body": row["body"]} for row in step])
