"""Processes of a Spark cluster are killed: the same is decided, or nothing looks whole."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.commands import SECONDS, Command
from tests.elsewhere import compiled
from tests.pipeline.spark.standalone import CLUSTER, Standalone, cluster

ROWS = 300_000
WORKING = ".out.*/{part}/_temporary/*/_temporary/*"
"""Where a task that writes has its file."""
PYTHON = {
    "PYSPARK_PYTHON": sys.executable,
    "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
}
pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1_200)]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("cluster"), workers=2) as found:
        yield found


@pytest.fixture
def many(folder: Path) -> Path:
    """A folder with more messages than are decided in a moment."""
    rows = "".join(f"m{k},{k},0.5,g{k % 997}\n" for k in range(ROWS))
    (folder / "m.csv").write_text(f"id,time,service_time,group\n{rows}")
    return folder


def given(verb: str, out: str = "out") -> list[str]:
    return [verb, "m.csv", "-c", "pool.toml", "-o", out, "--no-report"]


def found_in(folder: Path, out: str = "out") -> object:
    """What a run found, but for the time that it took."""
    for name in ("summary.json", "comparison.json"):
        if (folder / out / name).exists():
            return json.loads((folder / out / name).read_bytes()) | {"seconds": 0}
    return None


def ran(folder: Path, *arguments: str, **environment: str) -> int:
    with Command(folder, *arguments, **environment) as command:
        command.process.communicate(timeout=5 * SECONDS)
        return command.process.returncode


def writes(part: str) -> Callable[[Command], bool]:
    """Whether some task of the command writes a part of the results."""
    return lambda command: any(command.folder.glob(WORKING.format(part=part)))


def asked(command: Command) -> bool:
    """Whether the executors have been asked, and work."""
    return "ask executors: " in command.log.read_text(encoding="utf-8")


def kill(command: Command) -> None:
    """Kill a command and all that it has started."""
    command.look()
    for process in (command.process.pid, *command.seen):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize(
    ("verb", "moment"),
    [
        ("dispatch", asked),
        ("dispatch", writes("decisions")),
        ("replay", writes("~all")),
    ],
    ids=["dispatch", "dispatch-write", "replay-write"],
)
def test_an_executor_is_killed(
    two: Standalone, many: Path, verb: str, moment: Callable[[Command], bool]
) -> None:
    assert ran(many, *given(verb, "here"), "--master", "local[2]") == 0
    with Command(many, *given(verb), "--master", two.url, **CLUSTER, **PYTHON) as command:
        command.until(moment)
        executors = two.executors()
        assert len(executors) == 2
        os.kill(executors[0], signal.SIGKILL)
        command.process.communicate(timeout=5 * SECONDS)
        if command.process.returncode:
            assert not (many / "out").exists(), "nothing looks whole"
        else:
            assert command.said() == []
            assert found_in(many) == found_in(many, "here")


def test_the_driver_is_killed(two: Standalone, many: Path) -> None:
    with Command(many, *given("dispatch"), "--master", two.url, **CLUSTER, **PYTHON) as command:
        command.until(writes("decisions"))
        kill(command)
    assert not (many / "out").exists()
    assert ran(many, *given("dispatch", "here"), "--master", "local[2]") == 0
    assert ran(many, *given("dispatch"), "--master", two.url, **CLUSTER, **PYTHON) == 0
    assert found_in(many) == found_in(many, "here")
    assert not list(many.glob(".out*"))


def test_the_driver_is_killed_where_results_are_made_in_their_place(many: Path) -> None:
    classes = compiled(many / "classes")
    spark = f"--driver-class-path {classes} --conf spark.hadoop.fs.slow.impl=Slow pyspark-shell"
    uri = f"slow://{many}/out"
    with Command(many, *given("dispatch", uri), PYSPARK_SUBMIT_ARGS=spark) as command:
        command.until(lambda _: any((many / "out").glob("decisions/*")))
        kill(command)
    with Command(many, "explain", uri, "--id", "m7", PYSPARK_SUBMIT_ARGS=spark) as command:
        command.process.communicate(timeout=3 * SECONDS)
        (line,) = command.said()
    assert "found results that are not whole (there is no summary.json)" in line
    assert ran(many, *given("dispatch", uri), PYSPARK_SUBMIT_ARGS=spark) == 0
    assert ran(many, *given("dispatch", "here"), "--master", "local[2]") == 0
    assert found_in(many) == found_in(many, "here")
