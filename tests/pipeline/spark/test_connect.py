"""A whole dispatch, and a replay, under Spark Connect give what they give on Spark classic."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def found_by(script: str, master: str, folder: Path) -> dict[str, object]:
    folder.mkdir()
    command = [sys.executable, str(HERE / script), master, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("script", ["dispatch_script.py", "replay_script.py"])
def test_the_same_is_found(script: str, connect: str, tmp_path: Path) -> None:
    over = found_by(script, connect, tmp_path / "connect")
    classic = found_by(script, "local[2]", tmp_path / "classic")
    assert over == classic
    assert over["read"] == 3_001
    assert over["rejected"] == 1
