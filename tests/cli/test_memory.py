"""Commands with `--engine memory`: no Spark is loaded, and what only Spark has is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli.app import run
from fairlead.cli.faults import guarded
from fairlead.memory import fits

POOL = """
policy = "weighted"
[[destination]]
name = "A"
weight = 2
[[destination]]
name = "B"
"""
WITHOUT_SPARK = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
from fairlead.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with messages and a cluster file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.toml").write_text(POOL)
    rows = [f"m{k},{k},0.5,g{k % 3}" for k in range(30)]
    (tmp_path / "m.csv").write_text("\n".join(["id,time,service_time,group", *rows, "x"]) + "\n")
    return tmp_path


def without_spark(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_dispatch_and_its_explanation_need_no_spark(folder: Path) -> None:
    out = without_spark(
        *("dispatch", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory"),
        *("--column", "time=2 * time", "--format", "csv"),
    )
    assert "routed: 30\nrejected, row: 1\n" in out
    assert {each.name for each in (folder / "out").iterdir()} == {
        *("decisions", "rejected", "summary.json", "manifest.json", "report.html"),
    }
    assert json.loads((folder / "out/summary.json").read_text())["facts"]["made"]["pyspark"] == ""
    assert without_spark("explain", "out", "--id", "m7").startswith("m7 -> ")


@pytest.mark.slow
def test_a_replay_needs_no_spark(folder: Path) -> None:
    out = without_spark(
        *("replay", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory"),
        *("--drop", "group"),
    )
    assert "in 31 = replayed 30 + rejected 1" in out
    assert (folder / "out/pool/manifest.json").exists()
    assert (folder / "out/report.html").exists()


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--master", "local"], "--master: found with --engine memory"),
        (["--horizon", "1d"], "--horizon: found with --engine memory"),
        (["--follow"], "--follow: found with --engine memory"),
        (["--column", "x=foo(id)"], "m.csv: --column x=foo(id): found the function foo"),
        (["--read-option", "quote=x"], "m.csv: --read-option quote: allowed with --engine memory"),
    ],
)
def test_what_only_spark_has_is_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], line: str
) -> None:
    given = ["dispatch", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory", *more]
    assert run(given) == 2
    refused = capsys.readouterr().err.splitlines()[-1]
    assert refused.startswith(f"fairlead: {line}")
    assert not (folder / "out").exists()
    assert not [*folder.glob(".out*")]


def test_more_traffic_is_replayed(folder: Path) -> None:
    given = ["replay", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory"]
    assert run([*given, "--scale-rate", "2", "--seed", "3"]) == 0
    (found,) = json.loads((folder / "out/comparison.json").read_text())["scenarios"]
    assert found["messages"] == 60
    assert found["differs"]


REPLAY = ("replay", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory")


def test_waits_in_a_window_are_told_and_looked_at(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    windows = ["--window", "early=0..10", "--window", "late=1970-01-01T00:00:25..100"]
    gates = ["--fail-if", "max_wait in early > 1min", "--fail-if", "mean_wait in late >= 0s"]
    assert run([*REPLAY, *windows, *gates]) == 3
    said = capsys.readouterr().out
    assert "pool, by window:" in said
    assert "fails: mean_wait in late >= 0s: mean_wait is 0 s in late in pool" in said
    (found,) = json.loads((folder / "out/comparison.json").read_text())["scenarios"]
    assert [(each["name"], each["messages"]) for each in found["by_window"]] == [
        ("early", 10),
        ("late", 5),
    ]
    assert "early: 0 s to 10 s" in (folder / "out/report.html").read_text()


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--window", "x"], "--window: found 'x', allowed: NAME=START..END"),
        (["--window", "x=5..5"], "--window x=5..5: found an end that is not after the start"),
        (["--window", "x=a..5"], "--window x=a..5: found 'a', allowed: a timestamp"),
        (["--window", "x=0..5", "--window", "x=1..2"], "--window x=1..2: found a second 'x'"),
        ([*(["--window", "x=0..5"] * 51)], "--window: found 51, allowed: at most 50"),
        (
            ["--fail-if", "p99_wait in x > 2s"],
            "--fail-if: p99_wait in x > 2s: found p99_wait in 'x', allowed: a name that --window",
        ),
        (
            ["--window", "x=0..5", "--fail-if", "waiting in x > 2"],
            "--fail-if: waiting in x > 2: found waiting in 'x', allowed: a window with mean_wait",
        ),
        (
            ["--window", "x=90..95", "--fail-if", "p99_wait in x > 2s"],
            "--fail-if: p99_wait in x > 2s: found no message in 'x' that started in 'pool'",
        ),
    ],
)
def test_bad_windows_are_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], line: str
) -> None:
    assert run([*REPLAY, *more]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"fairlead: {line}")


def test_a_table_that_does_not_fit(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fits, "available", lambda: 100)
    assert run(["dispatch", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory"]) == 2
    assert (
        "of memory or more, of which 0 are free, allowed: one that fits" in capsys.readouterr().err
    )


def test_a_container_has_what_its_limit_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fits, "CONTAINER", tmp_path)
    for name, text in (
        ("memory.max", "1000\n"),
        ("memory.current", "900\n"),
        ("memory.stat", "anon 200\nactive_file 300\ninactive_file 400\n"),
    ):
        (tmp_path / name).write_text(text)
    assert fits.available() == 800
    (tmp_path / "memory.max").write_text("max\n")
    assert (fits.available() or 1 << 40) > 1 << 20


def test_memory_that_is_used_up_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        raise MemoryError("malloc of size 99 failed")

    assert guarded(command) == 2
    assert capsys.readouterr().err.startswith("fairlead: found no more memory, allowed: less")


def test_a_table_without_a_message_says_why(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.csv").write_text("id,time\na,1772442000000\nb,1772442000001\n")
    given = ["dispatch", "bad.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory"]
    assert run(given) == 2
    assert "--column 'time=timestamp_millis(bigint(ts))'" in capsys.readouterr().err


STORM = "time,target,attribute,value\n10,A,state,down\n20,A,state,up\n"


def test_waits_are_told_between_changes_and_a_condition_can_look_at_the_worst(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "storm.csv").write_text(STORM)
    given = ["replay", "m.csv", "-c", "pool.toml", "--changes", "storm.csv", "--engine", "memory"]
    given += ["--column", "service_time=1.5", "--no-report", "-o"]
    assert run([*given, "one", "--fail-if", "worst_p99_wait > 2s"]) == 3
    out = capsys.readouterr().out
    assert "pool, by phase:" in out
    assert "since 10 s" in out
    assert "fails: worst_p99_wait > 2s: worst_p99_wait is" in out
    assert "since 10 s in pool" in out
    (scenario,) = json.loads((folder / "one/comparison.json").read_text())["scenarios"]
    assert [phase["name"] for phase in scenario["by_phase"]] == ["", "10000000", "20000000"]
    assert sum(phase["messages"] for phase in scenario["by_phase"]) == 30
    assert run([*given, "two", "--fail-if", "worst_p99_wait > 1h"]) == 0


def test_without_changes_there_is_no_worst_phase(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["replay", "m.csv", "-c", "pool.toml", "--engine", "memory", "--no-report", "-o", "out"]
    assert run([*given, "--fail-if", "worst_p99_wait > 2s"]) == 2
    assert "found no phase in 'pool', allowed: a replay with changes" in capsys.readouterr().err


def test_an_explanation_takes_the_engine_that_it_needs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["dispatch", "m.csv", "-c", "pool.toml", "-o", "out", "--engine", "memory"]
    assert run([*given, "--no-report"]) == 0
    assert run(["explain", "out", "--id", "m7", "--engine", "memory"]) == 0
    assert run(["explain", "out", "--id", "m7", "--engine", "spark"]) == 2
    assert "allowed: memory" in capsys.readouterr().err
    assert run(["explain", "s3a://bucket/out", "--id", "m7", "--engine", "memory"]) == 2
    assert "allowed for s3a://bucket/out: spark" in capsys.readouterr().err
