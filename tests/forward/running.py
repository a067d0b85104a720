"""`fairlead forward` in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

COMMAND = [sys.executable, "-c", "from fairlead.cli import main; main()"]


class Running:
    """A forwarder that runs; its log is a file beside the cluster's."""

    def __init__(self, url: str, path: Path, *options: str) -> None:
        self.log = path.with_suffix(".log")
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*COMMAND, "forward", "--store", url, "-c", str(path), *options],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=40)
        return self.process.returncode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=40)
