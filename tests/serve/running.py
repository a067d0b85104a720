"""Servers in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proton.utils import BlockingConnection

COMMAND = [sys.executable, "-c", "from fairlead.cli import main; main()"]


class Running:
    """A server that runs."""

    def __init__(
        self,
        url: str,
        *options: str,
        port: int = 0,
        log: Path | None = None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        """`log`: a file to which what it says is added; None: nobody reads that."""
        listen = [] if "--settings" in options else ["--listen", f"amqp://127.0.0.1:{port}"]
        errors: Any = subprocess.PIPE if log is None else log.open("a", encoding="utf-8")
        self.process = subprocess.Popen(
            [*command, "serve", "--store", url, *options, *listen],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        if log is not None:
            errors.close()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.url = line.removeprefix("listening: amqp://").rstrip()

    def connect(self) -> Any:
        return BlockingConnection(self.url, timeout=20, allowed_mechs="ANONYMOUS")

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        self.process.communicate(timeout=30)
        return self.process.returncode
