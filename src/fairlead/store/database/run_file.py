"""Which run of many messages is writing into a SQLite database, for those who wait for it."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Final, NamedTuple

PATIENCE: Final = 1.0
"""Seconds to wait for the file of a run that has just ended; then others wait without a name."""
PAUSE: Final = 0.01
WAIT: Final = "wait"
REFUSE: Final = "refuse"
MOST: Final = 1 << 20
"""Bytes that are read of a file."""


class PublishingRun(NamedTuple):
    """A run that keeps clusters from everybody else."""

    name: str
    clusters: list[str]
    others: str
    """What becomes of those who would choose there meanwhile: wait, refuse."""
    since: int
    """Seconds since 1970."""

    def refuses(self, cluster: str) -> bool:
        """Whether whoever would choose in a cluster is refused at once."""
        return self.others == REFUSE and cluster in self.clusters

    @property
    def doing(self) -> str:
        """What it does, in words."""
        when = datetime.fromtimestamp(self.since, UTC).isoformat()
        return f"bulk run {self.name!r} is publishing since {when}"

    def refusal(self, cluster: str) -> str:
        """Why nobody else can choose in one of its clusters now."""
        return f"cluster {cluster!r}: found that {self.doing}, allowed: again when it has ended"


class RunFile:
    """`work.db-run`, beside the database: the run that has it locked is writing.

    The system takes the lock from a process that has died; then the file says nothing.
    """

    def __init__(self, database: Path) -> None:
        """`database`: its file."""
        self._database = database
        self._path = database.with_name(f"{database.name}-run")
        self._file: int | None = None

    def hold(self, run: PublishingRun) -> None:
        """Say that this run is writing. Where that cannot be said, it writes all the same."""
        if self._file is not None:
            return
        end = monotonic() + PATIENCE
        with suppress(OSError):
            mode = self._database.stat().st_mode & 0o666
            while self._file is None and monotonic() < end:
                self._file = self._locked(mode)
                if self._file is None:
                    sleep(PAUSE)
            if self._file is not None:
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, json.dumps(run).encode(), 0)

    def _locked(self, mode: int) -> int | None:
        """The file, locked; None where another run has it, or has just taken it away."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, mode)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_ino == self._path.stat().st_ino:
                return file
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(file)
        return None

    def end(self) -> None:
        """The run writes no more."""
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)  # also where a forked child has the file
            os.close(self._file)
            self._file = None

    def look(self) -> PublishingRun | None:
        """The run that is writing; None: none is, or it does not say so."""
        try:
            file = os.open(self._path, os.O_RDONLY)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            try:
                return PublishingRun(*json.loads(os.read(file, MOST)))
            except (OSError, ValueError, TypeError):  # it is just being written
                return None
        except OSError:
            return None
        finally:
            os.close(file)
        return None
