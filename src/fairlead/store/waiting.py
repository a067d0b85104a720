"""What would be taken next, and why, as `order.outlook` says it."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.order.key import Entry, key
from fairlead.order.outlook import Outlook, look_ahead
from fairlead.order.waiting import Group, Item, Tenant
from fairlead.store.bodies import decoded
from fairlead.store.database import Database, Row
from fairlead.store.settings import FAIR, Queue
from fairlead.store.tenants import tag_of


def outlook(database: Database, queue: Queue, most: int) -> Outlook:
    """The groups in the order in which they would be taken, at most so many, and why."""
    tenants = (
        _tenants(database, queue, max(most, 2))
        if queue.fair == FAIR
        else [_only_tenant(database, queue, max(most, 2))]
    )
    ((working,),) = database.run("held_count", queue=queue.id)
    ((ready,),) = database.run("ready_count", queue=queue.id)
    found = look_ahead(tenants, queue.step, most, working)
    return found._replace(waiting=ready)


def _tenants(database: Database, queue: Queue, most: int) -> list[Tenant]:
    tenants = []
    for name, tag, turn, _, lined in database.run("all_tenants", queue=queue.id):
        if lined:
            tenant = Tenant(name, tag_of(tag), queue.share(name))
            tenant.turn = turn
            rows = database.run("first_of_tenant", queue=queue.id, tenant=name, most=most)
            _put(database, queue, tenant, rows)
            tenants.append(tenant)
    return tenants


def _only_tenant(database: Database, queue: Queue, most: int) -> Tenant:
    tenant = Tenant("", 0, queue.share(""))
    rows = database.run("first_groups", queue=queue.id, most=most)
    _put(database, queue, tenant, rows)
    return tenant


def _put(database: Database, queue: Queue, tenant: Tenant, rows: Sequence[Row]) -> None:
    ids = [row[0] for row in rows]
    sizes = {row[0]: (row[1], row[2]) for row in database.run("sizes_of", ids=ids)} if ids else {}
    for id_, name, owner, priority, entered, number, _, _ in rows:
        first = database.run("more_of", id=id_, after=0, most=1)
        if not first or id_ not in sizes:
            continue
        _, head, _, arrived, _, cost, _, format_, body = first[0]
        count, total = sizes[id_]
        group = Group(name or id_, owner)
        group.entry = Entry(priority, entered, number)
        group.items = [Item(decoded(format_, body), arrived, head, cost)]
        rest = Item(None, arrived, head, 0)
        group.items += [rest] * (count - 2) + [Item(None, arrived, head, total - cost)] * (
            count > 1
        )
        place = queue.place(group.entry, head, arrived)
        if place is not None:
            tenant.groups.put(group, key(group.standing(queue.step), queue.step))
