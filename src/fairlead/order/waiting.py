"""What waits: items, their groups, the tenants whose they are; and a heap whose members move."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final, Generic, Protocol, TypeVar, final

from fairlead.errors import MessageError
from fairlead.order.key import NO_ENTRY, NOTHING, UNRAISED, Entry, standing

SLACK: Final = 16
"""So many stale tuples never matter."""


class Placed(Protocol):
    """What can have a place."""

    place: tuple[Any, ...] | None
    """The tuple that stands for it in a heap: its key, then itself. None: it has no place."""


M = TypeVar("M", bound=Placed)
I = TypeVar("I", bound="Item")  # noqa: E741 - an item


@final
class Places(Generic[M]):
    """Members in the order of their keys, which are unique.

    A member that moves or goes leaves a stale tuple behind, which is passed over later; when half
    of the tuples are stale, they are swept out. So every operation takes O(log n) on average.
    """

    __slots__ = ("count", "heap")

    def __init__(self) -> None:
        """Nobody has a place."""
        self.heap: list[tuple[Any, ...]] = []
        self.count = 0
        """How many members have a place."""

    def __iter__(self) -> Iterator[M]:
        return (place[-1] for place in self.heap if place is place[-1].place)

    def put(self, member: M, key: tuple[int, ...]) -> None:
        """Give the member this place, instead of any that it has."""
        if member.place is not None:
            if member.place[:-1] == key:
                return
            self.remove(member)
        self.add(member, (*key, member))

    def add(self, member: M, place: tuple[Any, ...]) -> None:
        """Give a member, which has no place, this one: its key, then itself."""
        member.place = place
        self.count += 1
        heappush(self.heap, place)

    def remove(self, member: M) -> None:
        """Take the member's place away, if it has one."""
        if member.place is None:
            return
        member.place = None
        self.count -= 1
        if len(self.heap) > 2 * self.count + SLACK:
            self.heap = [place for place in self.heap if place is place[-1].place]
            heapify(self.heap)

    def pop(self, member: M) -> None:
        """Take away the place of the member that is first."""
        member.place = None
        self.count -= 1
        heappop(self.heap)

    def first(self) -> M | None:
        """The member with the lowest key."""
        heap = self.heap
        while heap:
            member: M = heap[0][-1]
            if heap[0] is member.place:
                return member
            heappop(heap)
        return None


class Item:
    """One item of work, in a group or one of its own, in which case it has a place itself."""

    # What most items do not change stands here once: it is not written for each.
    place: tuple[Any, ...] | None = None
    in_group: Group[Any] | None = None
    """Its group, where it waits or is worked on; None: it is one of its own."""
    raised: int = UNRAISED
    """Without a group: the priority that it waits with."""
    releases: int = 0
    """Without a group: as `Group.releases`."""
    was_turn: int = 0
    """Without a group: of its tenant, before a reader took it."""
    id: str = ""
    """What it is called; "" if nothing."""

    arrived: int
    """When it came to where it waits, in microseconds."""
    number: int
    """The running number of that, there."""

    def __init__(
        self,
        content: object,
        group: str = "",
        tenant: str = "",
        cost: int = 1,
        priority: int | None = None,
    ) -> None:
        """`group` "" for an item of its own; `priority`: to which it raises its group."""
        self.content: Any = content
        self.group = group
        self.tenant = tenant
        self.cost = cost
        self.priority = priority

    def shown(self) -> Any:  # noqa: ANN401 - an item is whatever was sent
        """What people are shown of it."""
        return self.content

    def standing(self, step: int) -> Entry:
        """What it stands with among others, where it is one of its own."""
        return Entry(self.raised, self.arrived, self.number)


@final
class Group(Generic[I]):
    """A group: its items that wait, in order of arrival, and the priority it is entered with."""

    __slots__ = (
        *("cost", "entry", "items", "lasts", "locked", "name", "place", "releases", "tenant"),
        *("was", "was_turn"),
    )

    def __init__(self, name: str, tenant: str) -> None:
        """Nothing of it waits."""
        self.name = name
        self.tenant = tenant
        self.items: deque[I] = deque()
        """No reader has been given these."""
        self.cost = 0
        """Of all of them."""
        self.entry = NO_ENTRY
        self.locked = False
        self.lasts = False
        """Whether it lives when it is through, until its conversation ends."""
        self.releases = 0
        """Since work on it was last accepted or rejected."""
        self.was = NO_ENTRY
        """The entry with which it was taken, while it is locked."""
        self.was_turn = 0
        """Of its tenant, before a reader took it."""
        self.place: tuple[Any, ...] | None = None

    def check_tenant(self, tenant: str) -> None:
        """A group is one tenant's. Raises MessageError where it is another one's."""
        if tenant != self.tenant:
            raise MessageError(
                f"tenant of group {self.name!r}: found {tenant!r}, allowed: {self.tenant!r}"
            )

    def standing(self, step: int) -> Entry:
        """What it stands with among the others; its number is NOTHING if it has no place."""
        arrived, number = 0, NOTHING
        if self.items:
            arrived, number = self.items[0].arrived, self.items[0].number
        return standing(self.entry, arrived, number, self.locked, step)


@final
class Tenant(Generic[I]):
    """A tenant: what it has been charged, and what of it has a place."""

    __slots__ = ("name", "period", "place", "places", "share", "tag", "turn", "works")

    def __init__(self, name: str, share: int, tag: int, period: int = 0) -> None:
        """`share`: by how much one unit of cost moves its tag; `period`: as in `WorkOrder`."""
        self.name = name
        self.share = share
        self.tag = tag
        self.turn = 0
        """When it was served or began to wait, as a running number: decides among equal tags."""
        self.period = period
        self.places: Places[I | Group[I]] = Places()
        self.works = 0
        """How many groups of it readers have."""
        self.place: tuple[Any, ...] | None = None
