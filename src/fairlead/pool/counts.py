"""How many wait and are in work in a pool."""

from __future__ import annotations

import msgspec

from fairlead.pool.queue import ReaderQueue


class DestinationCounts(msgspec.Struct, frozen=True):
    """How it stands with one destination."""

    readers: int
    working: int
    """Blocks in work there; more than readers where these have been taken away meanwhile."""
    waiting: int


class PoolCounts(msgspec.Struct, frozen=True):
    """How it stands with a pool."""

    undecided: int
    """Messages that wait for a destination to be ready."""
    destinations: dict[str, DestinationCounts]
    """By name; with several clusters as `name@CLUSTER`."""
    ended: dict[str, int]
    """By outcome: messages that are over, since the pool was made.

    `routed`: done; `failed`: the block failed; `timeout`, `cancelled`: nobody waited any more;
    `no-destination` and other outcomes of a decision; `lost`: the destination failed.
    """

    @property
    def waiting(self) -> int:
        """Messages that wait, decided or not."""
        return self.undecided + sum(
            destination.waiting for destination in self.destinations.values()
        )

    @property
    def working(self) -> int:
        """Blocks in work."""
        return sum(destination.working for destination in self.destinations.values())


def count(queue: ReaderQueue) -> DestinationCounts:
    """How it stands with the destination of a queue."""
    return DestinationCounts(queue.readers, len(queue.busy), queue.waiting)
