"""Commands whose tables and results are elsewhere find what they find on this machine."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.test_cli import Desk
from tests.places import Place

POOL = """policy = "weighted"
[order]
discipline = "priority"
[[destination]]
name = "a"
weight = 2
[[destination]]
name = "b"
"""
CHANGES = "time,target,attribute,value\n40,a,enabled,false\n70,a,enabled,true\n"


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A folder with a cluster, changes and messages."""
    found = Desk(tmp_path, capsys)
    rows = [f"m{k:03},{k},3,g{k % 7},{k % 3}\n" for k in range(100)]
    found.write("m.csv", "id,time,service_time,group,priority\n" + "".join(rows) + ",5,1,,\n")
    found.write("pool.toml", POOL)
    found.write("changes.csv", CHANGES)
    return found


@pytest.mark.slow
def test_dispatch_and_what_is_asked_about_it(
    spark: SparkSession, desk: Desk, place: Place, view_place: Place
) -> None:
    (view_place.here / "m.csv").write_bytes((desk.folder / "m.csv").read_bytes())
    given = ["-c", desk / "pool.toml", "--changes", desk / "changes.csv"]
    assert desk.run("dispatch", desk / "m.csv", *given, "-o", desk / "o", "--no-report") == 0
    here = desk.summary()
    out = f"{place.uri}/routed"
    assert desk.run("dispatch", f"{view_place.uri}/m.csv", *given, "-o", out) == 0, desk.err
    assert desk.out.endswith(f"results: {out}\nreport: {out}/report.html\n")
    there = json.loads((place.here / "routed" / "summary.json").read_bytes())
    assert there["digest"] == here["digest"]
    assert there["rejections"] == here["rejections"] != {}
    assert "<html" in (place.here / "routed" / "report.html").read_text(encoding="utf-8")

    assert desk.run("explain", desk / "o", "--id", "m041") == 0
    why = desk.out
    assert desk.run("explain", out, "--id", "m041") == 0, desk.err
    assert desk.out == why
    assert desk.refused("explain", out, "--id", "m999") == (
        f"fairlead: {out}: found no decision on 'm999'; no message has this id"
    )
    assert desk.run("diff", out, desk / "o", "-o", f"{place.uri}/d", "--fail-if", "moved > 0") == 0
    assert "in both: 100; " in desk.out
    assert json.loads((place.here / "d" / "summary.json").read_bytes())["moved"] == 0

    again = ["dispatch", f"{view_place.uri}/m.csv", *given, "-o", out]
    assert desk.refused(*again).endswith("exists; name another folder, or use --overwrite")
    assert desk.run(*again, "--overwrite") == 0


@pytest.mark.slow
def test_replay_and_what_if(spark: SparkSession, desk: Desk, place: Place) -> None:
    given = ["-c", desk / "pool.toml", "--no-report", "--format", "csv"]
    assert desk.run("replay", desk / "m.csv", *given, "-o", desk / "o") == 0
    out = f"{place.uri}/replayed"
    assert desk.run("replay", desk / "m.csv", *given, "-o", out) == 0, desk.err
    here, there = (
        json.loads((each / "comparison.json").read_bytes())["scenarios"]
        for each in (desk.folder / "o", place.here / "replayed")
    )
    assert here == there
    raised = ["--promote", "g1", "--at", "20"]
    assert desk.run("whatif", desk / "o/pool", *raised) == 0
    found = desk.out
    assert desk.run("whatif", f"{out}/pool", *raised) == 0, desk.err
    assert desk.out == found
    assert "found a whole replay" in desk.refused("diff", out, f"{out}/pool")
    (place.here / "replayed" / "comparison.json").unlink()
    assert "found results that are not whole" in desk.refused("whatif", f"{out}/pool", *raised)


def test_results_are_not_among_the_messages(
    spark: SparkSession, desk: Desk, view_place: Place
) -> None:
    (view_place.here / "in").mkdir()
    (view_place.here / "in" / "m.csv").write_bytes((desk.folder / "m.csv").read_bytes())
    messages = f"{view_place.uri}/in"
    given = ["--input-format", "csv", "-c", desk / "pool.toml", "-o"]
    line = desk.refused("dispatch", messages, *given, f"{messages}/out")
    assert line.endswith(
        f"found a folder inside {messages}, where the messages are, allowed: one outside"
    )
    line = desk.refused("dispatch", messages, *given, messages, "--overwrite")
    assert line.endswith("which is read, allowed: another folder")
    assert view_place.names("in") == ["m.csv"]
