"""`fairlead replay`, `whatif` and `diff` over scenarios, in process."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.cli.test_cli import Desk

from fairlead import report
from fairlead.cli.replay import scenarios
from fairlead.text import length

POOL = """policy = "weighted"
[order]
discipline = "priority"
[[destination]]
name = "A"
[[destination]]
name = "B"
"""
SCENARIOS = """[[scenario]]
name = "half"
scale_rate = 0.5
[[scenario]]
name = "as it is"
[[scenario]]
name = "a/b: quick"
set = [{ target = "B", attribute = "speed", value = 2 }]
"""


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    found = Desk(tmp_path, capsys)
    found.write("pool.toml", POOL)
    found.write("fifo.toml", POOL.replace('discipline = "priority"', 'discipline = "fifo"'))
    rows = "".join(f"m{k:02},{k // 4},2,g{k % 10}\n" for k in range(40))
    found.write("calls.csv", f"id,time,service_time,group\n{rows}bad,x,1,\n")
    return found


def replay(desk: Desk, *more: str, cluster: str = "pool.toml", to: str = "o") -> int:
    messages, file = desk / "calls.csv", desk / cluster
    return desk.run("replay", messages, "-c", file, "-o", desk / to, *more)


@pytest.mark.slow
def test_scenarios_side_by_side(desk: Desk, spark: SparkSession) -> None:
    desk.write("s.toml", SCENARIOS)
    assert replay(desk, "--scenarios", desk / "s.toml", "--fail-if", "p99_wait > 5s") == 3
    assert "rejected, time: 1" in desk.out
    assert "in 41 = replayed 40 + rejected 1" in desk.out
    assert "fails: p99_wait > 5s: p99_wait is " in desk.out
    comparison = json.loads((desk.folder / "o" / "comparison.json").read_text())
    assert [each["name"] for each in comparison["scenarios"]] == ["half", "as it is", "a/b: quick"]
    assert [each["differs"] for each in comparison["scenarios"]] == [
        ["scale_rate 0.5, seed 0"],
        [],
        ["B: speed 2"],
    ]
    page = (desk.folder / "o" / "report.html").read_text(encoding="utf-8")
    assert "nothing: the cluster file as it is" in page
    folders = [each["folder"] for each in comparison["scenarios"]]
    assert folders == ["half", "as it is", "a_b_ quick"]
    last = desk.out.rindex("a/b: quick, by destination:")
    assert last < desk.out.index("rejected, time: 1") < desk.out.index("scenario    messages")
    half = comparison["scenarios"][0]["messages"]
    assert half < 40
    for folder, n in (("half", half), ("as it is", 40), ("a_b_ quick", 40)):
        decisions = pq.read_table(desk.folder / "o" / folder / "decisions")
        assert len(decisions) == n
    waits = [each["waits"]["mean"] for each in comparison["scenarios"]]
    assert waits[2] < waits[1]

    folders = [str(desk.folder / "o" / name) for name in ("as it is", "a_b_ quick")]
    assert desk.run("diff", *folders, "--fail-if", "sooner > 0") == 3
    assert "started sooner: " in desk.out
    by = re.search(r"on average of all 40 (sooner|later) by: [\d.,]+ (ms|s|min|h)\n", desk.out)
    assert by is not None, "in words, and never less than 0"
    assert by[1] == "sooner"
    rows = [line.split("  ") for line in desk.out.splitlines() if line.startswith(str(desk.folder))]
    p99 = [length(each["waits"]["p99"]) for each in comparison["scenarios"][1:]]
    assert [[cell.strip() for cell in row if cell][-2] for row in rows] == p99

    assert desk.run("whatif", folders[0], "--promote", "g9", "--at", "5") == 0
    assert "g9: " in desk.out
    assert "messages would start sooner" in desk.out
    assert "delayed: " in desk.out
    assert desk.run("whatif", folders[0], "--promote", "nobody", "--at", "5") == 2
    assert "--promote: found 'nobody', allowed: a group of " in desk.err


@pytest.mark.slow
def test_two_files_are_two_scenarios(desk: Desk, spark: SparkSession) -> None:
    assert replay(desk, "-c", desk / "fifo.toml", "--format", "csv") == 0
    names = {each.name for each in (desk.folder / "o").iterdir()}
    assert names == {"pool", "fifo", "rejected", "comparison.json", "report.html"}
    comparison = json.loads((desk.folder / "o" / "comparison.json").read_text())
    assert [each["differs"] for each in comparison["scenarios"]] == [
        [f"cluster file {desk / name}"] for name in ("pool.toml", "fifo.toml")
    ]
    assert desk.run("whatif", desk / "o/fifo", "--promote", "g1", "--at", "5") == 2
    assert "order.discipline: found fifo, allowed: priority" in desk.err


@pytest.mark.slow
def test_a_page_is_left_unless_nobody_wants_it(desk: Desk, spark: SparkSession) -> None:
    change = desk.write("changes.csv", "time,target,attribute,value\n5,A,enabled,false\n")
    asked = ["replay", desk / "calls.csv", "-c", desk / "pool.toml", "-c", desk / "fifo.toml"]
    asked += ["--changes", change, "-o"]
    assert desk.run(*asked, desk / "o") == 0, desk.err
    assert desk.out.splitlines()[-1] == f"report: {desk / 'o'}/report.html"
    page = (desk.folder / "o" / "report.html").read_text(encoding="utf-8")
    comparison = json.loads((desk.folder / "o" / "comparison.json").read_text(encoding="utf-8"))
    assert report.render_comparison(comparison) == page, (
        "comparison.json has all that the page tells"
    )
    said = f"fairlead {' '.join(asked)} {desk / 'o'} --engine spark"
    assert comparison["made"]["command"] == said
    for scenario in comparison["scenarios"]:
        assert scenario["changes"]["first"][0]["changes"] == ["A enabled → false"]
    assert desk.run(*asked, desk / "o", "--no-report", "--overwrite") == 0, desk.err
    assert "report" not in desk.out + desk.err
    assert not (desk.folder / "o" / "report.html").exists()
    plain = json.loads((desk.folder / "o" / "comparison.json").read_text(encoding="utf-8"))
    assert "made" not in plain
    digests = [[each["digest"] for each in found["scenarios"]] for found in (comparison, plain)]
    assert digests[0] == digests[1]


def test_a_rate_for_all_is_told_of_those_without_one(desk: Desk) -> None:
    file, cluster = desk.folder / "s.toml", desk.folder / "pool.toml"
    file.write_text(SCENARIOS, encoding="utf-8")
    assert scenarios([cluster], [], file, Decimal("1.5"), 7).differs == {
        "half": ["scale_rate 0.5, seed 0"],
        "as it is": ["scale_rate 1.5, seed 7"],
        "a/b: quick": ["B: speed 2", "scale_rate 1.5, seed 7"],
    }
    assert scenarios([cluster], [], None, Decimal(1), 0).differs == {"pool": []}


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--seed", "3"], "--seed: without --scale-rate it would have no effect"),
        (["--scale-rate", "0"], "--scale-rate: found '0', allowed: a number above 0"),
        (["--fail-if", "p99 > 1"], "--fail-if: found 'p99', allowed: mean_wait, p50_wait"),
        (["--fail-if", "p99_wait > 2"], "found no unit, allowed for p99_wait: ms, s, min, h; such"),
        (["--fail-if", "p99_wait > 2%"], "found the unit '%', allowed for p99_wait: ms, s, min, h"),
        (["--fail-if", "waiting > 2s"], "found the unit 's', allowed for waiting: %"),
        (["-c", "pool.toml"], "found a second file called pool"),
        (["--scenarios", "none.toml"], "none.toml"),
    ],
)
def test_what_cannot_be_is_refused_before_spark(desk: Desk, more: list[str], line: str) -> None:
    given = [desk / each if each.endswith(".toml") else each for each in more]
    assert replay(desk, *given) == 2
    assert line in desk.err
    assert desk.err.count("\n") == 1
    assert not (desk.folder / "o").exists()


@pytest.mark.slow
def test_a_run_of_dispatch_is_no_scenario(desk: Desk, spark: SparkSession) -> None:
    assert desk.dispatch(desk / "calls.csv", cluster="pool.toml", to="d") == 0
    assert desk.run("whatif", desk / "d", "--promote", "g1", "--at", "5") == 2
    assert "found a run of dispatch, allowed: a scenario's folder of replay" in desk.err
