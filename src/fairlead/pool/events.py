"""Who gets what comes, and who goes next: a replay's events, one at a time. No I/O and no clock.

It is `fairlead.replay` for what is not recorded yet: the same events in the same order have the
same outcome. At one instant that order is: completions, changes, `assign`, arrivals, `look`.
Whoever calls sets `now` before, in microseconds; it never goes back.

What becomes of jobs stands in `started` (each has a reader now) and `ended`, until somebody takes
it from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET

from fairlead.balance.change import STATE, ResolvedChange
from fairlead.balance.cluster import Cluster
from fairlead.balance.health import UP, HealthChange, HealthRecord
from fairlead.balance.message import (
    NO_DESTINATION,
    RELEASED,
    ROLLED_BACK,
    ROUTED,
    AttributeValues,
    text,
)
from fairlead.balance.objects import Ref, common_multiple
from fairlead.balance.policies.destinations import KIND, ListTables
from fairlead.balance.procedure import BINDING, NONE, PRESELECTION, RULE, what_decides
from fairlead.balance.rules.keyed import number_of
from fairlead.balance.rules.rule import Rule
from fairlead.errors import ConfigError, RuleError
from fairlead.order.key import UNRAISED
from fairlead.order.work_order import WorkOrder
from fairlead.pool.job import FAILED, OVER, WAITING, WORKING, Job
from fairlead.pool.log import PoolLog
from fairlead.pool.queue import ReaderQueue

NO_CANDIDATE: Final = -2
"""Instead of a member: nobody is left, and nobody is waited for."""


class PoolEvents:
    """One cluster with its queues and readers. Pure, and not thread-safe."""

    def __init__(self, cluster: Cluster, log: PoolLog | None = None) -> None:
        """Nothing waits. Raises ConfigError for a policy that a pool cannot follow."""
        if cluster.policy.fans_out:
            raise ConfigError(
                f"cluster {cluster.name!r}: policy: found {cluster.policy.name!r}, which can send "
                "a message to several destinations, allowed: a policy that sends it to one"
            )
        self.name = cluster.name
        self.state = state = cluster.start()
        order = cluster.tables.order
        self.default_priority = order.default_priority
        self.now = 0
        self.started: list[Job] = []
        self.ended: list[Job] = []
        self._log = log
        arguments = (order.step, order.weights, common_multiple(order.weights))
        self._fifo = fifo = order.discipline == "fifo"
        self.outside = WorkOrder[Job](*arguments, fifo=fifo)
        """What waits for a destination to be ready."""
        owners = [state.queue_owner(i) for i in range(len(state.members))]
        self.queues: dict[Ref, ReaderQueue] = {
            ref: ReaderQueue(ref, rank, *arguments, fifo=fifo)
            for rank, ref in enumerate(dict.fromkeys(owners))
        }
        self._queue_of = [self.queues[ref] for ref in owners]
        """By member."""
        self.touched: list[ReaderQueue] = []
        """The queues whose readers are to look for work."""
        tables = cluster.tables
        options = tables.health if isinstance(tables, ListTables) else UNSET
        self.health = None if options is UNSET else HealthRecord(options)
        """How its destinations are, where the file has `[health]`."""
        self.found: list[HealthChange] = []
        """What has followed from outcomes, until somebody takes it from there."""
        self.follows_up = state.follows_up or self.health is not None
        """Whether changes can lead to others, at later times."""
        self._bindings: dict[AttributeValues, int] = {}
        self._sequences: dict[AttributeValues, int] = {}
        self._plain = not (state.binds or state.rule.keyed)
        """Whether nothing of a message counts but what the policy reads."""
        self._counts = type(state.rule).completed is not Rule.completed
        """Whether the rule looks at completions."""
        self._names = state.members
        self._addresses: list[str | None] = []
        self._fit_out()

    # messages

    def arrive(self, job: Job) -> None:
        """A message comes. Raises RuleError of a user's own rule."""
        state = self.state
        job.since = self.now
        stream = state.stream(job.values) if state.policy.streams else ()
        job.sequence = self._sequences.get(stream, 0)
        self._sequences[stream] = job.sequence + 1
        if self._log is not None:
            self._log.arrived(job, (self.name, *stream), self.now)
        if not self._plain:
            self._recognise(job)
        self._route(job)

    def _recognise(self, job: Job) -> None:
        """By what a message is bound, and by what a rule chooses for it."""
        state = self.state
        if state.binds:
            job.bind = state.binding(job.values, job.message)
        if state.rule.keyed:
            word = text(job.message, state.keyed_by) if state.keyed_by else ""
            job.key = number_of(word, job.sequence)

    def _route(self, job: Job) -> None:
        """Send a job to a destination, end it, or let it wait for a destination to be ready."""
        member = NONE if self.outside.waiting else self._choose(job)
        if member == NONE:
            self.outside.now = self.now
            self.outside.send(job)
        else:
            self._hand_over(job, member)

    def _choose(self, job: Job) -> int:
        """The destination; NONE if none is ready, NO_CANDIDATE if none ever will be."""
        state = self.state
        values = job.values
        eligible = state.eligible(values) if job.attempt == 1 else state.failures.redelivery(values)
        rule, members, preselected = state.rule, eligible.members, eligible.preselected
        member = NONE if job.bind is None else self._bound_to(job)
        if job.avoid:
            members, preselected, member = self._without_avoided(job, members, preselected, member)
        decides = what_decides(member, preselected, bool(members))
        if decides == RULE:
            if rule.keyed:
                return rule.choose_for(members, job.key)
            return rule.choose(members)
        if decides == PRESELECTION:
            return preselected
        avoided = bool(job.avoid and eligible.members)
        if decides == BINDING or (state.policy.waits and not avoided):
            return member
        job.outcome = NO_DESTINATION if avoided else eligible.outcome
        return NO_CANDIDATE

    def _without_avoided(
        self, job: Job, members: Sequence[int], preselected: int, bound: int
    ) -> tuple[tuple[int, ...], int, int]:
        """Who is left, who was settled on and where it is bound, without those that it avoids."""
        left = tuple(member for member in members if self._names[member] not in job.avoid)
        one, other = (
            NONE if member != NONE and self._names[member] in job.avoid else member
            for member in (preselected, bound)
        )
        return left, one, other

    def _bound_to(self, job: Job) -> int:
        """The destination that a job is bound to and that still takes what is bound, or NONE."""
        member = self._bindings.get(job.bind or (), NONE)
        return member if member != NONE and self.state.keeps(member, job.values) else NONE

    def _hand_over(self, job: Job, member: int) -> None:
        """A job begins to wait at its destination, or is over if it has none."""
        if self._log is not None:
            job.decided = self._log.number()
        job.version = self.state.version
        if member == NO_CANDIDATE:
            self._end(job, job.outcome)
            return
        if job.bind is not None:
            self._bindings[job.bind] = member
        queue = self._queue_of[member]
        job.member, job.queue = member, queue
        job.destination, job.address = self._names[member], self._addresses[member]
        queue.now = self.now
        queue.send(job)
        if not queue.touched:
            self._touch(queue)

    def _touch(self, queue: ReaderQueue) -> None:
        """A queue's readers are to look for work."""
        if not queue.touched:
            queue.touched = True
            self.touched.append(queue)

    def check_tenant(self, group: str, tenant: str) -> None:
        """A group that waits or is worked on belongs to one tenant. Raises MessageError."""
        if not group:
            return
        for line in (*self.queues.values(), self.outside):
            line_group = line.groups.get(group)
            if line_group is not None:
                line_group.check_tenant(tenant)

    def prioritise(self, group: str, priority: int | None = None) -> bool:
        """Raise a group wherever something of it waits or is worked on; whether there was any."""
        if self._fifo:
            return False
        if priority is None:
            priority = self.default_priority
        raised = False
        for line in (*self.queues.values(), self.outside):
            line_group = line.groups.get(group)
            if line_group is not None:
                line.now = self.now
                line.enter(line_group, priority)
                raised = True
                if isinstance(line, ReaderQueue):
                    self._touch(line)
        return raised

    def assign(self) -> None:
        """Assign what waited for a destination to be ready.

        One after another, in the order of work; if none is ready for the first, all wait. What a
        user's own rule raises for one of them ends that one: others have not asked for it.
        """
        outside = self.outside
        while (job := outside.head()) is not None:
            priority, group = job.priority, job.in_group
            try:
                member = self._choose(job)
            except RuleError as error:
                outside.withdraw(job)
                self._fail(job, error)
                continue
            if member == NONE:
                return
            if priority is None and group is not None and group.entry.priority != UNRAISED:
                job.priority = group.entry.priority
            outside.leave(job)
            self._hand_over(job, member)

    # readers

    def look(self) -> None:
        """Readers that have nothing to do look for work where something has happened."""
        touched = self.touched
        if len(touched) > 1:
            touched.sort(key=_rank)
        for queue in touched:
            queue.touched = False
            while queue.idle:
                job = queue.take()
                if job is None:
                    break
                self._begin(queue, queue.engage(), job)
        touched.clear()

    def _begin(self, queue: ReaderQueue, reader: int, job: Job) -> None:
        queue.busy[reader] = job
        job.reader = reader
        job.speed = queue.speed
        job.start = self.now
        job.phase = WORKING
        self.started.append(job)

    def complete(self, job: Job, outcome: str = ROUTED) -> None:
        """A job that was started is done, or has failed; its reader goes on with its group."""
        queue = self._queue_of[job.member]
        if self._counts:
            self._completed(job)
        self._end(job, outcome)
        following = queue.following(job)
        if following is not None:
            self._begin(queue, job.reader, following)
        else:
            queue.rest(job.reader)
            self._touch(queue)
        if self.health is not None and outcome in (ROUTED, FAILED):
            self._hear(queue.ref.name, failed=outcome == FAILED)

    def _completed(self, job: Job) -> None:
        """The rule counts a job no more."""
        self.state.rule.completed(job.member)
        if self._log is not None:
            self._log.completed(self.name, self.state.version, job)

    def retry(self, job: Job) -> None:
        """The attempt of a job that was started was in vain: it returns to its place."""
        queue = self._queue_of[job.member]
        queue.now = self.now
        self._again(job, ROLLED_BACK)
        queue.release(job.in_group or job, (job,))
        queue.rest(job.reader)
        self._touch(queue)
        if self.health is not None:
            self._hear(queue.ref.name, failed=True)

    def retry_elsewhere(self, job: Job) -> None:
        """The same, and the job goes where it has not been; it is over where nobody is left."""
        queue, reader = self._queue_of[job.member], job.reader
        queue.now = self.now
        if self._counts:
            self._completed(job)
        job.avoid |= {self._names[job.member]}
        self._again(job, RELEASED)
        following = queue.following(job)
        if following is not None:
            self._begin(queue, reader, following)
        else:
            queue.rest(reader)
            self._touch(queue)
        if self.health is not None:
            self._hear(queue.ref.name, failed=True)
        self._nowhere(job)
        try:
            self._route(job)
        except RuleError as error:
            self._fail(job, error)

    def withdraw(self, job: Job, outcome: str) -> None:
        """A job that waits gives up, and ends with this outcome."""
        if job.queue is None:
            self.outside.withdraw(job)
        else:
            if self._counts:
                self._completed(job)
            job.queue.withdraw(job)
        self._end(job, outcome)

    # changes

    @property
    def due(self) -> int | None:
        """When something will change of itself, in microseconds."""
        later = self.state.follow_ups.next
        tried = None if self.health is None else self.health.due
        return min((time for time in (later, tried) if time is not None), default=None)

    def make_due(self) -> None:
        """Make what is due now, as one step."""
        changes = [] if self.health is None else self.health.try_due(self.now)
        self._follow(changes, due=True)

    def _hear(self, destination: str, *, failed: bool) -> None:
        """Work at a destination has ended: it may go down, or come back."""
        health = self.health
        if health is None or Ref(KIND, destination) not in self.state.objects:
            return
        unwell = health.standings.get(destination)
        if unwell is not None and self._is_up(destination) != unwell.on_trial:
            health.forget(destination)  # somebody else has said how it is
        change = None
        if not failed:
            change = health.succeeded(destination, self.now)
        elif destination in health.standings or self._is_up(destination):
            there = [ref.name for ref, value in self.state.objects.items() if value.present]
            change = health.failed(destination, there, self.now, "a block failed")
        if change is not None:
            self._follow([change])

    def _is_up(self, destination: str) -> bool:
        """Whether a destination is up, or will be after its fail-back delay."""
        ref = Ref(KIND, destination)
        return self.state.objects[ref].state == UP or ref in self.state.follow_ups

    def _follow(self, made: Sequence[HealthChange], *, due: bool = False) -> None:
        self.found += made
        steps = [
            ResolvedChange(Ref(KIND, change.destination), STATE, change.state)
            for change in made
            if change.state is not None
        ]
        if steps or due:
            self.change(steps)

    def change_as_told(self, changes: Sequence[ResolvedChange]) -> None:
        """Make the changes of somebody who says, too, how destinations are."""
        if self.health is not None:
            for ref, attribute, _ in changes:
                if ref is not None and attribute == STATE:
                    self.health.forget(ref.name)
        self.change(changes)

    def change(self, changes: Sequence[ResolvedChange]) -> None:
        """Make these changes, and what is due, as one step."""
        state = self.state
        state.apply(changes, self.now)
        if self._log is not None:
            self._log.changed(self.name, state.version, changes, self.now)
        self._fit_out()
        failed = [queue for ref, queue in self.queues.items() if ref in state.failed_now]
        for queue in failed:
            queue.now = self.now
        held = [(queue, *pair) for queue in failed for pair in queue.break_off()]
        raised_again: set[tuple[ReaderQueue, str]] = set()
        for queue, job, raised in held:
            outcome = state.failures.after_failure(queue.ref, job.values, shared=False)
            if outcome != RELEASED:
                self._end(job, outcome)
                continue
            key = (queue, job.group)
            if raised != UNRAISED and (not job.group or key not in raised_again):
                job.priority = raised  # the first of a raised group keeps the priority
                raised_again.add(key)
            self._again(job, RELEASED)
            self._nowhere(job)
            try:
                self._route(job)
            except RuleError as error:
                self._fail(job, error)

    def _nowhere(self, job: Job) -> None:
        """No destination has been chosen for a job."""
        job.queue, job.member, job.destination, job.address = None, NONE, None, None
        job.decided = None

    def _fit_out(self) -> None:
        """Give each queue the readers that it has now."""
        self._addresses = [self.state.address(i) for i in range(len(self._names))]
        for ref, queue in self.queues.items():
            queue.resize(self.state.failures.readers(ref))
            queue.speed = self.state.objects[ref].speed_in_thousandths
            self._touch(queue)

    # attempts

    def _again(self, job: Job, outcome: str) -> None:
        """An attempt is over, and the job waits for another one."""
        if self._log is not None:
            self._log.attempted(job, outcome, self.now)
        job.attempt += 1
        job.since = self.now
        job.phase = WAITING
        job.start = None

    def _fail(self, job: Job, error: RuleError) -> None:
        """A job ends, because no destination could be chosen for it."""
        job.error = error
        self._end(job, FAILED)

    def _end(self, job: Job, outcome: str) -> None:
        job.outcome = outcome
        job.phase = OVER
        if self._log is not None:
            self._log.attempted(job, outcome, self.now)
        self.ended.append(job)


def _rank(queue: ReaderQueue) -> int:
    return queue.rank
