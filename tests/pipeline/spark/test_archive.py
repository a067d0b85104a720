"""An environment that is shipped with a run: the machines have a Python, and nothing of ours."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.commands import SECONDS, Command
from tests.pipeline.spark.standalone import CLUSTER, cluster

ROOT = Path(__file__).parents[3]
BROUGHT = (
    "msgspec",
    "numba",
    "llvmlite",
    "numpy",
    "pyarrow",
    "pandas",
    "dateutil",
    "python_dateutil",
)
BROUGHT += ("pytz", "six", "tzdata")
GIVEN = ("dispatch", "m.csv", "-c", "pool.toml", "--no-report")
pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1_200)]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of two workers."""
    with cluster(tmp_path_factory.mktemp("cluster"), workers=2) as found:
        yield found.url


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and what it needs, as docs/how-to/cluster.md makes one.

    Its packages are those of this environment, for they are large.
    """
    place = tmp_path_factory.mktemp("made") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    own = Path(sysconfig.get_path("purelib"))
    for each in own.iterdir():
        if each.name.split("-")[0].split(".")[0] in BROUGHT:
            copy = shutil.copytree if each.is_dir() else shutil.copy
            copy(each, packages / each.name)
    pip = [sys.executable, "-m", "pip", "-q", "install", "--no-deps", "--target", str(packages)]
    subprocess.run([*pip, str(ROOT)], check=True, capture_output=True)
    return place


def packed(environment: Path, archive: Path) -> dict[str, str]:
    """The archive of an environment, and the variables that ship it."""
    pack = ["tar", "--use-compress-program", "gzip -1", "-cf", str(archive)]
    subprocess.run([*pack, "-C", str(environment), "."], check=True)
    return {
        "PYSPARK_PYTHON": "./environment/bin/python",
        "PYSPARK_SUBMIT_ARGS": f"--archives {archive}#environment pyspark-shell",
        "PYTHONPATH": "",
    }


def test_an_environment_is_shipped(
    environment: Path, master: str, folder: Path, tmp_path: Path
) -> None:
    shipped = packed(environment, tmp_path / "environment.tar.gz")
    digests = []
    for out, more, variables in (
        ("there", ("--master", master), {**CLUSTER, **shipped}),
        ("here", ("--master", "local[2]"), {}),
    ):
        with Command(folder, *GIVEN, "-o", out, *more, **variables) as command:
            output, _ = command.process.communicate(timeout=3 * SECONDS)
            assert command.said() == []
            assert command.process.returncode == 0
        digests.append(output.partition("digest ")[2].split()[0])
    assert digests[0] == digests[1]


def test_an_archive_that_lacks_a_package(
    environment: Path, master: str, folder: Path, tmp_path: Path
) -> None:
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "numba").rename(tmp_path / "numba")
    try:
        shipped = packed(environment, tmp_path / "environment.tar.gz")
    finally:
        (tmp_path / "numba").rename(packages / "numba")
    variables = {**CLUSTER, **shipped}
    with Command(folder, *GIVEN, "-o", "out", "--master", master, **variables) as command:
        command.process.communicate(timeout=3 * SECONDS)
        (line,) = command.said()
        assert command.process.returncode == 2
    assert " lacks numba; set PYSPARK_PYTHON to a Python that every machine has" in line
    assert not os.path.lexists(folder / "out")
