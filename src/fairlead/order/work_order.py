"""All that waits at one place and who works on it, and what is next: `order.key`, in objects.

Agendas, and the queues of a pool, stand on it. An item without a group is no group with one item:
most are such, and it is half the work. Nothing is checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic

from fairlead.order.key import (
    NO_ENTRY,
    NOTHING,
    UNRAISED,
    Entry,
    charged,
    joined,
    key,
    reentered,
    restored,
    taken,
)
from fairlead.order.waiting import Group, I, Places, Tenant

FEWEST_SWEPT: Final = 64
"""So many tenants are never too many to be remembered."""


class WorkOrder(Generic[I]):
    """What waits at one place, in its order. Pure, and not thread-safe.

    `now` is set by whoever calls, in microseconds; it never goes back.
    """

    def __init__(self, step: int, weights: Mapping[str, int], unit: int, *, fifo: bool) -> None:
        """`step`: as in `key`. `weights`: tenant → weight; `unit`: their least common multiple."""
        self.now = 0
        self.step = step
        self.weights = weights
        self.unit = unit
        self.fifo = fifo
        self.number = 0
        """Of the latest event."""
        self.clock = 0
        """The highest tag that a tenant had when it was next."""
        self.period = 0
        """In how many stretches something waited or was worked on: each begins without charges."""
        self.waiting = 0
        """How many items wait."""
        self.working = 0
        """How many groups, and items without one, readers have."""
        self.groups: dict[str, Group[I]] = {}
        self.tenants: dict[str, Tenant[I]] = {}
        self._listed: dict[str, Tenant[I]] = {}
        """The tenants of whom something has a place."""
        self._order: Places[Tenant[I]] = Places()
        """The same in order, kept only where there are several."""
        self._sweep_at = FEWEST_SWEPT

    # what comes, and what goes without work

    def send(self, item: I) -> None:
        """An item begins to wait, and raises its group if it has a priority."""
        self.number = number = self.number + 1
        item.number = number
        item.arrived = self.now
        self.waiting += 1
        tenant = self.tenants.get(item.tenant)
        if tenant is None or tenant.period != self.period:
            tenant = self._tenant(item.tenant)
        raised = UNRAISED if self.fifo or item.priority is None else item.priority
        if item.group:
            self._join(item, tenant, raised)
        else:
            item.raised = raised
            self._stand(item, tenant)

    def _join(self, item: I, tenant: Tenant[I], raised: int) -> None:
        """An item stands behind those of its group."""
        group = self._group(item.group, item.tenant)
        item.in_group = group
        group.items.append(item)
        group.cost += item.cost
        if group.locked:
            self._charge(tenant, item.cost)
        if raised != UNRAISED:
            self.enter(group, raised)
        elif len(group.items) == 1:
            self._put(group, tenant)

    def begin(self, name: str, tenant: str) -> None:
        """A conversation begins: its group lives until its end."""
        self._group(name, tenant).lasts = True

    def end(self, group: Group[I]) -> None:
        """A conversation ends: its group is like others."""
        group.lasts = False
        self._drop_if_through(group)

    def enter(self, group: Group[I], priority: int) -> None:
        """Enter a group at a priority, behind its equals."""
        self.number += 1
        group.entry = Entry(priority, self.now, self.number)
        self._put(group, self._tenant(group.tenant))

    def withdraw(self, item: I) -> None:
        """An item that waits leaves its place, wherever that is in its group."""
        self.waiting -= 1
        tenant = self._tenant(item.tenant)
        group = item.in_group
        if group is None:
            tenant.places.remove(item)
            self._line_up(tenant)
        else:
            group.items.remove(item)
            group.cost -= item.cost
            if group.locked:  # its tenant has been charged for it
                self._charge(tenant, -item.cost)
                return
            if not group.items:  # a raise needs somebody who waits
                group.entry = NO_ENTRY
            self._put(group, tenant)
            self._drop_if_through(group)
        self._forget_if_idle()

    # what readers do

    def lock(self) -> I | Group[I] | None:
        """Lock what is next for a reader, and charge its tenant for all of it."""
        member = self.first()
        if member is None:
            return None
        self.working += 1
        tenant = self.tenants[member.tenant]
        tenant.works += 1
        member.was_turn = tenant.turn
        self._take(tenant, member.cost)
        if type(member) is Group:  # quicker than isinstance; a group has no subclass
            member.was, member.entry = member.entry, NO_ENTRY
            member.locked = True
            self._put(member, tenant)
        else:
            self.waiting -= 1
            tenant.places.pop(member)
            if not tenant.places.count or len(self._listed) > 1:
                self._line_up(tenant)
        return member

    def take(self) -> I | None:
        """Give a reader the next item, and lock its group."""
        member = self.lock()
        return self.next_of(member) if type(member) is Group else member

    def next_of(self, group: Group[I]) -> I:
        """Give the reader of a group the next item of it; one must wait."""
        self.waiting -= 1
        item = group.items.popleft()
        group.cost -= item.cost
        return item

    def following(self, item: I) -> I | None:
        """The item is done: the next one of its group; None: the reader is through with the group.

        The tenant stays charged for what was done.
        """
        group = item.in_group
        if group is None:
            self.settle(item)
            return None
        if not group.items:
            self.settle(group)
            return None
        following: I = self.next_of(group)
        return following

    def settle(self, member: I | Group[I], *, untouched: bool = False) -> None:
        """A reader is through with it; what it was not given waits on, and is charged no more.

        `untouched`: for an item without a group: it was not given.
        """
        self.working -= 1
        tenant = self.tenants[member.tenant]
        tenant.works -= 1
        if type(member) is Group:
            member.locked = False
            member.releases = 0
            if member.items:
                self._charge(tenant, -member.cost)
            if member.items or member.entry.number != NOTHING:
                self._put(member, tenant)
            elif not member.lasts:
                del self.groups[member.name]
        elif untouched:
            member.raised, member.releases = UNRAISED, 0
            self._charge(tenant, -member.cost)
            self.waiting += 1
            self._stand(member, tenant)
        if not self.working:
            self._forget_if_idle()

    def release(self, member: I | Group[I], given: Sequence[I]) -> None:
        """A reader has it no more: all is as before, but for what has come or was entered since.

        `given`: of a group: the items that the reader was given, which return to their places.
        """
        self.working -= 1
        tenant = self.tenants[member.tenant]
        tenant.works -= 1
        member.releases += 1
        if type(member) is Group:
            member.locked = False
            member.items.extendleft(reversed(given))
            member.cost += sum([item.cost for item in given])
            self.waiting += len(given)
            member.entry = reentered(member.entry, member.was)
            self._put(member, tenant)
        else:
            self.waiting += 1
            self._stand(member, tenant)
        tenant.tag, tenant.turn = restored(
            tenant.tag, tenant.turn, member.was_turn, member.cost, tenant.share
        )
        self._line_up(tenant)

    def first(self) -> I | Group[I] | None:
        """What is next, an item or a group of which something waits.

        Entries of which nothing is left are used up.
        """
        while self._listed:
            tenant = self._first_tenant()
            member = tenant.places.first()
            if type(member) is not Group or member.items:
                return member
            member.entry = NO_ENTRY
            self._put(member, tenant)
            self._drop_if_through(member)
        self._forget_if_idle()
        return None

    def _first_tenant(self) -> Tenant[I]:
        tenant = self._order.first() if len(self._listed) > 1 else None
        return next(iter(self._listed.values())) if tenant is None else tenant

    # a line without readers

    def head(self) -> I | None:
        """The first item of what is next."""
        member = self.first()
        return member.items[0] if isinstance(member, Group) else member

    def leave(self, item: I) -> None:
        """The first item of what is next leaves for good; a priority lasts while others wait."""
        tenant = self._tenant(item.tenant)
        self._take(tenant, item.cost)
        group = item.in_group
        if group is None:
            self.waiting -= 1
            tenant.places.remove(item)
            self._line_up(tenant)
        else:
            self.next_of(group)
            if not group.items:
                group.entry = NO_ENTRY
            self._put(group, tenant)
            self._drop_if_through(group)
            item.in_group = None
        self._forget_if_idle()

    # a line of whom all is taken away, or to which all is brought

    def empty(self) -> list[tuple[I, int]]:
        """Take all that waits away; nobody may be at work.

        Returns the items as they arrived, each with what its group is raised to.
        """
        pairs: list[tuple[I, int]] = []
        for tenant in self._listed.values():
            for member in tenant.places:
                member.place = None
                if isinstance(member, Group):
                    pairs += [(item, member.entry.priority) for item in member.items]
                else:
                    pairs.append((member, member.raised))
        for item, _ in pairs:
            item.in_group = None
        self.groups.clear()
        self.tenants.clear()
        self._listed.clear()
        self._order = Places()
        self.waiting = 0
        self._forget_if_idle()
        return sorted(pairs, key=lambda each: each[0].number)

    def bring(
        self,
        members: Iterable[I | Group[I]],
        held: Iterable[I],
        tags: Sequence[tuple[str, int, int]],
    ) -> None:
        """Begin with what waits and is worked on, where nothing was.

        `members`: groups, locked or not, and items without one that wait. `held`: items without
        one that readers have. `tags`: tenant, its tag, its turn.
        """
        self._sweep_at += 2 * len(tags)  # none of them goes before it has its places
        for name, tag, turn in tags:
            tenant = self._tenant(name)
            tenant.tag, tenant.turn = tag, turn
        for item in held:
            self.working += 1
            self._tenant(item.tenant).works += 1
        for member in members:
            if isinstance(member, Group):
                self.groups[member.name] = member
                self.waiting += len(member.items)
                if member.locked:
                    self.working += 1
                    self._tenant(member.tenant).works += 1
            else:
                self.waiting += 1
            entry = member.standing(self.step)
            if entry.number != NOTHING:
                tenant = self._tenant(member.tenant)
                tenant.places.put(member, key(entry, self.step))
                self._listed[tenant.name] = tenant
        for tenant in self._listed.values():
            self._line_up(tenant)

    def listed(self) -> list[Tenant[I]]:
        """The tenants of whom something has a place."""
        return list(self._listed.values())

    def charges(self) -> list[tuple[str, int, int]]:
        """Tenant, tag and turn of all who have been charged something."""
        return [
            (tenant.name, tenant.tag, tenant.turn)
            for tenant in self.tenants.values()
            if tenant.period == self.period
        ]

    def items(self) -> Iterator[I]:
        """All that wait, in no order."""
        yield from self.lone_items()
        for group in self.groups.values():
            yield from group.items

    def lone_items(self) -> Iterator[I]:
        """Those without a group that wait, in no order."""
        for tenant in self._listed.values():
            for member in tenant.places:
                if not isinstance(member, Group):
                    yield member

    # places

    def _stand(self, item: I, tenant: Tenant[I]) -> None:
        """Give an item without a group its place."""
        raised, step = item.raised, self.step
        first = item.arrived - raised * step if step else -raised
        places = tenant.places
        places.add(item, (first, item.number, item))
        if places.count == 1:
            self._listing(tenant)

    def _put(self, group: Group[I], tenant: Tenant[I]) -> None:
        """Put a group where it belongs now, or nowhere; and so its tenant."""
        entry = group.standing(self.step)
        if entry.number == NOTHING:
            tenant.places.remove(group)
        else:
            tenant.places.put(group, key(entry, self.step))
            if tenant.places.count == 1:
                self._listing(tenant)
                return
        self._line_up(tenant)

    def _listing(self, tenant: Tenant[I]) -> None:
        """A tenant has something with a place; it joins the others if it had nothing before."""
        if tenant.name not in self._listed:
            self.number += 1
            tenant.tag, tenant.turn = joined(tenant.tag, self.clock, self.number)
            self._listed[tenant.name] = tenant
            if len(self._listed) == 2:
                for other in self._listed.values():
                    self._order.put(other, (other.tag, other.turn))
        if len(self._listed) > 1:
            self._line_up(tenant)

    def _line_up(self, tenant: Tenant[I]) -> None:
        """Put a tenant where it belongs now, or nowhere."""
        if tenant.places.count == 0:
            if self._listed.pop(tenant.name, None) is not None:
                self._order.remove(tenant)
        elif len(self._listed) > 1:
            self._order.put(tenant, (tenant.tag, tenant.turn))

    def _take(self, tenant: Tenant[I], cost: int) -> None:
        self.number += 1
        self.clock, tenant.tag, tenant.turn = taken(
            tenant.tag, self.clock, cost, tenant.share, self.number
        )

    def _charge(self, tenant: Tenant[I], cost: int) -> None:
        tenant.tag = charged(tenant.tag, cost, tenant.share)
        self._line_up(tenant)

    def _tenant(self, name: str) -> Tenant[I]:
        tenant = self.tenants.get(name)
        if tenant is None:
            if len(self.tenants) >= self._sweep_at:
                self._sweep()
            share = self.unit // self.weights.get(name, 1)
            tenant = self.tenants[name] = Tenant(name, share, self.clock, self.period)
        elif tenant.period != self.period:
            tenant.period, tenant.tag, tenant.turn = self.period, self.clock, 0
        return tenant

    def _sweep(self) -> None:
        """Forget the tenants of whom nothing is left that a new one would not have."""
        self.tenants = {
            name: tenant
            for name, tenant in self.tenants.items()
            if tenant.places.count
            or tenant.works
            or (tenant.period == self.period and tenant.tag > self.clock)
        }
        self._sweep_at = 2 * len(self.tenants) + FEWEST_SWEPT

    def _group(self, name: str, tenant: str) -> Group[I]:
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = Group(name, tenant)
        return group

    def _drop_if_through(self, group: Group[I]) -> None:
        if not (group.items or group.locked or group.entry.number or group.lasts):
            del self.groups[group.name]

    def _forget_if_idle(self) -> None:
        """Where nothing has a place and nobody works, nobody has been charged anything."""
        if not self.working and not self._listed:
            self.period += 1
