"""Whatever writes a table, both engines read it alike, or refuse it with one line.

What only Spark reads (docs/how-to/memory.md) is refused in memory by a line that says so.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from fairlead.cli.app import run
from fairlead.runs.csv_lines import line_too_long

CLUSTER = 'policy = "weighted"\n[[destination]]\nname = "a"\n[[destination]]\nname = "b"\n'
ROWS = 8
TEXTS = ['say "hi"', "\ufeffbom, ;\t", "", " ", "é\U0001f600", "null", "NaN", "-0", None, "a\\b"]
FLOATS = [float("nan"), float("inf"), -float("inf"), 0.1, -0.0, 1e300, 5e-324, None]
LAST = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
Draw = Callable[[Random], pa.Array]


def of(kind: pa.DataType, *values: object) -> Draw:
    """A column of such values, in any order."""
    return lambda chance: pa.array(chance.choices(values, k=ROWS), kind)


def whole(bits: int, *, signed: bool) -> Draw:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    kind = getattr(pa, f"{'' if signed else 'u'}int{bits}")()
    return of(kind, low, high - 1, high // 2 + 1, 0, 1, None)


def times(unit: str, zone: str | None) -> Draw:
    now = 1_772_442_000 * LAST[unit]
    return of(pa.timestamp(unit, zone), now, now + LAST[unit] // 3, -1, 0, None)


READ: dict[str, Draw] = {
    **{f"int{bits}": whole(bits, signed=True) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": whole(bits, signed=False) for bits in (8, 16, 32, 64)},
    "single": of(pa.float32(), *FLOATS[:5], None),
    "double": of(pa.float64(), *FLOATS),
    "price": of(pa.decimal128(9, 2), Decimal("1.50"), Decimal("-0.01"), Decimal(0), None),
    "long_decimal": of(pa.decimal128(38, 0), Decimal("1" * 38), Decimal(-1), None),
    "narrow_decimal": of(pa.decimal32(9, 2), Decimal("1.50"), Decimal("-0.01"), None),
    "middle_decimal": of(pa.decimal64(18, 2), Decimal("1.50"), Decimal("-0.01"), None),
    "yes": of(pa.bool_(), True, False, None),
    "day": of(pa.date32(), date(2026, 3, 2), date(1970, 1, 1), date(9999, 12, 31), None),
    "long_day": of(pa.date64(), date(2026, 3, 2), date(1969, 12, 31), None),
    "bytes": of(pa.binary(), b"\xff\x00", b"x", b"", None),
    "long_bytes": of(pa.large_binary(), b"\xff\x00", b"", None),
    "two_bytes": of(pa.binary(2), b"\xff\x00", b"xx", None),
    "text": of(pa.string(), *TEXTS),
    "lines": of(pa.string(), "a\nb", "a\r\nb", "a\rb", None),
    "long_text": of(pa.large_string(), *TEXTS),
    "view": of(pa.string_view(), *TEXTS),
    "words": lambda chance: of(pa.string(), *TEXTS)(chance).dictionary_encode(),
    "codes": lambda chance: of(pa.int64(), 10, 20, None)(chance).dictionary_encode(),
    "nothing": of(pa.null(), None),
    "took": of(pa.duration("us"), 1, -1, 0, None),
    **{f"time_{unit}": times(unit, None) for unit in LAST},
    **{f"zoned_{unit}": times(unit, "Europe/Paris") for unit in LAST},
    **{f"utc_{unit}": times(unit, "UTC") for unit in LAST},
}
UNKNOWN: dict[str, Draw] = {
    "half": of(pa.float16(), 1.5, None),
    "clock": of(pa.time64("us"), 1, None),
    "short_clock": of(pa.time32("ms"), 1, None),
    "huge_decimal": of(pa.decimal256(50, 0), Decimal("1" * 50), None),
}
"""What neither reads."""
NESTED: dict[str, Draw] = {
    "list": of(pa.list_(pa.int64()), [1], [], None),
    "large_list": of(pa.large_list(pa.int64()), [1, 2], None),
    "struct": of(pa.struct({"a": pa.int64(), "b": pa.string()}), {"a": 1, "b": "x"}, None),
    "deep": of(pa.list_(pa.struct({"a": pa.list_(pa.int64())})), [{"a": [1]}], None),
    "map": of(pa.map_(pa.string(), pa.int64()), [("k", 1)], None),
}
"""What only Spark reads."""


def by_duckdb(table: pa.Table, name: str, how: str) -> None:
    with duckdb.connect() as connection:
        connection.register("given", table)
        connection.execute(f"COPY given TO '{name}' ({how})")


WRITERS: dict[str, Callable[[pa.Table, str], object]] = {
    "pyarrow": pq.write_table,
    "pyarrow_old": lambda table, name: pq.write_table(
        table, name, use_deprecated_int96_timestamps=True, use_dictionary=False, compression="zstd"
    ),
    "pandas": lambda table, name: table.to_pandas().to_parquet(name),
    "pandas_index": lambda table, name: table.to_pandas().set_index("id").to_parquet(name),
    "pandas_arrow": lambda table, name: table.to_pandas(types_mapper=pd.ArrowDtype).to_parquet(
        name
    ),
    "polars": lambda table, name: pl.DataFrame(pl.from_arrow(table)).write_parquet(name),
    "duckdb": lambda table, name: by_duckdb(table, name, "FORMAT parquet"),
}
CANNOT = {
    "polars": {"narrow_decimal", "middle_decimal", "long_decimal"},
    "duckdb": {"narrow_decimal", "middle_decimal", "took"},
}
"""What a writer has not, or writes as something that is refused by itself."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pool.toml").write_text(CLUSTER)


def table_of(columns: dict[str, pa.Array]) -> pa.Table:
    return pa.table({"id": [f"m{k}" for k in range(ROWS)], "time": range(ROWS), **columns})


def plain(value: object) -> object:
    """Times as they are counted: Python has none of some."""
    return str(value)


def rows_in(folder: Path, file_format: str) -> tuple[list[Any], list[str]]:
    """The rows of results, and their types, whichever engine has written them."""
    files = sorted(folder.glob(f"*.{file_format}"))
    if file_format != "parquet":
        return [], sorted(line for each in files for line in each.read_text().split("\n") if line)
    tables = [pq.ParquetFile(file).read() for file in files]
    table = pa.concat_tables(each for each in tables if len(each) or len(tables) == 1)
    types = []
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            kind = pa.int32() if pa.types.is_date(field.type) else pa.int64()
            table = table.set_column(place, field.name, table.column(place).cast(kind))
        types.append(f"{field.name}: {field.type}")
    names = sorted(table.column_names)
    return sorted(types), sorted(str([row[name] for name in names]) for row in table.to_pylist())


def outcome(
    capsys: pytest.CaptureFixture[str], name: str, engine: str, *more: str, to: str = "parquet"
) -> Any:
    """What a dispatch comes to: the line that refuses the table, or all that it gives."""
    capsys.readouterr()
    given = ["dispatch", name, "-c", "pool.toml", "-o", engine, "--no-report", "--overwrite"]
    status = run([*given, "--format", to, "--engine", engine, *more])
    lines = [each for each in capsys.readouterr().err.splitlines() if each.startswith("fairlead:")]
    if status and not (lines and "found no message" in lines[-1]):
        return lines[-1]
    summary = json.loads(Path(engine, "summary.json").read_text())
    told = {key: summary[key] for key in ("read", "rejected", "digest", "rejections", "outcomes")}
    parts = {part: rows_in(Path(engine, part), to) for part in ("decisions", "rejected")}
    return told | parts


def same(capsys: pytest.CaptureFixture[str], name: str, *more: str, to: str = "parquet") -> Any:
    """What both engines make of a table."""
    here, there = (outcome(capsys, name, each, *more, to=to) for each in ("memory", "spark"))
    assert here == there
    return here


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("writer", WRITERS)
def test_drawn_columns_are_read_alike_whoever_writes_them(
    writer: str, spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = Random(len(writer))  # noqa: S311
    names = [name for name in READ if name not in CANNOT.get(writer, ())]
    WRITERS[writer](table_of({name: READ[name](chance) for name in names}), "t.parquet")
    found = same(capsys, "t.parquet")
    assert found["read"] == ROWS


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_neither_engine_has_is_refused_by_its_name_before_one_starts(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    column = UNKNOWN[name](Random(1))  # noqa: S311
    pq.write_table(table_of({"x": column}), "t.parquet")
    line = (
        f"fairlead: t.parquet: x: found {column.type}, allowed: texts, numbers, dates and "
        "timestamps; cast it, or --drop x"
    )
    for engine in ("memory", "spark"):
        assert outcome(capsys, "t.parquet", engine) == line
    assert outcome(capsys, "t.parquet", "memory", "--drop", "x")["read"] == ROWS


def test_an_interval_is_refused_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect() as connection:
        made = "SELECT 'a' AS id, 1 AS time, INTERVAL 1 DAY AS x"
        connection.execute(f"COPY ({made}) TO 't.parquet' (FORMAT parquet)")
    for engine in ("memory", "spark"):
        found = outcome(capsys, "t.parquet", engine)
        assert found.startswith("fairlead: t.parquet: x: found month_day_nano_interval, allowed: ")


@pytest.mark.spark
@pytest.mark.slow
def test_what_neither_engine_has_can_be_dropped(
    spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = Random(3)  # noqa: S311
    columns = {name: draw(chance) for name, draw in {**READ, **UNKNOWN}.items()}
    pq.write_table(table_of(columns), "t.parquet")
    dropped = [word for name in UNKNOWN for word in ("--drop", name)]
    assert same(capsys, "t.parquet", *dropped)["read"] == ROWS


@pytest.mark.parametrize("name", NESTED)
def test_what_only_spark_reads_is_refused_in_memory_by_its_name(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(table_of({"x": NESTED[name](Random(1))}), "t.parquet")  # noqa: S311
    found = outcome(capsys, "t.parquet", "memory")
    assert found.startswith("fairlead: t.parquet: x: found ")
    assert found.endswith("allowed with --engine memory: texts, numbers and times, or --drop x")


LINED = ("--read-option", "multiLine=true")
SEMICOLON = ("--read-option", "sep=;")
SPELLED = {name: READ[name] for name in ("text", "double", "yes", "day", "uint64", "price")}
Text = tuple[Callable[[pa.Table, str], object], tuple[str, ...]]
BY_TEXT: dict[str, Text] = {
    "pandas.csv": (lambda table, name: table.to_pandas().to_csv(name, index=False), LINED),
    "excel.csv": (
        lambda table, name: table.to_pandas().to_csv(
            name, index=False, sep=";", encoding="utf-8-sig", lineterminator="\r\n"
        ),
        (*LINED, *SEMICOLON),
    ),
    "quoted.csv": (
        lambda table, name: table.to_pandas().to_csv(name, index=False, quoting=csv.QUOTE_ALL),
        (),
    ),
    "escaped.csv": (
        lambda table, name: table.to_pandas().to_csv(
            name, index=False, doublequote=False, escapechar="\\"
        ),
        (),
    ),
    "polars.csv": (lambda table, name: pl.DataFrame(pl.from_arrow(table)).write_csv(name), LINED),
    "duckdb.csv": (lambda table, name: by_duckdb(table, name, "HEADER"), ()),
    "pyarrow.csv": (pyarrow.csv.write_csv, LINED),
    "polars.ndjson": (
        lambda table, name: pl.DataFrame(pl.from_arrow(table)).write_ndjson(name),
        (),
    ),
    "duckdb.json": (lambda table, name: by_duckdb(table, name, "FORMAT json"), ()),
}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", BY_TEXT)
def test_drawn_cells_are_read_alike_whoever_spells_them(
    name: str, spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = Random(len(name))  # noqa: S311
    write, more = BY_TEXT[name]
    columns = {each: draw(chance) for each, draw in SPELLED.items()}
    if more:
        columns["lines"] = READ["lines"](chance)
    write(table_of(columns), name)
    assert same(capsys, name, *more, to="csv")["read"] > 0


LONG = (
    "found a cell of more than 1,000,000 characters, allowed: fewer; a quoted text may never be "
    "closed"
)


def test_a_quote_that_is_never_closed_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_text('id,time,x\na,1,u\nb,1,"open\n' + "c,2,v\n" * 300_000)
    line = outcome(capsys, "t.csv", "memory", *LINED)
    assert line == f"fairlead: t.csv: {LONG}, in line 3"


@pytest.mark.spark
@pytest.mark.slow
def test_a_quote_that_is_never_closed_is_one_line_on_spark(
    spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("t.csv").write_text('id,time,x\na,1,u\nb,1,"open\n' + "c,2,v\n" * 300_000)
    line = outcome(capsys, "t.csv", "spark", *LINED)
    assert line.endswith(f"/t.csv: {LONG}, in line 3")


def test_a_cell_that_is_just_short_enough_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    for more, rows in ((0, 1), (1, None)):
        Path("t.csv").write_text('id,time,x\na,1,"' + "u" * (1_000_000 + more) + '"\n')
        found = outcome(capsys, "t.csv", "memory")
        assert (found["read"] if rows else LONG in found) == (rows or True)


ODD: dict[str, tuple[str, list[str]]] = {
    "blanks.csv": ('id,time,x\na,1,"u" \nb,2, "v"\n', []),
    "ends.csv": ("id,time,x\r\na,1,x\nb,2,x\rc,3,x\n", []),
    "postgresql.csv": ('id,time,x\na,1,""\nb,2,\nc,2026-03-02 10:00:00.5+00,"say ""hi"""\n', []),
    "quotes.csv": ('id,time,x\na,1,u"v\nb,2,"u"v\nc,3,v"\nd,4,""""\n', []),
    "rows.csv": ("id,time,x\na,1\nb,2,3,4\n\n  \n,,\nc,3,x\n", []),
    "list.jsonl": ('[{"id": "a", "time": 1}, {"id": "b", "time": 2}]\n', []),
    "jq.jsonl": ('{"id":"a","time":1,"x":null}\n{"id":3,"time":1e3,"x":true}\n', []),
    "single.jsonl": ("{'id': 'a', 'time': 1}\n{\"id\": \"b\", \"time\": 2}\n", []),
    "strict.jsonl": ('{"id": "a", "time": 1,}\n{"id": "b", "time": 02}\n{"id":"c","time":3}\n', []),
}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_what_stands_oddly_in_a_file_is_read_alike(
    name: str, spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    content, more = ODD[name]
    Path(name).write_bytes(content.encode())
    assert same(capsys, name, *more, to="json" if name.endswith("jsonl") else "csv")


def test_a_list_of_objects_is_as_many_rows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("list.jsonl").write_text(ODD["list.jsonl"][0])
    assert outcome(capsys, "list.jsonl", "memory")["read"] == 2


def test_blanks_after_a_quote_are_no_part_of_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    Path("blanks.csv").write_text(ODD["blanks.csv"][0])
    _, lines = outcome(capsys, "blanks.csv", "memory", to="csv")["decisions"]
    assert lines[0].startswith("a,1,u,")


def test_the_line_of_a_cell_that_is_too_long_is_where_it_begins(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "u" * 1_000_001
    for ending in ("\n", "\r\n", "\r"):
        for more in ((), LINED):
            text = f'id,time,x\na,1,u\nb,2,"v"\nc,3,"{long}"\n'.replace("\n", ending)
            Path("t.csv").write_bytes(text.encode())
            line = outcome(capsys, "t.csv", "memory", *more)
            assert line == f"fairlead: t.csv: {LONG}, in line 4"
            assert line_too_long(text) == 4
    assert line_too_long("id,time\na,1\n") is None
