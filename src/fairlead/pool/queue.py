"""A queue: what waits at a destination, and the readers there, who are busy or free.

A destination here is whatever has `readers` in the cluster's file: under ibm-mq a queue manager,
whose channels share them.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.balance.objects import Ref
from fairlead.order.work_order import WorkOrder
from fairlead.pool.job import Job


class ReaderQueue(WorkOrder[Job]):
    """A line with readers. They are numbered from 1, and the first that is free works."""

    def __init__(
        self, ref: Ref, rank: int, step: int, weights: Mapping[str, int], unit: int, *, fifo: bool
    ) -> None:
        """`ref`: whose it is; `rank`: its place among the queues. The rest as in `WorkOrder`."""
        super().__init__(step, weights, unit, fifo=fifo)
        self.ref = ref
        self.rank = rank
        self.readers = 0
        self.speed = 0
        """Thousandths of the nominal speed."""
        self.idle = 0
        """A bit for each reader who is free, the first one's the lowest."""
        self.touched = False
        """Whether its readers are to look for work."""
        self.busy: dict[int, Job] = {}
        """By reader: what he works on."""

    def resize(self, readers: int) -> None:
        """There are so many readers now; those who leave finish the group that they work on."""
        self.readers = readers
        self.idle = (1 << readers) - 1
        for reader in self.busy:
            self.idle &= ~(1 << (reader - 1))

    def engage(self) -> int:
        """The first reader who is free is so no more; there must be one."""
        first = self.idle & -self.idle
        self.idle ^= first
        return first.bit_length()

    def rest(self, reader: int) -> None:
        """A reader has nothing to do, or is not there any more."""
        del self.busy[reader]
        if reader <= self.readers:
            self.idle |= 1 << (reader - 1)

    def break_off(self) -> list[tuple[Job, int]]:
        """Take away what waits, and what is worked on: as `empty`. All readers are free."""
        for reader, job in sorted(self.busy.items()):
            self.release(job.in_group or job, (job,))
            self.rest(reader)
        return self.empty()

    @property
    def free(self) -> int:
        """How many readers have nothing to do."""
        return self.idle.bit_count()
