"""A journal's own changes are taken with its messages, and that is said."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest

from fairlead import Balancer, Change, load_clusters
from fairlead.cli.app import run

CLUSTER = (
    'policy = "fewest-pending"\n[[destination]]\nname = "a"\n[[destination]]\nname = "b"\n'
    "readers = 2\n"
)
SAID = "changes: 1, those of the journal; --changes none leaves them out\n"
COMMANDS = {
    "dispatch": ("dispatch", "-o", "out", "--engine", "memory", "--no-report"),
    "replay": ("replay", "-o", "out", "--engine", "memory", "--no-report"),
    "recommend": (
        *("recommend", "-o", "out", "--no-report", "--target", "max_wait < 1h"),
        *("--vary", "readers of each * 1..2"),
    ),
}


@pytest.fixture(params=["jsonl", "csv", "parquet"])
def journal(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A live journal in which `a` went down first, as a file of each kind."""
    monkeypatch.chdir(tmp_path)
    Path("pool.toml").write_text(CLUSTER)
    rows = []
    balancer = Balancer(load_clusters("pool.toml"), journal=rows.append)
    balancer.apply(Change("a", "state", "down", time=0))
    for k in range(90):
        balancer.choose({"id": f"m{k}", "time": k, "service_time": 1})
    with Path("j.jsonl").open("w") as file:
        for row in rows:
            print(json.dumps(row.to_dict()), file=file)
    name = f"j.{request.param}"
    if request.param != "jsonl":
        table = pyarrow.json.read_json("j.jsonl")
        table = table.set_column(
            table.column_names.index("value"), "value", pa.array(["down"] + [None] * 90)
        )
        writer = pa.csv.write_csv if request.param == "csv" else pa.parquet.write_table
        writer(table, name)
    return name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_changes_of_a_journal_are_taken_and_said(
    name: str, journal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [COMMANDS[name][0], journal, "-c", "pool.toml", *COMMANDS[name][1:]]
    assert run(given) == 0
    printed = capsys.readouterr()
    assert SAID in printed.err
    assert run([*given, "--changes", "j.jsonl", "--overwrite"]) == 0
    same = capsys.readouterr()
    assert same.out == printed.out
    assert "changes:" not in same.err
    assert run([*given, "--changes", "none", "--overwrite"]) == 0
    without = capsys.readouterr()
    assert without.out != printed.out
    assert "changes:" not in without.err


def test_a_table_that_only_has_the_word_has_no_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pool.toml").write_text(CLUSTER)
    Path("m.jsonl").write_text('{"id": "changed", "time": 1, "service_time": 1}\n')
    given = ["dispatch", "m.jsonl", "-c", "pool.toml", *COMMANDS["dispatch"][1:]]
    assert run(given) == 0
    assert "changes" not in capsys.readouterr().err
