"""A replay over lists: the live balancer says who, the priority table's oracle says when.

Every instant is gone through from the top: completions in the order in which they were begun, then
changes, then those at the door, then arrivals, then each server's readers look, the first first.
Times are whole microseconds.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec

from fairlead import Balancer, Change, Cluster
from fairlead.balance.changes import resolve_one
from fairlead.balance.rules import fewest_pending, ready_ring, subscriber_lists
from tests.oracle.service_broker import Hold, PriorityTable

Row = dict[str, Any]
FOREVER = 1 << 62


@dataclass
class Job:
    """A message on its way to one destination."""

    message: Row
    sequence: int | None
    attempt: int = 1
    since: int = 0
    rollbacks: int = 0
    priority: int | None = None
    decision: Any = None
    destination: str | None = None
    server: Any = None
    for_everyone: bool = False
    reader: int | None = None
    start: int | None = None
    finish: int | None = None
    deadline: int | None = None
    timed_out: bool = False


@dataclass
class Reader:
    """A reader at work."""

    hold: Hold
    job: Job
    due: int
    begun: int
    done: list[Job] = field(default_factory=list)


@dataclass
class Server:
    """A destination: its queue and its readers."""

    table: PriorityTable
    readers: int
    speed: int
    busy: dict[int, Reader] = field(default_factory=dict)


class Replay:
    """One cluster."""

    def __init__(self, cluster: Cluster, changes: list[Change]) -> None:
        self.cluster = cluster
        self.state = cluster.start()
        self.balancer = Balancer(cluster)
        self.changes = sorted(changes, key=lambda change: change.micros)
        workers = [self.state.queue_owner(i) for i in range(len(self.state.members))]
        self.servers = {ref: Server(self.table(), *self.equipment(ref)) for ref in workers}
        self.door = self.table()
        self.sequences: dict[Any, int] = {}
        self.warm_until: dict[Any, int] = {}
        self.unacknowledged: list[Job] = []
        self.begun = 0
        self.rows: list[Row] = []
        self.now = 0

    def table(self) -> PriorityTable:
        order = self.cluster.tables.order
        return PriorityTable(order.discipline, order.step, order.weights)

    def equipment(self, ref: Any) -> tuple[int, int]:
        worker = self.state.objects[ref]
        rests = getattr(worker, "connected", True) == "warm"
        return 0 if rests else worker.readers, worker.speed_in_thousandths

    def run(self, messages: list[Row]) -> list[Row]:
        """All rows, sorted by message and attempt. `messages` in order, times never falling."""
        messages, changes = list(messages), list(self.changes)
        while True:
            times = [
                reader.due for server in self.servers.values() for reader in server.busy.values()
            ]
            times += [each.deadline for each in self.unacknowledged if each.deadline is not None]
            times += [each.micros for each in changes[:1]] + [each["time"] for each in messages[:1]]
            follow = self.balancer.next_change()
            follow = None if follow is None else round(follow * 1_000_000)
            times += [] if follow is None else [follow]
            if not times:
                break
            self.now = now = min(times)
            self.complete(now)
            self.time_out(now)
            step = [each for each in changes if each.micros == now]
            changes = changes[len(step) :]
            if step or follow == now:
                self.change(step, now)
            self.let_in(now)
            while messages and messages[0]["time"] == now:
                self.arrive(messages.pop(0), now)
            self.look(now)
        self.leave_over()
        return sorted(
            self.rows, key=lambda row: (row["id"], row["attempt"], row["destination"] or "")
        )

    # completions

    def complete(self, now: int) -> None:
        while due := sorted(
            (reader.begun, ref, number)
            for ref, server in self.servers.items()
            for number, reader in server.busy.items()
            if reader.due == now
        ):
            _, ref, number = due[0]
            self.complete_one(self.servers[ref], number, now)

    def complete_one(self, server: Server, number: int, now: int) -> None:
        reader = server.busy[number]
        job = reader.job
        job.finish = now
        if job.rollbacks:
            job.rollbacks -= 1
            del server.busy[number]
            for each in reader.done:
                self.not_done_after_all(each)
            self.hand_back(server, reader)
            for each in [each for each in [*reader.done, job] if not each.timed_out]:
                self.tell(each, "rolled-back")
                self.again(each, now)
            return
        if not job.timed_out:
            self.balancer.completed(job.decision, by=job.destination)
            self.acknowledge(job)
        reader.done.append(job)
        following = server.table.receive(reader.hold)
        if following is not None:
            self.begin(server, number, reader.hold, following, now, reader.done)
            return
        server.table.finish(reader.hold)
        del server.busy[number]
        for each in reader.done:
            self.tell(each, "timeout" if each.timed_out else "routed")

    def hand_back(self, server: Server, reader: Reader) -> None:
        """All returns to its place but what has timed out."""
        server.table.rollback(reader.hold)
        for each in [*reader.done, reader.job]:
            if each.timed_out:
                server.table.withdraw(each)
                self.tell(each, "timeout")

    # acknowledgements

    def time_out(self, now: int) -> None:
        """What is not acknowledged in time is not pending; a reader at work knows nothing of it."""
        late = [each for each in self.unacknowledged if each.deadline == now]
        self.unacknowledged = [each for each in self.unacknowledged if each.deadline != now]
        for job in late:
            job.timed_out = True
            self.balancer.completed(job.decision, by=job.destination)
            if job.start is None:
                self.servers[job.server].table.withdraw(job)
                self.tell(job, "timeout")

    def acknowledge(self, job: Job) -> None:
        """With delivery `some` the first acknowledgement is that of all."""
        id_, all_of_them = job.message["id"], job.message["given"].get("delivery") == "some"
        self.unacknowledged = [
            each
            for each in self.unacknowledged
            if each is not job and not (all_of_them and each.message["id"] == id_)
        ]

    def expect(self, own: Job, job: Job, now: int) -> None:
        """A copy of `job` is to be acknowledged; it keeps the deadline of its first attempt."""
        timeout = getattr(self.cluster.tables.options, "delivery_timeout", 0) * 1_000_000
        if job.attempt > 1:
            self.unacknowledged = [own if each is job else each for each in self.unacknowledged]
        elif timeout and job.message["given"].get("delivery") in ("some", "all"):
            own.deadline = now + timeout
            self.unacknowledged.append(own)

    def begin(
        self, server: Server, number: int, hold: Hold, job: Job, now: int, done: list[Job]
    ) -> None:
        self.begun += 1
        service = job.message["service"]
        due = now + (2 * service * 1000 + server.speed) // (2 * server.speed)
        job.start, job.reader = now, number
        server.busy[number] = Reader(hold, job, due, self.begun, done)

    # changes

    def change(self, step: list[Change], now: int) -> None:
        failing = self.failing(step, now)
        if step:
            self.balancer.apply(step)
        self.balancer.at(Fraction(now, 1_000_000))
        (runtime,) = self.balancer._runtimes.values()
        self.state = runtime.cluster
        for ref, server in self.servers.items():
            server.readers, server.speed = self.equipment(ref)
        for ref in [ref for ref in failing if failing[ref] == "warm"]:
            self.break_off(self.servers[ref], now)
            del failing[ref]
        fallen = [ref for ref in self.servers if ref in failing]
        back = [(ref, self.empty(self.servers[ref], now)) for ref in fallen]
        for ref, job, raised in [(ref, *each) for ref, jobs in back for each in jobs]:
            end = self.end_of(job, failing[ref])
            if end is not None:
                self.tell(job, end)
                continue
            if raised:
                job.priority = raised.pop()
            self.tell(job, "released")
            self.again(job, now)
            job.destination = job.server = None
            self.route(job, now)

    def failing(self, step: list[Change], now: int) -> Row:
        """Who loses in this step what it held, and in which disconnect mode a subscriber does."""
        found = {ref: "failure" for ref, until in self.warm_until.items() if until == now}
        self.warm_until = {ref: each for ref, each in self.warm_until.items() if ref not in found}
        now_is = {ref: msgspec.structs.asdict(each) for ref, each in self.state.objects.items()}
        for ref in found:
            now_is[ref]["connected"] = False
        for ref, attribute, value in (resolve_one(self.state, each) for each in step):
            if attribute == "state" and value == "failed" and ref in self.servers:
                found[ref] = self.fail(ref, now_is[ref], now)
            elif ref is not None and attribute in now_is[ref]:
                now_is[ref][attribute] = value
            if ref in self.warm_until and now_is[ref]["connected"] != "warm":
                del self.warm_until[ref]
                if now_is[ref]["connected"] is False and attribute == "connected":
                    found[ref] = "failure"
        return found

    def fail(self, ref: Any, row: Row, now: int) -> str:
        """A subscriber that is remembered is warm, at most for a while."""
        if self.state.policy.name != "smartsockets":
            return ""
        options = self.cluster.tables.options
        timeout = options.reconnect_timeout if options.on_receiver_failure == "reroute" else 0
        there = row["present"] and row["connected"] is not False
        if row["disconnect_mode"] == "warm" and timeout and there:
            row["connected"] = "warm"
            self.warm_until.setdefault(ref, now + timeout * 1_000_000)
            return "warm"
        row["connected"] = False
        return "success" if row["disconnect_mode"] == "success" else "failure"

    def break_off(self, server: Server, now: int) -> None:
        """Who is remembered keeps what is guaranteed; attempts in work are in vain."""
        for _, reader in sorted(server.busy.items()):
            reader.job.finish = now
            for each in reader.done:
                self.not_done_after_all(each)
            self.hand_back(server, reader)
        server.busy.clear()
        for job in [row["item"] for row in server.table.queue]:
            if job.message["given"].get("delivery") not in ("some", "all"):
                server.table.withdraw(job)
                self.tell(job, "lost")
            elif job.start is not None:
                self.tell(job, "rolled-back")
                self.again(job, now)

    def again(self, job: Job, now: int) -> None:
        job.attempt, job.since = job.attempt + 1, now
        job.reader = job.start = job.finish = None

    def end_of(self, job: Job, disconnect_mode: str) -> str | None:
        """How a message ends whose destination has failed; None: it is routed anew."""
        if self.state.policy.name == "nanomsg":
            return "lost"
        if self.state.policy.name != "smartsockets":
            return "lost" if job.for_everyone else None
        if job.message["given"].get("delivery") not in ("some", "all"):
            return "lost"
        if self.cluster.tables.options.on_receiver_failure == "nack":
            return "nack"
        if disconnect_mode == "success":
            return "acknowledged"
        return "nack" if job.for_everyone else None

    def published(self, given: Row) -> Row:
        """A message of SmartSockets keeps the mode that its type has now."""
        if self.state.policy.name != "smartsockets" or given.get("mode"):
            return given
        types = {
            each.name: each.mode
            for ref, each in self.state.objects.items()
            if ref.kind == "message_type" and each.present
        }
        return {**given, "mode": types.get(given.get("type"), "none")}

    def nobody_left(self, job: Job) -> bool:
        """Whether nobody of a subject's list is left to get a message that comes again."""
        if self.state.policy.name != "smartsockets":
            return False
        subject = self.state.key(self.state.values_of(job.message["given"])).subject
        known = [
            each
            for ref, each in self.state.objects.items()
            if ref.kind == "subscriber" and ref.owner == subject
            if each.present and each.connected is not False
        ]
        awake = [each for each in known if each.connected != "warm"]
        return not any(each.load_balanced for each in awake or known)

    def not_done_after_all(self, job: Job) -> None:
        """What was acknowledged is pending again; the live balancer has no word for that."""
        if job.timed_out:
            return
        (runtime,) = self.balancer._runtimes.values()
        partition = runtime.partitions[
            self.state.partition(self.state.values_of(job.message["given"]))
        ]
        self.balancer._withdraw()  # else what was made ahead would count as chosen
        partition.settle()
        rule, member = partition.cluster.rule, self.member(job)
        state = rule.state
        if isinstance(rule, fewest_pending.FewestPending):
            state.pending[member] += 1
        elif isinstance(rule, ready_ring.ReadyRing):
            state.held[member] += 1
            if 0 < state.capacity[member] <= state.held[member]:
                state.ready[member] = ready_ring.OUT
        elif isinstance(rule, subscriber_lists.SubscriberLists):
            listed = state.place[member % len(state.place)] != subscriber_lists.OUT
            if listed and job.message["given"].get("delivery") in ("some", "all"):
                state.pending[member % len(state.place)] += 1

    def member(self, job: Job) -> int:
        raw = self.state.values_of(job.message["given"])
        return self.state.member_called(job.destination, raw)

    def empty(self, server: Server, now: int) -> list[tuple[Job, list[int]]]:
        """Everything there, as it arrived, each with its group's priority, if there is one.

        The jobs of a group share it: the first that is routed anew takes it.
        """
        for _, reader in sorted(server.busy.items()):
            reader.job.finish = now
            self.hand_back(server, reader)
        server.busy.clear()
        rows = sorted(server.table.queue, key=lambda row: row["number"])
        raised = {entry["group"]: [entry["priority"]] for entry in server.table.entries}
        known = server.table
        server.table = self.table()
        server.table.groups, server.table.events = known.groups, known.events
        server.table.clock = known.clock
        return [(row["item"], raised.get(row["group"], [])) for row in rows]

    # arrivals

    def arrive(self, message: Row, now: int) -> None:
        if message.get("control"):
            job = Job(message, None, since=now)
            for server in self.servers.values():
                server.table.prioritise(message.get("group", ""), now, self.raised_to(message))
            if any(row["group"] == message.get("group", "") for row in self.door.queue):
                self.door.prioritise(message["group"], now, self.raised_to(message))
            self.tell(job, "control")
            return
        message = {**message, "given": self.published(message["given"])}
        stream = self.state.stream(self.state.values_of(message["given"]))
        sequence = self.sequences.get(stream, 0)
        self.sequences[stream] = sequence + 1
        job = Job(message, sequence, since=now, rollbacks=message.get("rollbacks", 0))
        job.priority = message.get("priority")
        self.route(job, now)

    def raised_to(self, message: Row) -> int:
        priority = message.get("priority")
        return self.cluster.tables.order.default_priority if priority is None else priority

    def route(self, job: Job, now: int) -> None:
        if self.door.queue or not self.decide(job, now):
            self.wait(self.door, job, now)

    def decide(self, job: Job, now: int) -> bool:
        if job.attempt > 1 and self.nobody_left(job):
            success = self.cluster.tables.options.zero_receivers == "success"
            self.tell(job, "acknowledged" if success else "nack")
            return True
        (runtime,) = self.balancer._runtimes.values()
        runtime.sequences[self.state.stream(self.state.values_of(job.message["given"]))] = (
            job.sequence
        )
        decision = self.balancer.choose(job.message["given"])
        if decision.destination is None:
            if self.state.policy.waits:
                return False
            self.tell(job, decision.outcome)
            return True
        job.decision = decision
        everyone = {self.state.queue_owner(member) for member in decision.also}
        for copy in decision.copies:
            own = Job(**{**vars(job), "destination": copy.destination})
            if job.attempt > 1 and copy.destination != decision.destination:
                continue  # it has its copy since the first attempt
            own.server = self.state.queue_owner(self.member(own))
            if self.state.policy.name == "smartsockets":
                self.expect(own, job, now)
            own.for_everyone = job.attempt == 1 and own.server in everyone
            self.wait(self.servers[own.server].table, own, now)
        return True

    def wait(self, table: PriorityTable, job: Job, now: int) -> None:
        message = job.message
        table.arrive(
            message.get("group", ""),
            job,
            now,
            priority=None if table.fifo else job.priority,
            tenant=message.get("tenant", ""),
            cost=message.get("cost", 1),
        )

    def let_in(self, now: int) -> None:
        """One by one through the door, the best group's first; a priority stays while some wait."""
        table = self.door
        while table.queue:
            tenant = min(table.tenants_with_something(), key=table.standing)
            group = table.in_order(tenant)[0]
            row, entry = table.waiting(group)[0], table.entry_of(group)
            job, own = row["item"], row["item"].priority
            if own is None and entry:
                job.priority = entry["priority"]
            if not self.decide(job, now):
                job.priority = own
                return
            before = table.tenants_with_something()
            table.clock = max(table.clock, table.used_by(tenant))
            table.turn[tenant] = table.event()
            table.queue.remove(row)
            if entry and not table.waiting(group):
                table.entries.remove(entry)
            table.join(before)
            price = Fraction(row["cost"], table.weights.get(tenant, 1))
            table.used[tenant] = table.used_by(tenant) + price
            table.forget_if_idle()

    def look(self, now: int) -> None:
        for server in self.servers.values():
            for number in range(1, server.readers + 1):
                if number not in server.busy:
                    hold = server.table.take()
                    if hold is None:
                        break
                    self.begin(server, number, hold, server.table.receive(hold), now, [])

    # results

    def leave_over(self) -> None:
        """What still waits when nothing more happens."""
        for row in self.door.queue:
            self.tell(row["item"], "no-destination")
        for server in self.servers.values():
            for row in server.table.queue:
                self.tell(row["item"], "routed")

    def tell(self, job: Job, outcome: str) -> None:
        if job.start is None and job.destination is not None and outcome != "routed":
            job.finish = self.now  # it was taken away
        if outcome == "acknowledged":
            self.acknowledge(job)
        elif outcome in ("lost", "nack"):
            self.unacknowledged = [each for each in self.unacknowledged if each is not job]
        names = ("sequence", "attempt", "destination", "reader", "start", "finish", "since")
        told = {name: getattr(job, name) for name in names}
        self.rows.append({"id": job.message["id"], "outcome": outcome, **told})
