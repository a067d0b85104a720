"""How a signal ends a command: soon, in order, with one line, and with nothing left behind.

What is under way when a signal comes is left by an exception, so that everything is cleared away
by whoever made it. Before that, the processes that this one has started are ended, so that nobody
writes any more; and what libraries would say about that is not to be heard.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NOTHING: Final = "nothing was delivered"
DELIVERING_NOTHING: Final = {"fairlead.store.store", "fairlead.sockets.loop"}
"""Loaded by the commands that deliver no results: what they took from a store is given back."""
DELIVERING_OF_STORES: Final = "fairlead.cli.recorded"
"""Loaded by those that deliver results of what a store has recorded."""
SECONDS_TO_END: Final = 3
"""How long Spark may take to end in order; then it is killed."""


class Stopped(SystemExit):
    """A signal asked this process to end; its status is the one that a shell would give it."""

    received: Stopped | None = None
    """The one that was raised, also where somebody has caught it since."""

    def __init__(self, number: int) -> None:
        """`number`: the signal's."""
        super().__init__(128 + number)
        self.status = 128 + number


def listen() -> None:
    """End this process in order at a signal, from now on; those that are ignored stay ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def say(stopped: Stopped) -> int:
    """Say that the command was stopped; returns the status."""
    deliver = sys.modules.get("fairlead.runs.delivery")
    delivered = deliver.ResultsDelivery.delivered if deliver is not None else []
    what = f"delivered before: {', '.join(delivered)}" if delivered else NOTHING
    delivers = DELIVERING_OF_STORES in sys.modules or DELIVERING_NOTHING.isdisjoint(sys.modules)
    line = f"stopped; {what}" if delivers else "stopped"
    with suppress(OSError):  # the terminal may be what is gone
        print(f"fairlead: {line}", file=sys.stderr, flush=True)
    return stopped.status


def close() -> None:
    """Signals do nothing any more: all is done, or is being ended."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def handler_kept() -> Iterator[None]:
    """Keep the handler of SIGINT, where PySpark would put one of its own."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


@contextmanager
def prevailing() -> Iterator[None]:
    """Once stopped, neither an error that followed nor an end that was near counts."""
    try:
        yield
    finally:
        if Stopped.received is not None:
            raise Stopped.received


@contextmanager
def at_the_end() -> Iterator[None]:
    """Let a signal wait: a process that is being started could not be ended yet."""
    _waiting.begun = True
    try:
        yield
    finally:
        _waiting.begun = False
        if _waiting.number is not None:
            _stop(_waiting.number, None)


class _SignalWaiting:
    begun = False
    number: int | None = None
    """The signal's that came meanwhile."""


_waiting: Final = _SignalWaiting()


def _stop(number: int, _: object) -> None:
    if _waiting.begun:
        _waiting.number = number
        return
    close()
    Stopped.received = Stopped(number)
    _be_quiet()
    _end_processes()
    raise Stopped.received


def _be_quiet() -> None:
    """What is interrupted now would complain in many ways, in this thread and in others."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    threading.excepthook = lambda _: None
    sys.unraisablehook = lambda _: None


def _end_processes() -> None:
    started = _started()
    # A JVM that somebody else started, here or elsewhere, works for us until it is interrupted.
    # Ours would complain of the work that is taken from it.
    _for_a_while(_hush_java if started else _interrupt_spark)
    for process in started:
        process.terminate()
    if not _end(started):
        for process in started:
            process.kill()
        _end(started)


def _end(processes: list[subprocess.Popen[bytes]]) -> bool:
    """Whether they all end in time."""
    deadline = time.monotonic() + SECONDS_TO_END
    while any(map(_runs, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _runs(process: subprocess.Popen[bytes]) -> bool:
    """Whether it runs; `poll` cannot tell where what was interrupted is a `wait` for it."""
    try:
        status = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return status is None


def _for_a_while(what: Callable[[], None]) -> None:
    """Do what Java may never answer: in a thread, which is left behind then."""
    doing = threading.Thread(target=what, daemon=True)
    doing.start()
    doing.join(SECONDS_TO_END)


def _started() -> list[subprocess.Popen[bytes]]:
    """The processes that this one has started; while Spark starts, PySpark alone knows its JVM."""
    every = [thing for thing in gc.get_objects() if type(thing) is subprocess.Popen]
    return [process for process in every if getattr(process, "pid", None) and _runs(process)]


def _hush_java() -> None:
    """Let our JVM log nothing more."""
    if "pyspark" in sys.modules:
        from pyspark import SparkContext

        java = SparkContext._jvm  # noqa: SLF001 - there may be no session yet
        if java is not None:
            log4j = java.org.apache.logging.log4j
            log4j.core.config.Configurator.setAllLevels("", log4j.Level.OFF)


def _interrupt_spark() -> None:
    if "pyspark.sql" in sys.modules:
        from pyspark.sql import SparkSession

        SparkSession.active().interruptAll()
