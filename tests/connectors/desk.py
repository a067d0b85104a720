"""What cases share: a session with connectors, and the command line in it."""

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.connectors.environment import jars

from fairlead.cli.app import run
from fairlead.pipeline.spark.session import spark_session

POOL = (
    'policy = "weighted"\n'
    '[[destination]]\nname = "a"\nweight = 3\n[[destination]]\nname = "b"\nweight = 2\n'
)
ROWS = 200


def session(*parts: str, **more: str) -> SparkSession:
    """A small session with the jars of these connectors."""
    settings: dict[str, Any] = {
        "spark.jars": jars(*parts),
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.adaptive.enabled": False,
        **more,
    }
    return spark_session("local[2]", **settings)


def messages(spark: SparkSession, rows: int = ROWS, first: int = 0) -> Any:
    """A message a second, in few groups."""
    named = "string(id) AS id", "double(id) AS time", "concat('g', id % 7) AS group"
    return spark.range(first, first + rows).selectExpr(*named)


def pool(folder: Path) -> str:
    """A cluster file."""
    file = folder / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    return str(file)


def command(*arguments: str) -> tuple[int, str, str]:
    """Run `fairlead …` in this process: the status, and what it wrote to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(arguments)
    return status, out.getvalue(), err.getvalue()


def done(*arguments: str) -> str:
    """Run `fairlead …`, which ends well: what it wrote to stdout."""
    status, out, err = command(*arguments)
    assert status == 0, err
    return out


def refused(*arguments: str) -> str:
    """Run `fairlead …`, which is refused: its line."""
    status, _, err = command(*arguments)
    assert status == 2, err
    lines = [line for line in err.splitlines() if line.startswith("fairlead: ")]
    assert len(lines) == 1, err
    return lines[0].removeprefix("fairlead: ")


def digest(out: str) -> str:
    """What a run printed of its decisions."""
    (line,) = [line for line in out.splitlines() if re.match("in .*; digest ", line)]
    return line.rpartition(" ")[2]


def summary_of(spark: SparkSession, table: str, name: str = "summary.json") -> dict[str, Any]:
    """The summary, or another small file, of a run whose results are tables."""
    row = spark.table(f"{table}_run").where(F.col("name") == name).first()
    found: dict[str, Any] = json.loads(row["content"])
    return found


def version_in(spark: SparkSession, table: str) -> object:
    """Which version of a table the results in another one name."""
    return summary_of(spark, table, "manifest.json")["version"]
