"""Tries a change in a copy of the project: which test catches it, if one does."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from .change import ROOT, Change

LONGEST = 900
"""Seconds for one portion of tests; a change that makes the code spin is caught by that."""
NOTHING_RAN = 5
FIRST = 20.0
"""Seconds of tests in the first portion."""


class Outcome(NamedTuple):
    """What became of a change."""

    change: Change
    caught_by: str
    """The test, or "": it survives."""
    tests: int
    """How many tests cover it."""
    seconds: float


class Copy:
    """A copy of the project of its own."""

    def __init__(self, folder: Path, *, spark: bool, draw: int = 1) -> None:
        """`spark`: whether tests that start Spark are run, too; `draw`: one in so many cases."""
        self.folder, self.spark, self.draw = folder, spark, draw
        shutil.rmtree(folder, ignore_errors=True)
        skipped = shutil.ignore_patterns(".git", ".venv", ".mutants", ".hypothesis", "build", "out")
        shutil.copytree(ROOT, folder, ignore=skipped, symlinks=True)
        (folder / ".venv").symlink_to(ROOT / ".venv")

    def tried(self, change: Change, tests: list[str], seconds: dict[str, float]) -> Outcome:
        """Change the copy, run the tests until one fails, and change it back."""
        begun = time.monotonic()
        path = self.folder / change.path
        before = path.read_bytes()
        path.write_text(change.text)
        try:
            caught_by = self._run(tests, seconds)
        finally:
            path.write_bytes(before)
        return Outcome(change, caught_by, len(tests), time.monotonic() - begun)

    def _run(self, tests: list[str], seconds: dict[str, float]) -> str:
        models = [name for name in tests if "test_model" in name]
        rest = [name for name in tests if name not in models]
        first: list[str] = []
        while rest and sum(seconds.get(name, 0) for name in (*first, rest[0])) < FIRST:
            first.append(rest.pop(0))
        for marks, portion in (
            ("not slow and not spark", first),
            ("not slow and not spark", models),
            ("not slow and not spark", rest),
            ("not slow and spark", [*first, *models, *rest] if self.spark else []),
        ):
            if portion and (caught_by := self._fails(marks, by_folder(portion))):
                return caught_by
        return ""

    def _fails(self, marks: str, portion: list[str]) -> str:
        """The first test of these that fails, if one does."""
        flags = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-W", "ignore"]
        flags += ["--draw", str(self.draw), "--timeout=120"]
        command = [sys.executable, "-m", "pytest", *flags, "-m", marks, *portion]
        more = {"PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": ""}
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=os.environ | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as running:
            try:
                output, _ = running.communicate(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, 9)
                return "no end"
        if running.returncode in (0, NOTHING_RAN):
            return ""
        if "ERROR: file or directory not found" in output or "ERROR: not found" in output:
            raise FileNotFoundError(output.strip())
        lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return lines[0] if lines else output.strip().splitlines()[-1][:200]


def by_folder(tests: list[str]) -> list[str]:
    """Those of a folder together: else pytest does not find the fixtures of one that it left."""
    files = [name.partition("::")[0] for name in tests]
    folders = list(dict.fromkeys(str(Path(file).parent) for file in files))
    places = {file: (folders.index(str(Path(file).parent)), files.index(file)) for file in files}
    return sorted(tests, key=lambda name: places[name.partition("::")[0]])
