"""A signal ends a command soon, with one line, and nothing is left of it."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.commands import GIVEN, Command, working

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="not here: /proc")

STOPPED = "fairlead: stopped; nothing was delivered"


def has_started(command: Command) -> bool:
    return bool(list(command.folder.glob(".out.*")))


def starting(command: Command) -> bool:
    return command.runs("spark")


def writing(command: Command) -> bool:
    return bool(list(command.folder.glob(".out.*/decisions"))) or bool(
        list(command.folder.glob(".out.*/~all"))
    )


def reporting(command: Command) -> bool:
    return "measure: " in command.log.read_text(encoding="utf-8")


def stopped(
    folder: Path,
    command: str,
    moment: Callable[[Command], bool],
    *signals: signal.Signals,
) -> None:
    """A command that gets these signals at a moment ends as the first one says."""
    before = {each.name for each in folder.iterdir()}
    with Command(folder, command, *GIVEN) as running:
        running.until(moment)
        for each in signals:
            running.process.send_signal(each)
            time.sleep(0.05)
        assert running.ended() == 128 + signals[0]
        assert running.said() == [STOPPED]
    assert {each.name for each in folder.iterdir()} == before | {"stderr", "temporary"}
    assert list((folder / "temporary").iterdir()) == []


@pytest.mark.costly
@pytest.mark.parametrize("given", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_before_spark(folder: Path, given: signal.Signals) -> None:
    stopped(folder, "dispatch", has_started, given)


@pytest.mark.costly
@pytest.mark.spark
@pytest.mark.parametrize("given", [signal.SIGINT, signal.SIGTERM])
def test_while_spark_starts(folder: Path, given: signal.Signals) -> None:
    stopped(folder, "replay", starting, given)


@pytest.mark.spark
@pytest.mark.slow
def test_java_says_nothing_of_work_that_is_taken_from_it(folder: Path) -> None:
    program = (
        "import signal, subprocess\n"
        "from fairlead.cli import stopping\n"
        "from fairlead.pipeline.spark.session import spark_session\n"
        "spark = spark_session('local[1]')\n"
        "log = spark._jvm.org.apache.logging.log4j.LogManager.getLogger('org.apache.spark.Any')\n"
        "log.error('before')\n"
        "subprocess.Popen.terminate = lambda _: log.error('after')\n"
        "stopping.listen()\n"
        "signal.raise_signal(signal.SIGINT)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr == "spark: before\n"


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("given", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["dispatch", "replay"])
def test_while_spark_works(folder: Path, command: str, given: signal.Signals) -> None:
    stopped(folder, command, working, given)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("moment", [writing, reporting])
def test_while_results_are_written(folder: Path, moment: Callable[[Command], bool]) -> None:
    stopped(folder, "dispatch", moment, signal.SIGINT)


@pytest.mark.slow
@pytest.mark.spark
def test_a_second_signal_changes_nothing(folder: Path) -> None:
    stopped(folder, "dispatch", working, signal.SIGINT, signal.SIGINT, signal.SIGTERM)


def test_a_signal_that_is_ignored_stays_ignored(folder: Path) -> None:
    program = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "from fairlead.cli.stopping import listen; listen();"
        "signal.raise_signal(signal.SIGHUP); print('on')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "on\n"


def test_an_error_that_follows_from_a_stop_is_not_told(folder: Path) -> None:
    program = (
        "import signal, sys\n"
        "from fairlead.cli.faults import guarded\n"
        "from fairlead.cli.stopping import Stopped, listen\n"
        "def command():\n"
        "    try:\n"
        "        signal.raise_signal(signal.SIGTERM)\n"
        "    except Stopped:\n"
        "        raise ValueError('somebody caught it')\n"
        "listen()\n"
        "guarded(command)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (143, "")


def test_what_was_delivered_before_is_named(folder: Path) -> None:
    program = (
        "import signal, sys\n"
        "import fairlead.cli.app as app\n"
        "from fairlead.cli import main\n"
        "from fairlead.pipeline.output.folder_tables import FolderTables\n"
        "def run(_):\n"
        "    with FolderTables('out', overwrite=False) as delivery:\n"
        "        delivery.finish()\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "app.run = run\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr == f"fairlead: stopped; delivered before: {folder / 'out'}\n"


def test_a_signal_waits_until_what_starts_can_be_ended() -> None:
    lines = (
        "import os, signal",
        "from fairlead.cli import stopping",
        "stopping.listen()",
        "with stopping.at_the_end():",
        "    os.kill(os.getpid(), signal.SIGTERM)",
        "    print('started', flush=True)",
        "print('never')",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, "started\n")
