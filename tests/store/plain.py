"""The plainest model of a store's queue: lists, looked through from the top each time anew.

The order of work and the tenants are those of the oracle; what a store adds to them (leases,
delays, expiry, failures, dead letters, ids that are known) is written down here. Times are whole
microseconds. What is due happens when somebody looks, as in the store.
"""

from collections import Counter
from copy import deepcopy
from typing import Any

from tests.oracle.service_broker import Hold, PriorityTable

Row = dict[str, Any]


class PlainQueue(PriorityTable):
    """A queue, and everything that happened to it."""

    def __init__(self, discipline: str, step: int, weights: Row, max_failures: int) -> None:
        super().__init__(discipline, step, weights, conversations=False)
        self.max_failures = max_failures
        self.now = 0
        self.latest = 0
        self.parked: dict[str, int] = {}
        self.born: dict[str, int] = {}
        self.releases: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.delayed: list[Row] = []
        self.dead: list[Row] = []
        self.known: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.accepted: list[Row] = []

    @property
    def moment(self) -> int:
        return max(self.now, self.latest)

    def log(self, kind: str, count: int = 1) -> None:
        self.counts[kind] += count
        self.latest = self.moment

    # what senders and operators do

    def send(self, row: Row) -> None:
        if row["key"] in self.known:
            return
        if row["key"]:
            self.known.add(row["key"])
        if row["delay"]:
            self.delayed.append({**row, "due": self.now + row["delay"], "number": self.event()})
        else:
            self.comes(row)
        self.log("sent")

    def comes(self, row: Row) -> None:
        name = row["group"]
        if name and not self.lives(name):
            self.begins(name)
        more = {key: row[key] for key in ("priority", "tenant", "cost")}
        before = self.events
        self.arrive(name, row["item"], self.moment, **more)
        if not name or name not in self.born:
            self.born[self.queue[-1]["group"]] = before + 1
        self.queue[-1] |= {"expires": row["expires"], "lone": not name}

    def begins(self, name: str) -> None:
        for kept in (self.born, self.releases, self.failures):
            kept.pop(name, None)

    def raises(self, group: str, priority: int) -> bool:
        raised = self.prioritise(group, self.moment, priority)
        if raised:
            self.log("raised")
        return raised

    def requeue(self) -> int:
        again, self.dead = sorted(self.dead, key=lambda row: row["number"]), []
        for row in again:
            self.comes({**row, "group": "" if row["lone"] else row["group"], "expires": None})
        if again:
            self.log("arrived", len(again))
        return len(again)

    # what readers do

    def looks(self) -> None:
        """Whatever is due happens."""
        for hold in sorted(self.holds, key=lambda hold: hold.deadline):
            if hold.deadline <= self.now:
                self.queue += hold.received
                hold.received = []
                self.give_back(hold, failed=True)
        due = [row for row in self.delayed if row["due"] <= self.now]
        for row in sorted(due, key=lambda row: (row["due"], row["number"])):
            self.delayed.remove(row)
            self.comes(row)
            self.log("arrived")
        for group in sorted(self.parked, key=lambda group: self.born[group]):
            if self.parked[group] <= self.now:
                before = self.tenants_with_something()
                del self.parked[group]
                self.join(before)
                self.log("woken")

    def pick(self, lease: int, name: str | None = None) -> Hold | None:
        """The next group, or the one that is named."""
        found = self.first(name)
        if found is not None:
            hold = self.lock(found, self.entry_of(found))
            if hold.entry:
                self.entries.remove(hold.entry)
            hold.deadline = self.now + lease
            hold.read = self.waiting(found)
            hold.bad = []
            self.log("taken")
        self.forget_if_idle()
        return self.holds[-1] if found is not None else None

    def first(self, name: str | None) -> str | None:
        for tenant in sorted(self.tenants_with_something(), key=self.standing):
            for group in self.in_order(tenant):
                if name is not None and group != name:
                    continue
                for row in self.waiting(group):
                    if self.expired(row):
                        self.queue.remove(row)
                        self.dead.append({**row, "tenant": tenant, "priority": None})
                        self.log("expired")
                if self.waiting(group):
                    return group
                self.entries = [entry for entry in self.entries if entry["group"] != group]
        return None

    def gives(self, hold: Hold) -> Row | None:
        """The group's next message."""
        if len(hold.received) == len(hold.read):
            if hold.group.startswith("alone"):
                return None
            rest = [r for r in self.waiting(hold.group) if r not in hold.read]
            rest = [row for row in rest if not self.expired(row)]
            last = max((row["number"] for row in hold.read), default=0)
            hold.read += [row for row in rest if row["number"] > last] or rest
        if len(hold.received) == len(hold.read):
            return None
        row = hold.read[len(hold.received)]
        self.queue.remove(row)
        hold.received.append(row)
        return row

    def accept(self, hold: Hold) -> None:
        good = [row for row in hold.received if row not in hold.bad]
        self.accepted += good
        self.bury(hold, hold.bad)
        self.log("accepted", len(good) if hold.received else 1)
        self.ends(hold)

    def reject(self, hold: Hold) -> None:
        self.bury(hold, hold.received)
        self.log("rejected", 0 if hold.received else 1)
        self.ends(hold)

    def give_back(self, hold: Hold, delay: int = 0, *, failed: bool, done: int = 0) -> None:
        group = hold.group
        first, hold.received = hold.received[:done], hold.received[done:]
        if first:
            self.releases.pop(group, None)
            self.failures.pop(group, None)
            good = [row for row in first if row not in hold.bad]
            self.accepted += good
            self.bury(hold, [row for row in first if row in hold.bad])
            self.log("accepted", len(good))
        self.failures[group] += failed
        if failed and self.failures[group] >= self.max_failures:
            if not hold.received and not first:
                hold.received = self.waiting(group)[:1]
                self.queue.remove(hold.received[0])
            self.bury(hold, hold.received)
            self.ends(hold)
            return
        self.releases[group] += 1
        if delay:
            self.parked[group] = self.now + delay
        if first:
            self.goes_on(hold)
        else:
            self.rollback(hold)
        self.log("released")

    def goes_on(self, hold: Hold) -> None:
        """The group was served; what is left of it goes back to its place."""
        self.queue += hold.received
        if hold.entry and not self.entry_of(hold.group):
            self.entries.append(hold.entry)
        self.finish(hold)

    def bury(self, hold: Hold, rows: list[Row]) -> None:
        priority = hold.entry["priority"] if hold.entry else None
        self.dead += [{**row, "tenant": hold.tenant, "priority": priority} for row in rows]
        self.log("rejected", len(rows))

    def ends(self, hold: Hold) -> None:
        self.releases.pop(hold.group, None)
        self.failures.pop(hold.group, None)
        self.finish(hold)

    # the order

    def in_order(self, tenant: str) -> list[str]:
        return [group for group in super().in_order(tenant) if group not in self.parked]

    def expired(self, row: Row) -> bool:
        return row["expires"] is not None and row["expires"] <= self.now

    def outlook(self) -> list[tuple[str, Any, int]]:
        """Group, first item and number of items of what would be taken, each accepted at once."""
        ahead = deepcopy(self)
        found = []
        while (hold := ahead.take()) is not None:
            rows = ahead.waiting(hold.group)
            while ahead.receive(hold) is not None:
                pass
            ahead.finish(hold)
            found.append((name_of(hold.group), rows[0]["item"], len(rows)))
        return found


def name_of(group: str) -> str:
    """As the store calls it."""
    return "" if group.startswith("alone") else group
