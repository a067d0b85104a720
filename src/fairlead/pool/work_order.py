"""What waits at one place, and what is next: `fairlead.order.key`, kept in objects.

As `fairlead.order.state`, which keeps the same for an agenda; but a job is settled by itself when
its work is over, a job without a group is no group with one item (most are, and it is half the
work), and what waits can leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

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
    standing,
    taken,
)
from fairlead.order.waiting import Places
from fairlead.pool.job import Job, JobGroup
from fairlead.pool.waiting import PoolTenant

FEWEST_SWEPT: Final = 64
"""So many tenants are never too many to be remembered."""


class WorkOrder:
    """The jobs at one place, in their order. Pure, and not thread-safe.

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
        """How many jobs wait."""
        self.working = 0
        """How many jobs, and so groups, readers have."""
        self.groups: dict[str, JobGroup] = {}
        self.tenants: dict[str, PoolTenant] = {}
        self._listed: dict[str, PoolTenant] = {}
        """The tenants of whom something has a place."""
        self._order: Places[PoolTenant] = Places()
        """The same in order, kept only where there are several."""
        self._sweep_at = FEWEST_SWEPT

    # what comes, and what goes without work

    def send(self, job: Job) -> None:
        """A job begins to wait, and raises its group if it has a priority."""
        self.number = number = self.number + 1
        job.number = number
        job.arrived = self.now
        self.waiting += 1
        tenant = self.tenants.get(job.tenant)
        if tenant is None or tenant.period != self.period:
            tenant = self._tenant(job.tenant)
        raised = UNRAISED if self.fifo or job.priority is None else job.priority
        if job.group:
            self._join(job, tenant, raised)
            return
        job.raised = raised
        step = self.step
        first = self.now - raised * step if step else -raised
        tenant.put(job, (first, number, job))
        if tenant.count == 1:
            self._listing(tenant)

    def _join(self, job: Job, tenant: PoolTenant, raised: int) -> None:
        """A job stands behind those of its group."""
        group = self.groups.get(job.group)
        if group is None:
            group = self.groups[job.group] = JobGroup(job.group, job.tenant)
        job.row = group
        group.jobs.append(job)
        group.cost += job.cost
        if group.locked:
            self._charge(tenant, job.cost)
        if raised != UNRAISED:
            self.enter(group, raised)
        elif len(group.jobs) == 1:
            self._settle(group, tenant)

    def enter(self, group: JobGroup, priority: int) -> None:
        """Enter a group at a priority, behind its equals."""
        self.number += 1
        group.entry = Entry(priority, self.now, self.number)
        self._settle(group, self._tenant(group.tenant))

    def withdraw(self, job: Job) -> None:
        """A job that waits leaves its place, wherever that is in its group."""
        self.waiting -= 1
        tenant = self._tenant(job.tenant)
        group = job.row
        if group is None:
            tenant.remove(job)
            self._line_up(tenant)
        else:
            group.jobs.remove(job)
            group.cost -= job.cost
            if group.locked:  # its tenant has been charged for it
                self._charge(tenant, -job.cost)
                return
            if not group.jobs:  # a raise needs somebody who waits
                group.entry = NO_ENTRY
            self._settle(group, tenant)
            self._drop_if_through(group)
        self._forget_if_idle()

    # what readers do

    def take(self) -> Job | None:
        """Give a reader the next job, and lock its group."""
        member = self.first()
        if member is None:
            return None
        self.working += 1
        self.waiting -= 1
        tenant = self.tenants[member.tenant]
        tenant.works += 1
        member.was_turn = tenant.turn
        self._take(tenant, member.cost)
        if isinstance(member, Job):
            tenant.pop(member)
            if not tenant.count or len(self._listed) > 1:
                self._line_up(tenant)
            return member
        member.was, member.entry = member.entry, NO_ENTRY
        member.locked = True
        self._settle(member, tenant)
        return self._next_of(member)

    def following(self, job: Job) -> Job | None:
        """The job is done: the next one of its group; None: the reader is through with the group.

        The tenant stays charged for what was done.
        """
        group = job.row
        if group is not None:
            if group.jobs:
                self.waiting -= 1
                return self._next_of(group)
            group.locked = False
            if group.entry.number != NOTHING:
                self._settle(group, self._tenant(group.tenant))
            else:
                del self.groups[group.name]
        self.working -= 1
        self.tenants[job.tenant].works -= 1
        if not self.working:
            self._forget_if_idle()
        return None

    def give_back(self, job: Job) -> None:
        """A reader has the job no more: it returns to its place, and its group to its own."""
        self.working -= 1
        self.waiting += 1
        tenant = self._tenant(job.tenant)
        tenant.works -= 1
        group = job.row
        if group is None:
            cost, was_turn = job.cost, job.was_turn
            raised, step = job.raised, self.step
            first = job.arrived - raised * step if step else -raised
            tenant.put(job, (first, job.number, job))
            if tenant.count == 1:
                self._listing(tenant)
        else:
            group.locked = False
            group.jobs.appendleft(job)
            group.cost += job.cost
            cost, was_turn = group.cost, group.was_turn
            group.entry = reentered(group.entry, group.was)
            self._settle(group, tenant)
        tenant.tag, tenant.turn = restored(tenant.tag, tenant.turn, was_turn, cost, tenant.share)
        self._line_up(tenant)

    def first(self) -> Job | JobGroup | None:
        """What is next, a job or a group of which something waits.

        Entries of which nothing is left are used up.
        """
        while self._listed:
            tenant = self._first_tenant()
            member = tenant.first()
            if isinstance(member, Job) or member.jobs:
                return member
            member.entry = NO_ENTRY
            self._settle(member, tenant)
            self._drop_if_through(member)
        self._forget_if_idle()
        return None

    def _first_tenant(self) -> PoolTenant:
        tenant = self._order.first() if len(self._listed) > 1 else None
        return next(iter(self._listed.values())) if tenant is None else tenant

    def _next_of(self, group: JobGroup) -> Job:
        job = group.jobs.popleft()
        group.cost -= job.cost
        return job

    # a line without readers

    def head(self) -> Job | None:
        """The first job of what is next."""
        member = self.first()
        return member.jobs[0] if isinstance(member, JobGroup) else member

    def leave(self, job: Job) -> None:
        """The first job of what is next leaves for good; a priority lasts while others wait."""
        self.waiting -= 1
        tenant = self._tenant(job.tenant)
        self._take(tenant, job.cost)
        group = job.row
        if group is None:
            tenant.remove(job)
            self._line_up(tenant)
        else:
            self._next_of(group)
            if not group.jobs:
                group.entry = NO_ENTRY
            self._settle(group, tenant)
            self._drop_if_through(group)
            job.row = None
        self._forget_if_idle()

    # a line of whom all is taken away

    def empty(self) -> list[tuple[Job, int]]:
        """Take all that waits away; nobody may be at work.

        Returns the jobs as they arrived, each with what its group is raised to.
        """
        pairs: list[tuple[Job, int]] = []
        for tenant in self._listed.values():
            for member in tenant.members():
                member.place = None
                if isinstance(member, Job):
                    pairs.append((member, member.raised))
                else:
                    pairs += [(job, member.entry.priority) for job in member.jobs]
        for job, _ in pairs:
            job.row = None
        self.groups.clear()
        self.tenants.clear()
        self._listed.clear()
        self._order = Places()
        self.waiting = 0
        self._forget_if_idle()
        return sorted(pairs, key=lambda each: each[0].number)

    def listed(self) -> list[PoolTenant]:
        """The tenants of whom something has a place."""
        return list(self._listed.values())

    def jobs(self) -> Iterator[Job]:
        """All that wait, in no order."""
        for tenant in self._listed.values():
            for member in tenant.members():
                if isinstance(member, Job):
                    yield member
        for group in self.groups.values():
            yield from group.jobs

    # places

    def _settle(self, group: JobGroup, tenant: PoolTenant) -> None:
        """Put a group where it belongs now, or nowhere; and so its tenant."""
        arrived, number = 0, NOTHING
        if group.jobs:
            arrived, number = group.jobs[0].arrived, group.jobs[0].number
        entry = standing(group.entry, arrived, number, group.locked, self.step)
        if group.place is not None:
            tenant.remove(group)
        if entry.number != NOTHING:
            tenant.put(group, (*key(entry, self.step), group))
        if tenant.count == 1 and group.place is not None:
            self._listing(tenant)
        else:
            self._line_up(tenant)

    def _listing(self, tenant: PoolTenant) -> None:
        """A tenant has something with a place; it joins the others if it had nothing before."""
        if tenant.name not in self._listed:
            self.number += 1
            tenant.tag, tenant.turn = joined(tenant.tag, self.clock, self.number)
            self._listed[tenant.name] = tenant
            if len(self._listed) == 2:
                for other in self._listed.values():
                    self._order.put(other, (other.tag, other.turn))
        self._line_up(tenant)

    def _line_up(self, tenant: PoolTenant) -> None:
        """Put a tenant where it belongs now, or nowhere."""
        if tenant.count == 0:
            if self._listed.pop(tenant.name, None) is not None:
                self._order.remove(tenant)
        elif len(self._listed) > 1:
            self._order.put(tenant, (tenant.tag, tenant.turn))

    def _take(self, tenant: PoolTenant, cost: int) -> None:
        self.number += 1
        self.clock, tenant.tag, tenant.turn = taken(
            tenant.tag, self.clock, cost, tenant.share, self.number
        )

    def _charge(self, tenant: PoolTenant, cost: int) -> None:
        tenant.tag = charged(tenant.tag, cost, tenant.share)
        self._line_up(tenant)

    def _tenant(self, name: str) -> PoolTenant:
        tenant = self.tenants.get(name)
        if tenant is None:
            if len(self.tenants) >= self._sweep_at:
                self._sweep()
            share = self.unit // self.weights.get(name, 1)
            tenant = self.tenants[name] = PoolTenant(name, share, self.clock, self.period)
        elif tenant.period != self.period:
            tenant.period, tenant.tag, tenant.turn = self.period, self.clock, 0
        return tenant

    def _sweep(self) -> None:
        """Forget the tenants of whom nothing is left that a new one would not have."""
        self.tenants = {
            name: tenant
            for name, tenant in self.tenants.items()
            if tenant.count
            or tenant.works
            or (tenant.period == self.period and tenant.tag > self.clock)
        }
        self._sweep_at = 2 * len(self.tenants) + FEWEST_SWEPT

    def _drop_if_through(self, group: JobGroup) -> None:
        if not (group.jobs or group.locked or group.entry.number):
            del self.groups[group.name]

    def _forget_if_idle(self) -> None:
        """Where nothing has a place and nobody works, nobody has been charged anything."""
        if not self.working and not self._listed:
            self.period += 1
