"""Conversations in priority order, after "Processing conversation with priority order".

The queue is a list of rows, the priority table a list of entries; a reader looks through both from
the top, each time anew. Times are exact numbers of any unit; ageing is in the same unit per step.

Beyond the document: tenants, each with a virtual time (`used`): see docs/explanation/order.md.
"""

from fractions import Fraction
from typing import Any, NamedTuple

Row = dict[str, Any]


class Hold:
    """A transaction of a reader: the group it locks, and what it received."""

    def __init__(self, group: str, tenant: str, entry: Row | None, turn: int) -> None:
        self.group = group
        self.tenant = tenant
        self.entry = entry
        self.turn = turn
        self.received: list[Row] = []
        self.charged = 0


class Pick(NamedTuple):
    """What a reader has got: its transaction, and where its group stood."""

    hold: Hold
    priority: int | None


class PriorityTable:
    """A queue of items in groups, and the priority table beside it.

    `conversations`: a group that ever had an item can be raised; else only one of which something
    waits, is worked on, or has an entry.
    """

    def __init__(
        self, discipline: str, ageing: Any, weights: Row, *, conversations: bool = True
    ) -> None:
        self.conversations = conversations
        self.fifo = discipline == "fifo"
        self.ageing = ageing
        self.weights = weights
        self.queue: list[Row] = []
        self.entries: list[Row] = []
        self.holds: list[Hold] = []
        self.groups: dict[str, str] = {}  # every group that ever had an item -> its tenant
        self.events = 0
        # The virtual time, and what each tenant has used by it; one that is not here: `clock`.
        self.clock = Fraction(0)
        self.used: dict[str, Fraction] = {}
        self.turn: dict[str, int] = {}

    # what happens

    def arrive(
        self,
        group: str,
        item: Any,
        now: Any,
        priority: int | None = None,
        tenant: str = "",
        cost: int = 1,
    ) -> None:
        before = self.tenants_with_something()
        number = self.event()
        group = group or f"alone {number}"
        self.groups[group] = tenant
        row = {"group": group, "item": item, "time": now, "number": number, "cost": cost}
        self.queue.append(row)
        self.join(before)
        for hold in self.holds:
            if hold.group == group:
                self.charge(hold, cost)
        if priority is not None:
            self.prioritise(group, now, priority)

    def prioritise(self, group: str, now: Any, priority: int = 100) -> bool:
        if self.fifo or not self.lives(group):
            return False
        before = self.tenants_with_something()
        self.entries = [entry for entry in self.entries if entry["group"] != group]
        entry = {"group": group, "priority": priority, "time": now, "number": self.event()}
        self.entries.append(entry)
        self.join(before)
        return True

    def lives(self, group: str) -> bool:
        if self.conversations:
            return group in self.groups
        at_work = any(hold.group == group for hold in self.holds)
        return bool(at_work or self.waiting(group) or self.entry_of(group))

    def take(self) -> Hold | None:
        for tenant in sorted(self.tenants_with_something(), key=self.standing):
            for group in self.in_order(tenant):
                entry = self.entry_of(group)
                if self.waiting(group):
                    if entry:
                        self.entries.remove(entry)
                    return self.lock(group, entry)
                # Nothing is left of this group: the entry is used up.
                self.entries.remove(entry)
        self.forget_if_idle()
        return None

    def lock(self, group: str, entry: Row | None) -> Hold:
        tenant = self.groups[group]
        self.clock = max(self.clock, self.used_by(tenant))
        hold = Hold(group, tenant, entry, self.turn[tenant])
        self.turn[tenant] = self.event()
        self.holds.append(hold)
        self.charge(hold, sum(row["cost"] for row in self.waiting(group)))
        return hold

    def receive(self, hold: Hold) -> Any:
        """The group's next item; None if there is none now."""
        rows = self.waiting(hold.group)
        if not rows:
            return None
        self.queue.remove(rows[0])
        hold.received.append(rows[0])
        return rows[0]["item"]

    def finish(self, hold: Hold) -> None:
        before = self.tenants_with_something()
        self.holds.remove(hold)
        self.charge(hold, -sum(row["cost"] for row in self.waiting(hold.group)))
        self.join(before)
        self.forget_if_idle()

    def rollback(self, hold: Hold) -> None:
        before = self.tenants_with_something()
        self.holds.remove(hold)
        self.queue += hold.received
        if hold.entry and not self.entry_of(hold.group):
            self.entries.append(hold.entry)
        self.join(before)
        self.turn[hold.tenant] = min(self.turn[hold.tenant], hold.turn)
        self.charge(hold, -hold.charged)

    def withdraw(self, item: Any) -> None:
        """An item that waits is not to be done any more; an entry of its group stays."""
        (row,) = [row for row in self.queue if row["item"] is item]
        self.queue.remove(row)
        for hold in self.holds:
            if hold.group == row["group"]:
                self.charge(hold, -row["cost"])
        self.forget_if_idle()

    # the order

    def in_order(self, tenant: str) -> list[str]:
        """The tenant's groups that are not locked and have an item or an entry, best first."""
        every = {row["group"] for row in [*self.queue, *self.entries]}
        free = every - {hold.group for hold in self.holds}
        return sorted((g for g in free if self.groups[g] == tenant), key=self.place)

    def place(self, group: str) -> tuple[Any, ...]:
        entry, rows = self.entry_of(group), self.waiting(group)
        if self.ageing:
            since = rows[0] if rows else entry
            priority = entry["priority"] if entry else -1
            return (since["time"] - priority * self.ageing, since["number"])
        if entry:  # prioritised groups go before all others
            return (0, -entry["priority"], entry["number"])
        return (1, rows[0]["number"])

    def waiting(self, group: str) -> list[Row]:
        rows = [row for row in self.queue if row["group"] == group]
        return sorted(rows, key=lambda row: row["number"])

    def entry_of(self, group: str) -> Row | None:
        found = [entry for entry in self.entries if entry["group"] == group]
        return found[0] if found else None

    def event(self) -> int:
        self.events += 1
        return self.events

    # the tenants

    def tenants_with_something(self) -> list[str]:
        return [tenant for tenant in sorted(set(self.groups.values())) if self.in_order(tenant)]

    def standing(self, tenant: str) -> tuple[Any, ...]:
        return (self.used_by(tenant), self.turn[tenant])

    def used_by(self, tenant: str) -> Fraction:
        return self.used.get(tenant, self.clock)

    def join(self, before: list[str]) -> None:
        """Whoever has something now and had nothing before does not bring old time along."""
        for tenant in self.tenants_with_something():
            if tenant not in before:
                self.used[tenant] = max(self.used_by(tenant), self.clock)
                self.turn[tenant] = self.event()

    def charge(self, hold: Hold, cost: int) -> None:
        weight = self.weights.get(hold.tenant, 1)
        self.used[hold.tenant] = self.used_by(hold.tenant) + Fraction(cost, weight)
        hold.charged += cost

    def forget_if_idle(self) -> None:
        if not (self.holds or self.tenants_with_something()):
            self.used.clear()
