"""Two groups as the events of the journal tell of them, and the takes in which both took part."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field

from fairlead.order.key import NO_ENTRY, NOTHING, UNRAISED, Entry, reentered
from fairlead.store.queues.settlement import KEPT


class GroupEvent(NamedTuple):
    """A row of the journal."""

    id: int
    time: int
    kind: str
    group: str
    key: str
    tenant: str
    priority: int | None
    token: int | None
    actor: str
    detail: str | None


class GroupHistory(Struct):
    """A group, as its events say so far."""

    name: str
    tenant: str = ""
    known: bool = False
    """Whether anything happened to it."""
    waiting: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Messages: id -> number, when it came."""
    entry: Entry = NO_ENTRY
    was: Entry = NO_ENTRY
    raiser: tuple[int, str] | None = None
    """When its entry was made, and by whom."""
    was_raiser: tuple[int, str] | None = None
    token: int | None = None
    since: int = 0
    reader: str = ""

    def tell(self, event: GroupEvent) -> None:
        """What an event does to the group."""
        self.known = True
        self.tenant = event.tenant or self.tenant
        if event.kind in {"sent", "arrived"}:
            if event.kind == "arrived" or not (event.detail or "").startswith("due "):
                self.waiting.setdefault(event.key, (event.id, event.time))
                self._raise(event)
        elif event.kind == "raised":
            self._raise(event)
        elif event.kind == "taken":
            self._take(event)
        elif event.kind in {"accepted", "rejected", "expired", "dropped"}:
            if event.detail != KEPT:
                self._free(event)
            self.waiting.pop(event.key, None)
        elif event.kind == "released":
            self._free(event)
            if self.entry.priority == UNRAISED:
                self.raiser = self.was_raiser
            self.entry = reentered(self.entry, self.was)
        elif event.kind == "ended":
            self._end(event)

    def _raise(self, event: GroupEvent) -> None:
        if event.priority is not None:
            self.entry = Entry(event.priority, event.time, event.id)
            self.raiser = event.time, event.actor

    def _take(self, event: GroupEvent) -> None:
        self.was, self.entry = self.entry, NO_ENTRY
        self.was_raiser, self.raiser = self.raiser, None
        self.token, self.since, self.reader = event.token, event.time, event.actor

    def _free(self, event: GroupEvent) -> None:
        if event.token is not None and event.token == self.token:
            self.token = None

    def _end(self, event: GroupEvent) -> None:
        """What was said to the end is dropped: by the other side, and by its own timers."""
        dialog, _, side = event.key.rpartition("/")
        names = {f"{event.key}/{kind}" for kind in ("error", "timer", "lifetime")}
        other = f"{dialog}/{'t' if side == 'i' else 'i'}/"
        self.waiting = {
            name: came
            for name, came in self.waiting.items()
            if name not in names and not name.startswith(other)
        }

    def first(self) -> tuple[int, int]:
        """The number of its first message that waits, and when that came."""
        return min(self.waiting.values(), default=(NOTHING, 0))


class GroupPlace(NamedTuple):
    """A group at a moment."""

    story: str
    tenant: str
    entry: Entry
    """With which it stands; its number is NOTHING where it could not be taken."""
    came: int | None
    raised_to: int | None
    raiser: tuple[int, str] | None
    reader: str | None
    since: int


class TakeDecision(Struct):
    """A take of one of the two groups, and where the other one was."""

    time: int
    taken: GroupPlace
    other: GroupPlace
    by: str
    parked: bool = False
    """Whether the other one was released with a delay, which was not over."""
    off: bool = False
    """Whether the other one's tenant was switched off."""
    later: tuple[int, str] | None = None
    """When the other one was taken after it, and by whom."""

    @property
    def contested(self) -> bool:
        """Whether the other one could have been taken."""
        return self.other.entry.number != NOTHING and not self.parked


class Takes:
    """The latest takes of a group, where the other one is looked at, too."""

    def __init__(self) -> None:
        """None yet."""
        self.count = 0
        self.latest: TakeDecision | None = None
        self.contested: TakeDecision | None = None

    def add(self, decision: TakeDecision) -> None:
        """Another one, later than those before."""
        self.settle()
        self.count += 1
        self.latest = decision

    def settle(self) -> None:
        """The latest one will not change any more."""
        if self.latest is not None and self.latest.contested:
            self.contested = self.latest
