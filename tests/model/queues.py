"""The plainest model of a store's queues: lists that are looked through from the top each time.

What a queue gives next is after "Processing conversation with priority order" (a queue is a list
of rows, the priority table a list of entries); tenants, limits, leases, delays, expiry, failures
and dead letters are after docs/explanation/order.md, docs/how-to/failures.md and
docs/reference/store-promises.md. Times are whole microseconds. What is due happens when somebody
looks, as in the store.
"""

from collections import Counter
from copy import copy, deepcopy
from fractions import Fraction
from typing import Any

Row = dict[str, Any]
SECOND = 1_000_000
ERROR, LEASE, PROCESS = "error", "lease", "process"
COUNTED = 100
"""So many messages of a group count for a rate when the group is taken."""


class Full(Exception):  # noqa: N818 - an answer, no error of ours
    """The queue holds as many messages as it may."""


class Other(Exception):  # noqa: N818 - the same
    """The id, or the group, is another's."""


class Hold:
    """A group in the hands of a reader, and what it was given of it."""

    def __init__(self, group: str, tenant: str, entry: Row | None, turn: int) -> None:
        self.group, self.tenant, self.entry, self.turn = group, tenant, entry, turn
        self.attempt = 1
        self.actor = 0
        self.deadline = 0
        self.read: list[Row] = []
        self.received: list[Row] = []
        self.bad: list[Row] = []
        self.charged = 0


class Settings:
    """How a queue is set; `[[queue]]` of a file says the same."""

    def __init__(self, said: Row) -> None:
        self.fifo = said.get("discipline") == "fifo"
        self.default_priority = said.get("default_priority", 100)
        self.ageing = int(said.get("ageing", 0) * SECOND)
        self.weights: dict[str, int] = said.get("weights", {})
        self.max_waiting: int | None = said.get("max_waiting")
        self.max_failures: int = said.get("max_failures", 5)
        self.switches_off = said.get("poison") == "off"
        self.counted: list[str] = said.get("count_as_failure", [ERROR, LEASE, PROCESS])
        self.retry: Row | None = said.get("retry")
        self.limits: list[Row] = said.get("limit", [])

    def delay(self, failures: int) -> int:
        """Until a group is tried again that has failed so often in a row, if nobody says so."""
        if self.retry is None:
            return 0
        delay = Fraction(self.retry["base"])
        for _ in range(failures - 1):
            delay *= self.retry["factor"]
        return int(min(delay, self.retry["limit"]) * SECOND)


class Queue:
    """A queue, and everything that happened to it."""

    def __init__(self, store: Any, name: str) -> None:
        self.store = store
        """Has the clock, the numbers of events and the journal that all queues share."""
        self.name = name
        self.settings = Settings({})
        self.on = True
        self.off: set[str] = set()
        """Tenants that are switched off."""
        self.queue: list[Row] = []
        self.entries: list[Row] = []
        self.holds: list[Hold] = []
        self.delayed: list[Row] = []
        self.dead: list[Row] = []
        self.parked: dict[str, int] = {}
        self.known: dict[str, str] = {}
        self.tenant_of: dict[str, str] = {}
        self.born: dict[str, int] = {}
        self.releases: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.charged_until: dict[tuple[str, str, str], int] = {}
        # The virtual time of tenants, and what each has used by it; who is not here: `clock`.
        self.clock = Fraction(0)
        self.used: dict[str, Fraction] = {}
        self.turn: dict[str, int] = {}

    # what senders do

    def send(self, rows: list[Row]) -> None:
        """All or none of them. Raises Full, Other."""
        fresh: list[Row] = []
        ids = dict(self.known)
        for row in rows:
            if row["id"] and ids.setdefault(row["id"], row["body"]) != row["body"]:
                raise Other
            if not row["id"] or (row["id"] not in self.known and not _has(fresh, row["id"])):
                fresh.append(row)
        if fresh and len(self.all_rows()) + len(fresh) > (self.settings.max_waiting or 10**9):
            raise Full
        self.check_tenants([row for row in fresh if not row["delay"]])
        self.known = ids
        for row in fresh:
            if row["delay"]:
                due = self.store.now + row["delay"]
                self.delayed.append({**row, "due": due, "number": self.store.event()})
            else:
                self.arrive(row)
            self.log("sent")

    def check_tenants(self, rows: list[Row]) -> None:
        """Messages that arrive are of the tenant that their group is of. Raises Other."""
        owners = {group: tenant for group, tenant in self.tenant_of.items() if self.lives(group)}
        for row in rows:
            if row["group"] and owners.setdefault(row["group"], row["tenant"]) != row["tenant"]:
                raise Other

    def all_rows(self) -> list[Row]:
        """Messages that wait, are worked on or arrive later."""
        return [*self.queue, *self.delayed, *(row for h in self.holds for row in h.received)]

    def arrive(self, row: Row) -> None:
        before = self.tenants_with_something()
        group = row["group"]
        number = self.store.event()
        if not group:
            group = f"alone {number}"
        if not self.lives(group):
            self.releases.pop(group, None)
            self.failures.pop(group, None)
            self.born[group] = number
            self.tenant_of[group] = row["tenant"]
        row = {**row, "group": group, "lone": not row["group"], "number": number}
        self.queue.append({**row, "time": self.store.moment})
        self.join(before)
        for hold in self.holds:
            if hold.group == group:
                self.charge(hold, row["cost"])
        if row["priority"] is not None:
            self.prioritise(group, row["priority"])

    # what operators do

    def prioritise(self, group: str, priority: int) -> bool:
        if self.settings.fifo or not self.lives(group):
            return False
        before = self.tenants_with_something()
        self.entries = [entry for entry in self.entries if entry["group"] != group]
        number = self.store.event()
        self.entries.append(
            {"group": group, "priority": priority, "time": self.store.moment, "number": number}
        )
        self.join(before)
        return True

    def switch(self, on: bool) -> bool:
        if self.on == on:
            return False
        self.on = on
        if on:  # failures are counted anew, but of groups that a reader holds
            held = {hold.group for hold in self.holds}
            for group in self.failures.keys() - held:
                del self.failures[group]
        self.log("switched-on" if on else "switched-off")
        return True

    def switch_tenant(self, tenant: str, on: bool) -> bool:
        """What is due happens before."""
        if (tenant not in self.off) == on:
            return False
        self.look()
        before = self.tenants_with_something()
        self.off ^= {tenant}
        self.join(before)
        self.forget_if_idle()
        self.log("switched-on" if on else "switched-off")
        return True

    def taken_out(self, ids: list[str] | None) -> list[Row]:
        """Dead letters that are so no more: all, or those of these ids. Raises Other."""
        chosen = list(self.dead)
        if ids is not None:
            chosen = []
            for key in dict.fromkeys(ids):
                same = [row for row in self.dead if row["id"] == key]
                if not same:
                    raise Other
                chosen += same
        self.dead = [row for row in self.dead if row not in chosen]
        return chosen

    def requeue(self, ids: list[str] | None) -> int:
        """Raises Other."""
        chosen = self.taken_out(ids)
        rows = [{**row, "group": "" if row["lone"] else row["group"]} for row in chosen]
        self.check_tenants(rows)
        for row in rows:
            self.arrive({**row, "expires": None})
            self.log("arrived")
        return len(rows)

    def discard(self, ids: list[str] | None) -> int:
        rows = self.taken_out(ids)
        for _ in rows:
            self.log("discarded")
        return len(rows)

    # what readers do

    def look(self) -> None:
        """Whatever is due happens."""
        for hold in sorted(self.holds, key=lambda hold: hold.deadline):
            if hold.deadline <= self.store.now:
                self.queue += hold.received  # nobody knows what it was given
                hold.received = []
                self.give_back(hold, LEASE)
        due = [row for row in self.delayed if row["due"] <= self.store.now]
        for row in sorted(due, key=lambda row: (row["due"], row["number"])):
            self.delayed.remove(row)
            owner = self.tenant_of.get(row["group"], row["tenant"])
            if row["group"] and self.lives(row["group"]) and owner != row["tenant"]:
                self.done([row], "nack")
                self.dead.append({**row, "lone": False, "died": self.store.now})
                self.log("rejected")
            else:
                self.arrive(row)
                self.log("arrived")
        for group in sorted(self.parked, key=lambda group: self.born[group]):
            if self.parked[group] <= self.store.now:
                before = self.tenants_with_something()
                del self.parked[group]
                self.join(before)
                self.log("woken")

    def crash(self, actor: int) -> None:
        """Who has died holds nothing any more; nobody knows what it was given."""
        for hold in [hold for hold in self.holds if hold.actor == actor]:
            self.queue += hold.received
            hold.received = []
            self.give_back(hold, PROCESS)

    def take(self, name: str | None, most: int, lease: int) -> list[Hold]:
        if not self.on:
            return []
        self.look()
        taken: list[Hold] = []
        while self.on and len(taken) < most:
            group = self.first(name)
            if group is None:
                break
            entry = self.entry_of(group)
            hold = self.lock(group, entry)
            if entry:
                self.entries.remove(entry)
            hold.attempt = self.releases[group] + 1
            hold.deadline = self.store.now + lease
            hold.read = self.waiting(group)
            self.count_rates(group, min(len(hold.read), COUNTED))
            self.log("taken")
            taken.append(hold)
        self.forget_if_idle()
        return taken

    def first(self, name: str | None) -> str | None:
        """The best group that all limits let through; what has expired before it is buried."""
        for tenant in sorted(self.tenants_with_something(), key=self.standing):
            for group in self.in_order(tenant):
                if (name is not None and group != name) or self.opens(group) != 0:
                    continue
                for row in self.waiting(group):
                    if self.expired(row):
                        self.queue.remove(row)
                        self.bury(row, None, "expired")
                if self.waiting(group):
                    return group
                self.entries = [entry for entry in self.entries if entry["group"] != group]
        return None

    def lock(self, group: str, entry: Row | None) -> Hold:
        tenant = self.tenant_of[group]
        self.clock = max(self.clock, self.used_by(tenant))
        hold = Hold(group, tenant, entry, self.turn[tenant])
        self.turn[tenant] = self.store.event()
        self.holds.append(hold)
        self.charge(hold, sum(row["cost"] for row in self.waiting(group)))
        return hold

    def give(self, hold: Hold) -> Row | None:
        """The group's next message; None: there is none now."""
        if len(hold.received) == len(hold.read):
            if hold.group.startswith("alone"):
                return None
            rest = [row for row in self.waiting(hold.group) if row not in hold.read]
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
        self.bury_all(hold, hold.bad)
        self.done(good, "acknowledged")
        self.log("accepted", len(good) if hold.received else 1)
        self.end(hold)

    def reject(self, hold: Hold) -> None:
        self.bury_all(hold, hold.received)
        self.log("rejected", 0 if hold.received else 1)
        self.end(hold)

    def give_back(
        self, hold: Hold, cause: str = "", delay: int | None = None, done: int = 0
    ) -> None:
        """Release a group: `done` of what was given is accepted; `cause`: why it failed, or ""."""
        group, settings = hold.group, self.settings
        first, hold.received = hold.received[:done], hold.received[done:]
        if first:
            self.releases.pop(group, None)
            self.failures.pop(group, None)
            good = [row for row in first if row not in hold.bad]
            self.bury_all(hold, [row for row in first if row in hold.bad])
            self.done(good, "acknowledged")
            self.log("accepted", len(good))
        counts = cause in settings.counted
        self.failures[group] += counts
        if counts and settings.max_failures and self.failures[group] >= settings.max_failures:
            if settings.switches_off:
                self.failures[group] = 0
                if self.on:
                    self.on = False
                    self.log("switched-off")
            else:
                if not hold.received and not first:
                    hold.received = self.waiting(group)[:1]
                    self.queue.remove(hold.received[0])
                self.bury_all(hold, hold.received)
                self.end(hold)
                return
        self.releases[group] += 1
        wait = settings.delay(self.failures[group]) if counts else 0
        wait = wait if delay is None else delay
        if wait:
            self.parked[group] = self.store.now + wait
        if first:
            self.go_on(hold)
        else:
            self.roll_back(hold)
        self.log("released")

    def go_on(self, hold: Hold) -> None:
        """The group was served; what is left of it goes back to its place."""
        self.queue += hold.received
        if hold.entry and not self.entry_of(hold.group):
            self.entries.append(hold.entry)
        self.finish(hold)

    def roll_back(self, hold: Hold) -> None:
        """As if the group had not been taken."""
        before = self.tenants_with_something()
        self.holds.remove(hold)
        self.queue += hold.received
        if hold.entry and not self.entry_of(hold.group):
            self.entries.append(hold.entry)
        self.join(before)
        self.turn[hold.tenant] = min(self.turn[hold.tenant], hold.turn)
        self.charge(hold, -hold.charged)

    def end(self, hold: Hold) -> None:
        self.releases.pop(hold.group, None)
        self.failures.pop(hold.group, None)
        self.finish(hold)

    def finish(self, hold: Hold) -> None:
        before = self.tenants_with_something()
        self.holds.remove(hold)
        self.charge(hold, -sum(row["cost"] for row in self.waiting(hold.group)))
        self.join(before)
        self.forget_if_idle()

    def bury_all(self, hold: Hold, rows: list[Row]) -> None:
        for row in rows:
            self.bury(row, hold.entry["priority"] if hold.entry else None, "rejected")

    def done(self, rows: list[Row], outcome: str) -> None:
        """Those that were published are so no more: their cluster knows what became of them."""
        for row in rows:
            copy = row.pop("copy", None)
            if copy:
                self.store.clusters[copy["cluster"]].done(copy, outcome)

    def bury(self, row: Row, priority: int | None, kind: str) -> None:
        self.done([row], "nack")
        tenant = self.tenant_of[row["group"]]
        self.dead.append({**row, "tenant": tenant, "priority": priority, "died": self.store.now})
        self.dead.sort(key=lambda row: row["number"])
        self.log(kind)

    # the order

    def lives(self, group: str) -> bool:
        at_work = any(hold.group == group for hold in self.holds)
        return bool(at_work or self.waiting(group) or self.entry_of(group))

    def in_order(self, tenant: str) -> list[str]:
        """The tenant's groups that can be taken, as far as limits do not hold them up."""
        every = {row["group"] for row in [*self.queue, *self.entries]}
        free = every - {hold.group for hold in self.holds} - set(self.parked)
        return sorted((g for g in free if self.tenant_of[g] == tenant), key=self.place)

    def place(self, group: str) -> tuple[Any, ...]:
        entry, rows = self.entry_of(group), self.waiting(group)
        if self.settings.ageing:
            since = rows[0] if rows else entry
            assert since is not None
            priority = entry["priority"] if entry else -1
            return (since["time"] - priority * self.settings.ageing, since["number"])
        if entry:  # prioritised groups go before all others
            return (0, -entry["priority"], entry["number"])
        return (1, rows[0]["number"])

    def waiting(self, group: str) -> list[Row]:
        rows = [row for row in self.queue if row["group"] == group]
        return sorted(rows, key=lambda row: row["number"])

    def entry_of(self, group: str) -> Row | None:
        found = [entry for entry in self.entries if entry["group"] == group]
        return found[0] if found else None

    def expired(self, row: Row) -> bool:
        return row["expires"] is not None and bool(row["expires"] <= self.store.now)

    # limits

    def limits_for(self, group: str) -> list[tuple[Row, str]]:
        """The limits that a group is under, and for whose name each counts."""
        tenant, found = self.tenant_of[group], []
        for limit in self.settings.limits:
            of, match = limit.get("of", "queue"), limit.get("match", "*")
            named = "" if group.startswith("alone ") else group
            if of == "queue" or (of == "group" and named and fits(match, named)):
                found.append((limit, ""))
            elif of == "tenant" and tenant and fits(match, tenant):
                found.append((limit, tenant))
        return found

    def opens(self, group: str) -> int | None:
        """0: all limits let it through; else when they do; None: when something is settled."""
        opens = 0
        for limit, name in self.limits_for(group):
            held = [hold for hold in self.holds if (limit, name) in self.limits_for(hold.group)]
            if "in_work" in limit and len(held) >= limit["in_work"]:
                return None
            if "rate" in limit:
                interval = limit.get("per", 1) * SECOND // limit["rate"]
                until = self.used_until(limit, name, interval)
                at = until - (limit.get("burst", 1) - 1) * interval
                opens = max(opens, at) if at > self.store.now else opens
        return opens

    def count_rates(self, group: str, messages: int) -> None:
        for limit, name in self.limits_for(group):
            if "rate" in limit:
                interval = limit.get("per", 1) * SECOND // limit["rate"]
                since = max(self.used_until(limit, name, interval), self.store.now)
                self.charged_until[key_of(limit, name)] = since + messages * interval

    def used_until(self, limit: Row, name: str, interval: int) -> int:
        """Until when a rate is used up; 0 where a clock was wrong when that was noted down."""
        until = self.charged_until.get(key_of(limit, name), 0)
        most = (limit.get("burst", 1) + COUNTED) * interval + 3600 * SECOND
        return until if until <= self.store.now + most else 0

    # the tenants

    def tenants_with_something(self) -> list[str]:
        every = sorted(set(self.tenant_of.values()) - self.off)
        return [tenant for tenant in every if self.in_order(tenant)]

    def standing(self, tenant: str) -> tuple[Any, ...]:
        return (self.used_by(tenant), self.turn[tenant])

    def used_by(self, tenant: str) -> Fraction:
        return self.used.get(tenant, self.clock)

    def join(self, before: list[str]) -> None:
        """Whoever has something now and had nothing before does not bring old time along."""
        for tenant in self.tenants_with_something():
            if tenant not in before:
                self.used[tenant] = max(self.used_by(tenant), self.clock)
                self.turn[tenant] = self.store.event()

    def charge(self, hold: Hold, cost: int) -> None:
        weight = self.settings.weights.get(hold.tenant, 1)
        self.used[hold.tenant] = self.used_by(hold.tenant) + Fraction(cost, weight)
        hold.charged += cost

    def forget_if_idle(self) -> None:
        if not (self.holds or self.tenants_with_something()):
            self.used.clear()

    # what can be looked at

    def log(self, kind: str, count: int = 1) -> None:
        self.store.log(self.name, kind, count)

    def outlook(self) -> list[tuple[str, str, int]]:
        """Group, first body and number of messages of what would go, each accepted at once.

        Limits and what has expired are not heeded.
        """
        store = copy(self.store)
        store.kinds = Counter()
        ahead = deepcopy(self, {id(self.store): store})
        found = []
        while (group := ahead.first_whatever()) is not None:
            rows = ahead.waiting(group)
            hold = ahead.lock(group, ahead.entry_of(group))
            ahead.entries = [entry for entry in ahead.entries if entry["group"] != group]
            ahead.queue = [row for row in ahead.queue if row["group"] != group]
            ahead.finish(hold)
            found.append((name_of(group), rows[0]["body"], len(rows)))
        return found

    def first_whatever(self) -> str | None:
        for tenant in sorted(self.tenants_with_something(), key=self.standing):
            for group in self.in_order(tenant):
                if self.waiting(group):
                    return group
                self.entries = [entry for entry in self.entries if entry["group"] != group]
        return None

    def later(self) -> list[tuple[int, str, str, int]]:
        """What cannot be taken before its time: until when, why, the group, how many messages."""
        parked = [
            (until, "released", name_of(group), len(self.waiting(group)))
            for group, until in self.parked.items()
            if self.waiting(group)
        ]
        return sorted([*parked, *((r["due"], "delayed", r["group"], 1) for r in self.delayed)])

    def metrics(self) -> tuple[int, ...]:
        """Messages, and groups that are ready, worked on and parked; delayed and dead messages."""
        ready = sum(len(self.in_order(tenant)) for tenant in set(self.tenant_of.values()))
        groups = (ready, len(self.holds), len(self.parked))
        waiting = len(self.all_rows()) - len(self.delayed)
        failures = sum(self.failures[group] for group in self.born if self.lives(group))
        return (waiting, *groups, len(self.delayed), len(self.dead), failures)


def name_of(group: str) -> str:
    """As the store calls it: a message without a group is one of its own, which has no name."""
    return "" if group.startswith("alone ") else group


def fits(pattern: str, name: str) -> bool:
    """Whether a name is meant: `*` stands for any characters, `?` for one."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(fits(pattern[1:], name[k:]) for k in range(len(name) + 1))
    return bool(name) and pattern[0] in ("?", name[0]) and fits(pattern[1:], name[1:])


def key_of(limit: Row, name: str) -> tuple[str, str, str]:
    return limit.get("of", "queue"), limit.get("match", ""), name


def _has(rows: list[Row], key: str) -> bool:
    return any(row["id"] == key for row in rows)
