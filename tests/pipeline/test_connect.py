"""The whole dispatch under Spark Connect gives what it gives on Spark classic."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "dispatch_script.py"


def dispatched(master: str, folder: Path) -> dict[str, object]:
    folder.mkdir()
    command = [sys.executable, str(SCRIPT), master, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_same_decisions(connect: str, tmp_path: Path) -> None:
    over = dispatched(connect, tmp_path / "connect")
    classic = dispatched("local[2]", tmp_path / "classic")
    assert over == classic
    assert over["read"] == 3_001
    assert over["rejected"] == 1
