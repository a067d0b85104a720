"""A plain pool: who waits where, who is in work, who goes next, and how each request ends.

Who gets a request is what `deciding` says; what goes next at one destination is the priority table
of Service Broker, as docs/explanation/order.md has it. Each event has a time of its own.
"""

from copy import copy
from typing import Any

from tests.oracle import Row, microseconds
from tests.oracle.service_broker import Hold, PriorityTable

from .deciding import Listed, cluster_of
from .deciding_destinations import RefusedChangeError
from .driver import Refused

COMPLETED_BY = ("fewest-pending", "ready-ring", "circular")
"""Rules that look at completions: the journal has them."""


class Place:
    """A destination's line and readers; or the line of those for whom nobody is ready."""

    def __init__(self, order: Row, readers: int = 0) -> None:
        self.table = PriorityTable(
            order.get("discipline", "fifo"),
            microseconds(order.get("ageing", 0)),
            order.get("weights", {}),
            conversations=False,
        )
        self.readers = readers
        self.busy: dict[int, tuple[Hold, Row]] = {}

    def jobs(self) -> list[Row]:
        return [row["item"] for row in sorted(self.table.queue, key=lambda row: row["number"])]

    def withdraw(self, job: Row) -> None:
        """One that waits gives up; a raise ends with the last of its group."""
        (row,) = (row for row in self.table.queue if row["item"] is job)
        self.table.withdraw(job)
        group, held = row["group"], [hold.group for hold in self.table.holds]
        if not self.table.waiting(group) and group not in held:
            self.table.entries = [e for e in self.table.entries if e["group"] != group]
            self.table.forget_if_idle()

    def give_back(self, reader: int) -> None:
        """What was done of the group is done; the request in work returns to its place."""
        hold, _ = self.busy.pop(reader)
        hold.received = hold.received[-1:]
        rows = [*hold.received, *self.table.waiting(hold.group)]
        hold.charged = sum(row["cost"] for row in rows)
        self.table.rollback(hold)

    def outlook(self) -> Row:
        """Who would go next, if each were done before the next."""
        table = copy(self.table)
        for name in ("queue", "entries", "holds", "used", "turn"):
            setattr(table, name, copy(getattr(table, name)))
        found: list[Any] = []
        ready = [g for t in table.tenants_with_something() for g in table.in_order(t)]
        several = sum(1 for group in ready if table.waiting(group))
        while (hold := table.take()) is not None:
            rows = table.waiting(hold.group)
            entry = hold.entry
            since = entry["time"] if entry and not table.ageing else rows[0]["time"]
            name = "" if hold.group.startswith("alone ") else hold.group
            priority = entry["priority"] if entry else None
            item = rows[0]["item"]["id"]
            found.append((name, item, len(rows), hold.tenant, priority, since))
            table.queue = [row for row in table.queue if row["group"] != hold.group]
            table.holds.remove(hold)
        return {"ranks": found[:5], "waiting": several, "working": len(self.busy)}


class PoolModel:
    """One cluster, and those who ask for it."""

    name = "model"

    def __init__(self, plain: Row) -> None:
        self.order = plain.get("order", {})
        self.cluster: Listed = cluster_of(plain)
        self.waits = self.cluster.rule == "ready-ring"
        self.outside = Place(self.order)
        rows = self.cluster.in_order(self.cluster.rows)
        self.places = {row["name"]: Place(self.order, row["readers"]) for row in rows}
        self.requests: list[Row] = []
        self.clock = self.now = 0
        self.sequence = 0
        self.ended: dict[str, int] = {}
        self.decided = self.position = 0
        self.rows: list[Row] = []

    # events

    def tick(self) -> None:
        """Every event has a time of its own; what is due before it happens before."""
        self.make_due()
        self.now = max(self.clock, self.now + 1)

    def make_due(self) -> None:
        while (due := self.cluster.next()) is not None and due <= self.clock:
            self.now = max(due, self.now + 1)
            self.change([])
            self.settle()

    def acquire(self, group: str, tenant: str, priority: Any, **said: Any) -> object:
        lines = [each.table for each in (*self.places.values(), self.outside)]
        if group and any(t.lives(group) and t.groups[group] != tenant for t in lines):
            return Refused("message")
        self.tick()
        job: Row = {**said, "group": group, "tenant": tenant, "priority": priority}
        job |= {"sequence": self.sequence, "position": self.position, "attempt": 1, "past": []}
        job["number"] = len(self.requests)
        job |= {"since": self.now, "asked": True, "block": None, "decided": None, "at": None}
        job |= {"phase": "waits", "start": None, "reader": None, "outcome": "", "version": 0}
        job["deadline"] = None if said["timeout"] is None else self.clock + said["timeout"]
        self.sequence += 1
        self.position += 1
        self.requests.append(job)
        self.route(job)
        self.look_for_work()
        return self.wake()

    def leave(self, number: int, failed: bool) -> object:
        """A block is left; by an exception, or by the way it was told."""
        job = self.requests[number]
        job["block"] = None
        if job["phase"] != "over":
            self.tick()
            if job["phase"] == "works":
                self.complete(job, "failed" if failed else "routed")
            else:
                self.withdraw(job, "cancelled")
            self.settle()
        return self.wake()

    def retry(self, number: int) -> object:
        """The attempt was in vain: the same request waits again."""
        job = self.requests[number]
        if job["phase"] == "works" and job["attempt"] == job["block"]:
            self.tick()
            self.again(job, "rolled-back")
            self.places[job["at"]].give_back(job["reader"])
            self.settle()
        job["block"], job["asked"] = None, True
        job["deadline"] = None
        return self.wake()

    def give_up(self, number: int, outcome: str = "cancelled") -> object:
        """Whoever waits goes away."""
        job = self.requests[number]
        job["asked"] = False
        self.tick()
        self.withdraw(job, outcome)
        self.settle()
        return self.wake()

    def prioritise(self, group: str, priority: int | None) -> object:
        if priority is None:
            priority = self.order.get("default_priority", 100)
        self.tick()
        lines = [*self.places.values(), self.outside]
        raised = [each.table.prioritise(group, self.now, priority) for each in lines]
        if any(raised):
            self.note({"outcome": "control", "position": self.position, "group": group})
            self.position += 1
        self.settle()
        self.wake()
        return any(raised)

    def apply(self, changes: list[Row]) -> object:
        """Changes of one time are one step, made now; none may be to come."""
        latest = max(self.now, self.clock)
        steps: dict[int, list[Any]] = {}
        try:
            for each in sorted(changes, key=lambda each: int(each["time"])):
                row, value = self.cluster.meant(each["target"], each["attribute"], each["value"])
                steps.setdefault(each["time"], []).append((row, each["attribute"], value))
        except RefusedChangeError:
            return Refused("change")
        if any(time > latest for time in steps):
            return Refused("change")
        for step in steps.values():
            self.tick()
            self.change(step)
            self.settle()
        return self.wake()

    def at(self, time: int) -> object:
        """The clock goes on, and what is due happens; who has waited for long enough gives up."""
        while True:
            late = [job for job in self.requests if job["asked"] and job["deadline"] is not None]
            late = sorted(late, key=lambda job: (job["deadline"], job["position"]))
            if not late or late[0]["deadline"] > time:
                break
            self.clock = max(self.clock, late[0]["deadline"])
            self.ring()
            if late[0]["asked"]:
                self.give_up(late[0]["number"], "timeout")
        self.clock = max(self.clock, time)
        self.ring()
        return self.wake()

    def later(self, time: int) -> None:
        """The clock goes on, and nobody looks what is due."""
        self.clock = max(self.clock, time)

    def ring(self) -> None:
        self.make_due()
        self.wake()

    # what follows

    def route(self, job: Row) -> None:
        """To a destination; or over; or outside, behind all who wait for one to be ready."""
        if self.outside.table.queue or not self.decide(job):
            self.wait(self.outside, job)

    def decide(self, job: Row) -> bool:
        """Whether it is decided; else nobody is ready for it."""
        found = self.cluster.decide({"group": job["group"], **job["said"]}, job["sequence"])
        if found["chosen"] is None and self.waits:
            return False
        job["decided"], job["version"] = self.number(), self.cluster.version
        if found["chosen"] is None:
            self.end(job, found["outcome"])
            return True
        job["at"] = found["chosen"]
        self.wait(self.places[job["at"]], job)
        return True

    def wait(self, place: Place, job: Row) -> None:
        priority = None if place.table.fifo else job["priority"]
        place.table.arrive(job["group"], job, self.now, priority, job["tenant"], job["cost"])

    def settle(self) -> None:
        """Those outside go in, the first first, until nobody is ready; then readers look."""
        table = self.outside.table
        while table.queue:
            tenant = min(table.tenants_with_something(), key=table.standing)
            group = table.in_order(tenant)[0]
            row, entry = table.waiting(group)[0], table.entry_of(group)
            job, own = row["item"], row["item"]["priority"]
            if own is None and entry:
                job["priority"] = entry["priority"]
            if not self.decide(job):
                job["priority"] = own
                break
            hold = table.lock(group, entry)
            table.charge(hold, row["cost"] - hold.charged)
            before = [*table.tenants_with_something(), tenant]
            table.holds.remove(hold)
            table.queue.remove(row)
            if entry and not table.waiting(group):
                table.entries.remove(entry)
            table.join(before)
            table.forget_if_idle()
        self.look_for_work()

    def look_for_work(self) -> None:
        for place in self.places.values():
            for reader in range(1, place.readers + 1):
                if reader not in place.busy:
                    hold = place.table.take()
                    if hold is None:
                        break
                    self.begin(place, reader, hold, place.table.receive(hold))

    def begin(self, place: Place, reader: int, hold: Hold, job: Row) -> None:
        place.busy[reader] = (hold, job)
        job |= {"phase": "works", "reader": reader, "start": self.now}

    def complete(self, job: Row, outcome: str) -> None:
        place, reader = self.places[job["at"]], job["reader"]
        hold, _ = place.busy.pop(reader)
        self.done(job)
        self.end(job, outcome)
        following = place.table.receive(hold)
        if following is not None:
            self.begin(place, reader, hold, following)
        else:
            place.table.finish(hold)

    def withdraw(self, job: Row, outcome: str) -> None:
        if job["at"] is not None:
            self.done(job)
        (self.outside if job["at"] is None else self.places[job["at"]]).withdraw(job)
        self.end(job, outcome)

    def done(self, job: Row) -> None:
        """The policy counts it as pending no more."""
        self.cluster.completed(job["at"], {}, job["version"])
        if self.cluster.rule in COMPLETED_BY:
            self.note({"outcome": "completed", "destination": job["at"], "position": self.position})

    def change(self, step: list[Any]) -> None:
        self.cluster.step(self.now, step)
        decided = self.number()
        for _, attribute, _ in step or [(None, None, None)]:
            self.rows.append({"outcome": "changed", "position": self.position, "decided": decided})
            self.rows[-1]["attribute"] = attribute
        failed = [
            row for row, attribute, value in step if (attribute, value) == ("state", "failed")
        ]
        for row in self.cluster.rows:
            self.places[row["name"]].readers = row["readers"]
        names = [name for name in self.places if any(row["name"] == name for row in failed)]
        back = [(name, *each) for name in names for each in self.break_off(self.places[name])]
        for _, job, raised in back:
            if self.cluster.preset == "nanomsg":  # what a peer held is lost with it
                self.end(job, "lost")
                continue
            if raised:
                job["priority"] = raised.pop()
            self.again(job, "released")
            job |= {"at": None, "decided": None}
            self.route(job)

    def break_off(self, place: Place) -> list[tuple[Row, list[int]]]:
        """All that was there, as it came; the first of a raised group keeps the priority."""
        for reader in sorted(place.busy):
            place.give_back(reader)
        rows = sorted(place.table.queue, key=lambda row: row["number"])
        raised = {entry["group"]: [entry["priority"]] for entry in place.table.entries}
        kept, place.table = place.table, Place(self.order).table
        place.table.clock, place.table.events = kept.clock, kept.events
        return [(row["item"], raised.get(row["group"], [])) for row in rows]

    def again(self, job: Row, outcome: str) -> None:
        self.tell(job, outcome, self.now)
        job |= {"attempt": job["attempt"] + 1, "since": self.now, "phase": "waits", "start": None}

    def end(self, job: Row, outcome: str) -> None:
        job |= {"phase": "over", "outcome": outcome}
        self.tell(job, outcome, self.now)
        self.ended[outcome] = self.ended.get(outcome, 0) + 1

    def wake(self) -> object:
        """Whoever waits for what has happened goes on: in the block, or with an error."""
        for job in self.requests:
            if job["asked"] and job["phase"] != "waits":
                job["asked"] = False
                if job["phase"] == "works":
                    job["block"] = job["attempt"]
        return None

    # the journal, and all else that can be looked at

    def number(self) -> int:
        self.decided += 1
        return self.decided - 1

    def note(self, row: Row) -> None:
        self.rows.append({**row, "decided": self.number()})

    def tell(self, job: Row, outcome: str, finish: int | None) -> None:
        """An attempt as it ends, or as it stands."""
        names = ("attempt", "decided", "version", "sequence", "position", "start")
        row = {name: job[name] for name in names}
        row["reader"] = None if job["start"] is None else job["reader"]
        row |= {"outcome": outcome, "destination": job["at"], "finish": finish}
        until = finish if job["start"] is None else job["start"]
        job["past"].append({**row, "wait": None if until is None else until - job["since"]})

    def journal(self) -> list[Row]:
        found = list(self.rows)
        for job in self.requests:
            found += job["past"]
            if job["phase"] != "over":
                self.tell(job, "no-destination" if job["at"] is None else "routed", None)
                found.append(job["past"].pop())
        return sorted(found, key=lambda r: (r["decided"] is None, r["decided"] or 0, r["position"]))

    def look(self) -> dict[str, Any]:
        names = ("phase", "at", "attempt", "reader", "block", "outcome")
        lines = {"": self.outside, **self.places}
        return {
            "requests": [tuple(job[name] for name in names) for job in self.requests],
            "waiting": {n: line.outlook() for n, line in lines.items() if line.table.queue},
            "undecided": len(self.outside.table.queue),
            "counts": {
                name: (place.readers, len(place.busy), len(place.table.queue))
                for name, place in self.places.items()
            },
            "ended": self.ended,
            "journal": self.journal(),
        }

    def close(self) -> None:
        """It keeps nothing open."""
