"""What a delivery leaves beside its place, however its process ends."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairlead.errors import OutputError
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.runs.paths import SUMMARY

PROGRAM = """
import sys
from pathlib import Path
from fairlead.pipeline.output.folder_tables import FolderTables
import fairlead.runs.staging as making

def pause(moment):
    if sys.argv[2] == moment:
        print(moment, flush=True)
        sys.stdin.read()

rename = Path.rename

def slowly(self, target):
    found = rename(self, target)
    if str(target).endswith(".old"):
        pause("aside")
    elif target == Path(sys.argv[1]):
        pause("in place")
    else:
        pause("given up")
    return found

Path.rename = slowly
hold = making.fcntl.flock

def held(*given):
    pause("before lock")
    hold(*given)

making.fcntl.flock = held
with FolderTables(sys.argv[1], overwrite=True) as delivery:
    delivery.write_text("summary.json", sys.argv[2])
    pause("making")
    delivery.finish()
"""
"""Makes a delivery and waits at one moment, to be killed there."""


@contextmanager
def waiting(out: Path, moment: str) -> Iterator[subprocess.Popen[str]]:
    """A process that makes a delivery to `out` and has come to a moment."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(out), moment],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{moment}\n"
        yield process
        process.kill()


def killed(out: Path, moment: str) -> None:
    with waiting(out, moment) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def deliver(out: Path, text: str, *, overwrite: bool = True) -> None:
    with FolderTables(str(out), overwrite=overwrite) as delivery:
        delivery.write_text(SUMMARY, text)
        delivery.finish()


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


ALWAYS = ["before lock", "making", "in place"]


@pytest.mark.parametrize(
    ("there", "moment"),
    [
        *((False, each) for each in ALWAYS),
        *((True, each) for each in (*ALWAYS, "aside", "given up")),
    ],
)
def test_the_next_delivery_clears_away_what_a_killed_one_left(
    tmp_path: Path, there: bool, moment: str
) -> None:
    out = tmp_path / "out"
    if there:
        deliver(out, "old")
    killed(out, moment)
    assert names(tmp_path) != (["out"] if there else []), "it leaves something"
    deliver(out, "new")
    assert names(tmp_path) == ["out"]
    assert names(out) == [SUMMARY]
    assert (out / SUMMARY).read_text() == "new"


def test_a_result_set_aside_by_a_killed_process_is_put_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    deliver(out, "old")
    killed(out, "aside")
    assert not out.exists()
    with pytest.raises(OutputError, match="exists; name another folder"):
        FolderTables(str(out), overwrite=False)
    assert names(tmp_path) == ["out"]
    assert (out / SUMMARY).read_text() == "old"


def test_what_may_be_half_cleared_away_is_never_put_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    deliver(out, "old")
    killed(out, "given up")
    shutil.rmtree(out)
    with FolderTables(str(out), overwrite=False):
        assert not out.exists()
    assert names(tmp_path) == []


@pytest.mark.parametrize("moment", ["making", "aside", "in place", "given up"])
def test_what_a_living_process_makes_is_left_alone(tmp_path: Path, moment: str) -> None:
    out = tmp_path / "out"
    deliver(out, "old")
    with waiting(out, moment) as process:
        beside = names(tmp_path)
        with FolderTables(str(out), overwrite=True):
            assert set(names(tmp_path)) > set(beside)
        assert names(tmp_path) == beside
        process.communicate("")
        assert process.returncode == 0
    assert names(tmp_path) == ["out"]
    assert (out / SUMMARY).read_text() == moment


def test_a_lock_taken_away_before_it_was_held_is_taken_anew(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with waiting(out, "before lock") as process:
        before = names(tmp_path)
        deliver(tmp_path / "out", "other")
        assert not set(before) & set(names(tmp_path))
        process.communicate("")
        assert process.returncode == 0
    assert names(tmp_path) == ["out"]
    assert (out / SUMMARY).read_text() == "before lock"


def test_folders_of_others_stay(tmp_path: Path) -> None:
    others = [".out.deadbeef", ".out.deadbeef.old", ".out.backup", ".other.deadbeef"]
    for name in others:
        (tmp_path / name).mkdir()
        (tmp_path / name / "keep").touch()
    elsewhere = [".out.00000000", ".out.00000000.lock"]
    (tmp_path / elsewhere[0]).mkdir()
    (tmp_path / elsewhere[1]).write_text("another machine, whose locks are not seen here")
    deliver(tmp_path / "out", "new")
    assert names(tmp_path) == sorted([*others, *elsewhere, "out"])


def test_of_two_at_once_the_second_does_not_overwrite_unasked(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with FolderTables(str(out), overwrite=False) as delivery:
        delivery.write_text(SUMMARY, "slow")
        deliver(out, "fast", overwrite=False)
        with pytest.raises(OutputError, match="exists; name another folder"):
            delivery.finish()
    assert names(tmp_path) == ["out"]
    assert (out / SUMMARY).read_text() == "fast"


def test_where_locks_are_not_supported_nothing_is_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError("no locks available")

    killed(tmp_path / "out", "making")
    left = names(tmp_path)
    monkeypatch.setattr("fcntl.flock", unsupported)
    deliver(tmp_path / "out", "new")
    assert names(tmp_path) == sorted([*left, "out"])
