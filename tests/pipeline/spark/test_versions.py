"""Other versions of Spark that are allowed decide as the newest, on which all other tests run."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

HERE = Path(__file__).parent
OTHERS = ("4.1.4", "4.2.1")


@pytest.fixture(scope="module", params=OTHERS)
def other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with another PySpark, which is imported before the installed one."""
    version: str = request.param
    if importlib.util.find_spec("pip") is None:
        pytest.skip("not here: pip")
    place = tmp_path_factory.mktemp("spark") / version
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(place)]
    done = subprocess.run(
        [*command, f"pyspark=={version}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"not here: Spark {version}: {done.stderr.splitlines()[-1]}")
    return place


def found_by(script: str, folder: Path, before: Path | None = None) -> dict[str, object]:
    """What a script prints at its end. `before`: what is imported from there first."""
    folder.mkdir()
    paths = [str(before)] if before else []
    paths += [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, str(HERE / script), "local[2]", str(folder)],
        env={name: value for name, value in environment.items() if name != "SPARK_HOME"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    match found.get("facts"):
        case {"made": {"pyspark": _} as made}:
            made.pop("pyspark")  # what alone differs
    return found


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(1_200)
def test_the_same_is_found(other: Path, tmp_path: Path) -> None:
    asked = "import pyspark, sys; sys.stdout.write(pyspark.__version__)"
    environment = {**os.environ, "PYTHONPATH": str(other)}
    command = [sys.executable, "-c", asked]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == other.name != pyspark.__version__
    for script in ("dispatch_script.py", "replay_script.py"):
        newest = found_by(script, tmp_path / f"newest-{script}")
        assert found_by(script, tmp_path / script, other) == newest
        assert newest["read"] == 3_001
