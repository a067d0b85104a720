"""`fairlead whatif`, and what the folders of a replay are for, in process."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.test_cli import Desk

POOL = """policy = "weighted"
[order]
discipline = "priority"
[[destination]]
name = "A"
"""


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Twelve messages of four seconds each, one a second, of four groups of two tenants."""
    found = Desk(tmp_path, capsys)
    found.write("pool.toml", POOL)
    rows = "".join(
        f"m{k:02},2026-11-16T08:00:{k:02}Z,4,g{k % 4},{'xy'[k % 2]},pool\n" for k in range(12)
    )
    found.write("calls.csv", f"id,time,service_time,group,tenant,cluster\n{rows}")
    return found


def scenario(desk: Desk, name: str) -> str:
    """A folder as a replay leaves it, as far as what is refused before Spark looks at it."""
    manifest = {
        "format": 1,
        "file_format": "parquet",
        "replay": True,
        "clusters": [],
        "changes": [],
    }
    desk.write(f"{name}/manifest.json", json.dumps(manifest))
    return desk / name


@pytest.mark.slow
def test_what_a_raise_does_is_the_same_in_formats_with_and_without_types(
    desk: Desk, spark: SparkSession
) -> None:
    outputs = []
    for form in ("json", "csv"):
        asked = ["replay", desk / "calls.csv", "-c", desk / "pool.toml", "-o", desk / form]
        assert desk.run(*asked, "--format", form, "--no-report") == 0, desk.err
        folder = desk / f"{form}/pool"
        at = "2026-11-16T08:00:03.5Z"
        assert desk.run("whatif", folder, "--promote", "g3", "--at", at) == 0, desk.err
        outputs.append(desk.out)
    assert outputs[0].splitlines()[0] == "g3: 3 messages would start sooner"
    assert "delayed: 3 messages of others, by 24 s at most" in outputs[0]
    assert outputs[1:] == outputs[:1]
    assert desk.run("diff", desk / "json/pool", desk / "csv/pool") == 0, desk.err
    assert "started later: 0 of 12" in desk.out

    line = desk.refused("whatif", desk / "csv/pool", "--promote", "g33", "--at", "0")
    wanted = "--promote: found 'g33', allowed: a group of the scenario's messages, such as 'g3', "
    assert wanted in line


def test_a_whole_replay_is_no_scenario(desk: Desk) -> None:
    desk.write("o/comparison.json", "{}")
    one, other = scenario(desk, "o/as it is"), scenario(desk, "o/half")
    wanted = (
        f"{desk / 'o'}: found a whole replay, allowed: one of its scenarios: {one!r}, {other!r}"
    )
    assert wanted in desk.refused("diff", desk / "o", one)
    assert wanted in desk.refused("whatif", desk / "o", "--promote", "g", "--at", "0")


def test_a_replayed_message_is_explained(desk: Desk) -> None:
    asked = ["replay", desk / "calls.csv", "-c", desk / "pool.toml", "-o", desk / "o"]
    assert desk.run(*asked, "--engine", "memory", "--no-report") == 0, desk.err
    assert desk.run("explain", desk / "o/pool", "--id", "m03") == 0, desk.err
    lines = desk.out.splitlines()
    assert lines[0] == "m03 of group g3 -> A, attempt 1, routed"
    assert lines[1] == (
        "it came at 2026-11-16 08:00:03 UTC, was started after 25 s by reader 1, and ended at "
        "2026-11-16 08:00:32 UTC"
    )
    assert lines[2] == "when it came, 1 message was in work there:"
    heads = [line for line in lines if line.endswith(":")]
    assert heads == [
        "when it came, 1 message was in work there:",
        "while it waited, 2 messages were started that had come before:",
        "4 messages were started before it that came later:",
    ]
    assert lines[-3:] == [
        "reader 1 worked on m10 of group g2 until it started",
        "with a priority of 255 it would have started 24 s sooner, at 2026-11-16 08:00:04 UTC",
        "with one more reader at A it would have started 23 s sooner, at 2026-11-16 08:00:05 UTC",
    ]
    assert desk.run("explain", desk / "o/pool", "--id", "m00") == 0, desk.err
    assert "was started at once by reader 1" in desk.out


def test_a_whole_replay_is_not_explained(desk: Desk) -> None:
    desk.write("o/comparison.json", "{}")
    one = scenario(desk, "o/half")
    assert "found a whole replay" in desk.refused("explain", desk / "o", "--id", "m01")
    line = desk.refused("explain", one, "--id", "m01")
    assert line.endswith("found a run that has decided nothing yet")
