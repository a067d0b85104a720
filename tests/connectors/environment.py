"""The environment that `make connectors` makes, and how cases run in it.

Its Spark is another one than that of the other tests, so cases are files of their own: they are
named `cases_*.py`, which nothing collects, and a test here runs each with the pytest of that
environment, in one process with one JVM.
"""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".venv-connectors"
PYTHON = PLACE / "bin" / "python"
SPARK_OF_ICEBERG = PLACE / "spark-iceberg"
"""A folder with another PySpark, which is imported before the installed one."""
SECONDS = 540
"""Longer than the cases of any one file take."""


def jars(*parts: str) -> str:
    """The jars of connectors, as Spark's setting takes them."""
    return ",".join(str(jar) for part in parts for jar in sorted((PLACE / "jars" / part).iterdir()))


def need(*parts: str) -> None:
    """Skip the test where something is missing: `spark`, or the jars of a connector."""
    for part in parts:
        there = PYTHON if part == "spark" else PLACE / "jars" / part
        if not there.exists():
            pytest.skip(f"not here: connectors of Spark: {part} (make connectors)")


def run_cases(name: str, *, slow: bool) -> None:
    """Run the cases of a file, those that are slow or the others; they all hold."""
    before = [str(SPARK_OF_ICEBERG)] if name == "iceberg" else []
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    paths = [*before, str(ROOT / "src"), str(ROOT)]
    case = ROOT / "tests" / "connectors" / f"cases_{name}.py"
    options = ["-q", "--noconftest", "-p", "no:cacheprovider", "--tb=short"]
    # Older versions of PySpark leave their sockets to the collection of garbage.
    options += ["-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
    done = subprocess.run(
        [PYTHON, "-m", "pytest", case, "-m", "slow" if slow else "not slow", *options],
        cwd=ROOT,
        env=kept | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout[-12_000:] + done.stderr[-2_000:]
