"""What takes longer than a page may take: it goes on in the background, and says how far it is."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Final

from fairlead.console.refusals import PageRefusal
from fairlead.errors import FairleadError

LOGGER: Final = logging.getLogger("fairlead.console")
THREADS: Final = 4
KEPT: Final = 100
"""Jobs that are remembered; the oldest that has ended is forgotten."""
RUNNING: Final = 20


class StoppedError(FairleadError):
    """Somebody has stopped a job."""


@dataclass
class ConsoleJob:
    """A piece of work that goes on in the background."""

    title: str
    """What it does, in words."""
    who: str
    back: str
    """The page of ours to go on to."""
    total: int | None
    """How many steps there are; None: nobody knows."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    began: float = field(default_factory=time.time)
    done: int = 0
    result: str = ""
    """What became of it, in words; "" while it goes on."""
    failed: bool = False
    ended: float | None = None
    stops: bool = False
    """Whether it was told to stop."""

    def tell(self, done: int) -> None:
        """It has done so many. Raises StoppedError where it was told to stop."""
        self.done = done
        if self.stops:
            raise StoppedError(f"stopped after {done:,}")

    def set_total(self, total: int) -> None:
        """Say how many steps there are, once that is known."""
        self.total = total


class Jobs:
    """The jobs that go on, and the last ones that have ended."""

    def __init__(self) -> None:
        """No jobs yet."""
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="fairlead-console-job")
        self._lock = threading.Lock()
        self._jobs: dict[str, ConsoleJob] = {}

    def begin(self, job: ConsoleJob, work: Callable[[ConsoleJob], str]) -> ConsoleJob:
        """Begin a job, in the context of whoever asks. `work`: returns in words what it has done.

        Raises PageRefusal where too many go on.
        """
        with self._lock:
            ended = [old for old in self._jobs.values() if old.ended is not None]
            if len(self._jobs) - len(ended) >= RUNNING:
                raise PageRefusal(503, "Too much is being done: try again when some has ended")
            for old in ended[: max(len(self._jobs) - KEPT + 1, 0)]:
                del self._jobs[old.id]
            self._jobs[job.id] = job
        self._pool.submit(copy_context().run, _run, job, work)
        return job

    def find(self, id_: str) -> ConsoleJob | None:
        """The job with this id, if it is remembered."""
        return self._jobs.get(id_)

    def every(self) -> list[ConsoleJob]:
        """All jobs that are remembered, the latest first."""
        with self._lock:
            return [*reversed(self._jobs.values())]

    def close(self) -> None:
        """Let the jobs that go on stop after their next step."""
        for job in self.every():
            job.stops = True
        self._pool.shutdown(wait=False, cancel_futures=True)


def _run(job: ConsoleJob, work: Callable[[ConsoleJob], str]) -> None:
    try:
        job.result = work(job)
    except FairleadError as error:
        job.failed, job.result = True, str(error)
    except Exception:
        LOGGER.exception("event=failed what=%r", job.title)
        job.failed, job.result = True, "it failed, and the log of the console says how"
    finally:
        job.ended = time.time()
