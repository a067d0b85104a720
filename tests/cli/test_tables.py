"""Tables of the session's catalog, by their names: as messages, as changes and as results."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.test_cli import Desk, messages
from tests.pipeline.output.test_uri_target import (
    claim_of_a_killed_process,
    claim_of_another_machine,
)

from fairlead.errors import OutputError
from fairlead.pipeline.output.catalog import CatalogDelivery
from fairlead.runs.paths import CLAIM, SUMMARY

CHANGES = [(40.0, "A", "weight", "0"), (40.0, "B", "weight", "1"), (70.0, "A", "weight", "3")]
COLUMNS = "time double, target string, attribute string, value string"
OUT = "table:shop.routed"


@pytest.fixture
def shop(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with a schema for this test."""
    spark.sql("CREATE SCHEMA shop")
    yield spark
    spark.sql("DROP SCHEMA shop CASCADE")


@pytest.fixture
def desk(shop: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A folder with messages and changes, which are tables, too."""
    found = Desk(tmp_path, capsys)
    given = found.write("m.csv", messages(100, ",7\n"))
    shop.read.csv(given, header=True).write.saveAsTable("shop.calls")
    shop.createDataFrame(CHANGES, COLUMNS).write.saveAsTable("shop.changes")
    rows = "".join(f"{','.join(map(str, each))}\n" for each in CHANGES)
    found.write("changes.csv", f"time,target,attribute,value\n{rows}")
    return found


def tables(spark: SparkSession) -> list[str]:
    """The tables of the schema."""
    return sorted(each.name for each in spark.catalog.listTables("shop"))


@pytest.mark.slow
def test_a_table_is_dispatched_into_tables(shop: SparkSession, desk: Desk) -> None:
    given = ["-c", desk / "two.toml", "--changes"]
    here = ["dispatch", desk / "m.csv", *given, desk / "changes.csv", "-o", desk / "o"]
    assert desk.run(*here) == 0, desk.err
    there = ["dispatch", "table:shop.calls", *given, "table:shop.changes", "-o", OUT]
    assert desk.run(*there) == 0, desk.err
    assert desk.out.endswith(f"results: {OUT}\nreport: {OUT}_run, row report.html\n")
    assert tables(shop) == ["calls", "changes", "routed", "routed_rejected", "routed_run"]
    files = {row["name"]: row["content"] for row in shop.table("shop.routed_run").collect()}
    assert {*files} == {"manifest.json", "report.html", "summary.json"}
    assert json.loads(files["summary.json"])["digest"] == desk.summary()["digest"]
    assert shop.table("shop.routed_rejected").count() == 1
    assert desk.run("diff", OUT, desk / "o", "--fail-if", "moved > 0") == 0, desk.err
    assert "in both: 100; only in table:shop.routed: 0; " in desk.out

    assert desk.refused(*there) == (
        f"fairlead: {OUT}: exists; name another table, or use --overwrite"
    )
    assert desk.run("dispatch", OUT, *given, "table:shop.changes", "-o", f"{OUT}2") == 2
    assert "is what the decisions add" in desk.line(), "what is read is a table of results"
    assert tables(shop) == ["calls", "changes", "routed", "routed_rejected", "routed_run"]
    assert desk.run(*there, "--overwrite", "--no-report") == 0, desk.err


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shop.call", "the session's catalog has no table call in the schema shop"),
        ("shopp.calls", "the session's catalog has no schema shopp"),
        ("no.shop.calls", "the session's catalog has no schema no.shop"),
        ("a b", "found 'a b', allowed: the name of a table, such as table:catalog.schema.table"),
    ],
)
def test_tables_that_are_not_there(desk: Desk, name: str, said: str) -> None:
    given = ["-c", desk / "two.toml", "-o", desk / "o"]
    place = f"table:{name}"
    assert desk.refused("dispatch", place, *given) == f"fairlead: {place}: {said}"
    more = ["--changes", place]
    assert desk.refused("dispatch", desk / "m.csv", *given, *more) == f"fairlead: {place}: {said}"
    if "no schema" in said or " " in name:
        line = desk.refused("dispatch", desk / "m.csv", "-c", desk / "two.toml", "-o", place)
        assert line == f"fairlead: {place}: {said}"
    assert not (desk.folder / "o").exists()


def test_what_goes_with_files_alone(desk: Desk) -> None:
    given = ["-c", desk / "two.toml", "-o"]
    for more in (["--number-rows"], ["--input-format", "csv"], ["--read-option", "sep=;"]):
        line = desk.refused("dispatch", "table:shop.calls", *given, desk / "o", *more)
        assert line == f"fairlead: {more[0]}: found with table:shop.calls, allowed: with files"
    line = desk.refused("dispatch", desk / "m.csv", *given, OUT, "--format", "csv")
    assert line == f"fairlead: --format csv: found with {OUT}, allowed: with a folder"
    for command in (
        ["replay", desk / "m.csv", *given, OUT, "--column", "service_time=1"],
        ["whatif", OUT, "--promote", "g", "--at", "0"],
    ):
        assert "found a table, allowed: a folder" in desk.refused(*command)


def make(spark: SparkSession, delivery: CatalogDelivery) -> None:
    delivery.write(spark.range(3), "decisions", "parquet")
    delivery.write(spark.range(0), "rejected", "parquet")
    delivery.write_json(SUMMARY, {})


@pytest.mark.slow
def test_of_two_writers_one_wins_and_what_nobody_finishes_goes(shop: SparkSession) -> None:
    with CatalogDelivery(OUT, overwrite=False) as first:
        first.begin(shop)
        with pytest.raises(OutputError, match=r"found another run that writes there \(process \d+"):
            CatalogDelivery(OUT, overwrite=True).begin(shop)
        make(shop, first)
    assert tables(shop) == []
    with CatalogDelivery(OUT, overwrite=False) as second:
        second.begin(shop)
        make(shop, second)
        second.finish()
    assert tables(shop) == ["routed", "routed_rejected", "routed_run"]
    with CatalogDelivery(OUT, overwrite=True) as third:
        third.begin(shop)
    files = shop.table("shop.routed_run")
    assert [row["name"] for row in files.collect()] == [SUMMARY], "it stays, as nothing was written"


@pytest.mark.slow
def test_what_a_killed_run_left(shop: SparkSession, desk: Desk) -> None:
    shop.range(1).write.saveAsTable("shop.routed")
    with pytest.raises(OutputError, match=r"found a table shop\.routed that no run wrote"):
        CatalogDelivery(OUT, overwrite=True).begin(shop)
    for claim in (claim_of_another_machine(), claim_of_a_killed_process()):
        rows = shop.createDataFrame([(CLAIM, claim.decode())], "name string, content string")
        rows.write.mode("overwrite").saveAsTable("shop.routed_run")
        if b"worker-7" in claim:
            with pytest.raises(OutputError, match=r"if it has ended, drop the table shop\.routed_"):
                CatalogDelivery(OUT, overwrite=True).begin(shop)
    line = desk.refused("dispatch", OUT, "-c", desk / "two.toml", "-o", desk / "o")
    assert "found results that are not whole" in line
    with CatalogDelivery(OUT, overwrite=False) as delivery:
        delivery.begin(shop)
        make(shop, delivery)
        delivery.finish()
    assert shop.table("shop.routed").count() == 3
