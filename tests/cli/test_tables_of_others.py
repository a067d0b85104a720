"""Tables as other programs write them: read alike by both engines, or refused with one line."""

import gzip
import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.cli.app import run

CLUSTER = 'policy = "weighted"\n[[destination]]\nname = "a"\n[[destination]]\nname = "b"\n'
TIMES = pd.to_datetime(["2026-03-02T00:00:00.123456", "2026-03-03"], format="ISO8601")
FRAME = pd.DataFrame({"id": ["a", "b"], "time": TIMES, "n": [1.5, 2.5]})
NO_NAME = (
    "header: found no name for column {} of {}, allowed: one for each column; pandas writes its "
    "index so, and without it by to_csv(index=False)"
)


def parquet(**columns: Any) -> Callable[[str], object]:
    return lambda name: pq.write_table(pa.table(columns), name)


def text(content: str) -> Callable[[str], object]:
    return lambda name: Path(name).write_bytes(content.encode())


def folder(**columns: Any) -> Callable[[str], object]:
    def write(name: str) -> None:
        pq.write_to_dataset(pa.table(columns), name, partition_cols=["day"])

    return write


AFTER = (
    'found text after an object on its line: \'{"id": "a", "time": 1}{"id": "b", "time": 2}\', '
    "allowed: one object of JSON on each line"
)
AFTER_IN = (
    "fairlead: {}: found text after an object on its line: '{}', allowed: one object of JSON on "
    "each line"
)
IDS = ("a", "b")
READ: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "ids.parquet": (
        parquet(id=pa.array([2**63 + 1, 2**63], pa.uint64()), time=[1, 1]),
        ["9223372036854775808", "9223372036854775809"],
    ),
    "narrow.parquet": (
        parquet(id=pa.array([1, 2], pa.uint16()), time=pa.array([1, 2], pa.uint8())),
        ["1", "2"],
    ),
    "pandas.parquet": (FRAME.to_parquet, ["a", "b"]),
    "zoned.parquet": (
        FRAME.assign(time=FRAME.time.dt.tz_localize("Europe/Paris")).to_parquet,
        ["a", "b"],
    ),
    "index.csv": (lambda name: FRAME.to_csv(name, index=False), ["a", "b"]),
    "records.jsonl": (
        lambda name: FRAME.assign(time=[1, 2]).to_json(name, orient="records", lines=True),
        ["a", "b"],
    ),
    "surrogate.jsonl": (
        text('{"id": "a\\ud83d", "time": 1}\n{"id": "b", "time": 2}\n'),
        ["a?", "b"],
    ),
    "bytes.parquet": (parquet(id=IDS, time=[1, 2], digest=[b"\xff\x00", b"x"]), ["a", "b"]),
    "amounts.parquet": (
        parquet(
            id=IDS,
            time=[1, 2],
            price=pa.array([1, None], pa.decimal128(12, 2)),
            part=pa.array([0.1, float("nan")], pa.float32()),
        ),
        ["a", "b"],
    ),
    "infinite.jsonl": (
        text('{"id": "a", "time": 1, "x": -INF}\n{"id": "b", "time": 2, "x": +Infinity}\n'),
        ["a", "b"],
    ),
    "marked.jsonl": (
        text('\ufeff{"id": "a", "time": 1}\n[]\n\ufeff{"id": "b", "time": 2}\n'),
        ["a", "b"],
    ),
    "mac.jsonl": (text('{"id": "a", "time": 1}\r{"id": "b", "time": 2}\r'), ["a", "b"]),
    "differences.parquet": (
        lambda name: pq.write_table(
            pa.table({"id": IDS, "time": [1, 2]}),
            name,
            use_dictionary=False,
            column_encoding={"id": "DELTA_BYTE_ARRAY"},
        ),
        ["a", "b"],
    ),
    "period.parquet": (
        FRAME.assign(time=[1, 2], p=pd.period_range("2026-01", periods=2, freq="M")).to_parquet,
        ["a", "b"],
    ),
    "mac.csv": (text("id,time\ra,1\rb,2\r"), ["a", "b"]),
    "days": (folder(id=IDS, time=[1, 2], day=[20260302, 20260303]), ["a", "b"]),
    "names": (folder(id=IDS, time=[1, 2], day=["mon day", None]), ["a", "b"]),
}
REFUSED = {
    "pandas.csv": (FRAME.to_csv, NO_NAME.format(1, 4)),
    "trailing.csv": (text("id,time,\na,1,\n"), NO_NAME.format(3, 3)),
    "twice.jsonl": (
        text('{"id": "a", "time": 1, "id": "b"}\n'),
        "column 'id': found twice in a line, allowed: once",
    ),
    "after.jsonl": (text('{"id": "a", "time": 1}{"id": "b", "time": 2}\n'), AFTER),
    "alike.csv": (
        text("id,time,X,x\na,1,2,3\n"),
        "column 'X': found 2 times in the header, allowed: once (upper and lower case are alike)",
    ),
    "open.csv": (
        text('id,"time,x\na,1,u\n'),
        (
            "header: found a quote that is never closed, allowed: names without, or with one at "
            "both ends"
        ),
    ),
    "alike.parquet": (
        lambda name: pq.write_table(
            pa.Table.from_arrays([pa.array([1])] * 3, names=["id", "time", "time"]), name
        ),
        "column 'time': found 2 times, allowed: once (upper and lower case are alike)",
    ),
    "uuid.parquet": (
        parquet(id=pa.array([bytes(16)], pa.uuid()), time=[1]),
        (
            "id: found extension<arrow.uuid>, allowed: texts, numbers, dates and timestamps; cast "
            "it, or --drop id"
        ),
    ),
    "deep.jsonl": (
        text('{"id": "a", "time": ' + "[" * 100_000 + "]" * 100_000 + "}\n"),
        "found lists or objects too deep in each other, allowed: a flat row",
    ),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pool.toml").write_text(CLUSTER)


def dispatched(name: str, engine: str, *more: str) -> list[dict[str, Any]]:
    """The decisions as JSON."""
    given = ["dispatch", name, "-c", "pool.toml", "-o", engine, "--no-report", "--overwrite"]
    kind = [] if "." in name else ["--input-format", "parquet"]
    assert run([*given, "--format", "json", "--engine", engine, *kind, *more]) == 0
    files = sorted(Path(engine, "decisions").glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


FAR = [-62_135_596_800_000_000, 1_772_442_000_123_456, 253_402_300_800_000_000, None]
"""The year 1, a moment of 2026, the year 10000, none."""


@pytest.mark.costly
@pytest.mark.spark
@pytest.mark.parametrize("file_format", ["csv", "json", "parquet"])
def test_carried_columns_are_written_alike(file_format: str, spark: object) -> None:
    carried = {
        "at": pa.array(FAR, pa.timestamp("us", "UTC")),
        "tiny": pa.array(
            [Decimal("1E-10"), Decimal("1.5"), Decimal(0), None], pa.decimal128(20, 10)
        ),
        "single": pa.array([0.1, 1e10, 1e-5, None], pa.float32()),
        "double": [0.1, 1e10, 1e-5, None],
        "day": pa.array([0, 20_000, None, None], pa.date32()),
        "whole": pa.array([1, -1, None, 2], pa.int16()),
    }
    pq.write_table(
        pa.table({"id": ["a", "b", "c", "d"], "time": [1, 2, 3, 4], **carried}), "t.parquet"
    )
    found = []
    for engine in ("memory", "spark"):
        given = ["dispatch", "t.parquet", "-c", "pool.toml", "-o", engine, "--no-report"]
        assert run([*given, "--format", file_format, "--engine", engine]) == 0
        files = Path(engine, "decisions").glob(f"*.{file_format}")
        if file_format == "parquet":
            read = [pq.ParquetFile(file) for file in files if pq.read_metadata(file).num_rows]
            schemas = [(c.name, c.physical_type) for each in read for c in each.schema]
            rows = pa.concat_tables(each.read() for each in read).sort_by("id")
            found.append(
                (sorted(set(schemas)), [str(rows[name].cast(pa.string())) for name in carried])
            )
        else:
            lines = {line for each in files for line in each.read_text().splitlines()}
            read_ = json.loads if file_format == "json" else str
            found.append([read_(line) for line in sorted(lines)])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", READ)
def test_what_others_write_is_read(name: str) -> None:
    write, ids = READ[name]
    write(name)
    assert [str(row["id"]) for row in dispatched(name, "memory")] == ids


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_what_others_write_is_read_alike_on_spark(name: str, spark: object) -> None:
    write, ids = READ[name]
    write(name)
    found = sorted(dispatched(name, "spark"), key=lambda row: str(row["id"]))
    assert [str(row["id"]) for row in found] == ids
    without = [{k: v for k, v in row.items() if v is not None} for row in found]
    here = dispatched(name, "memory")
    assert without == [{k: v for k, v in row.items() if v is not None} for row in here]


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused_before_an_engine_starts(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write, line = REFUSED[name]
    write(name)
    # What stands behind objects Spark itself has to look for.
    for engine in ("memory", "spark")[: 1 if line == AFTER else 2]:
        given = ["dispatch", name, "-c", "pool.toml", "-o", "out", "--no-report"]
        assert run([*given, "--engine", engine]) == 2
        assert capsys.readouterr().err == f"fairlead: {name}: {line}\n"


def test_what_is_dropped_may_be_nested(capsys: pytest.CaptureFixture[str]) -> None:
    parquet(id=IDS, time=[1, 2], customer=[{"name": "kim"}, {"name": "lee"}])("nested.parquet")
    text('{"id": "a", "time": 1, "customer": {"name": "kim"}}\n')("nested.jsonl")
    for name, count in (("nested.parquet", 2), ("nested.jsonl", 1)):
        found = dispatched(name, "memory", "--drop", "customer")
        assert len(found) == count
        assert "customer" not in found[0]
        given = ["dispatch", name, "-c", "pool.toml", "-o", "out", "--no-report"]
        assert run([*given, "--engine", "memory"]) == 2
        assert capsys.readouterr().err.endswith("or --drop customer\n")


def test_what_folders_are_called_is_a_column() -> None:
    READ["days"][0]("days")
    assert [row["day"] for row in dispatched("days", "memory")] == [20260302, 20260303]
    READ["names"][0]("names")
    assert [row.get("day") for row in dispatched("names", "memory")] == ["mon day", None]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    ids=st.lists(
        st.one_of(
            st.integers(0, 2**64 - 1),
            st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5),
        ),
        min_size=1,
        max_size=5,
        unique_by=str,
    ),
    unit=st.sampled_from(["s", "ms", "us", "ns"]),
    writer=st.sampled_from(["pandas", "pyarrow"]),
)
def test_ids_and_times_come_through_whoever_writes_them(
    ids: list[Any], unit: str, writer: str
) -> None:
    every = len({type(each) for each in ids}) == 1
    given_ids = ids if every else [str(each) for each in ids]
    wanted = [str(each) for each in given_ids]
    hours = [pd.Timestamp(f"2026-03-02T{k:02}:00:00") for k in range(len(ids))]
    frame = pd.DataFrame({"id": given_ids, "time": pd.Series(hours).astype(f"datetime64[{unit}]")})
    if every and isinstance(ids[0], int):
        frame["id"] = frame["id"].astype("uint64")
    if writer == "pandas":
        frame.to_parquet("t.parquet")
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), "t.parquet")
    assert [str(row["id"]) for row in dispatched("t.parquet", "memory")] == wanted


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run([*arguments]) == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_what_would_grow_in_memory_is_refused_before_it_is_held(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["x" * 20_000])
    pq.write_table(pa.table({"id": long, "time": range(20_000)}), "long.parquet")
    with gzip.open("long.csv.gz", "wb") as packed:
        packed.write(b"id,time\n" + b"a,1\n" * 10_000_000)
    assert max(Path(name).stat().st_size for name in ("long.parquet", "long.csv.gz")) < 2_000_000
    monkeypatch.setattr("fairlead.memory.files.available", lambda: 200_000_000)
    given = ["-c", "pool.toml", "-o", "out", "--no-report", "--engine", "memory"]
    for name in ("long.parquet", "long.csv.gz"):
        line = refused(capsys, "dispatch", name, *given)
        assert line.startswith(f"fairlead: {name}: found a table that takes about ")
    column = f"id={'(' * 3_000}id{')' * 3_000}"
    line = refused(capsys, "dispatch", "long.parquet", *given, "--column", column)
    assert line == "fairlead: --column id: found 3,000 brackets, allowed: 200"


def test_what_never_ends_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pool.fifo.toml")
    for name in ("pool.fifo.toml", "/dev/zero"):
        line = refused(capsys, "check", name)
        assert line == f"fairlead: {name}: found a pipe or a device, allowed: a file"
    line = refused(capsys, "dispatch", "nosuch", "-c", "pool.toml", "-o", "out")
    assert line == "fairlead: nosuch: no such file or folder"
    Path("dots.toml").write_text("a" + ".a" * 20_000 + " = 1\n")
    assert "dots.toml: " in refused(capsys, "check", "dots.toml")


@pytest.mark.parametrize(
    "tail", ["]", "}", ",", " tail", " null", " // b", '{"id": "b"}', ',{"id": "b", "x": [1]}']
)
@pytest.mark.parametrize("before", ["", '{"id": "}{", "time": 0, "x": "] [1}"}\n'])
def test_what_stands_behind_an_object_is_not_lost(
    before: str, tail: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f'{{"id": "a", "time": 1}}{tail}'
    Path("t.jsonl").write_text(f"{before}{line}\n")
    given = ["-c", "pool.toml", "-o", "out", "--no-report", "--engine", "memory"]
    found = refused(capsys, "dispatch", "t.jsonl", *given)
    assert found == AFTER_IN.format("t.jsonl", line)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("tail", ["]", ",", " tail", '{"id": "b"}', ',{"id": "b", "x": [1]}'])
def test_what_stands_behind_an_object_is_not_lost_on_spark(
    tail: str, spark: object, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f'{{"id": "a", "time": 1}}{tail}'
    Path("t.jsonl").write_text(f'{{"id": "}}{{", "time": 0, "x": "] [1}}"}}\n{line}\n')
    found = refused(capsys, "dispatch", "t.jsonl", "-c", "pool.toml", "-o", "out", "--no-report")
    assert found == AFTER_IN.format("t.jsonl", line)


def test_bytes_that_are_no_text_are_rejected_with_their_row() -> None:
    Path("t.jsonl").write_bytes(b'{"id": "a\xff", "time": 1}\n{"id": "\xef\xbf\xbd", "time": 2}\n')
    pq.write_table(pa.table({"id": [b"\xff\xfe", b"b"], "time": [1, 2]}), "t.parquet")
    assert [row["id"] for row in dispatched("t.jsonl", "memory")] == ["\ufffd"]
    assert len(dispatched("t.parquet", "memory")) == 1
    (rejected,) = Path("memory", "rejected").glob("*.json")
    line = json.loads(rejected.read_text())["reason"]
    assert line == "id: found '\ufffd\ufffd', allowed: text in UTF-8"
