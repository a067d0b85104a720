"""Send: messages join their groups, in the caller's transaction or in one of ours.

A sender writes rows of its own, and changes no row that a reader looks at: so a transaction that
stays open for long delays nobody. A group that it sends to cannot end meanwhile: `groups_by_name`
locks it against that, and against nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final, NamedTuple

from fairlead.balance.objects import MAX_CHARGE
from fairlead.config.services import ERROR
from fairlead.errors import MessageError, QueueFullError, StoreError
from fairlead.order.key import NO_ENTRY, NOTHING, Entry
from fairlead.store.database.port import Database, Row
from fairlead.store.journal.log import Log
from fairlead.store.queues.bodies import digest
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.pending import CHARGED, JOINED, RAISED, PendingUpdate, add_pending
from fairlead.store.queues.settings import BECOMES_FAIR, HELD, NO_WEIGHTS, NOT_FAIR, READY, Queue

MANY: Final = 100
"""So often a group can end, and begin anew, between two looks of one sender."""


class LivingGroup(NamedTuple):
    """A group that lives, as a sender sees it."""

    id: int
    tenant: str
    state: int
    head: int
    """The first message that waits, as a reader knew it last; NOTHING: none did."""


def send(
    database: Database, queue: Queue, batch: Sequence[OutgoingMessage], actor: str
) -> list[str]:
    """Send messages in their order; their ids.

    A message whose id is known is not sent again. Raises MessageError for the known id of another
    message, and for a group that is another tenant's; QueueFullError. What it has done by then the
    caller undoes.
    """
    _check_costs(queue, batch)
    known = _known(database, queue, batch)
    check_limit(database, queue, len(batch) - len(known))
    log = Log(database, queue.name, queue.moment, actor)
    numbers = log.draw(len(batch) - len(known))
    new = (message for position, message in enumerate(batch) if position not in known)
    numbered = list(zip(numbers, new, strict=True))
    for number, message in numbered:
        message.key = message.key or f"m-{number}"
    now = [entry for entry in numbered if entry[1].due is None]
    arrive(database, queue, now)
    if len(now) < len(numbered):
        later = [_delayed(*entry) for entry in numbered if entry[1].due is not None]
        database.many("add_delayed", later, queue=queue.id)
    _record(queue, numbered, log)
    if queue.columns.awaited:
        database.run("notify", queue=queue.id)
    return [message.key or "" for message in batch]


def _record(queue: Queue, numbered: Sequence[tuple[int, OutgoingMessage]], log: Log) -> None:
    """Write the events of messages that were sent."""
    if not numbered:
        return
    plain = all(message.due is None and not _raises(queue, message) for _, message in numbered)
    if plain:
        log.add_sent(numbered[0][0], numbered[-1][0])
        return
    for number, message in numbered:
        log.add(
            *("sent",),
            id=number,
            group=message.group or "",
            key=message.key or "",
            tenant=message.tenant,
            priority=message.priority if queue.ordered else None,
            cost=message.cost,
            type=message.type,
            detail=None if message.due is None else f"due {message.due}",
        )
    log.flush()


def arrive(
    database: Database, queue: Queue, numbered: Sequence[tuple[int, OutgoingMessage]]
) -> None:
    """Messages join their groups; their events are written by the caller."""
    if not numbered:
        return
    if queue.fair == NOT_FAIR and any(message.tenant for _, message in numbered):
        database.run("set_fair", queue=queue.id)
        queue.fair = BECOMES_FAIR
    groups = _groups(database, queue, numbered)
    database.many(
        "add_message",
        [
            (
                *(_place(number, message), groups[message.group] if message.group else number),
                *(message.key, message.expires, message.cost, message.type),
                *(message.conversation, message.format, message.body),
            )
            for number, message in numbered
        ],
        queue=queue.id,
        arrived=queue.moment,
    )


def _groups(
    database: Database, queue: Queue, numbered: Sequence[tuple[int, OutgoingMessage]]
) -> dict[str, int]:
    """Name → id of the groups of these messages; those that are not there begin.

    A group that begins is ready at once, and one that is there will be found by whoever is working
    on it, or will: a group does not end while somebody is sending to it.
    """
    groups = _begin(database, queue, numbered)
    add_pending(database, queue, _updates(queue, numbered, groups))
    return {name: group.id for name, group in groups.items()}


def _begin(
    database: Database, queue: Queue, numbered: Sequence[tuple[int, OutgoingMessage]]
) -> dict[str, LivingGroup]:
    """The groups that these messages name; those that are not there begin, as do all without."""
    lone: list[int] = []
    begun: list[Row] = []
    first: dict[str, tuple[int, OutgoingMessage]] = {}
    for number, message in numbered:
        if message.group:
            first.setdefault(message.group, (number, message))
        elif message.tenant or _raises(queue, message) or len(numbered) == 1:  # one row is as fast
            begun.append(_beginning(queue, number, message))
        else:
            lone.append(number)
    shared = {"queue": queue.id, "fair": int(queue.fair > 0), "arrived": queue.moment}
    if lone:
        k1, _ = queue.place(NO_ENTRY, lone[0], queue.moment) or (0, 0)
        database.run("add_lone", ids=lone, k1=k1, lane=queue.lane(None), **shared)
    names = sorted(first)
    groups = _found(database, queue, names)
    missing = [name for name in names if name not in groups]
    for turn in count():
        if not begun and not missing:
            break
        if turn > MANY:
            raise StoreError(
                "number: found one that a group has, as where a backup was restored without its "
                "sequences, allowed: a new one; `fairlead store recover` leads there"
            )
        rows = [_beginning(queue, *first[name]) for name in missing]
        every, begun = [*begun, *rows], []
        if database.many("add_group", every, **shared) == len(every):
            groups |= {name: _new(*first[name]) for name in missing}
            break
        groups |= _found(database, queue, missing)  # others have begun some of them
        missing = [name for name in missing if name not in groups]  # they ended meanwhile
    return groups


def _new(number: int, message: OutgoingMessage) -> LivingGroup:
    """The group that begins with a message."""
    return LivingGroup(number, message.tenant, READY, number)


def _updates(
    queue: Queue, numbered: Sequence[tuple[int, OutgoingMessage]], found: Mapping[str, LivingGroup]
) -> list[PendingUpdate]:
    updates: list[PendingUpdate] = []
    if not found and not queue.fair:
        return updates
    for number, message in numbered:
        group = found[message.group] if message.group else _new(number, message)
        id_, tenant = group.id, group.tenant
        if tenant != message.tenant:
            raise MessageError(
                f"tenant of group {message.group!r}: found {message.tenant!r}, allowed: {tenant!r}"
            )
        if id_ == number:
            if queue.fair:
                updates.append(PendingUpdate(JOINED, number, id_, tenant))
            continue
        if queue.fair and group.state == HELD:
            updates.append(PendingUpdate(CHARGED, number, id_, tenant, cost=message.cost))
        if message.priority is not None and queue.ordered:
            updates.append(
                PendingUpdate(RAISED, number, id_, tenant, message.priority, queue.moment)
            )
        elif group.head == NOTHING and group.state != HELD:
            updates.append(PendingUpdate(RAISED, number, id_, tenant))
    return updates


def _found(database: Database, queue: Queue, names: list[str]) -> dict[str, LivingGroup]:
    rows = database.run("groups_by_name", queue=queue.id, names=names) if names else []
    return {row[0]: LivingGroup(*row[1:]) for row in rows}


def _raises(queue: Queue, message: OutgoingMessage) -> bool:
    """Whether the message raises its group."""
    return message.priority is not None and queue.ordered


def _beginning(queue: Queue, number: int, message: OutgoingMessage) -> Row:
    """The row of a group that begins with this message."""
    raised = _raises(queue, message)
    entry = Entry(message.priority or 0, queue.moment, number) if raised else NO_ENTRY
    place = queue.place(entry, number, queue.moment) or (0, 0)
    return (number, message.group, message.tenant, *place, *entry, queue.lane(message.group))


def _delayed(number: int, message: OutgoingMessage) -> Row:
    return (
        *(number, message.due, message.group, message.tenant, message.priority, message.key),
        *(
            message.expires,
            message.cost,
            message.type,
            message.conversation,
            message.format,
            message.body,
        ),
    )


def _place(number: int, message: OutgoingMessage) -> int:
    """Where a message stands in its group: what has gone wrong in a conversation is read first."""
    return -number if message.type == ERROR and message.conversation is not None else number


def check_limit(database: Database, queue: Queue, count: int) -> None:
    """Raises QueueFullError where so many more messages are too many."""
    most = queue.columns.max_waiting
    if most is None or not count:
        return
    if count > most or database.run("over_limit", queue=queue.id, most=most - count):
        raise QueueFullError(
            f"queue {queue.name!r}: found more than {most} messages, with the {count} to be sent; "
            "allowed: as many as max_waiting says; send again later"
        )


def _check_costs(queue: Queue, batch: Sequence[OutgoingMessage]) -> None:
    if queue.columns.weights == NO_WEIGHTS:
        return  # then a cost is not multiplied
    most = MAX_CHARGE // queue.unit
    for message in batch:
        if message.cost > most:
            raise MessageError(
                f"cost: found {message.cost}, allowed: an integer from 1 to {most} with these "
                "weights of tenants"
            )


def _known(database: Database, queue: Queue, batch: Sequence[OutgoingMessage]) -> set[int]:
    """The positions of the messages that are not to be sent again: their ids are known."""
    first: dict[str, int] = {}
    digests: dict[str, str] = {}
    for position, message in enumerate(batch):
        if message.key is not None:
            content = digest(message.format, message.body)
            if digests.setdefault(message.key, content) != content:
                raise other_message(message.key)
            first.setdefault(message.key, position)
    if not first:
        return set()
    since = queue.now - queue.columns.remembered
    fresh = _remember(database, queue, digests, since)
    known = database.run("message_ids", queue=queue.id, keys=[*digests.keys() - fresh])
    for key, _, content in known:
        if digests[key] != content:
            raise other_message(key)
    return {
        position
        for position, message in enumerate(batch)
        if message.key is not None and not (message.key in fresh and first[message.key] == position)
    }


def _remember(database: Database, queue: Queue, digests: dict[str, str], before: int) -> set[str]:
    rows = database.run(
        "message_ids", queue=queue.id, keys=list(digests)
    )  # a look before the insertion: what is refused then has changed nothing
    for key, at, content in rows:
        if at >= before and digests[key] != content:
            raise other_message(key)
    keys = sorted(digests)  # in one order, so that two senders never wait for each other
    additions = database.run(
        "add_message_ids",
        queue=queue.id,
        keys=keys,
        digests=[digests[key] for key in keys],
        at=queue.now,
        before=before,
    )
    return {key for (key,) in additions}


def other_message(key: str) -> MessageError:
    """That an id is another message's."""
    return MessageError(
        f"id: found {key!r}, which another message had before, allowed: an id of its own for each "
        "message"
    )
