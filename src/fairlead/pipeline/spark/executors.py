"""Executors: what their Python lacks is said in one line, before any work is given to them."""

from __future__ import annotations

import logging
import platform
import re
import sys
from collections.abc import Iterable
from importlib.metadata import version
from shutil import which
from typing import Final, NamedTuple
from weakref import WeakSet

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from fairlead.errors import EnvironmentProblem
from fairlead.runs.progress import Progress, quiet

NEEDED: Final = ("fairlead", "msgspec", "numba", "numpy", "pyarrow")
"""What runs on executors, and what it needs there."""
TASKS: Final = 16
"""Enough for each executor of a small cluster; of a large one, a sample."""
ANSWER: Final = "machine string, executable string, python string, fairlead string, missing string"
HELP: Final = (
    "set PYSPARK_PYTHON to a Python that every machine has, with the same Fairlead, or ship one "
    "with spark.archives: see docs/how-to/cluster.md"
)
CANNOT_RUN: Final = re.compile(r'Cannot run program "[^"]*"[^\n]*')
BROKEN: Final = re.compile(r"Error from python worker:\n.*?([^\n]*)\nPYTHONPATH was", re.DOTALL)
"""A Python that ends before it can work: the last line of what it said."""

log = logging.getLogger("fairlead")
_asked: Final[WeakSet[SparkSession]] = WeakSet()


class ExecutorPython(NamedTuple):
    """What an executor said of its Python."""

    machine: str
    executable: str
    python: str
    fairlead: str
    """The version; empty if it is not known."""
    missing: str
    """Packages that are not there, in a list with commas."""


def check_executors(spark: SparkSession, progress: Progress = quiet) -> None:
    """Refuse executors that could not do the work; each session's are asked once.

    Nothing is asked where they run this process's own Python on this machine. A session on this
    machine whose Python could not do the work gets this process's own, and the logger `fairlead`
    says so.

    Raises:
        EnvironmentProblem: An executor runs another Python or another Fairlead, lacks a package, or
            runs no Python at all.
    """
    local = _is_local(spark)
    if spark in _asked or (local and which(spark.sparkContext.pythonExec) == sys.executable):
        return
    try:
        _ask(spark, progress)
    except EnvironmentProblem as problem:
        if not local:
            raise
        spark.sparkContext.pythonExec = sys.executable
        _ask(spark, progress)
        lacks = str(problem).removesuffix(f"; {HELP}")
        log.warning("%s; the session's workers run %s from here on", lacks, sys.executable)
    _asked.add(spark)


def _ask(spark: SparkSession, progress: Progress) -> None:
    answers = spark.range(0, TASKS, 1, TASKS).select(_answer().alias("answer"))
    try:
        with progress("ask executors"):
            executors = {ExecutorPython(*row["answer"]) for row in answers.collect()}
    except (PySparkException, Py4JError) as error:
        raise EnvironmentProblem(f"executors run no Python: {_reason(error)}; {HELP}") from error
    refuse(sorted(executors))


def refuse(executors: Iterable[ExecutorPython]) -> None:
    """Refuse the first executor that could not do the work. Raises EnvironmentProblem."""
    local_version = version("fairlead")
    for executor in executors:
        where = (
            f"{executor.executable} (Python {executor.python}) of the executors "
            f"on {executor.machine}"
        )
        if executor.missing:
            raise EnvironmentProblem(f"{where} lacks {executor.missing}; {HELP}")
        if executor.fairlead not in {"", local_version}:
            raise EnvironmentProblem(
                f"{where} has Fairlead {executor.fairlead}, here is {local_version}; {HELP}"
            )


def _is_local(spark: SparkSession) -> bool:
    connected = type(spark).__module__.startswith("pyspark.sql.connect")
    return not connected and (spark.conf.get("spark.master", None) or "").startswith("local")


def _answer() -> Column:
    """What an executor says; it must need nothing there, not even Fairlead."""
    needed = NEEDED

    def answer(_: int) -> tuple[str, ...]:
        import platform
        import sys
        from importlib.metadata import PackageNotFoundError, version
        from importlib.util import find_spec

        try:
            fairlead = version("fairlead")
        except PackageNotFoundError:  # shipped as plain files
            fairlead = ""
        missing = ", ".join(name for name in needed if find_spec(name) is None)
        return platform.node(), sys.executable, platform.python_version(), fairlead, missing

    return F.udf(answer, ANSWER, useArrow=False)("id")


def _reason(error: Exception) -> str:
    """What went wrong, of all that Spark says: the last cause, on one line."""
    text = str(error)
    if "PYTHON_VERSION_MISMATCH" in text:
        return f"theirs has another version, here is Python {platform.python_version()}"
    cannot, broken = CANNOT_RUN.search(text), BROKEN.search(text)
    last = text.rpartition("Caused by: ")[2].partition("\n\tat ")[0]
    if broken:
        last = f"theirs ends at once: {broken[1]}"
    if cannot:
        last = cannot[0]
    return " ".join(last.split())
