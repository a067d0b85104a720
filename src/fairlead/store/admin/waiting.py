"""What would be taken next, and why, as `order.outlook` says it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from fairlead.balance.times import seconds
from fairlead.order.key import UNRAISED, Entry, key
from fairlead.order.outlook import Outlook, Standing, look_ahead
from fairlead.order.waiting import Group, Item, Tenant
from fairlead.store.database.port import Database, Row
from fairlead.store.queues.bodies import decoded
from fairlead.store.queues.endpoints import group_of_dialog
from fairlead.store.queues.received import Received, Stored, received
from fairlead.store.queues.settings import BEFORE_ALL, FAIR, HELD, READY, Queue
from fairlead.store.queues.tenants import tag_of

Place = tuple[int, int]
"""A key of the order."""
FIRST: Final[Place] = (-(2**63), 0)
"""A place before that of every group."""
LAST: Final = 2**63 - 1
"""A number behind every other one."""


class Promotion(NamedTuple):
    """What raising a group to a priority would do. Places count the tenant's own groups only."""

    group: str
    """Its name; of a dialog's, where the dialog was named."""
    priority: int
    """To which it would be raised."""
    working: bool
    """Whether a reader holds it: then the raise counts for what is left of it, and delays are not
    known."""
    place: int | None
    """Where it stands; None: it cannot be taken now."""
    new_place: int | None
    """Where it would stand; None: a reader holds it."""
    delayed: int
    """How many groups would go later because of it."""
    later: list[Standing]
    """The first of these."""
    tenant: str
    """Whose the group is."""


class Later(NamedTuple):
    """What waits for its time."""

    until: float
    """Seconds since 1970."""
    why: str
    """released: a group, with a delay; delayed: a message that was sent with one."""
    group: str
    """Its name; "" for a message without one."""
    id: str
    """The message's; "" for a released group that has a name."""
    messages: int
    """How many."""
    tenant: str
    """Whose it is."""
    priority: int | None
    """To which it was raised, or will be; None: it was not."""


def later(database: Database, queue: Queue, most: int) -> list[Later]:
    """What waits for its time, at most so many, by that time."""
    return [
        Later(
            seconds(at), why, group, key, messages, tenant, None if raised == UNRAISED else raised
        )
        for at, why, group, key, messages, tenant, raised in database.run(
            "later", queue=queue.id, most=most
        )
    ]


def outlook(database: Database, queue: Queue, most: int) -> Outlook:
    """The groups in the order in which they would be taken, at most so many, and why."""
    tenants = (
        waiting_tenants(database, queue, max(most, 2))
        if queue.fair == FAIR
        else [_only_tenant(database, queue, max(most, 2))]
    )
    ((working,),) = database.run("held_count", queue=queue.id)
    ((ready,),) = database.run("ready_count", queue=queue.id)
    forecast = look_ahead(tenants, queue.step, most, working)
    return forecast._replace(waiting=ready)


def waiting_tenants(database: Database, queue: Queue, most: int) -> list[Tenant[Item]]:
    """The tenants of which something waits, each with the first groups of it."""
    tenants: list[Tenant[Item]] = []
    for name, tag, turn, _, backlogged in database.run("all_tenants", queue=queue.id):
        if backlogged:
            tenant = Tenant[Item](name, queue.share(name), tag_of(tag))
            tenant.turn = turn
            rows = database.run("first_of_tenant", queue=queue.id, tenant=name, most=most)
            put_groups(database, queue, tenant, rows)
            tenants.append(tenant)
    return tenants


def _only_tenant(database: Database, queue: Queue, most: int) -> Tenant[Item]:
    tenant = Tenant[Item]("", queue.share(""), 0)
    rows = database.run("first_groups", queue=queue.id, most=most)
    put_groups(database, queue, tenant, rows)
    return tenant


def put_groups(database: Database, queue: Queue, tenant: Tenant[Item], rows: Sequence[Row]) -> None:
    """Give a tenant the groups of these rows, with their places and the first message of each."""
    ids = [row[0] for row in rows]
    sizes = {row[0]: (row[1], row[2]) for row in database.run("sizes_of", ids=ids)} if ids else {}
    heads = {row[0]: (row[1], row[2]) for row in database.run("heads_of", ids=ids)} if ids else {}
    for id_, name, owner, priority, entered, number, *_ in rows:
        first = database.run("more_of", id=id_, after=BEFORE_ALL, most=1)
        if not first or id_ not in sizes or id_ not in heads:
            continue
        # An Error is read first, and came later.
        _, _, message, _, _, cost, _, _, format_, body = first[0]
        head, arrived = heads[id_]
        count, total = sizes[id_]
        item = Item(decoded(format_, body), name or "", owner, cost)
        item.arrived, item.number, item.id = arrived, head, message
        group = Group[Item](name or "", owner)
        group.entry = Entry(priority, entered, number)
        group.items.extend([item] * count)  # they are counted; the first is shown
        group.cost = total
        place = queue.place(group.entry, head, arrived)
        if place is not None:
            tenant.places.put(group, key(group.standing(queue.step), queue.step))


def groups_before(database: Database, queue: Queue, group: str) -> int:
    """How many groups would be taken before one that can be taken; of its tenant's only."""
    rows = database.run("group_place", queue=queue.id, name=group)
    if not rows:
        return 0
    ((_, _, _, _, owner, *place),) = rows
    tenant = owner if queue.fair == FAIR else None
    first, second = place
    return count_places(database, queue, tenant, FIRST, (first, second))


def count_places(
    database: Database, queue: Queue, tenant: str | None, first: Place, last: Place
) -> int:
    """How many groups that can be taken, of a tenant or of all, stand between two places."""
    places = dict(zip(("a1", "a2", "b1", "b2"), (*first, *last), strict=True))
    if tenant is None:
        ((count,),) = database.run("count_between", queue=queue.id, **places)
    else:
        ((count,),) = database.run(
            "count_of_tenant_between", queue=queue.id, tenant=tenant, **places
        )
    return int(count)


def promotion(
    database: Database, queue: Queue, group: str, priority: int | None, most: int
) -> Promotion | None:
    """What raising a group would do; None: nothing, as it does not live or is not ordered."""
    rows = database.run("group_place", queue=queue.id, name=group)
    if not rows and (dialogs := group_of_dialog(database, queue.name, group)):
        group = dialogs
        rows = database.run("group_place", queue=queue.id, name=group)
    if not rows or not queue.ordered:
        return None
    ((_, state, head, arrived, owner, *keys),) = rows
    old: Place = (keys[0], keys[1])
    raised = queue.columns.default_priority if priority is None else priority
    new = queue.place(Entry(raised, queue.moment, LAST), head, arrived)
    if state == HELD or new is None:
        return Promotion(group, raised, True, None, None, 0, [], owner)
    tenant = owner if queue.fair == FAIR else None

    def between(first: Sequence[int], last: Sequence[int]) -> dict[str, object]:
        a1, a2, b1, b2 = *first, *last
        return {"queue": queue.id, "tenant": tenant, "a1": a1, "a2": a2, "b1": b1, "b2": b2}

    count = partial(count_places, database, queue, tenant)
    ranked = Tenant[Item](owner, queue.share(owner), 0)
    put_groups(
        database, queue, ranked, database.run("groups_between", most=most, **between(new, old))
    )
    # each part of the order is counted once
    if new < old:
        new_place, delayed = count(FIRST, new) + 1, count(new, old)
        place = new_place + delayed
    else:
        place, delayed = count(FIRST, old) + 1, 0
        new_place = place + count(old, new)
    return Promotion(
        group,
        raised,
        False,
        place if state == READY else None,
        new_place,
        delayed,
        look_ahead([ranked], queue.step, most, 0).ranks,
        owner,
    )


def peek(
    database: Database,
    queue: Queue,
    group: str | None,
    most: int,
    groups: int,
    room: int | None = None,
) -> list[Received]:
    """The first messages of the groups that would be taken next, or of the one that is named.

    `room`: bytes after which there are no more; None: any number.
    """
    if group is None and groups > 1:
        rows = database.run("first_groups", queue=queue.id, most=groups)
    elif group is None:
        rows = _next(database, queue)
    else:
        rows = [
            (row[0], group, row[4])
            for row in database.run("group_place", queue=queue.id, name=group)
        ]
    messages: list[Received] = []
    reading = _Reading(database, most, room)
    for id_, name, tenant, *_ in rows:
        messages += [received(row, name or "", tenant) for row in reading.messages(id_)]
        if reading.is_full:
            break
    return messages


class _Reading:
    """Reads messages of groups, so many of each, until there is no more room.

    As nobody knows how large they are, it begins with one, and goes on by the largest.
    """

    def __init__(self, database: Database, most: int, room: int | None) -> None:
        self._database, self._most, self._room = database, most, room
        self._largest = 0
        self._last = 1
        """So many were read last."""

    @property
    def is_full(self) -> bool:
        return self._room is not None and self._room <= 0

    def messages(self, group: int) -> list[Stored]:
        waiting_messages: list[Stored] = []
        after, more = BEFORE_ALL, True
        while more and len(waiting_messages) < self._most and not self.is_full:
            page = min(self._most - len(waiting_messages), self._page())
            rows = self._database.run("more_of", id=group, after=after, most=page)
            read = [Stored(*row) for row in rows]
            more = len(read) == page
            after = read[-1].id if read else after
            self._count(read)
            waiting_messages += read
        return waiting_messages

    def _page(self) -> int:
        if self._room is None:
            return self._most
        self._last = min(
            max(self._room // self._largest, 1) if self._largest else 1, 4 * self._last
        )
        return self._last

    def _count(self, read: Sequence[Stored]) -> None:
        sizes = [len(row.body) for row in read]
        self._largest = max([self._largest, *sizes])
        if self._room is not None:
            self._room -= sum(sizes)


def _next(database: Database, queue: Queue) -> Sequence[Row]:
    """The group that would be taken next, if there is one."""
    if queue.fair != FAIR:
        return database.run("first_groups", queue=queue.id, most=1)
    tenants = database.run("next_tenant", queue=queue.id, besides=[])
    return [
        row
        for tenant in tenants
        for row in database.run("first_of_tenant", queue=queue.id, tenant=tenant[0], most=1)
    ]
