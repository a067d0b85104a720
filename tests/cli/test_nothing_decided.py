"""Runs in which no message is routed, and runs in which no row is a message."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.test_cli import Desk

POOL = """[[cluster]]
name = "off"
policy = "msmq"
[[cluster.destination]]
name = "A"
weight = 1
enabled = false
[[cluster]]
name = "on"
policy = "round-robin"
[[cluster.destination]]
name = "B"
"""
NOWHERE = """id,time,type,cluster,service_time
refused,1,,off,1
raised,2,SetPriority,on,1
unknown,3,,nope,1
"""


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    found = Desk(tmp_path, capsys)
    found.write("pool.toml", POOL)
    found.write("m.csv", NOWHERE)
    return found


@pytest.mark.slow
def test_a_run_in_which_nothing_is_routed_is_delivered(desk: Desk, spark: SparkSession) -> None:
    assert desk.dispatch(desk / "m.csv", cluster="pool.toml") == 0, desk.err
    assert desk.summary()["outcomes"] == {"control": 1, "no-destination": 2}
    assert "No message has a destination." in (desk.folder / "o" / "report.html").read_text()
    given = ("replay", desk / "m.csv", "-c", desk / "pool.toml", "-o", desk / "r")
    assert desk.run(*given, "--no-report") == 0, desk.err
    assert desk.run("diff", desk / "o", desk / "r/pool") == 0, desk.err
    assert "moved: 0 of 3 (0.00%)" in desk.out


@pytest.mark.slow
def test_a_table_without_a_message_is_delivered_and_refused(
    desk: Desk, spark: SparkSession
) -> None:
    desk.write("bad.csv", "id,time,service_time\nm1,soon,1\n,2,1\n")
    assert desk.dispatch(desk / "bad.csv", to="d") == 2
    bad = desk / "bad.csv"
    said = "found no message in 2 rows, allowed: at least one; the reasons are in"
    assert desk.line() == f"fairlead: {bad}: {said} {desk / 'd/rejected'}"
    assert desk.summary("d")["rejected"] == 2
    assert [row["reason"].partition(":")[0] for row in desk.rows("rejected", "d")] == ["time", "id"]
    given = ("replay", bad, "-c", desk / "two.toml", "-o", desk / "r")
    assert desk.run(*given) == 2
    assert desk.line() == f"fairlead: {bad}: {said} {desk / 'r/rejected'}"
    assert (desk.folder / "r" / "report.html").exists()


@pytest.mark.slow
def test_a_table_without_rows_is_no_mistake(desk: Desk, spark: SparkSession) -> None:
    desk.write("none.csv", "id,time\n")
    assert desk.dispatch(desk / "none.csv") == 0, desk.err
    assert "in 0 = decided 0 + rejected 0" in desk.out
