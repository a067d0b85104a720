"""A session that a user starts, whose workers run whichever `python3` comes first on the PATH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.pipeline.spark.java import java_for_spark

SCRIPT = Path(__file__).with_name("own_session_script.py")


@pytest.mark.slow
@pytest.mark.spark
def test_workers_on_this_machine_whose_python_has_nothing_run_ours(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    given = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    path = f"{bare / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=given
        | {"PATH": path, "JAVA_HOME": str(java_for_spark()[1]), "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines() == ["A B B"] * 3, done.stderr
    told = [line for line in done.stderr.splitlines() if "python" in line.lower()]
    assert len(told) == 1, "it is said once"
    assert told[0].startswith(f"{bare / 'bin' / 'python3'} (Python ")
    assert told[0].endswith(f"pyarrow; the session's workers run {sys.executable} from here on")
