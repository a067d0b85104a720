"""What waits: tenants, their groups, the groups' items; and a heap in which members can move."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final, Generic, NamedTuple, TypeVar

from fairlead.order.key import NO_ENTRY, NOTHING, Entry, standing

SLACK = 16
"""So many stale tuples never matter."""

M = TypeVar("M", bound="Member")


class Member:
    """What can have a place."""

    __slots__ = ("place",)

    place: tuple[Any, ...] | None
    """The tuple that stands for it in the heap: its key, then itself. None where it has none."""

    def __init__(self) -> None:
        """Without a place."""
        self.place = None


class Places(Generic[M]):
    """Members in the order of their keys, which are unique.

    A member that moves or goes leaves a stale tuple behind, which is passed over later; when half
    of the tuples are stale, they are swept out. So every operation takes O(log n) on average.
    """

    def __init__(self) -> None:
        """Nobody has a place."""
        self._heap: list[tuple[Any, ...]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[M]:
        return (place[-1] for place in self._heap if place is place[-1].place)

    def put(self, member: M, key: tuple[int, ...]) -> None:
        """Give the member this place, instead of any that it has."""
        if member.place is None:
            self._count += 1
        elif member.place[:-1] == key:
            return
        member.place = (*key, member)
        heappush(self._heap, member.place)
        if len(self._heap) > 2 * self._count + SLACK:
            self._heap = [place for place in self._heap if place is place[-1].place]
            heapify(self._heap)

    def remove(self, member: M) -> None:
        """Take the member's place away, if it has one."""
        if member.place is not None:
            member.place = None
            self._count -= 1

    def first(self) -> M | None:
        """The member with the lowest key."""
        heap = self._heap
        while heap:
            member: M = heap[0][-1]
            if heap[0] is member.place:
                return member
            heappop(heap)
        return None


class Item(NamedTuple):
    """One item of work, as it arrived."""

    item: Any
    arrived: int
    """Microseconds."""
    number: int
    cost: int
    id: str = ""
    """What it is called; "" if nothing."""


NO_ITEM: Final = Item(None, 0, NOTHING, 0)


class Group(Member):
    """A conversation group: its items in order of arrival, and the priority it is entered with."""

    __slots__ = ("entry", "items", "lasts", "locked", "name", "releases", "tenant")

    def __init__(self, name: str | int, tenant: str) -> None:
        """`name`: a number, for an item that is a group of its own."""
        super().__init__()
        self.name = name
        self.tenant = tenant
        self.items: list[Item] = []
        """Nobody has been given these."""
        self.entry = NO_ENTRY
        self.locked = False
        self.lasts = False
        """Whether it lives when it is through, until its conversation ends."""
        self.releases = 0
        """Since work on it was last accepted or rejected."""

    def standing(self, step: int) -> Entry:
        """What it stands with among the others; its number is NOTHING if it has no place."""
        first = self.items[0] if self.items else NO_ITEM
        return standing(self.entry, first.arrived, first.number, self.locked, step)

    @property
    def cost(self) -> int:
        """Of all items that nobody has been given."""
        return sum([item.cost for item in self.items])


class Tenant(Member):
    """A tenant: what it has been charged, and its groups."""

    __slots__ = ("groups", "name", "share", "tag", "turn", "works")

    def __init__(self, name: str, tag: int, share: int) -> None:
        """`share`: by how much one unit of cost moves its tag."""
        super().__init__()
        self.name = name
        self.tag = tag
        self.share = share
        self.turn = 0
        """When it was served or began to wait, as a running number: decides among equal tags."""
        self.works = 0
        self.groups: Places[Group] = Places()


class Hold:
    """A group in the hands of a reader, and what a release restores."""

    __slots__ = ("attempt", "entry", "given", "group", "items", "number", "taken", "turn")

    def __init__(
        self,
        number: int,
        group: Group,
        entry: Entry,
        turn: int,
        items: list[Item],
        given: int,
        taken: int,
    ) -> None:
        """`entry`, `turn`: the group's and its tenant's, before; `taken`: when (microseconds)."""
        self.number = number
        self.group = group
        self.entry = entry
        self.turn = turn
        self.attempt = group.releases + 1
        self.items = items
        """What was there, and what came and was given since."""
        self.given = given
        """How many of them the reader has been given."""
        self.taken = taken
