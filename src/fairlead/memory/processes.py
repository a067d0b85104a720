"""Processes that replay one recording in memory, a scenario each, and share its pages."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from fairlead.compiled.intake.accepted import Accepted
from fairlead.errors import FairleadError
from fairlead.memory.prepared import PreparedMessages

T = TypeVar("T")
WORTH: Final = 20_000_000
"""Messages times scenarios; with fewer, one process is done before others have started."""
READ, MESSAGES, NUMBERS = "read.arrow", "messages.arrow", "numbers.arrow"
DATED: Final = b"dated"


def at_once(messages: int, scenarios: int) -> int:
    """How many processes pay for so many scenarios of so many messages; 1: this one alone."""
    if messages * scenarios < WORTH:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(scenarios, cores or 1))


class ReplayProcesses:
    """Processes that have the messages."""

    def __init__(self, pool: ProcessPoolExecutor, number: int) -> None:
        """`number`: of processes."""
        self._pool, self.number = pool, number

    def submit(self, work: Callable[..., T], *arguments: Any) -> Future[T]:  # noqa: ANN401
        """Let one of them call a function of a module, with the messages as its first argument."""
        return self._pool.submit(_work, work, *arguments)


@contextmanager
def processes(ready: PreparedMessages, number: int) -> Iterator[ReplayProcesses]:
    """So many processes, until the block ends. Raises FairleadError where one is killed."""
    with tempfile.TemporaryDirectory(prefix="fairlead-") as name:
        save(ready, Path(name))
        pool = ProcessPoolExecutor(
            number, mp_context=get_context("spawn"), initializer=_begin, initargs=(name,)
        )
        try:
            yield ReplayProcesses(pool, number)
        except BrokenProcessPool:
            raise FairleadError(
                "replay: a process that replayed scenarios was ended from outside; memory may "
                "have been short"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def save(ready: PreparedMessages, folder: Path) -> None:
    """Put messages where other processes `load` them."""
    messages = ready.messages
    numbers = pa.table({"time": messages.times, "service": messages.services})
    numbers = numbers.replace_schema_metadata({DATED: b"1" if ready.dated else b"0"})
    for file, table in ((MESSAGES, messages.table), (READ, ready.read), (NUMBERS, numbers)):
        with (
            pa.OSFile(str(folder / file), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as writer,
        ):
            writer.write_table(table.combine_chunks())


def load(folder: Path) -> PreparedMessages:
    """What was saved, its pages shared by all who load it."""

    def table(file: str) -> pa.Table:
        return pa.ipc.open_file(pa.memory_map(str(folder / file))).read_all()

    numbers = table(NUMBERS)
    messages = Accepted(
        table(MESSAGES),
        *(np.array(numbers.column(name)) for name in ("time", "service")),
    )
    return PreparedMessages(messages, table(READ), numbers.schema.metadata[DATED] == b"1")


_own: list[PreparedMessages] = []
"""The messages of this process, if it is one of those; set once, when it begins."""


def _begin(folder: str) -> None:
    _own.append(load(Path(folder)))


def _work(work: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401
    return work(_own[0], *arguments)
