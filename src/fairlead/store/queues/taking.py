"""Take: the best groups that nobody holds, in a short transaction of its own.

So SQLite does it; on PostgreSQL a function of the schema does (`postgresql_engine.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fairlead.order.key import UNRAISED
from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.store.queues.ended import drop, ends_of, is_over
from fairlead.store.queues.endpoints import Endpoint
from fairlead.store.queues.limiting import Gate
from fairlead.store.queues.maintenance import maintained
from fairlead.store.queues.picking import pick
from fairlead.store.queues.received import Received, Stored, readable, received
from fairlead.store.queues.settings import BEFORE_ALL, Queue, read_queue
from fairlead.store.queues.settling import end_or_keep, expire
from fairlead.store.queues.taken_group import PAGE, Claim, TakenGroup
from fairlead.store.queues.tenants import TenantLine

PORTION: Final = 300
"""So many messages that nobody wants any more, and groups that have none, are put away in one
transaction, about: others write after it."""


def take(
    database: Database, name: str, claim: Claim, clock: int | None, *, in_portions: bool
) -> tuple[list[TakenGroup], bool]:
    """The best groups of a queue, best first, locked until they are settled: `QueueEngine`."""
    queue = read_queue(database, name, clock)
    if queue is None or not queue.columns.enabled:
        return [], False
    log = Log(database, queue.name, queue.moment, claim.actor)
    queue, line = maintained(database, queue, log)
    log.flush()  # tokens are numbers of the events of taking, which come after these
    gate = Gate(database, queue.id, queue.limits, queue.now) if queue.limits else None
    groups: list[TakenGroup] = []
    put_away, more = 0, False
    while queue.columns.enabled and len(groups) < claim.most and _is_there(database, claim):
        if in_portions and put_away >= PORTION:
            more = not groups
            break
        most = min(claim.most - len(groups), PORTION)
        picked = _pick(database, queue, line, gate, claim, most, log)
        if not picked:
            break
        full, messages = _fill(database, queue, picked, line, log)
        put_away += messages + len(picked) - len(full)
        if gate is not None:
            for group in full:
                gate.took(queue.lane(group.group) or "", group.tenant, len(group.messages))
        groups += full
    if gate is not None:
        gate.write()
    _record(groups, log)
    if line is not None:
        line.forget_if_idle()
        line.write()
    log.flush()
    return groups, more


def _record(taken: Sequence[TakenGroup], log: Log) -> None:
    """Write the events of groups that are taken, under the numbers of their tokens."""
    if taken and not any(group.group for group in taken):
        log.add_lone("taken", [group.id for group in taken], numbered=True)
        return
    for group in taken:
        log.add(
            "taken",
            id=group.token,
            group=group.group,
            key="" if group.group else group.messages[0].id,
            tenant=group.tenant,
            priority=None if group.priority == UNRAISED else group.priority,
            cost=group.cost,
            attempt=group.attempt,
            token=group.token,
            lease=group.deadline,
        )


def more_messages(
    database: Database, held: TakenGroup, given: Sequence[int], now: int
) -> list[Received]:
    """Messages of a group that were not given yet: those that follow, else those that were late."""
    if held.only is not None:
        rows = _of_conversation(database, held.only, given)
        return _in_time(database, held, rows, now)
    if held.speaks:  # what has gone wrong is read first, so all that was not given is read
        return _late_messages(database, held, given, now)
    following = _messages_after(database, held, max(given, default=BEFORE_ALL), now)
    if following and not any(group.end for group in following):
        return following
    return _late_messages(database, held, given, now)


def _messages_after(database: Database, held: TakenGroup, after: int, now: int) -> list[Received]:
    """The next messages of a group, those that have expired left out."""
    rows = database.run("more_of", id=held.id, after=after, most=held.page)
    return _in_time(database, held, [Stored(*row) for row in rows], now)


def _late_messages(
    database: Database, held: TakenGroup, given: Iterable[int], now: int
) -> list[Received]:
    """The messages of a group that were not given yet, whatever their numbers.

    Two senders may commit in another order than that of the numbers they drew.
    """
    rows = database.run("late_of", id=held.id, given=list(given), most=held.page)
    return _in_time(database, held, [Stored(*row) for row in rows], now)


def _in_time(
    database: Database, held: TakenGroup, rows: Sequence[Stored], now: int
) -> list[Received]:
    """The messages as their reader gets them: neither expired, nor to an end that has ended."""
    ends = ends_of(database, rows)
    return readable(
        _given(held, row, ends) for row in rows if not _expired(row, now) and not is_over(row, ends)
    )


def _of_conversation(database: Database, end: int, given: Iterable[int] = ()) -> list[Stored]:
    rows = database.run("of_conversation", conversation=end, given=list(given), most=PAGE)
    return [Stored(*row) for row in rows]


def _is_there(database: Database, claim: Claim) -> bool:
    """Whether what is wanted of one conversation is there; of a whole group, the pick says."""
    end = claim.conversation
    return end is None or bool(database.run("any_of_conversation", conversation=end))


def _given(held: TakenGroup, row: Stored, ends: Mapping[int, Endpoint]) -> Received:
    end = None if row.conversation is None else ends[row.conversation]
    held.speaks = held.speaks or end is not None
    return received(row, held.group, held.tenant, end)


def _pick(
    database: Database,
    queue: Queue,
    line: TenantLine | None,
    gate: Gate | None,
    claim: Claim,
    most: int,
    log: Log,
) -> list[TakenGroup]:
    """The best groups, or one where there are tenants or limits; they may have nothing left."""
    values: dict[str, object] = {
        "token": None,
        "holder": claim.holder,
        "taken": queue.moment,
        "deadline": queue.now + claim.lease,
        "turn": 0,
    }
    rows = pick(database, queue, line, gate, claim.name, most, values, log)
    held = [
        TakenGroup(
            *(id_, name or "", tenant, priority, releases + 1, token),
            taken=queue.moment,
            deadline=queue.now + claim.lease,
            key=(k1, k2),
            only=claim.conversation,
            page=claim.page,
        )
        for id_, name, tenant, priority, releases, token, k1, k2 in rows
    ]
    return sorted(held, key=lambda each: each.key)


def _fill(
    database: Database,
    queue: Queue,
    picked: Sequence[TakenGroup],
    line: TenantLine | None,
    log: Log,
) -> tuple[list[TakenGroup], int]:
    """Read the messages of groups that were picked; those that have none end, or are kept.

    Returns the others, and how many messages were put away.
    """
    by_id = {group.id: group for group in picked}
    gone: list[Stored] = []
    over: list[Stored] = []
    rows = _read(database, picked)
    ends = ends_of(database, rows)
    for row in rows:
        if is_over(row, ends):
            over.append(row)
        elif _expired(row, queue.now):
            gone.append(row)
        else:
            group = by_id[row.group_id]
            group.messages.append(_given(group, row, ends))
            group.cost += row.cost
    groups = {group.id: group.group for group in picked}
    drop(database, over, ends, groups, log)
    _expire(database, queue, gone, by_id, log)
    full = [group for group in picked if group.messages]
    if len(full) < len(picked):
        empty = [group.id for group in picked if not group.messages]
        end_or_keep(database, queue, empty)
    if line is not None:
        for group in picked:
            tenant = line.tenant(group.tenant)
            if group.messages:
                ((_, group.cost),) = database.run("costs_of", ids=[group.id])
                line.take(tenant, group.cost, group.token)
            line.unline_if_through(tenant)
    return full, len(gone) + len(over)


def _expire(
    database: Database,
    queue: Queue,
    rows: Sequence[Stored],
    by_id: Mapping[int, TakenGroup],
    log: Log,
) -> None:
    if rows:
        expire(database, queue, [row.id for row in rows])
    for row in rows:
        group = by_id[row.group_id]
        log.add("expired", group=group.group, key=row.key, tenant=group.tenant, cost=row.cost)


def _read(database: Database, picked: Sequence[TakenGroup]) -> list[Stored]:
    if picked and picked[0].only is not None:
        return _of_conversation(database, picked[0].only)
    lone = [group.id for group in picked if not group.group] if len(picked) > 1 else []
    named = [group.id for group in picked if group.group or len(picked) == 1]
    rows = list(database.run("lone_messages", ids=lone)) if lone else []
    for id_ in named:
        rows += database.run("more_of", id=id_, after=BEFORE_ALL, most=picked[0].page)
    return [Stored(*row) for row in rows]


def _expired(row: Stored, now: int) -> bool:
    return row.expires is not None and row.expires <= now
