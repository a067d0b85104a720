"""The live agenda: what arrives waits in its group, and readers take what is next."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from threading import Lock
from types import MappingProxyType
from typing import Any, Final, Self

import msgspec

from fairlead.balance.objects import (
    MAX_CHARGE,
    Order,
    allowed,
    common_multiple,
    field_type,
    repr_of,
)
from fairlead.balance.refusal import read
from fairlead.balance.snapshot import opened, sealed
from fairlead.balance.times import Time, moment, seconds
from fairlead.errors import ConfigError, MessageError
from fairlead.order.key import UNRAISED
from fairlead.order.outlook import Outlook, look_ahead
from fairlead.order.queue import Work, WorkQueue, nothing_given
from fairlead.order.snapshot import Hold, dump, load
from fairlead.order.waiting import Group, Item
from fairlead.order.work_order import WorkOrder

FIFO: Final = "fifo"
BEFORE_ALL: Final = -(1 << 62)
"""The time before any is given, in microseconds."""
LOWEST, HIGHEST = 0, 255
MAX_WEIGHT: Final = 1_000_000
NO_WEIGHTS: Final[Mapping[str, int]] = MappingProxyType({})


class AgendaWork(Work):
    """A group of an agenda in the hands of a reader."""

    def __init__(self, agenda: Agenda, hold: Hold) -> None:
        """Made by `Agenda.take`, with which it is one thing."""
        self._agenda = agenda
        self._hold = hold

    @property
    def group(self) -> str:
        member = self._hold.member
        return member.name if isinstance(member, Group) else ""

    @property
    def tenant(self) -> str:
        return self._hold.member.tenant

    @property
    def priority(self) -> int | None:
        priority = self._hold.priority
        return None if priority == UNRAISED else priority

    @property
    def taken(self) -> float:
        return seconds(self._hold.taken)

    @property
    def attempt(self) -> int:
        return self._hold.attempt

    def __next__(self) -> Any:  # noqa: ANN401 - an item is whatever was sent
        return self._agenda._next(self._hold)  # noqa: SLF001

    def accept(self) -> None:
        self._agenda._settle(self._hold)  # noqa: SLF001

    def reject(self) -> list[Any]:
        self._agenda._reject(self._hold)  # noqa: SLF001
        return [item.content for item in self._hold.given]

    def release(self) -> None:
        self._agenda._release(self._hold)  # noqa: SLF001

    def __repr__(self) -> str:
        return f"<Work on {_called(self._hold.member)}, attempt {self.attempt}>"


class Agenda(WorkQueue):
    """A queue in memory. Thread-safe; it has no clock and never blocks.

    >>> from fairlead import Agenda
    >>> agenda = Agenda()
    >>> for now, order in enumerate(["o1", "o2", "o3"]):
    ...     agenda.send(order, f"pack {order}", now)
    >>> agenda.prioritise("o3", now=3)
    True
    >>> while (work := agenda.take(now=4)) is not None:
    ...     print(work.group, list(work))
    ...     work.accept()
    o3 ['pack o3']
    o1 ['pack o1']
    o2 ['pack o2']

    Times are seconds or timestamps; one before the latest given counts as the latest.

    `discipline`: `priority`: groups go by priority (highest first), equals by when they were
    entered, and then those that nobody raised, by when their first item arrived. `fifo`: all go by
    when their first item arrived; priorities are checked and change nothing.
    `default_priority`: what a group is raised to where no priority is said.
    `ageing`: seconds of waiting that are worth one step of priority; 0 = waiting is worth nothing.
    It counts from the arrival of the group's first item; a group that nobody raised is one step
    below priority 0. So nobody is overtaken by what arrives 256 steps later.
    `weights`: tenant → its weight, an integer from 1; a tenant that is not there has 1. Their least
    common multiple, times the cost of an item, is at most 2^62.

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
            raise ConfigError(f"weights: found {repr_of(weights)}, allowed: tenant → its weight")
        for tenant, weight in weights.items():
            _check_weight(tenant, weight)
        try:
            self._unit = common_multiple(weights)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        self._most = MAX_CHARGE // self._unit
        self._weights = dict(weights)
        self._line = self._nothing()
        self._holds: dict[int, Hold] = {}
        self._lock = Lock()

    def _nothing(self) -> WorkOrder[Item]:
        fifo = self._order.discipline == FIFO
        line = WorkOrder[Item](self._order.step, self._weights, self._unit, fifo=fifo)
        line.now = BEFORE_ALL
        return line

    @classmethod
    def of(cls, order: Order) -> Self:
        """An agenda as `[order]` of a cluster file says: `Agenda.of(cluster.tables.order)`."""
        if not isinstance(order, Order):
            raise ConfigError(
                f"order: found {repr_of(order)}, allowed: [order] of a cluster, which is "
                "cluster.tables.order"
            )
        return cls(
            order.discipline,
            default_priority=order.default_priority,
            ageing=order.ageing,
            weights=order.weights,
        )

    def send(
        self,
        group: str | None,
        item: object,
        now: Time,
        *,
        priority: int | None = None,
        tenant: str = "",
        cost: int = 1,
    ) -> None:
        name = "" if group is None else _text("group", group)
        _text("tenant", tenant)
        _check_priority(priority)
        _check_integer("cost", cost, 1)
        if cost > self._most:
            raise MessageError(
                f"cost: found {repr_of(cost)}, allowed: an integer from 1 to {self._most} "
                "with these weights of tenants"
            )
        with self._lock:
            self._check_tenant(name, tenant)
            self._advance_clock(now)
            self._line.send(Item(item, name, tenant, cost, priority))

    def prioritise(self, group: str, now: Time, priority: int | None = None) -> bool:
        name = _text("group", group)
        _check_priority(priority)
        with self._lock:
            self._advance_clock(now)
            known_group = self._line.groups.get(name)
            if known_group is None or self._line.fifo:
                return False
            self._line.enter(
                known_group, self._order.default_priority if priority is None else priority
            )
            return True

    def take(self, now: Time) -> Work | None:
        with self._lock:
            self._advance_clock(now)
            member = self._line.lock()
            if member is None:
                return None
            hold = Hold(self._line.number, member, self._line.now)
            self._holds[hold.number] = hold
            return AgendaWork(self, hold)

    def begin(self, group: str, *, tenant: str = "") -> None:
        """A conversation begins: its group lives until `end`, also while it is through.

        So it can be raised while nothing of it waits. Raises MessageError for a value that is not
        allowed, and for a group that is another tenant's.
        """
        name = _text("group", group)
        if not name:
            raise MessageError("group: found '', allowed: a name")
        _text("tenant", tenant)
        with self._lock:
            self._check_tenant(name, tenant)
            self._line.begin(name, tenant)

    def end(self, group: str) -> None:
        """The conversation of this group ends: the group lives as long as it would without it.

        A group that is not known is no error.
        """
        name = _text("group", group)
        with self._lock:
            known_group = self._line.groups.get(name)
            if known_group is not None:
                self._line.end(known_group)

    def waiting(self, most: int = 5) -> Outlook:
        """The groups that would be taken next if nothing more happened, at most so many, and why.

        Changes nothing. It looks at everything that waits. Raises MessageError.
        """
        _check_integer("most", most, 0)
        with self._lock:
            return look_ahead(self._line.listed(), self._line.step, most, self._line.working)

    def working(self) -> list[Work]:
        """The work in the hands of readers, in the order in which it was taken.

        After a crash, what `restore` brought back of it is to be released.
        """
        with self._lock:
            return [AgendaWork(self, hold) for hold in self._holds.values()]

    def snapshot(self) -> dict[str, Any]:
        """All state as plain data (JSON would do, if it does for the items).

        Restoring it changes nothing in what is taken later. Its content is for `restore` only; its
        format is a number in it.
        """
        with self._lock:
            return sealed({"settings": self._settings(), **dump(self._line, self._holds.values())})

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take over a snapshot of an agenda with the same settings. Raises ConfigError.

        Work that was in the hands of readers still is; `working` gives it.
        """
        snapshot = opened(snapshot)
        for name, setting in self._settings().items():
            value = snapshot["settings"][name]
            if value != setting:
                raise ConfigError(f"snapshot: {name}: found {value!r}, allowed: {setting!r}")
        items = snapshot.get("items")
        if not isinstance(items, list) or len(items) != snapshot["kept"]:
            raise ConfigError(
                f"snapshot: items: found {repr_of(items)}, allowed: a list of {snapshot['kept']}"
            )
        line = self._nothing()
        holds = load(line, snapshot)
        with self._lock:
            self._line, self._holds = line, {hold.number: hold for hold in holds}

    def _settings(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self._order)
        return {**plain, "weights": dict(self._weights)}

    def _advance_clock(self, now: Time) -> None:
        self._line.now = max(self._line.now, moment(now, "now", MessageError))

    def _check_tenant(self, name: str, tenant: str) -> None:
        group = self._line.groups.get(name) if name else None
        if group is not None:
            group.check_tenant(tenant)

    def _next(self, hold: Hold) -> Any:  # noqa: ANN401 - an item
        with self._lock:
            member = self._open(hold).member
            if not isinstance(member, Group):
                item = None if hold.given else member
            else:
                item = self._line.next_of(member) if member.items else None
            if item is None:
                raise StopIteration
            hold.given.append(item)
            return item.content

    def _settle(self, hold: Hold) -> None:
        with self._lock:
            self._close(hold)
            self._line.settle(hold.member, untouched=not hold.given)

    def _reject(self, hold: Hold) -> None:
        with self._lock:
            if not self._open(hold).given:
                raise nothing_given(_called(hold.member))
            self._close(hold)
            self._line.settle(hold.member)

    def _release(self, hold: Hold) -> None:
        with self._lock:
            self._close(hold)
            self._line.release(hold.member, hold.given)

    def _open(self, hold: Hold) -> Hold:
        if self._holds.get(hold.number) is not hold:
            raise MessageError(
                f"work on {_called(hold.member)}: it is settled already (or the agenda was "
                "restored since), allowed: to accept, reject or release it once"
            )
        return hold

    def _close(self, hold: Hold) -> None:
        del self._holds[self._open(hold).number]


def _called(member: Item | Group[Item]) -> str:
    return f"group {member.name!r}" if isinstance(member, Group) else "an item without a group"


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise MessageError(f"{what}: found {repr_of(value)}, allowed: a text")
    return value


def _check_priority(value: object) -> None:
    if value is not None and not (isinstance(value, int) and LOWEST <= value <= HIGHEST):
        words = allowed(field_type(Order, "default_priority"))
        raise MessageError(f"priority: found {repr_of(value)}, allowed: {words}, or None")


def _check_integer(what: str, value: object, least: int) -> None:
    if not (isinstance(value, int) and value >= least):
        raise MessageError(f"{what}: found {repr_of(value)}, allowed: an integer from {least}")


def _check_weight(tenant: str, value: object) -> None:
    if not isinstance(tenant, str):
        raise ConfigError(f"weights: found the tenant {repr_of(tenant)}, allowed: a text")
    if not (isinstance(value, int) and 1 <= value <= MAX_WEIGHT):
        raise ConfigError(
            f"weights: {tenant!r}: found {repr_of(value)}, "
            f"allowed: an integer from 1 to {MAX_WEIGHT}"
        )


def _order(plain: Mapping[str, object]) -> Order:
    return read(plain, Order)
