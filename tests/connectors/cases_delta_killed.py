"""Runs into tables of Delta are killed: nothing half is seen, and the next run gives the whole.

The catalog is Hive's, on Derby in a folder, so that it outlives the processes. One process at a
time can open it, so each run, and each look at the tables, is a process of its own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import Command
from tests.connectors.cases_delta import DELTA
from tests.connectors.desk import POOL
from tests.connectors.environment import jars
from tests.pipeline.spark.standalone import CLUSTER, cluster

from fairlead.runs.paths import CLAIM, SUMMARY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]
MANY = 300_000
SECONDS = 400
"""Longer than any process here takes."""
RUN = ("dispatch", "table:shop.calls", "-c", "pool.toml", "--no-report", "-o")
PREPARE = f"""
import sys
from fairlead.pipeline.spark.session import spark_session
spark = spark_session("local[2]")
spark.sql(f"CREATE DATABASE shop LOCATION '{{sys.argv[1]}}'")
named = "string(id) AS id", "double(id) AS time", "concat('g', id % 7) AS group"
spark.range({MANY}).selectExpr(*named).write.saveAsTable("shop.calls")
"""
LOOK = """
import json, sys
from fairlead.cli.app import run
from fairlead.pipeline.spark.session import spark_session
name, spark = sys.argv[1], spark_session("local[2]")

def look():
    there = spark.catalog.tableExists
    files = spark.table(f"{name}_run").collect() if there(f"{name}_run") else []
    ids = spark.table(name).select("id") if there(name) else spark.createDataFrame([], "id string")
    seen = {row["name"]: row["content"] for row in files}
    print(json.dumps({"files": seen, "rows": ids.count(), "ids": ids.distinct().count()}))

look()
if sys.argv[2:]:
    assert run(sys.argv[2:]) == 0
    look()
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a catalog in it, and a table of messages."""
    folder = tmp_path_factory.mktemp("lake")
    (folder / "pool.toml").write_text(POOL, encoding="utf-8")
    python(folder, PREPARE, (folder / "shop").as_uri())
    return folder


def environment(folder: Path) -> dict[str, str]:
    """What a process needs to find the catalog."""
    database = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    settings = {
        **DELTA,
        "spark.driver.memory": "1g",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": database,
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }
    options = [f"--conf {name}={value}" for name, value in settings.items()]
    words = ["--jars", jars("delta"), *options, "pyspark-shell"]
    return {"PYSPARK_SUBMIT_ARGS": " ".join(words)}


def python(folder: Path, program: str, *arguments: str) -> str:
    """What a program writes."""
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=os.environ | environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def looks(folder: Path, table: str, *arguments: str) -> list[dict[str, Any]]:
    """The small files of the run, by name, and how many rows and ids the decisions have.

    `arguments`: of a command that is run then, before a second look.
    """
    lines = python(folder, LOOK, table, *arguments).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def assert_whole(seen: dict[str, Any]) -> None:
    """All of it is there."""
    assert (seen["rows"], seen["ids"]) == (MANY, MANY)
    summary = json.loads(seen["files"][SUMMARY])
    assert (summary["read"], summary["rows"]) == (MANY, MANY)
    assert CLAIM not in seen["files"]


def wait(command: Command, come: Callable[[], bool]) -> None:
    """Wait for a moment of a command."""
    deadline = time.monotonic() + SECONDS
    while not come():
        assert command.process.poll() is None, command.said()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def kill(command: Command) -> None:
    """Kill a command and all that it has started."""
    command.look()
    for process in (command.process.pid, *command.seen):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    command.process.wait()


def committed(folder: Path, table: str) -> Callable[[], bool]:
    """Whether files of a table have been committed."""
    place = folder / "shop" / table / "_delta_log"
    return lambda: any(place.glob("*.json"))


def written(folder: Path, table: str) -> Callable[[], bool]:
    """Whether some file of a table is written."""
    return lambda: any((folder / "shop" / table).glob("part-*"))


@pytest.mark.parametrize("moment", ["writes", "sorted_out"])
def test_the_driver_is_killed(lake: Path, moment: str) -> None:
    table = f"shop.{moment}"
    come = {
        "writes": written(lake, "writes"),
        "sorted_out": committed(lake, "sorted_out_rejected"),
    }[moment]
    given = *RUN, f"table:{table}"
    with Command(lake, *given, "--master", "local[2]", **environment(lake)) as command:
        wait(command, come)
        kill(command)
    before, after = looks(lake, table, *given)
    assert SUMMARY not in before["files"]
    assert before["rows"] in (0, MANY)
    assert_whole(after)


def test_an_executor_is_killed(lake: Path, tmp_path: Path) -> None:
    """Its tasks are done again by the other one, and their rows are there once."""
    ours = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    settings = environment(lake) | CLUSTER | ours
    with (
        cluster(tmp_path, workers=2) as two,
        Command(lake, *RUN, "table:shop.spread", "--master", two.url, **settings) as command,
    ):
        wait(command, written(lake, "spread"))
        executors = two.executors()
        assert len(executors) == 2
        os.kill(executors[0], signal.SIGKILL)
        command.process.communicate(timeout=SECONDS)
        assert command.process.returncode == 0, command.said()
    (seen,) = looks(lake, "shop.spread")
    assert_whole(seen)
