"""On CI nothing is skipped that nobody named; elsewhere the last lines say what was not tried."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest
from tests import peers

def test_of_a_program():
    peers.program("no-such-program")

def test_of_another_mind():
    pytest.skip("no time for this")

def test_meant():
    pytest.skip("sqlite has no functions")
"""


def run(folder: Path, *, ci: bool) -> str:
    """What pytest prints of the three tests."""
    (folder / "test_three.py").write_text(TESTS)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.skips", "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", str(folder), str(folder)],
        env=environment | ({"CI": "true"} if ci else {}),
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.costly
@pytest.mark.parametrize("ci", [False, True], ids=["elsewhere", "on CI"])
def test_what_is_skipped_is_named_or_fails(tmp_path: Path, *, ci: bool) -> None:
    printed = run(tmp_path, ci=ci)
    assert ("2 failed, 1 skipped" if ci else "3 skipped") in printed
    assert ("tests/skips.toml does not name: no time for this" in printed) == ci
    assert ("not tried, 1 test: no-such-program\n" in printed) != ci
    assert ("make peers installs" in printed) != ci
