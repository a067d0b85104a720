"""What would be next at one place of a pool, and why."""

from __future__ import annotations

from fairlead.order import waiting as agenda
from fairlead.order.key import Entry
from fairlead.order.outlook import Outlook, look_ahead
from fairlead.order.waiting import Item
from fairlead.pool.job import Job
from fairlead.pool.waiting import PoolTenant
from fairlead.pool.work_order import WorkOrder


def outlook(line: WorkOrder, most: int) -> Outlook:
    """The next groups, at most so many: what an agenda would say where the same waits.

    A message without a group is shown by its id.
    """
    tenants = [_tenant(tenant) for tenant in line.listed()]
    return look_ahead(tenants, line.step, most, line.working)


def _tenant(tenant: PoolTenant) -> agenda.Tenant:
    agenda_tenant = agenda.Tenant(tenant.name, tenant.tag, tenant.share)
    agenda_tenant.turn = tenant.turn
    for member in tenant.members():
        place = member.place
        if place is None:
            continue
        group = agenda.Group(member.number if isinstance(member, Job) else member.name, tenant.name)
        if isinstance(member, Job):
            group.items = [_item(member)]
            group.entry = Entry(member.raised, member.arrived, member.number)
        else:
            group.items = [_item(job) for job in member.jobs]
            group.entry = member.entry
        agenda_tenant.groups.put(group, place[:-1])
    return agenda_tenant


def _item(job: Job) -> Item:
    return Item(job.message.get("id"), job.arrived, job.number, job.cost)
