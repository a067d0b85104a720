"""All that waits and all that is worked on, and how it changes; nothing is checked here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fairlead.balance.objects import common_multiple
from fairlead.order.key import (
    NO_ENTRY,
    NOTHING,
    Entry,
    charged,
    joined,
    key,
    reentered,
    restored,
    taken,
)
from fairlead.order.waiting import Group, Hold, Item, Places, Tenant

BEFORE_ALL: Final = -(1 << 62)
"""The time before any is given, in microseconds."""
FEWEST_SWEPT: Final = 64


class OrderState:
    """The groups in their places, by tenant; pure, and not thread-safe.

    `step`: as in `key`. `weights`: tenant → weight; 1 for those that are not there.
    """

    def __init__(self, step: int, weights: Mapping[str, int]) -> None:
        """Nothing waits."""
        self.step = step
        self.weights = weights
        self.unit = common_multiple(weights)
        self.now = BEFORE_ALL
        self.number = 0
        self.clock = 0
        """The highest tag that a tenant had when it was next."""
        self.groups: dict[str | int, Group] = {}
        """By name, or by the number of an item that is a group of its own."""
        self.tenants: dict[str, Tenant] = {}
        self.line: Places[Tenant] = Places()
        """The tenants that have groups with a place."""
        self.holds: dict[int, Hold] = {}
        self._sweep_at = FEWEST_SWEPT

    def next_number(self) -> int:
        """Number an event."""
        self.number += 1
        return self.number

    def begin(self, name: str, tenant: str) -> None:
        """A conversation begins: its group lives until its end."""
        self._group(name, tenant).lasts = True

    def end(self, group: Group) -> None:
        """A conversation ends: its group is like others."""
        group.lasts = False
        self._drop_if_through(group)

    def send(self, name: str, tenant: str, item: object, cost: int, priority: int | None) -> None:
        """An item arrives, and raises its group; `name` "" for a group of its own."""
        number = self.next_number()
        group = self._group(name or number, tenant)
        group.items.append(Item(item, self.now, number, cost))
        if group.locked:
            self._charge(self._tenant(tenant), cost)
        if priority is not None:
            self.enter(group, priority)
        elif len(group.items) == 1:
            self._place(group, self._tenant(tenant))

    def enter(self, group: Group, priority: int) -> None:
        """Enter a group at a priority, behind its equals."""
        group.entry = Entry(priority, self.now, self.next_number())
        self._place(group, self._tenant(group.tenant))

    def take(self) -> Hold | None:
        """Lock the next group and charge its tenant for it."""
        while (tenant := self.line.first()) is not None:
            group = tenant.groups.first()
            if group is not None and group.items:
                return self._hold(tenant, group)
            if group is not None:  # nothing is left of it: its entry has had its turn
                group.entry = NO_ENTRY
                self._place(group, tenant)
                self._drop_if_through(group)
        self._forget_if_idle()
        return None

    def _hold(self, tenant: Tenant, group: Group) -> Hold:
        number = self.next_number()
        hold = Hold(number, group, group.entry, tenant.turn, group.items, 0, self.now)
        self.holds[number] = hold
        self.clock, tenant.tag, tenant.turn = taken(
            tenant.tag, self.clock, group.cost, tenant.share, number
        )
        tenant.works += 1
        group.items, group.entry, group.locked = [], NO_ENTRY, True
        self._place(group, tenant)
        return hold

    def next_of(self, hold: Hold) -> Item | None:
        """Give the reader the group's next item; None where there is none now."""
        if hold.given == len(hold.items):
            if not hold.group.items:
                return None
            hold.items += hold.group.items
            hold.group.items = []
        hold.given += 1
        return hold.items[hold.given - 1]

    def settle(self, hold: Hold) -> None:
        """What was given is out; the rest waits on, and is not charged any more."""
        group = hold.group
        tenant = self._unlock(hold)
        group.items = hold.items[hold.given :] + group.items
        group.releases = 0
        if group.items:
            self._charge(tenant, -group.cost)
        self._place(group, tenant)
        self._drop_if_through(group)
        self._forget_if_idle()

    def release(self, hold: Hold) -> None:
        """All is as before, but for what has arrived or was entered since."""
        group = hold.group
        tenant = self._unlock(hold)
        group.items = hold.items + group.items
        group.entry = reentered(group.entry, hold.entry)
        group.releases += 1
        self._place(group, tenant)
        tenant.tag, tenant.turn = restored(
            tenant.tag, tenant.turn, hold.turn, group.cost, tenant.share
        )
        self._line_up(tenant)

    def _unlock(self, hold: Hold) -> Tenant:
        del self.holds[hold.number]
        hold.group.locked = False
        tenant = self._tenant(hold.group.tenant)
        tenant.works -= 1
        return tenant

    def _group(self, name: str | int, tenant: str) -> Group:
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = Group(name, tenant)
        return group

    def _drop_if_through(self, group: Group) -> None:
        if not (group.items or group.locked or group.entry.number or group.lasts):
            del self.groups[group.name]

    def _place(self, group: Group, tenant: Tenant) -> None:
        """Put a group where it belongs now, or nowhere; and so its tenant."""
        standing = group.standing(self.step)
        if standing.number == NOTHING:
            tenant.groups.remove(group)
        else:
            tenant.groups.put(group, key(standing, self.step))
            if tenant.place is None:
                tenant.tag, tenant.turn = joined(tenant.tag, self.clock, self.next_number())
        self._line_up(tenant)

    def _line_up(self, tenant: Tenant) -> None:
        if tenant.groups:
            self.line.put(tenant, (tenant.tag, tenant.turn))
        else:
            self.line.remove(tenant)

    def _charge(self, tenant: Tenant, cost: int) -> None:
        tenant.tag = charged(tenant.tag, cost, tenant.share)
        self._line_up(tenant)

    def _tenant(self, name: str) -> Tenant:
        tenant = self.tenants.get(name)
        if tenant is None:
            if len(self.tenants) >= self._sweep_at:
                self._sweep()
            share = self.unit // self.weights.get(name, 1)
            tenant = self.tenants[name] = Tenant(name, self.clock, share)
        return tenant

    def _sweep(self) -> None:
        """Forget the tenants of whom nothing is left that a new one would not have."""
        self.tenants = {
            name: tenant
            for name, tenant in self.tenants.items()
            if tenant.groups or tenant.works or tenant.tag > self.clock
        }
        self._sweep_at = 2 * len(self.tenants) + FEWEST_SWEPT

    def _forget_if_idle(self) -> None:
        """Where nothing waits and nobody works, nobody has been charged anything."""
        if not self.line and not self.holds:
            self.tenants.clear()

    def dump(self) -> dict[str, Any]:
        """Everything that later takes depend on, as plain data; the items are apart."""
        items: list[Any] = []

        def bare(every: Iterable[Item]) -> list[list[int]]:
            batch = list(every)
            items.extend(item.item for item in batch)
            return [[item.arrived, item.number, item.cost] for item in batch]

        plain = {
            "now": self.now,
            "number": self.number,
            "clock": self.clock,
            "tenants": [[t.name, t.tag, t.turn] for t in self.tenants.values()],
            "groups": [
                [g.name, g.tenant, list(g.entry), bare(g.items), g.releases, g.lasts]
                for g in self.groups.values()
            ],
            "holds": [
                [
                    *(h.number, h.group.name, list(h.entry), h.turn),
                    *(bare(h.items), h.given, h.taken),
                ]
                for h in self.holds.values()
            ],
        }
        return {**plain, "items": items, "kept": len(items)}

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave, in a state in which nothing waits."""
        items = iter(plain["items"])
        self.now, self.number, self.clock = plain["now"], plain["number"], plain["clock"]
        for name, tag, turn in plain["tenants"]:
            tenant = self._tenant(name)
            tenant.tag, tenant.turn = tag, turn
        for name, tenant_name, entry, bare, releases, lasts in plain["groups"]:
            group = self.groups[name] = Group(name, tenant_name)
            group.entry = Entry(*entry)
            group.items = [Item(next(items), *row) for row in bare]
            group.releases, group.lasts = releases, lasts
        for number, name, entry, turn, bare, count, at in plain["holds"]:
            group, held = self.groups[name], [Item(next(items), *row) for row in bare]
            group.locked = True
            self.holds[number] = Hold(number, group, Entry(*entry), turn, held, count, at)
            self._tenant(group.tenant).works += 1
        for group in self.groups.values():
            standing = group.standing(self.step)
            if standing.number != NOTHING:
                self._tenant(group.tenant).groups.put(group, key(standing, self.step))
        for tenant in self.tenants.values():
            self._line_up(tenant)
