"""A stream that runs: what is done with each micro-batch, waited for and stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError
from fairlead.pipeline.intake.read import reading
from fairlead.pipeline.spark.session import compiled_methods

DAY: Final = 86_400.0
LONGEST: Final = 100 * 365 * DAY
EVERY: Final = 10.0
"""Seconds between two micro-batches, where nothing else is said."""
NO_CONNECT: Final = (
    "follow: found Spark Connect, allowed: a session with a JVM, such as local[4] or "
    "spark://host:7077"
)


class BatchWork:
    """What is done with each micro-batch: one at a time, and none once it is being stopped."""

    def __init__(self, act: Callable[[DataFrame, int], None]) -> None:
        """`act`: takes the rows of a micro-batch, and its number."""
        self._act = act
        self.error: Exception | None = None
        """What ended the stream."""
        self.busy: Final = threading.Lock()
        self.stopping: Final = threading.Event()

    def __call__(self, rows: DataFrame, batch: int) -> None:
        with self.busy:
            if self.stopping.is_set():
                raise _Stopping
            try:
                with reading(), compiled_methods(rows):
                    self._act(rows, batch)
            except Exception as error:
                self.error = error
                raise


def check_seconds(name: str, value: float) -> None:
    """Raises MessageError for a time that no stream has."""
    if not 0 < value <= LONGEST:
        raise MessageError(
            f"{name}: found {repr_of(value)}, allowed: a number of seconds above 0, at most "
            f"{LONGEST:.0f}"
        )


def begun(
    messages: DataFrame, work: BatchWork, checkpoint: str, every: float, *, available_now: bool
) -> StreamingQuery:
    """The query that brings micro-batches to the work. `every`: seconds between two of them."""
    writer = messages.writeStream.foreachBatch(work).option("checkpointLocation", checkpoint)
    when = (
        writer.trigger(availableNow=True)
        if available_now
        else writer.trigger(processingTime=f"{every} seconds")
    )
    return when.start()


class RunningStream:
    """A query of Spark's that does this work."""

    def __init__(self, query: StreamingQuery, work: BatchWork, held: ExitStack) -> None:
        """`held`: what is kept until it ends."""
        self._query, self._work, self._held = query, work, held
        self._ended = False

    @property
    def active(self) -> bool:
        """Whether it goes on."""
        return bool(self._query.isActive)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; False where it goes on after `timeout` seconds.

        Raises what ended it, where that was an error.
        """
        try:
            ended = self._query.awaitTermination(timeout)  # type: ignore[arg-type]  # floats do
        except PySparkException:
            self._end()
            if self._work.error is not None:
                raise self._work.error from None
            raise
        if timeout is not None and not ended:
            return False
        self._end()
        return True

    def stop(self) -> None:
        """Let the micro-batch that is under way be finished, and end."""
        self._work.stopping.set()
        with self._work.busy:
            self._query.stop()
        self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._held.close()


class _Stopping(Exception):  # noqa: N818 - it is no error
    """The stream is being stopped; the micro-batch comes again when it goes on."""
