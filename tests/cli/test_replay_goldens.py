"""All golden cases of replays through the command line, side by side: a cluster for each."""

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.engines import micros
from tests.replay.engines import Attempt
from tests.replay.goldens import Row, goldens

from fairlead.cli.app import run

CASES = {f"case-{k:02}": case for k, case in enumerate(goldens())}


@pytest.fixture(scope="module")
def found(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> dict[str, list[Attempt]]:
    """What one command wrote, by cluster."""
    folder = tmp_path_factory.mktemp("goldens")
    clusters = ["\n".join(_keys({"name": n, **case.cluster})) for n, case in CASES.items()]
    (folder / "c.toml").write_text("".join(f"[[cluster]]\n{each}\n" for each in clusters))
    rows = [(name, row) for name, case in CASES.items() for row in case.messages]
    _write(folder / "m.csv", [{**r, "id": f"{n} {r['id']}", "cluster": n} for n, r in rows])
    rows = [(name, row) for name, case in CASES.items() for row in case.changes]
    changes = [{**row, "target": f"{row['target']}@{name}"} for name, row in rows]
    names = ("time", "target", "attribute", "value")
    _write(folder / "x.csv", [{name: row[name] for name in names} for row in changes])
    options = {"-c": "c.toml", "--changes": "x.csv", "-o": "out"}
    files = [each for key, name in options.items() for each in (key, str(folder / name))]
    assert run(("replay", str(folder / "m.csv"), *files, "--no-report")) == 0
    attempts: dict[str, list[Attempt]] = {name: [] for name in CASES}
    for row in pq.read_table(folder / "out" / "c" / "decisions").to_pylist():
        attempts[row["cluster"]].append(_attempt(row))
    return attempts


@pytest.mark.parametrize("name", CASES, ids=lambda name: CASES[name].name)
def test_golden(name: str, found: dict[str, list[Attempt]]) -> None:
    CASES[name].check(sorted(found[name]))


def _keys(table: Row) -> list[str]:
    return [f"{json.dumps(key)} = {_in_toml(value)}" for key, value in table.items()]


def _in_toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(_keys(value))} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_in_toml, value))}]"
    return json.dumps(value)


def _write(path: Path, rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows({name: _in_csv(value) for name, value in row.items()} for row in rows)


def _in_csv(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"{micros(value) / 1_000_000:.6f}"
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _attempt(row: Row) -> Attempt:
    start, finish, wait = (
        None if row[name] is None else micros(row[name]) for name in ("start", "finish", "wait")
    )
    place = (row["sequence"], row["reader"], start, finish, wait)
    number = row["id"].split(" ")[1]
    return Attempt(number, row["attempt"], row["destination"] or "", row["outcome"], *place)
