"""A command in a process of its own, and what belongs to it while it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

GIVEN = ["m.csv", "-c", "pool.toml", "-o", "out"]
MAIN = "from fairlead.cli import main; main()"
STAGE = re.compile(r"[A-Za-z ]+: \d+\.\d s|[\d,]+ rows?: --engine memory gives the same .*")
SECONDS = 120
"""Longer than anything here takes."""


class Command:
    """`fairlead …` in a folder, with a folder for temporary files of its own."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        self.log = folder / "stderr"
        with self.log.open("w") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-c", MAIN, *arguments],
                cwd=folder,
                env=os.environ | {"TMPDIR": str(self.temporary)} | environment,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )
        self.seen: dict[int, str] = {}
        """Processes that it has started, directly or not: what they run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def until(self, come: Callable[[Self], bool]) -> None:
        """Wait for a moment of the command."""
        deadline = time.monotonic() + SECONDS
        while not come(self):
            assert self.process.poll() is None, f"it ended before: {self.said()}"
            assert time.monotonic() < deadline, "it never came"
            time.sleep(0.02)

    def ended(self) -> int:
        """Its status; of what it started nothing runs any more, and its files are gone."""
        self.look()
        self.process.communicate(timeout=SECONDS)
        deadline = time.monotonic() + SECONDS
        while left := [each for each in map(runs, self.seen) if each]:
            assert time.monotonic() < deadline, left
            time.sleep(0.02)
        return self.process.returncode

    def said(self) -> list[str]:
        """What it wrote to stderr, but for the stages and what is proposed for few rows."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [each for each in lines if not STAGE.fullmatch(each)]

    def look(self) -> None:
        """Remember the processes that it has started."""
        parents = [self.process.pid, *self.seen]
        while parents:
            for child in children(parents.pop()):
                if child not in self.seen:
                    parents.append(child)
                self.seen[child] = runs(child)

    def runs(self, what: str) -> bool:
        """Whether it has a process with this in its command line."""
        self.look()
        return any(what in each for each in self.seen.values())


def children(process: int) -> list[int]:
    """The processes that a process, or one of its threads, has started and that are there."""
    found: list[str] = []
    with suppress(OSError):  # it has ended meanwhile, or the thread has
        for thread in Path(f"/proc/{process}/task").iterdir():
            found += (thread / "children").read_text(encoding="ascii").split()
    return [int(each) for each in found]


def runs(process: int) -> str:
    """What a process runs; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def working(command: Command) -> bool:
    """Some task runs Python."""
    return command.runs("pyspark.daemon")
