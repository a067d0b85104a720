"""Changes files: what is read, and every bad one gives one line with file and row."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairlead
from fairlead import Balancer, Change, Cluster
from fairlead.balance.times import micros
from fairlead.config.changes import load_changes
from fairlead.errors import ChangeError
from fairlead.runs.changes import load_parquet

HEADER = "time,target,attribute,value\n"
MSMQ = Cluster.of("msmq", destination=[{"name": "A", "weight": 1}, {"name": "B", "weight": 2}])
NANOMSG = Cluster.of("nanomsg", destination=[{"name": "A"}, {"name": "B"}])
IBM = Cluster.of(
    "ibm-mq",
    queue_manager={"name": "HUB", "clusters": ["C1"]},
    remote=[{"name": "A"}, {"name": "B"}],
    channel=[{"name": "TO.A", "queue_manager": "A"}, {"name": "A", "queue_manager": "B"}],
    queue=[{"name": "Q", "queue_manager": "A"}, {"name": "Q", "queue_manager": "B"}],
)


def write(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def refused(file: Path) -> str:
    with pytest.raises(ChangeError) as caught:
        load_changes(file)
    line = str(caught.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", ": the file is empty, allowed: a header with time, target, attribute, value"),
        ("\n" + HEADER, ":1: found an empty line, allowed: a header with time, target, attribute"),
        ("time,target,attribute,valeu\n", ":1: column: found 'valeu', allowed: "),
        ("time,target,attribute,valeu\n", "; did you mean 'value'?"),
        ("time,target,value\n", ":1: no column 'attribute', found: time, target, value"),
        (HEADER + "soon,A,weight,1\n", ":2: time: found 'soon', allowed: a timestamp, or a number"),
        (HEADER + "1,A,weight,1\nnan,A,weight,1\n", ":3: time: found 'nan', allowed: "),
        (HEADER + "inf,A,weight,1\n", ":2: time: found 'inf', allowed: "),
        (HEADER + ",A,weight,1\n", ":2: time: found nothing, allowed: "),
        (HEADER + "1e300,A,weight,1\n", ":2: time: found '1e300', allowed: "),
        (HEADER + "1,,weight,1\n", ":2: target: found nothing, allowed: a text"),
        (HEADER + "1,A,,1\n", ":2: attribute: found nothing, allowed: a text"),
        (HEADER + "1,A,weight,1,2\n", ":2: found more values than columns"),
        (HEADER + '1,A,weight,"1\n', "not CSV: "),
        (HEADER + "12:30,A,weight,1\n", ":2: time: found '12:30', allowed: a timestamp, or"),
        ("time,target,attribute,value,value\n", ":1: column 'value': found 2 times, allowed: once"),
        ("time,target,time,attribute,time\n", ":1: column 'time': found 3 times, allowed: once"),
        ('"time,target', "not CSV: "),
    ],
)
def test_bad_csv(tmp_path: Path, body: str, expected: str) -> None:
    file = write(tmp_path, "x.csv", body)
    assert refused(file).startswith(str(file) + ":")
    assert expected in refused(file)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{", ":1: not JSON: "),
        ("[1]", ":1: found [1], allowed: an object"),
        ('{"time": 1, "target": "A"}', ":1: no column 'attribute', found: time, target"),
        (
            '\n{"time": true, "target": "A", "attribute": "weight"}',
            ":2: time: found true, allowed: ",
        ),
        ('{"time": NaN, "target": "A", "attribute": "weight"}', ":1: time: found nan, allowed: "),
        ('{"time": 1, "target": 5, "attribute": "weight"}', ":1: target: "),
        (
            '{"time": [true, {"a": 1.5}], "target": "A", "attribute": "weight"}',
            ":1: time: found [true, a table], allowed: a timestamp, or a number of seconds",
        ),
        ('{"time": ' + "9" * 5000 + "}", ":1: found an integer of more than "),
        (
            "[" * 100_000 + "]" * 100_000,
            ":1: found lists or objects too deep in each other, allowed: ",
        ),
        ('{"time": 1, "target": "A", "attribute": "x", "why": 1}', ":1: column: found 'why'"),
        (
            '{"time": 1, "target": "A", "attribute": "x", "target": "B"}',
            ":1: column 'target': found 2 times, allowed: once",
        ),
    ],
)
def test_bad_json(tmp_path: Path, body: str, expected: str) -> None:
    file = write(tmp_path, "x.jsonl", body)
    assert f"{file}{expected}" in refused(file)


def test_a_target_of_the_wrong_type_is_shown(tmp_path: Path) -> None:
    file = write(tmp_path, "x.json", '{"time": 1, "target": 5, "attribute": "weight"}')
    assert refused(file).endswith(":1: target: found 5, allowed: a text")


def test_other_files(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.csv").endswith("no such file")
    assert "found .xlsx, allowed: .csv, .json" in refused(write(tmp_path, "x.xlsx", "?"))
    file = tmp_path / "x.csv"
    file.write_bytes(b"\xff\xfe\xff")
    assert refused(file) == f"{file}:1: cannot be read: not a text in UTF-8"
    file.write_bytes(HEADER.encode() + b"1,A\xe9,weight,1\n")
    assert refused(file) == f"{file}:2: cannot be read: not a text in UTF-8"
    file = tmp_path / "x.parquet"
    file.write_bytes(b"\xff\xfe\xff" * 9)
    with pytest.raises(ChangeError, match="not a Parquet file"):
        load_parquet(file)
    pq.write_table(pa.table({"time": [1], "target": ["A"]}), file)
    with pytest.raises(ChangeError, match="no column 'attribute'"):
        load_parquet(file)
    twice = pa.Table.from_arrays(
        [pa.array([each]) for each in (1, "A", "weight", "1", "2")],
        names=["time", "target", "attribute", "value", "value"],
    )
    pq.write_table(twice, file)
    with pytest.raises(ChangeError, match="column 'value': found 2 times, allowed: once"):
        load_parquet(file)
    pq.write_table(pa.table({"time": [1], "target": [b"\xe9"], "attribute": ["x"]}), file)
    with pytest.raises(ChangeError, match="target: found"):
        load_parquet(file)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (
            {"time": pa.array([1], pa.timestamp("ms", tz="Foo/Bar"))},
            "time: found timestamp[ms, tz=",
        ),
        ({"time": pa.array([568_000_000_000], pa.timestamp("s"))}, "time: found timestamp["),
        ({"time": pa.array([2**30], pa.int32()).cast(pa.date32())}, "time: found date32[day] that"),
        (
            {"target": pa.StringArray.from_buffers(1, *pa.array([b"\xff"]).buffers()[1:])},
            "target: found string that cannot be read, allowed: text in UTF-8, and dates",
        ),
    ],
)
def test_values_of_parquet_that_python_has_not_are_refused(
    tmp_path: Path, column: dict[str, Any], expected: str
) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"time": [1], "target": ["A"], "attribute": ["x"]} | column), file)
    with pytest.raises(ChangeError) as caught:
        load_parquet(file)
    assert str(caught.value).startswith(f"{file}: {expected}")


def test_broken_parquet_is_told_without_words_of_arrow(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"time": [1], "target": ["A"], "attribute": ["x"]}), file)
    whole = file.read_bytes()
    for content, why in (
        (whole[:-20], "it is damaged, or cut off"),
        (whole[:60] + b"\xff" * 40 + whole[100:], "it is damaged, or cut off"),
        (b"PAR1", "it is damaged, or cut off"),
        (b"", "it does not begin like one"),
        (HEADER.encode(), "it does not begin like one"),
    ):
        file.write_bytes(content)
        with pytest.raises(ChangeError) as caught:
            load_parquet(file)
        assert str(caught.value) == f"{file}: not a Parquet file: {why}"


@pytest.mark.parametrize("load", [load_changes, fairlead.load_changes])
def test_what_is_no_file_is_told(tmp_path: Path, load: Any) -> None:
    os.mkfifo(tmp_path / "x.csv")
    with pytest.raises(ChangeError, match=r"x.csv: found a pipe or a device, allowed: a file"):
        load(tmp_path / "x.csv")
    with pytest.raises(ChangeError, match=f"{tmp_path}: found a folder, allowed: a file"):
        load(tmp_path)


def test_what_the_package_calls_load_changes_reads_every_kind(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "x.parquet")
    write(tmp_path, "x.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    for name in ("x.parquet", "x.jsonl"):
        found = fairlead.load_changes(tmp_path / name)
        assert [(c.target, c.attribute, c.value, c.micros) for c in found] == EXPECTED
    assert "fairlead.load_changes reads .parquet" in refused(tmp_path / "x.parquet")
    with pytest.raises(ChangeError, match=r"found \.xlsx, allowed: \.csv, .*, \.parquet$"):
        fairlead.load_changes(write(tmp_path, "x.xlsx", "?"))
    with pytest.raises(ChangeError, match="no such file"):
        fairlead.load_changes(tmp_path / "none.parquet")


def test_a_file_that_may_not_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    file = write(tmp_path, "x.csv", HEADER)
    file.unlink()
    file.symlink_to("/proc/self/mem")  # even root reads nothing of it
    assert refused(file).startswith(f"{file}: ")


ROWS: list[dict[str, Any]] = [
    {"time": "1.5", "target": "a\nb", "attribute": "weight", "value": "5"},
    {"time": "1.5", "target": "x\u2028y", "attribute": "enabled", "value": "false"},
    {"time": "2024-02-29T12:00:00Z", "target": 'ü"q', "attribute": "weight", "value": "6"},
    {"time": "0.0000015", "target": "*", "attribute": "reset", "value": ""},
]
EXPECTED = [
    ("a\nb", "weight", "5", 1_500_000),
    ("x\u2028y", "enabled", "false", 1_500_000),
    ('ü"q', "weight", "6", 1_709_208_000_000_000),
    ("*", "reset", "", 2),
]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_good_files(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"x.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), file)
        found = load_parquet(file)
    elif kind == "json":
        body = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
        found = load_changes(write(tmp_path, file.name, body))
    else:
        quoted = [
            ",".join('"' + str(value).replace('"', '""') + '"' for value in row.values())
            for row in ROWS
        ]
        found = load_changes(write(tmp_path, file.name, HEADER + "\n".join(quoted) + "\n"))
    assert [(c.target, c.attribute, c.value, c.micros) for c in found] == EXPECTED


def test_a_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(b"\xef\xbb\xbftime,target,attribute,value\r\n1,A,weight,5\r\n")
    assert load_changes(file) == [Change("A", "weight", "5", 1, f"{file}:2")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1_000_000),
        ("-1.5", -1_500_000),
        ("0.1", 100_000),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01.000001", 1_000_001),
        ("1970-01-01 01:00:00+01:00", 0),
        (datetime(1970, 1, 2, tzinfo=UTC), 86_400_000_000),
        ("", None),
        (None, None),
        (True, None),
        ("yesterday", None),
    ],
)
def test_micros(value: object, expected: int | None) -> None:
    assert micros(value) == expected


@pytest.mark.parametrize(
    ("cluster", "change", "expected"),
    [
        (MSMQ, ("C", "weight", 1), "target: found 'C', allowed: A, B"),
        (MSMQ, ("a", "weight", 1), "target: found 'a', allowed: A, B"),
        (MSMQ, ("A", "wait", 1), "attribute: found 'wait', allowed for destination:A: "),
        (MSMQ, ("A", "wieght", 1), "did you mean 'weight'?"),
        (MSMQ, ("A", "name", "Z"), "attribute: found 'name', allowed for destination:A: "),
        (
            MSMQ,
            ("A", "weight", "-1"),
            "destination:A weight: found '-1', allowed: an integer from 0",
        ),
        (MSMQ, ("A", "weight", "1.5"), "destination:A weight: found '1.5', allowed: an integer"),
        (MSMQ, ("A", "weight", ""), "destination:A weight: found nothing, allowed: an integer"),
        (MSMQ, ("A", "weight", None), "destination:A weight: found nothing, allowed: an integer"),
        (MSMQ, ("A", "weight", "nan"), "destination:A weight: found 'nan', allowed: an integer"),
        (MSMQ, ("A", "weight", True), "destination:A weight: found true, allowed: an integer"),
        (MSMQ, ("A", "enabled", "maybe"), "destination:A enabled: found 'maybe', allowed: true or"),
        (MSMQ, ("A", "speed", "0"), "destination:A speed: "),
        (MSMQ, ("A", "capacity", "3"), "allowed: only 0"),
        (MSMQ, ("A", "state", "down"), "attribute: found 'state', allowed"),
        (MSMQ, ("*", "weight", 1), "attribute: found 'weight', allowed for '*': reset"),
        (MSMQ, ("pool", "reset", None), "target of a reset: found 'pool', allowed: *, default"),
        (NANOMSG, ("A", "priority", 3), "attribute priority: an endpoint keeps the priority"),
        (NANOMSG, ("A", "state", "sideways"), "destination:A state: found 'sideways', allowed: "),
        (MSMQ, ("*", "reset", "0"), "value of a reset: found '0', allowed: nothing, or true"),
        (NANOMSG, ("*", "reset", None), "counts nothing that could be reset"),
        (NANOMSG, ("default", "reset", None), "counts nothing that could be reset"),
        (IBM, ("Q", "rank", 1), "target 'Q' is ambiguous, allowed: queue:Q@A, queue:Q@B"),
        (IBM, ("A", "present", False), "target 'A' is ambiguous, allowed: "),
        (IBM, ("channel:TO.B", "rank", 1), "target: found 'channel:TO.B', allowed: "),
        (IBM, ("queue:Q@HUB", "rank", 1), "target: found 'queue:Q@HUB', allowed: "),
        (IBM, ("TO.A", "weight", 0), "weight: found 0, allowed: an integer from 1 to 99"),
        (IBM, ("TO.A", "state", "runing"), "state: found 'runing', allowed: "),
    ],
)
def test_changes_that_a_cluster_refuses(
    cluster: Cluster, change: tuple[str, str, object], expected: str
) -> None:
    balancer = Balancer(cluster)
    before = balancer.snapshot()
    with pytest.raises(ChangeError) as caught:
        balancer.apply(Change(*change, where="x.csv:7"))
    assert str(caught.value).startswith("x.csv:7: ")
    assert expected in str(caught.value)
    assert balancer.snapshot() == before


def test_an_ambiguous_cluster() -> None:
    one = Cluster.of("msmq", name="one", destination=[{"name": "A", "weight": 1}])
    two = Cluster.of("msmq", name="two", destination=[{"name": "A", "weight": 1}])
    balancer = Balancer([one, two])
    with pytest.raises(ChangeError, match="it stands in the clusters one, two, allowed: A@CLUSTER"):
        balancer.apply(Change("A", "weight", 5))
    balancer.apply(Change("A@two", "weight", 0))
    assert balancer.choose({"cluster": "one"}).destination == "A"
    assert balancer.choose({"cluster": "two"}).destination is None
