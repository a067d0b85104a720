"""The live agenda: what arrives waits in its group, and readers take what is next."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from threading import Lock
from types import MappingProxyType
from typing import Any, Final, Self

import msgspec

from fairlead.balance.objects import Order, allowed, field_type, spelled
from fairlead.balance.refusal import read
from fairlead.balance.snapshot import opened, sealed
from fairlead.balance.times import Time, moment, seconds
from fairlead.errors import ConfigError, MessageError
from fairlead.order.key import UNRAISED
from fairlead.order.outlook import Outlook, look_ahead
from fairlead.order.state import State
from fairlead.order.waiting import Group, Hold

FIFO: Final = "fifo"
LOWEST, HIGHEST = 0, 255
MAX_WEIGHT: Final = 1_000_000
NO_WEIGHTS: Final[Mapping[str, int]] = MappingProxyType({})


class Work:
    """A group in the hands of a reader. Iterating gives its items, in the order of their arrival.

    Each item is given once. The iteration ends when nothing more is there at that moment; what
    arrives for the group before the work is finished can still be had by iterating on.
    """

    def __init__(self, agenda: Agenda, hold: Hold) -> None:
        """Made by `Agenda.take`."""
        self._agenda = agenda
        self._hold = hold

    @property
    def group(self) -> str:
        """The group's name; "" for an item that arrived without a group."""
        name = self._hold.group.name
        return name if isinstance(name, str) else ""

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self._hold.group.tenant

    @property
    def priority(self) -> int | None:
        """The priority with which it was taken; None if nobody had raised it."""
        priority = self._hold.entry.priority
        return None if priority == UNRAISED else priority

    @property
    def taken(self) -> float:
        """When it was taken, in seconds."""
        return seconds(self._hold.taken)

    @property
    def attempt(self) -> int:
        """1, and 1 more for each rollback since the group was last finished."""
        return self._hold.attempt

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:  # noqa: ANN401 - an item is whatever arrived
        return self._agenda._next(self._hold)  # noqa: SLF001 - an agenda and its work are one thing

    def __repr__(self) -> str:
        return f"<Work on {_called(self._hold.group)}, attempt {self.attempt}>"


class Agenda:
    """What waits, and what a reader takes next. Thread-safe; it has no clock and waits for nobody.

    >>> from fairlead import Agenda
    >>> agenda = Agenda()
    >>> for now, order in enumerate(["o1", "o2", "o3"]):
    ...     agenda.arrive(order, f"pack {order}", now)
    >>> agenda.prioritise("o3", now=3)
    True
    >>> while (work := agenda.take(now=4)) is not None:
    ...     print(work.group, list(work))
    ...     agenda.finish(work)
    o3 ['pack o3']
    o1 ['pack o1']
    o2 ['pack o2']

    Items of one group are taken in the order in which they arrived, and by one reader at a time.
    Times are seconds or timestamps; one that is before the latest told counts as the latest.

    `discipline`: `priority`: groups go by priority (highest first), equals by when they were
    entered, and then those that nobody raised, by when their first item arrived. `fifo`: all go by
    when their first item arrived; priorities are checked and change nothing.
    `default_priority`: what a group is raised to where no priority is said.
    `ageing`: seconds of waiting that are worth one step of priority; 0 = waiting is worth nothing.
    It counts from the arrival of the group's first item; a group that nobody raised is one step
    below priority 0. So nobody is overtaken by what arrives 256 steps later.
    `weights`: tenant → its weight, an integer from 1; a tenant that is not there has 1.

    Raises ConfigError.
    """

    def __init__(
        self,
        discipline: str = "priority",
        *,
        default_priority: int = 100,
        ageing: Decimal | float = 0,
        weights: Mapping[str, int] = NO_WEIGHTS,
    ) -> None:
        """Nothing waits."""
        self._order = _order(
            {"discipline": discipline, "default_priority": default_priority, "ageing": ageing}
        )
        if not isinstance(weights, Mapping):
            raise ConfigError(f"weights: found {spelled(weights)}, allowed: tenant → its weight")
        for tenant, weight in weights.items():
            _check_weight(tenant, weight)
        self._weights = dict(weights)
        self._state = State(self._order.step, self._weights)
        self._lock = Lock()

    @classmethod
    def of(cls, order: Order, *, weights: Mapping[str, int] = NO_WEIGHTS) -> Self:
        """An agenda as `[order]` of a cluster file says: `Agenda.of(cluster.tables.order)`."""
        if not isinstance(order, Order):
            raise ConfigError(
                f"order: found {spelled(order)}, allowed: [order] of a cluster, which is "
                "cluster.tables.order"
            )
        return cls(
            order.discipline,
            default_priority=order.default_priority,
            ageing=order.ageing,
            weights=weights,
        )

    def arrive(
        self,
        group: str | None,
        item: object,
        now: Time,
        *,
        priority: int | None = None,
        tenant: str = "",
        cost: int = 1,
    ) -> None:
        """An item of work has arrived for a group; a `priority` (0 to 255) raises the group, too.

        `group`: None or "" = the item is a group of its own. `tenant`: whose it is. Tenants that
        have work waiting share by their weights what is taken, counted in `cost`: an integer from
        1, in any unit. Raises MessageError, having done nothing, for a value that is not allowed,
        and for a group that is another tenant's.
        """
        name = "" if group is None else _text("group", group)
        _text("tenant", tenant)
        _check_priority(priority)
        _check_integer("cost", cost, 1)
        with self._lock:
            found = self._state.groups.get(name) if name else None
            if found is not None and found.tenant != tenant:
                raise MessageError(
                    f"tenant of group {name!r}: found {tenant!r}, allowed: {found.tenant!r}"
                )
            self._tell(now)
            raised = None if self._order.discipline == FIFO else priority
            self._state.arrive(name, tenant, item, cost, raised)

    def prioritise(self, group: str, now: Time, priority: int | None = None) -> bool:
        """Enter a group at a priority (0 to 255; None: the default one), behind its equals.

        This waits for nobody: a group in a reader's hands is entered, too, with what will be left
        of it or arrive for it. Returns whether the group was entered: False, and nothing changes,
        where nothing has ever arrived for it, and under `fifo`. Raises MessageError.
        """
        name = _text("group", group)
        _check_priority(priority)
        with self._lock:
            self._tell(now)
            found = self._state.groups.get(name)
            if found is None or self._order.discipline == FIFO:
                return False
            self._state.enter(found, self._order.default_priority if priority is None else priority)
            return True

    def take(self, now: Time) -> Work | None:
        """Take the next group, which is locked until `finish` or `rollback`; None: there is none.

        Groups in the hands of readers are passed over. Taking a group ends its priority; so does
        its turn, where nothing of it waits. Raises MessageError.
        """
        with self._lock:
            self._tell(now)
            hold = self._state.take()
            return Work(self, hold) if hold is not None else None

    def finish(self, work: Work) -> None:
        """The reader is through: what it was given is done.

        What it was not given waits on, as of its arrival. Raises MessageError where the work is
        finished or rolled back already.
        """
        with self._lock:
            self._state.finish(self._open(work))

    def rollback(self, work: Work) -> None:
        """The reader has failed: the items return to their places, and the group to its own.

        If the group was entered at a priority meanwhile, that counts. Raises MessageError where the
        work is finished or rolled back already.
        """
        with self._lock:
            self._state.rollback(self._open(work))

    def end(self, group: str) -> None:
        """Nothing more will come for this group: forget it.

        Otherwise it is remembered that it was there, and may be raised. A group that is not known
        is no error. Raises MessageError where something of it waits or is worked on.
        """
        name = _text("group", group)
        with self._lock:
            found = self._state.groups.get(name)
            if found is None:
                return
            if found.items or found.locked:
                what = "is being worked on" if found.locked else "has items waiting"
                raise MessageError(f"end: group {name!r} {what}, allowed: a group that is through")
            self._state.end(found)

    def working(self) -> list[Work]:
        """The work in the hands of readers, in the order in which it was taken.

        After a crash, what `restore` brought back of it is to be rolled back.
        """
        with self._lock:
            return [Work(self, hold) for hold in self._state.holds.values()]

    def explain(self, most: int = 5) -> Outlook:
        """The groups that would be taken next if nothing more happened, at most so many, and why.

        Changes nothing. It looks at everything that waits. Raises MessageError.
        """
        _check_integer("most", most, 0)
        with self._lock:
            return look_ahead(self._state.line, self._order.step, most, len(self._state.holds))

    def snapshot(self) -> dict[str, Any]:
        """All state as plain data (JSON would do, if it does for the items).

        Restoring it changes nothing in what is taken later. Its content is for `restore` only; its
        format is a number in it.
        """
        with self._lock:
            return sealed({"settings": self._settings(), **self._state.dump()})

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take over a snapshot of an agenda with the same settings. Raises ConfigError.

        Work that was in the hands of readers still is; `working` gives it.
        """
        snapshot = opened(snapshot)
        for name, own in self._settings().items():
            found = snapshot["settings"][name]
            if found != own:
                raise ConfigError(f"snapshot: {name}: found {found!r}, allowed: {own!r}")
        items = snapshot.get("items")
        if not isinstance(items, list) or len(items) != snapshot["kept"]:
            raise ConfigError(
                f"snapshot: items: found {spelled(items)}, allowed: a list of {snapshot['kept']}"
            )
        state = State(self._order.step, self._weights)
        state.load(snapshot)
        with self._lock:
            self._state = state

    def _settings(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self._order)
        return {**plain, "weights": dict(self._weights)}

    def _tell(self, now: Time) -> None:
        self._state.now = max(self._state.now, moment(now, "now", MessageError))

    def _next(self, hold: Hold) -> Any:  # noqa: ANN401 - an item
        with self._lock:
            given = self._state.next_of(self._open_hold(hold))
        if given is None:
            raise StopIteration
        return given.item

    def _open(self, work: Work) -> Hold:
        if not isinstance(work, Work):
            raise MessageError(f"work: found {spelled(work)}, allowed: what take returned")
        return self._open_hold(work._hold)  # noqa: SLF001 - as in Work

    def _open_hold(self, hold: Hold) -> Hold:
        if self._state.holds.get(hold.number) is not hold:
            raise MessageError(
                f"work on {_called(hold.group)}: it is finished or rolled back already (or it is "
                "another agenda's), allowed: to finish or roll back once"
            )
        return hold


def _called(group: Group) -> str:
    return f"group {group.name!r}" if isinstance(group.name, str) else "an item without a group"


def _text(what: str, found: object) -> str:
    if not isinstance(found, str):
        raise MessageError(f"{what}: found {spelled(found)}, allowed: a text")
    return found


def _check_priority(found: object) -> None:
    if found is not None and not (isinstance(found, int) and LOWEST <= found <= HIGHEST):
        words = allowed(field_type(Order, "default_priority"))
        raise MessageError(f"priority: found {spelled(found)}, allowed: {words}, or None")


def _check_integer(what: str, found: object, least: int) -> None:
    if not (isinstance(found, int) and found >= least):
        raise MessageError(f"{what}: found {spelled(found)}, allowed: an integer from {least}")


def _check_weight(tenant: str, found: object) -> None:
    if not isinstance(tenant, str):
        raise ConfigError(f"weights: found the tenant {spelled(tenant)}, allowed: a text")
    if not (isinstance(found, int) and 1 <= found <= MAX_WEIGHT):
        raise ConfigError(
            f"weights: {tenant!r}: found {spelled(found)}, "
            f"allowed: an integer from 1 to {MAX_WEIGHT}"
        )


def _order(plain: Mapping[str, object]) -> Order:
    return read(plain, Order)
