"""A machine, a disk or a process that gives up in the middle ends a command with one line."""

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.commands import GIVEN, SECONDS, Command, working

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="not here: /proc"),
]


@pytest.fixture
def dispatching(folder: Path) -> Iterator[Command]:
    with Command(folder, "dispatch", *GIVEN) as command:
        yield command
    assert not list(folder.glob("out")) + list(folder.glob(".out*"))


def test_java_is_killed(dispatching: Command) -> None:
    dispatching.until(working)
    java = min(each for each, what in dispatching.seen.items() if "SparkSubmit" in what)
    os.kill(java, signal.SIGKILL)
    assert dispatching.ended() == 1
    (line,) = dispatching.said()
    assert re.fullmatch(
        r"fairlead: Spark's Java process has ended before its time \(killed by SIGKILL\); "
        r"nothing was delivered(; Spark's log: \S+)?",
        line,
    )


def test_a_python_worker_is_killed(dispatching: Command) -> None:
    dispatching.until(working)
    lost = set()
    while dispatching.process.poll() is None:
        dispatching.look()
        _, *workers = (pid for pid, what in dispatching.seen.items() if "pyspark.daemon" in what)
        for each in {*workers} - lost:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
            lost.add(each)
        time.sleep(0.01)
    assert dispatching.ended() == 1
    (line,) = dispatching.said()
    said, _, log = line.partition("; Spark's log: ")
    assert said == (
        "fairlead: Spark could not go on: a Python worker was killed, or crashed; "
        "nothing was delivered"
    )
    assert "Lost task" in Path(log).read_text(encoding="utf-8")


def test_the_log_of_spark_goes_where_nothing_went_wrong(folder: Path) -> None:
    with Command(folder, "dispatch", *GIVEN) as command:
        command.until(lambda each: any(each.temporary.glob("fairlead-spark-*.log")))
        assert command.ended() == 0
        assert not list(command.temporary.glob("fairlead-spark-*"))


def test_spark_s_temporary_files_do_not_fit(folder: Path, small: Path) -> None:
    rows = "".join(f"message {k},{k},g\n" for k in range(30_000))
    (folder / "m.csv").write_text(f"id,time,group\n{rows}")
    with Command(folder, "dispatch", *GIVEN, SPARK_LOCAL_DIRS=str(small)) as command:
        command.process.communicate(timeout=SECONDS)
        assert command.process.returncode == 2
        line = (
            "fairlead: Spark's temporary files: No space left on device; they are in "
            f"{small}, on a cluster in the folders of its workers; TMPDIR and SPARK_LOCAL_DIRS "
            "name other folders"
        )
        assert command.said() == [line]
    assert not list(folder.glob("out")) + list(folder.glob(".out*"))
