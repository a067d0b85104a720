"""Processes that work: they are spawned, started again when they die, and stopped together.

A process of these stops when it is told to, or when its end of a pipe says that whoever started it
is gone. What it held when it died is taken back by whoever takes next.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

from fairlead.errors import FairleadError
from fairlead.store.store import Store
from fairlead.store.workers.handlers import load
from fairlead.store.workers.handling import LOGGER, Handling
from fairlead.store.workers.held import Renewals, Telling
from fairlead.store.workers.manager import ServiceManager
from fairlead.store.workers.threads import TOLD, Asked, Threads, listen, next_of
from fairlead.store.workers.worker import Worker

SHORT: Final = 5.0
"""Seconds: who lives for less is started again a little later each time."""
MAX_PAUSE: Final = 30.0
MARGIN: Final = 5.0
"""Seconds beyond the grace that a process may take to end."""
LOOK: Final = 0.1
FORMAT: Final = "%(asctime)s %(levelname)s %(process)d %(message)s"


class ProcessTask(NamedTuple):
    """What each process does."""

    url: str
    place: str
    """MODULE:NAME of the handlers."""
    queues: list[str] | None
    threads: int
    grace: float
    handling: Handling
    until_empty: bool = False


Run = Callable[[Asked, Connection], int]
"""What a process does until a signal comes; its status. By the connection it can say something."""


class Child:
    """A process that works."""

    def __init__(self, run: Run) -> None:
        """Start it."""
        context = multiprocessing.get_context("spawn")
        self._end, theirs = context.Pipe()
        self.process = context.Process(target=_run_child, args=(theirs, run))
        self.process.start()
        theirs.close()
        self.started = time.monotonic()

    def hear(self, seconds: float) -> object:
        """What it says next; None: nothing in that time, or it has ended."""
        try:
            if not self._end.closed and self._end.poll(seconds):
                return self._end.recv()
        except (EOFError, OSError):  # it has ended, or is about to
            self._end.close()
        if self._end.closed:
            self.process.join(seconds)
        return None

    def tells(self, renewals: Renewals) -> None:
        """Hear all that it says of what it holds."""
        process = self.process.pid or 0
        while (report := self.hear(0)) is not None:
            renewals.heard(process, report)
        if (report := renewals.hangs(process)) is not None:
            LOGGER.error(
                "event=too-long queue=%s group=%s process=%d; none of its threads runs, it ends",
                *(json.dumps(report.queue), json.dumps(report.group), process),
            )
            self.kill()
        if not self.process.is_alive():
            renewals.gone(process)

    def tell(self) -> None:
        """Tell it to stop."""
        self._end.close()

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        self.process.kill()
        self.process.join(MARGIN)


class Pauses:
    """After how long another process is started where one has died: a little later each time."""

    def __init__(self) -> None:
        """None has died yet."""
        self._pause = 0.0

    def after(self, child: Child) -> float:
        """Seconds."""
        lived = time.monotonic() - child.started
        self._pause = 0 if lived > SHORT else min(2 * self._pause + 1, MAX_PAUSE)
        LOGGER.warning(
            "process %s ended with status %s; another one starts in %g s",
            *(child.process.pid, child.process.exitcode, self._pause),
        )
        return self._pause


class ProcessPlace:
    """A place for a process: there is one in it, or there will be soon."""

    def __init__(self, run: Run) -> None:
        """Start the process."""
        self._run = run
        self._pauses = Pauses()
        self._due = 0.0
        self.child = Child(run)

    def look(self) -> None:
        """Start it again where it has died."""
        if self.child.process.is_alive():
            return
        now = time.monotonic()
        if not self._due:
            self.child.tell()
            self._due = now + self._pauses.after(self.child)
        if now >= self._due:
            self._due = 0.0
            self.child = Child(self._run)


def check(job: ProcessTask) -> None:
    """Find what cannot be worked on before it is begun. Raises FairleadError."""
    load(job.place, job.queues)
    Store.open(job.url, create=False).close()


def run_here(
    job: ProcessTask,
    asked: Asked,
    end: Connection | None = None,
    manager: ServiceManager | None = None,
) -> int:
    """Work in this process until a signal comes; the exit status. Raises FairleadError."""
    handlers = load(job.place, job.queues)
    store = Store.open(job.url, create=False)
    telling = None if end is None else Telling(end.send)
    worker = Worker(store, handlers, job.handling._replace(telling=telling))
    worker.start(job.threads, until_empty=job.until_empty)
    status = worker.run(asked, job.grace, manager)
    end_soon(status, worker)
    if not worker.busy:
        store.close()
    return status


def supervise(job: ProcessTask, asked: Asked, processes: int, manager: ServiceManager) -> int:
    """Let so many processes work until a signal comes; the exit status."""
    renewals = Renewals(Store.open(job.url, create=False), job.handling.lease)
    places = [ProcessPlace(partial(run_here, job)) for _ in range(processes)]
    while (signal_ := next_of(asked, LOOK)) is None:
        manager.alive()
        for place in places:
            place.child.tells(renewals)
            place.look()
    manager.stopping()
    LOGGER.info("event=stopping signal=%d", signal_)
    children = [place.child for place in places]
    for child in children:
        child.tell()
    until = time.monotonic() + job.grace + MARGIN
    status = 0
    while any(child.process.is_alive() for child in children) and time.monotonic() < until:
        number = next_of(asked, LOOK)
        manager.alive()
        if number is not None:
            status, until = 128 + number, 0
    for child in children:
        child.kill()
    renewals.close()
    return status


def end_soon(status: int, threads: Threads) -> None:
    """Where a handler hangs, the process ends all the same: Python awaits some threads."""
    if threads.hangs:
        timer = threading.Timer(MARGIN, os._exit, [status])
        timer.daemon = True
        timer.start()


def log_to_stderr() -> None:
    """One line for each event."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=FORMAT, force=True)


def _run_child(end: Connection, run: Run) -> None:
    """Work until a signal comes, or the one who started this process says so, or is dead."""
    log_to_stderr()
    for number in (signal.SIGINT, signal.SIGHUP):  # a terminal's are for the one who started this
        signal.signal(number, signal.SIG_IGN)
    signals = listen(signal.SIGTERM)
    threading.Thread(target=_hear, args=(end, signals), daemon=True).start()
    try:
        status = run(signals, end)
    except FairleadError as error:
        LOGGER.error("%s", error)
        status = 1
    sys.exit(status)


def _hear(end: Connection, asked: Asked) -> None:
    end.poll(None)  # nothing is ever sent: it is closed, then
    asked.put(TOLD)
