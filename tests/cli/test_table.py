"""The table that a command was given: what is refused before Spark is started, and what by Spark.

Whatever is wrong with a file is one line that names it and says what to do.
"""

import bz2
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.cli.test_cli import Desk

from fairlead.errors import UserError
from fairlead.pipeline.intake.read import read

LIMITED = 'policy = "nanomsg"\n[[destination]]\nname = "A"\ncapacity = 3\n'
NO_JSON = "allowed: an object of JSON on one line, in UTF-8; "
ENCODED = "allowed: text in UTF-8; a file in another encoding needs --read-option encoding="


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


@pytest.fixture
def on_spark(desk: Desk, spark: SparkSession) -> Desk:
    return desk


def early(desk: Desk, name: str, *more: str, cluster: str = "two.toml") -> str:
    """The line of a dispatch that is refused before Spark is started."""
    line = desk.not_dispatched(desk / name, *more, cluster=cluster)
    assert "start Spark" not in desk.err
    assert line.isprintable()
    assert len(line) < 400
    return line


def parquet(desk: Desk, name: str, **columns: Any) -> str:
    place = desk.folder / name
    place.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), place)
    return str(place)


def not_text(tmp_path: Path) -> dict[str, bytes]:
    """How files of other kinds begin."""
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "x")
    found = {"Parquet": (tmp_path / "x").read_bytes()}
    pyarrow.orc.write_table(pa.table({"id": ["a"]}), tmp_path / "x")
    found["ORC"] = (tmp_path / "x").read_bytes()
    (tmp_path / "x").unlink()
    text = "id,time\na,1\n"
    return found | {
        "gzip": gzip.compress(text.encode()),
        "bzip2": bz2.compress(text.encode()),
        "UTF-16": text.encode("utf-16"),
        "UTF-16, ": b"\xfe\xff" + text.encode("utf-16-be"),
        "UTF-32": b"\xff\xfe\0\0" + text.encode("utf-32-le"),
        "zip": b"PK\x03\x04" + bytes(range(256)) * 20,
        "bytes that are no text": b"id\x1b[31m,\0" + bytes(range(256)) * 20,
    }


# --- refused before Spark is started ---------------------------------------------------------


@pytest.mark.parametrize("name", ["m.csv", "m.jsonl", "m.txt", "m.tsv"])
def test_a_file_that_is_no_text_is_told_by_what_it_is(desk: Desk, name: str) -> None:
    for kind, content in not_text(desk.folder).items():
        desk.write(name, content)
        line = early(desk, name)
        assert f"found {kind.rstrip(', ')}, allowed: text in UTF-8" in line
        assert ("--read-option encoding=UTF-" in line) == kind.startswith("UTF-")


def test_a_packed_file_is_looked_into(desk: Desk) -> None:
    desk.write("m.csv.gz", "id,time\na,1\n")
    assert "m.csv.gz: cannot be read: Not a gzipped file" in early(desk, "m.csv.gz")
    desk.write("m.csv.gz", gzip.compress(b"id,time\na,1\n")[:-9])
    assert "m.csv.gz: cannot be read: the packed file ends too early" in early(desk, "m.csv.gz")
    desk.write("m.csv.bz2", "id,time\na,1\n")
    assert "m.csv.bz2: cannot be read: Invalid data stream" in early(desk, "m.csv.bz2")
    desk.write("m.csv.gz", gzip.compress(b"id,tme\na,1\n"))
    assert "no column 'time', found: id, tme; did you mean 'tme'?" in early(desk, "m.csv.gz")


def test_a_file_of_columns_begins_like_one(desk: Desk) -> None:
    desk.write("m.parquet", "id,time\na,1\n")
    expected = "m.parquet: not a table of format parquet: found no Parquet file, which would begin"
    assert expected in early(desk, "m.parquet")
    desk.write("m.orc", "id,time\na,1\n")
    assert "found no ORC file" in early(desk, "m.orc", "--input-format", "orc")
    desk.write("m.parquet", b"PAR1" + bytes(300))
    assert "m.parquet: not a table of format parquet: " in early(desk, "m.parquet")


def test_a_file_that_may_not_be_read_is_named(desk: Desk) -> None:
    desk.write("in/a.csv", "id,time\na,1\n")
    forbidden = Path(desk.write("in/b.csv", "id,time\nb,1\n"))
    forbidden.chmod(0)
    if os.access(forbidden, os.R_OK):
        pytest.skip("this user may read every file")
    line = desk.not_dispatched(desk / "in")
    assert "in/b.csv: cannot be read: " in line


def test_a_folder_holds_files_of_one_kind(desk: Desk) -> None:
    desk.write("in/a.csv", "id,time\na,1\n")
    desk.write("in/b.json", '{"id":"b","time":1}\n')
    line = early(desk, "in")
    assert "in: found .csv, .json in one folder, allowed: files of one kind" in line


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("ID,Time", "no column 'id', found: ID, Time; did you mean 'ID'?; map one with --column"),
        ("ID,Time", "here --column id=ID"),
        ("id;time", "found: id;time; map one with --column id=…; or is it ; that is between"),
        ("id;time", "--read-option 'sep=;'"),
        ("id\ttime", r"found: id\ttime; "),
        ("id\ttime", r"--read-option 'sep=\t'"),
        ("id|time", "--read-option 'sep=|'"),
        ("when,time", "map one with --column id=…, or use --number-rows"),
        ("id,time,Outcome", "column 'Outcome' is what the decisions add; rename it with --column"),
        ("id,time,TIME ,x" + "y" * 9_000, "no column"),
        ("i\x1b[2Jd,time", r"found: i\x1b[2Jd, time"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_what_a_header_tells(desk: Desk, header: str, expected: str) -> None:
    if "y" * 9_000 in header:
        desk.write("m.csv", header.replace("id,time", "a,b") + "\n")
    else:
        desk.write("m.csv", header + "\na,1\n")
    assert expected in early(desk, "m.csv")


def test_what_spark_would_not_read_is_refused(desk: Desk) -> None:
    os.mkfifo(desk / "pipe.csv")
    assert "pipe.csv: found a pipe or a device, allowed: a file or a folder" in early(
        desk, "pipe.csv"
    )
    for name in ("_m.csv", ".m.csv"):
        desk.write(name, "id,time\na,1\n")
        assert f"begins with {name[0]}, which Spark passes over; rename it" in early(desk, name)
    assert "at-12:30.csv: no such file or folder" in early(desk, "at-12:30.csv")
    desk.write("at-12:30.csv", "id,time\na,1\n")
    expected = "at-12:30.csv: found a name with :, which Spark cannot read; rename it"
    assert expected in early(desk, "at-12:30.csv")


@pytest.mark.parametrize("header", ["time,id", "id,time,group"])
def test_files_of_a_folder_have_one_header(desk: Desk, header: str) -> None:
    desk.write("in/a.csv", "id,time\na,1\n")
    desk.write("in/b.csv", f"{header}\n1,b\n")
    line = early(desk, "in")
    found = header.replace(",", ", ")
    assert f"in/b.csv: header: found {found}, allowed: the header of " in line
    assert line.endswith("in/a.csv: id, time")


def test_results_and_what_is_read_stay_apart(desk: Desk) -> None:
    """Else the input would be lost, or the results would be messages of the next run."""
    desk.write("run/summary.json", "{}")
    desk.write("run/m.csv", "id,time\na,1\n")
    desk.write("run/pool.toml", (desk.folder / "two.toml").read_text())
    desk.write("m.csv", "id,time\na,1\n")
    for messages, cluster, there in (
        ("run/m.csv", "two.toml", "m.csv"),
        ("m.csv", "run/pool.toml", ""),
    ):
        files = (desk / messages, "-c", desk / cluster, "-o", desk / "run")
        line = desk.refused("dispatch", *files, "--overwrite")
        assert f"found {desk / (f'run/{there}' if there else cluster)} in it, which is read" in line
    desk.write("in/a.csv", "id,time\na,1\n")
    line = desk.refused("dispatch", desk / "in", "-c", desk / "two.toml", "-o", desk / "in/out")
    assert "in/out: found a folder inside " in line
    assert "where the messages are, allowed: one outside" in line


def test_needed_columns_are_missed_before_spark_is_started(desk: Desk) -> None:
    """In the first line of CSV, in all lines of JSON, in the schema of Parquet; if files tell."""
    desk.write("n.toml", LIMITED)
    desk.write("m.csv", "id,time\na,1\n")
    desk.write("m.jsonl", '{"id":"a","time":1}\n{"id":"b","time":1,"x":2}\n')
    parquet(desk, "m.parquet", id=["a"], time=[1])
    for name in ("m.csv", "m.jsonl", "m.parquet"):
        line = early(desk, name, cluster="n.toml")
        assert "no column 'service_time', found: id, time" in line
        assert "map one with --column service_time=…" in line
        assert desk.run("replay", desk / name, "-c", desk / "two.toml", "-o", desk / "r") == 2
        assert "a replay needs the seconds that each message takes; map one" in desk.line()
        assert "start Spark" not in desk.err
        assert "--drop: found 'tme', allowed: id, time" in early(desk, name, "--drop", "tme")
        assert "no column 'id', found: time" in early(desk, name, "--drop", "id")
    assert "makes the column id, found one" in early(desk, "m.csv", "--number-rows")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--column", "time"], "--column: found 'time', allowed: NAME=EXPR"),
        (["--read-option", "sep"], "--read-option: found 'sep', allowed: NAME=VALUE"),
        (["--column", "destination=id"], "--column destination=…: the command adds a column"),
        (["--column", "Outcome=id"], "the command adds a column 'outcome', allowed: any other"),
        (["--number-rows", "--column", "id=time"], "--column id=… would be ignored"),
    ],
    ids=str,
)
def test_what_options_alone_can_tell(desk: Desk, options: list[str], expected: str) -> None:
    desk.write("m.csv", "id,time\na,1\n")
    assert expected in early(desk, "m.csv", *options)


def test_a_replay_adds_more_columns(desk: Desk) -> None:
    desk.write("m.csv", "id,time,service_time\na,1,1\n")
    files = (desk / "m.csv", "-c", desk / "two.toml", "-o", desk / "o")
    line = desk.refused("replay", *files, "--column", "wait=1")
    assert "--column wait=…: the command adds a column 'wait', allowed: any other name" in line
    assert "start Spark" not in desk.err


def test_a_header_in_another_encoding_is_refused(desk: Desk) -> None:
    desk.write("m.csv", "id,time,größe\na,1,2\n".encode("latin-1"))
    line = early(desk, "m.csv")
    assert "m.csv: header: found bytes that are no UTF-8; a file in another encoding" in line


# --- read by Spark ---------------------------------------------------------------------------


@pytest.mark.slow
def test_bytes_that_are_no_utf8_are_rejected_and_an_encoding_can_be_said(on_spark: Desk) -> None:
    desk = on_spark
    desk.write("m.csv", "id,time,note\ncafé,1,x\ncafè,2,x\nc,3,ü\nd,4,u\n".encode("latin-1"))
    assert desk.dispatch(desk / "m.csv", "--format", "csv") == 0, desk.err
    assert [row["id"] for row in desk.rows()] == ["d"]
    assert sorted(row["reason"] for row in desk.rows("rejected")) == [
        f"id: found 'caf\ufffd', {ENCODED}ISO-8859-1",
        f"id: found 'caf\ufffd', {ENCODED}ISO-8859-1",
        f"note: found '\ufffd', {ENCODED}ISO-8859-1",
    ]
    assert "rejected, id: 2" in desk.out
    for said in ("encoding=latin1", "encoding=ISO-8859-1", "charset=iso8859_1"):
        assert desk.dispatch(desk / "m.csv", "--overwrite", "--read-option", said) == 0, desk.err
        assert [row["id"] for row in desk.rows()] == ["café", "cafè", "c", "d"]
        assert [row["note"] for row in desk.rows()] == ["x", "x", "ü", "u"]


@pytest.mark.costly
@pytest.mark.parametrize("name", ["m.csv", "m.jsonl", "m.log"])
def test_the_sign_for_what_is_no_character_may_stand_in_a_table(on_spark: Desk, name: str) -> None:
    """It is only where bytes are no UTF-8 that nobody can tell whether it stood there."""
    ids = ["caf\ufffd", "b"]
    body = {
        "m.csv": "id,time\n" + "".join(f"{each},1\n" for each in ids),
        "m.jsonl": "".join(json.dumps({"id": each, "time": 1}) + "\n" for each in ids),
        "m.log": "".join(f"{each}\n" for each in ids),
    }[name]
    on_spark.write(name, body)
    more = ["--column", "id=value", "--column", "time=1"] if name == "m.log" else []
    assert on_spark.dispatch(on_spark / name, *more) == 0, on_spark.err
    assert [row["id"] for row in on_spark.rows()] == sorted(ids)


@pytest.mark.slow
def test_lines_of_text_and_json_in_another_encoding(on_spark: Desk) -> None:
    desk = on_spark
    desk.write("m.log", "né 1\nna 2\n".encode("latin-1"))
    split = ("--column", "id=split(value, ' ')[0]", "--column", "time=split(value, ' ')[1]")
    assert desk.dispatch(desk / "m.log", *split, "--drop", "value", "--format", "csv") == 0
    (bad,) = desk.rows("rejected")
    assert bad["reason"] == f"value: found 'n\ufffd 1', {ENCODED}ISO-8859-1"
    latin = ("--read-option", "encoding=latin1", "--overwrite")
    assert desk.dispatch(desk / "m.log", *split, *latin) == 0, desk.err
    assert [row["id"] for row in desk.rows()] == ["né", "na"]

    rows = [{"id": "né", "time": 1, "note": "x"}, {"id": "b", "time": 2, "note": "ü"}]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    desk.write("m.jsonl", lines.encode("latin-1") + b'{"id":"c","time":3}\n')
    assert desk.dispatch(desk / "m.jsonl", "--overwrite") == 0, desk.err
    assert [row["id"] for row in desk.rows()] == ["c"]
    assert {row["reason"].partition(": ")[0] for row in desk.rows("rejected")} == {"row"}
    assert desk.dispatch(desk / "m.jsonl", *latin) == 0, desk.err
    assert [row["id"] for row in desk.rows()] == ["né", "b", "c"]


@pytest.mark.slow
def test_utf16_is_read_where_it_is_said(on_spark: Desk) -> None:
    desk = on_spark
    desk.write("m.csv", "id,time\ncafé,1\nb,2\n".encode("utf-16"))
    assert desk.dispatch(desk / "m.csv", "--read-option", "encoding=utf-16") == 0, desk.err
    assert [row["id"] for row in desk.rows()] == ["café", "b"]


@pytest.mark.slow
def test_lines_that_are_no_json_are_rejected_as_rows(on_spark: Desk) -> None:
    desk = on_spark
    body = '{"id":"a","time":1}\n{"id":\n5\n{"id":"b","time":2}\n'
    desk.write("m.jsonl", body)
    assert desk.dispatch(desk / "m.jsonl", "--format", "json") == 0, desk.err
    assert [row["id"] for row in desk.rows()] == ["a", "b"]
    assert set(desk.rows()[0]) == {"id", "time", "destination", "address", "outcome", "sequence"}
    rejected = [(row["reason"], set(row)) for row in desk.rows("rejected")]
    more = "an object over several lines needs --read-option multiLine=true"
    assert sorted(rejected) == [
        (f"row: found '5', {NO_JSON}{more}", {"id", "time", "reason"}),
        (f"row: found '{{\"id\":', {NO_JSON}{more}", {"id", "time", "reason"}),
    ]
    assert "rejected, row: 2" in desk.out


@pytest.mark.slow
def test_json_over_several_lines_and_names_that_come_twice(on_spark: Desk) -> None:
    desk = on_spark
    desk.write("m.json", '[\n  {\n    "id": "a",\n    "time": 1\n  }\n]\n')
    line = desk.not_dispatched(desk / "m.json")
    assert "found no row in it; an object over several lines needs --read-option multiLine" in line
    assert desk.dispatch(desk / "m.json", "--read-option", "multiLine=true") == 0, desk.err
    desk.write("m.jsonl", '{"id":"a","time":1}\n{"id":"a","time":1,"id":"b"}\n')
    line = desk.not_dispatched(desk / "m.jsonl")
    assert "m.jsonl: column 'id': found twice in a line, allowed: once" in line


def test_a_packed_file_that_ends_too_early_is_named(on_spark: Desk) -> None:
    rows = "".join(f"m{k * k},{k}\n" for k in range(50_000))
    packed = gzip.compress(f"id,time\n{rows}".encode())
    desk = on_spark
    desk.write("m.csv.gz", packed[: len(packed) // 2])
    line = desk.not_dispatched(desk / "m.csv.gz")
    assert line == f"fairlead: {desk / 'm.csv.gz'}: cannot be read: Unexpected end of input stream"


def test_a_file_system_that_is_not_there_is_told_without_java(on_spark: Desk) -> None:
    line = on_spark.not_dispatched("foo://bucket/m.csv")
    lacks = "this Spark lacks a package with the file system foo"
    assert line == f"fairlead: foo://bucket/m.csv: {lacks}"


@pytest.mark.slow
def test_cells_with_tabs_between_them(on_spark: Desk) -> None:
    desk = on_spark
    desk.write("in/m.tsv", "id\ttime\na,b\t1\n")
    for given in ("in", "in/m.tsv"):
        assert desk.dispatch(desk / given, "--overwrite") == 0, desk.err
        assert [row["id"] for row in desk.rows()] == ["a,b"]
    desk.write("in/m.tsv", "id;time\na\t1;1\n")
    assert desk.dispatch(desk / "in", "--overwrite", "--read-option", "sep=;") == 0, desk.err
    assert [row["id"] for row in desk.rows()] == ["a\t1"]


@pytest.mark.slow
def test_a_column_takes_the_place_of_one_in_another_case(on_spark: Desk) -> None:
    desk = on_spark
    desk.write("m.csv", "ID,Time\na,1\n")
    options = ("--column", "id=ID", "--column", "time=Time")
    assert desk.dispatch(desk / "m.csv", *options, "--format", "csv") == 0, desk.err
    (row,) = desk.rows()
    assert (row["id"], row["time"]) == ("a", "1")
    assert not {"ID", "Time"} & set(row)


@pytest.mark.slow
def test_partitions_and_names_of_later_lines_are_columns(on_spark: Desk) -> None:
    """What files tell early must not be less than what Spark finds."""
    desk = on_spark
    desk.write("n.toml", LIMITED)
    desk.write("in/service_time=2/m.csv", "id,time\na,1\n")
    assert desk.dispatch(desk / "in", cluster="n.toml") == 0, desk.err
    desk.write("m.jsonl", '{"id":"a","time":1,"service_time":1}\n{"time":2,"id":"b"}\n')
    assert desk.dispatch(desk / "m.jsonl", "--overwrite", cluster="n.toml") == 0, desk.err
    assert desk.summary()["rejected"] == 1


@pytest.mark.slow
def test_names_of_clusters_that_no_file_has_are_told(on_spark: Desk) -> None:
    desk = on_spark
    both = "".join(
        f'[[cluster]]\nname = "{name}"\npolicy = "round-robin"\ndestination = [{{ name = "A" }}]\n'
        for name in ("east", "west")
    )
    desk.write("both.toml", both)
    named = ["east", "wset", "East", "wset", ""]
    rows = "".join(f"m{k},{k},{name}\n" for k, name in enumerate(named))
    desk.write("m.csv", f"id,time,cluster\n{rows}")
    assert desk.dispatch(desk / "m.csv", cluster="both.toml") == 0, desk.err
    assert "no-destination: 4" in desk.out
    assert "no-destination, of a cluster 'wset' that is in no file: 2" in desk.out
    assert "no-destination, of a cluster 'East' that is in no file: 1" in desk.out
    assert "no-destination, of no cluster: 1" in desk.out
    assert desk.summary()["unknown_clusters"] == {"wset": 2, "": 1, "East": 1}


@pytest.mark.slow
def test_a_run_whose_times_count_milliseconds_is_refused(on_spark: Desk) -> None:
    desk = on_spark
    desk.write("m.csv", "id,ts,service_time\na,1772442000000,1\nb,1772442000500,1\n")
    line = desk.not_dispatched(desk / "m.csv", "--column", "time=ts")
    assert "m.csv: found no message; the first row says: time: found '1772442000000'" in line
    assert "--column 'time=timestamp_millis(bigint(ts))'" in line
    files = ("-c", desk / "two.toml", "-o", desk / "r")
    assert "milliseconds" in desk.refused("replay", desk / "m.csv", *files, "--column", "time=ts")
    right = ("--column", "time=timestamp_millis(bigint(ts))")
    assert desk.dispatch(desk / "m.csv", *right) == 0, desk.err
    assert desk.summary()["rejected"] == 0


def test_names_of_files_are_no_patterns(spark: SparkSession, desk: Desk) -> None:
    desk.write("in/a--b-.csv", "id,time\nanother,1\n")
    for name in ("calls[1]", "{x}", "a*b?", "back\\slash", "ü ~#%20"):
        file = desk.write(f"in/{name}.csv", "id,time\na,1\n")
        assert [row["id"] for row in read(spark, file).collect()] == ["a"]


def test_a_column_that_only_some_files_have_is_not_lost(spark: SparkSession, desk: Desk) -> None:
    parquet(desk, "in/a.parquet", id=["a"], time=[1])
    parquet(desk, "in/b.parquet", id=["b"], time=[2], group=["g"])
    found = read(spark, desk / "in").collect()
    assert {row["id"]: row["group"] for row in found} == {"a": None, "b": "g"}
    parquet(desk, "in/b.parquet", id=["b"], time=["2"])
    with pytest.raises(UserError, match="in: not a table of format parquet: "):
        read(spark, desk / "in")
