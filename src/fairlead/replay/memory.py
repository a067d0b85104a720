"""The one array of int64 that the kernel keeps everything in: how it is made, and how it grows.

`layout` says what stands where in it. Rows never move, so there can be more of them at any time;
one that is not in use stands in a list of free ones. (One array, because every array that a
compiled function is given costs much more than the function.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fairlead.replay.arrays import Cells, Rows
from fairlead.replay.layout import (
    BEFORE_ALL,
    NONE,
    completion,
    group,
    header,
    job,
    links,
    queue,
    reader,
    tenant,
    watch,
)

LEAST_ROWS: Final = 1_024
ENOUGH: Final = 1 << 62
"""Rows of what is never needed."""


@dataclass
class Chunk:
    """Rows that were made room for together."""

    start: int
    rows: int


class ReplayMemory:
    """The cells, and where what stands in them."""

    def __init__(
        self, readers: Sequence[int], *, step: int, fifo: bool, default: int, ack_timeout: int
    ) -> None:
        """Nothing waits. `readers`: by queue, how many there are at most."""
        self.cells: Cells = np.zeros(header.SIZE, np.int64)
        self._used = header.SIZE
        self.jobs: list[Chunk] = []
        m = self.cells
        m[header.NOW] = BEFORE_ALL
        for place in (header.FREE_JOB, header.FREE_GROUP, header.FREE_TENANT, header.FREE_WATCH):
            m[place] = NONE
        for place in (header.FIRST_ENDED, header.LAST_ENDED):
            m[place] = NONE
        for place in (header.OLDEST_WATCH, header.YOUNGEST_WATCH):
            m[place] = NONE
        m[header.STEP], m[header.FIFO] = step, fifo
        m[header.DEFAULT_PRIORITY], m[header.ACK_TIMEOUT] = default, ack_timeout
        m[header.WATCHES_LEFT] = 0 if ack_timeout else ENOUGH
        self._lengths: dict[int, int] = {}
        first = self._take(queue.SIZE * (len(readers) + 1))
        self.queues = [first + queue.SIZE * q for q in range(len(readers))]
        r = self._take(reader.SIZE * (sum(readers) + 1), NONE)
        for q, most in zip(
            [*self.queues, first + queue.SIZE * len(readers)], [*readers, 0], strict=True
        ):
            m = self.cells
            m[q + queue.TENANTS], m[q + queue.COUNTED], m[q + queue.SPEED] = NONE, BEFORE_ALL, 1000
            m[q + queue.FIRST_READER] = r
            m[r + reader.QUEUE : r + reader.SIZE * most : reader.SIZE] = q
            r += reader.SIZE * most
            m[header.UNASSIGNED] = q
        self.at_least(header.COMPLETIONS, completion.SIZE * (sum(readers) + 1), 0)
        self.at_least(header.TOUCHED, len(readers) + 1, 0)
        self.room(LEAST_ROWS, LEAST_ROWS)

    def _take(self, size: int, fill: int = 0) -> int:
        """Where so many new cells begin."""
        start = self._used
        self._used += size
        if self._used > len(self.cells):
            cells = np.zeros(max(self._used, 2 * len(self.cells)), np.int64)
            cells[:start] = self.cells[:start]
            self.cells = cells
        self.cells[start : self._used] = fill
        return start

    def at_least(self, place: int, size: int, fill: int) -> int:
        """Where a list of at least so many cells begins, which stands in `place`."""
        length = self._lengths.get(place, 0)
        if length < size:
            start = self._take(max(size, 2 * length), fill)
            before = self.cells[place]
            self.cells[start : start + length] = self.cells[before : before + length]
            self.cells[place] = start
            self._lengths[place] = max(size, 2 * length)
        return int(self.cells[place])

    def write(self, place: int, rows: Sequence[Sequence[int]]) -> None:
        """Write rows as the list that stands in `place`."""
        cells = np.array(rows, np.int64).ravel()
        start = self.at_least(place, len(cells), 0)
        self.cells[start : start + len(cells)] = cells

    def rows(self, chunk: Chunk) -> Rows:
        """The jobs of a chunk, a row each."""
        cells = self.cells[chunk.start : chunk.start + job.SIZE * chunk.rows]
        return cells.reshape(chunk.rows, job.SIZE)

    def room(self, jobs: int, others: int) -> None:
        """See to it that there is room for so many more jobs, and groups and tenants."""
        for free, left, width, link, least in (
            (header.FREE_JOB, header.JOBS_LEFT, job.SIZE, job.NEXT, jobs),
            (header.FREE_GROUP, header.GROUPS_LEFT, group.SIZE, group.NEXT, others),
            (header.FREE_TENANT, header.TENANTS_LEFT, tenant.SIZE, tenant.NEXT, others),
            (header.FREE_WATCH, header.WATCHES_LEFT, watch.SIZE, watch.LATER, jobs),
        ):
            if self.cells[left] >= least:
                continue
            start = self._take(width * least, NONE)
            rows = self.cells[start : start + width * least].reshape(least, width)
            rows[:, link] = start + width * np.arange(1, least + 1)
            rows[-1, link] = self.cells[free]
            if free == header.FREE_JOB:
                rows[:, job.OUTCOME] = job.FREE
                self.jobs.append(Chunk(start, least))
            elif free != header.FREE_WATCH:
                rows[:, links.PLACED] = 0
            self.cells[free] = start
            self.cells[left] += least
