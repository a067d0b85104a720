"""Whose jobs and groups have a place in a line: tenants."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

from fairlead.order.waiting import SLACK, Member
from fairlead.pool.job import Job, JobGroup


class PoolTenant(Member):
    """A tenant: what it has been charged, and what of it has a place."""

    __slots__ = ("count", "heap", "name", "period", "share", "tag", "turn", "works")

    def __init__(self, name: str, share: int, tag: int, period: int) -> None:
        """`share`: by how much one unit of cost moves its tag."""
        super().__init__()
        self.name = name
        self.share = share
        self.tag = tag
        self.turn = 0
        self.period = period
        self.heap: list[tuple[Any, ...]] = []
        """(*key, job or group); of those that moved or left, stale ones, which are passed over."""
        self.count = 0
        """How many of them are not stale."""
        self.works = 0
        """How many groups of it readers have."""

    def put(self, member: Job | JobGroup, place: tuple[Any, ...]) -> None:
        """Give a job or a group, which has none, this place."""
        member.place = place
        self.count += 1
        heappush(self.heap, place)

    def remove(self, member: Job | JobGroup) -> None:
        """Take its place away."""
        member.place = None
        self.count -= 1
        if len(self.heap) > 2 * self.count + SLACK:
            self.heap = [entry for entry in self.heap if entry is entry[2].place]
            heapify(self.heap)

    def pop(self, member: Job | JobGroup) -> None:
        """Take away the place of the one that is first."""
        member.place = None
        self.count -= 1
        heappop(self.heap)

    def first(self) -> Job | JobGroup:
        """What has the lowest key; something must have a place."""
        heap = self.heap
        while True:
            member: Job | JobGroup = heap[0][2]
            if heap[0] is member.place:
                return member
            heappop(heap)

    def members(self) -> list[Job | JobGroup]:
        """All that have a place."""
        return [entry[2] for entry in self.heap if entry is entry[2].place]
