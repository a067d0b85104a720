"""Executors that could not do the work are refused before any is given to them."""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.commands import SECONDS, Command
from tests.pipeline.spark.standalone import CLUSTER, cluster

from fairlead.errors import EnvironmentProblem
from fairlead.pipeline.spark import executors
from fairlead.pipeline.spark.executors import ExecutorPython, check_executors, refuse

GOOD = ExecutorPython("worker-1", "/opt/python", "3.11.9", "0.1.0", "")


def test_what_is_missing_is_named_with_the_place() -> None:
    refuse([GOOD])
    bare = GOOD._replace(machine="worker-2", missing="numba, pyarrow")
    with pytest.raises(EnvironmentProblem) as refused:
        refuse([GOOD, bare])
    assert str(refused.value) == (
        "/opt/python (Python 3.11.9) of the executors on worker-2 lacks numba, pyarrow; "
        "set PYSPARK_PYTHON to a Python that every machine has, with the same Fairlead, or ship "
        "one with spark.archives: see docs/how-to/cluster.md"
    )


def test_another_fairlead_is_refused() -> None:
    with pytest.raises(EnvironmentProblem, match=r"has Fairlead 0\.0\.9, here is 0\.1\.0"):
        refuse([GOOD._replace(fairlead="0.0.9")])
    refuse([GOOD._replace(fairlead="")])


def test_local_executors_are_not_asked(spark: SparkSession) -> None:
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup())
    check_executors(spark)
    assert len(tracker.getJobIdsForGroup()) == before


def test_others_are_asked_once_for_each_session(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ExecutorPython] = []
    monkeypatch.setattr(executors, "_is_local", lambda _: False)
    monkeypatch.setattr(executors, "refuse", asked.extend)
    session = spark.newSession()
    check_executors(session)
    (found,) = asked
    assert found.executable == sys.executable
    assert found.missing == ""
    check_executors(session)
    assert len(asked) == 1


# --- a cluster -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone cluster of one worker with one core."""
    with cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found.url


@pytest.fixture
def given(folder: Path, master: str) -> list[str]:
    return ["dispatch", "m.csv", "-c", "pool.toml", "-o", "out", "--no-report", "--master", master]


@pytest.mark.slow
@pytest.mark.spark
def test_a_cluster_whose_python_has_everything(folder: Path, given: list[str]) -> None:
    shipped = os.pathsep.join(each for each in sys.path if each)
    environment = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": shipped}
    with Command(folder, *given, **CLUSTER, **environment) as command:
        output, _ = command.process.communicate(timeout=3 * SECONDS)
        assert command.said() == [], "Spark's log and its progress are not to be seen"
        assert command.process.returncode == 0
    assert "in 3,000 = decided 3,000 + rejected 0; " in output
    assert "ask executors: " in command.log.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.spark
def test_a_cluster_whose_python_has_nothing(folder: Path, given: list[str], tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = bare / "bin" / "python"
    with Command(folder, *given, **CLUSTER, PYSPARK_PYTHON=str(python)) as command:
        command.process.communicate(timeout=3 * SECONDS)
        (line,) = command.said()
        assert command.process.returncode == 2
    assert re.match(
        rf"fairlead: {python} \(Python [\d.]+\) of the executors on \S+ lacks (fairlead, )?"
        "msgspec, numba, numpy, pyarrow; set PYSPARK_PYTHON to",  # PYTHONPATH goes with the run
        line,
    )
    assert not list(folder.glob("out")) + list(folder.glob(".out*"))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "sys.version_info = namedtuple('said', 'major minor micro serial')(3, 99, 0, 0)\n",
            f"theirs has another version, here is Python {platform.python_version()}",
        ),
        ("sys.version_info = (3, 99)\n", "theirs ends at once: AttributeError: 'tuple' object"),
    ],
)
def test_a_cluster_whose_python_is_another(
    folder: Path, given: list[str], tmp_path: Path, said: str, told: str
) -> None:
    """One that says so of itself, for there is no other on this machine; and a broken one."""
    other = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(other)], check=True)
    (packages,) = other.glob("lib/python*/site-packages")
    (packages / "other.pth").write_text("import other\n")
    (packages / "other.py").write_text(f"import sys\nfrom collections import namedtuple\n{said}")
    python = str(other / "bin" / "python")
    with Command(folder, *given, **CLUSTER, PYSPARK_PYTHON=python) as command:
        command.process.communicate(timeout=3 * SECONDS)
        (line,) = command.said()
        assert command.process.returncode == 2
    assert line.startswith(f"fairlead: executors run no Python: {told}")
    assert "; set PYSPARK_PYTHON to a Python that every machine has" in line


@pytest.mark.slow
@pytest.mark.spark
def test_a_cluster_without_that_python(folder: Path, given: list[str]) -> None:
    with Command(folder, *given, **CLUSTER, PYSPARK_PYTHON="/no/such/python") as command:
        command.process.communicate(timeout=3 * SECONDS)
        (line,) = command.said()
        assert command.process.returncode == 2
    assert line.startswith("fairlead: executors run no Python: ")
    assert 'Cannot run program "/no/such/python"' in line
