"""Settle: accept, reject or release what a reader holds, in one transaction with its own rows.

The fence comes first: whoever does not hold the group any more can settle nothing. A group of which
nothing is left ends. So SQLite does it; on PostgreSQL functions of the schema do
(`postgresql_functions_settle.sql`), and only `fence` is asked there, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from fairlead.order.key import NO_ENTRY, UNRAISED, Entry, reentered
from fairlead.store.database.port import Database, Row
from fairlead.store.journal.log import Log
from fairlead.store.queues.failing import counted, delay
from fairlead.store.queues.pending import RELEASED, SETTLED, PendingUpdate, add_pending
from fairlead.store.queues.settings import BEFORE_ALL, PARKED, READY, Queue
from fairlead.store.queues.settlement import (
    ACCEPTED,
    KEPT,
    REJECTED,
    RELEASE,
    Given,
    Settlement,
    stale,
)

EXPIRED: Final = "it has expired"


class Fenced(NamedTuple):
    """A group that a reader holds, as its row says."""

    id: int
    queue: int
    name: str | None
    tenant: str
    token: int
    was_priority: int
    was_entered: int
    was_number: int
    was_turn: int
    releases: int
    failures: int
    taken: int
    holder: int

    @property
    def was(self) -> Entry:
        """With what it was taken."""
        return Entry(self.was_priority, self.was_entered, self.was_number)


class Left(NamedTuple):
    """What is left of a group that is held no more."""

    id: int
    entry: Entry
    releases: int = 0
    failures: int = 0
    not_before: int | None = None
    otherwise: Entry = NO_ENTRY
    """What it has, if it has something left and was not raised."""


def fence(database: Database, tokens: Mapping[int, int]) -> dict[int, Fenced]:
    """Make sure that these groups are held with these tokens, until the transaction ends.

    Raises StaleWorkError.
    """
    rows = {row[0]: Fenced(*row) for row in database.run("fence", ids=sorted(tokens))}
    for id_, token in tokens.items():
        if id_ not in rows or rows[id_].token != token:
            raise stale(token)
    return rows


def settle(database: Database, queue: Queue, ends: Sequence[Settlement], actor: str) -> None:
    """Settle work on groups of one queue. Raises StaleWorkError, StoreError."""
    log = Log(database, queue.name, queue.moment, actor)
    if parts := [end for end in ends if end.keep]:
        _settle_parts(database, queue, parts, log)
        ends = [end for end in ends if not end.keep]
    slow = queue.fair or queue.columns.completing
    lone = [] if slow else [end for end in ends if _is_simple(end)]
    if lone:
        _accept_lone(database, lone, log)
    if len(lone) < len(ends):
        _settle(database, queue, [end for end in ends if slow or not _is_simple(end)], log)
    log.flush()


def _settle_parts(database: Database, queue: Queue, ends: Sequence[Settlement], log: Log) -> None:
    """What was given of these groups is done, or dead letters; their readers hold them still."""
    fenced = fence(database, {end.id: end.token for end in ends})
    for end in ends:
        row = fenced[end.id]
        dead = {
            message.number: end.dead[message.number]
            for message in end.given
            if message.number in end.dead
        }
        _bury(database, queue, row, dead)
        _log_ended(log, end, end.given, dead, row)
    drop(database, queue, [message.number for end in ends for message in end.given])


def _is_simple(end: Settlement) -> bool:
    """Whether a message without a group is accepted: nothing can be left of it."""
    return end.kind == ACCEPTED and not end.group and len(end.given) == 1 and not end.dead


def _accept_lone(database: Database, ends: Sequence[Settlement], log: Log) -> None:
    ids = [end.id for end in ends]
    log.add_lone(ACCEPTED, ids)
    if database.many("end_lone", [(end.id, end.token) for end in ends]) < len(ends):
        raise stale(_first_stale(database, ends).token)
    database.many("drop_lone", [(id_,) for id_ in ids])


def _first_stale(database: Database, ends: Sequence[Settlement]) -> Settlement:
    """Of messages without a group whose groups were to end: one that somebody else has, or had."""
    ids = [end.id for end in ends]
    others = {row[0] for row in database.run("fence", ids=ids)}
    ours = {row[0] for row in database.run("lone_messages", ids=ids)} - others
    return next(end for end in ends if end.id not in ours)


def _settle(database: Database, queue: Queue, ends: Sequence[Settlement], log: Log) -> None:
    """Settle them one by one."""
    fenced = fence(database, {end.id: end.token for end in ends})
    raises = raises_of(database, list(fenced))
    done: list[int] = []
    left: list[Left] = []
    given_back: set[int] = set()
    for settlement in ends:
        end, row = settlement, fenced[settlement.id]
        entry = raises.get(end.id, NO_ENTRY)
        before = 0 if end.done or end.moved else row.failures
        failure = counted(database, queue, end.failed, before, end.group, end.reason, log)
        released = end.kind == RELEASE and not failure.is_last
        if end.failed and not end.given and not released:
            # nobody knows which message it was: the first, then
            end = replace(settlement, given=_first(database, end.id))
        first, rest = end.given[: end.done], end.given[end.done :]
        ended = first if released else end.given
        dead = {
            message.number: end.dead[message.number]
            for message in ended
            if message.number in end.dead
        }
        if end.kind != ACCEPTED and not released:
            dead |= {message.number: end.reason for message in rest}
        _bury(database, queue, row, dead)
        done += [message.number for message in ended]
        if ended or not released:
            _log_ended(log, end, ended, dead, row)
        if not released:
            otherwise = row.was if end.partly else NO_ENTRY
            attempts = row.releases if end.redelivers else 0
            left.append(Left(end.id, entry, attempts, otherwise=otherwise))
            continue
        after = delay(database, queue, failure, end.id, done) if end.delay is None else end.delay
        not_before = queue.now + after if after else None
        releases = 1 if end.done else row.releases + 1
        if not end.done:
            given_back.add(end.id)
        left.append(Left(end.id, reentered(entry, row.was), releases, failure.in_a_row, not_before))
        log.add(
            RELEASE,
            group=end.group,
            key="" if end.group else _key(database, end),
            tenant=row.tenant,
            cost=_cost(database, end.id) - sum(message.cost for message in ended),
            attempt=row.releases + 1,
            token=end.token,
            detail=end.reason or None,
        )
    if done:
        drop(database, queue, done)
    costs = _costs(database, queue, [end.id for end in ends])
    states = put_back(database, queue, left)
    if queue.fair:
        (number,) = log.draw()
        add_pending(
            database,
            queue,
            [
                PendingUpdate(
                    RELEASED if end.id in given_back else SETTLED,
                    number,
                    end.id,
                    fenced[end.id].tenant,
                    cost=costs.get(end.id, 0),
                    turn=fenced[end.id].was_turn,
                    placed=int(states.get(end.id) == READY),
                )
                for end in ends
            ],
        )


def put_back(database: Database, queue: Queue, left: Sequence[Left]) -> dict[int, int]:
    """Give groups that were held their places; those of which nothing is left end.

    Returns those that go on, with their states.
    """
    rows, empty = _rows(database, queue, left)
    if empty:
        database.run("end_groups", ids=sorted(group.id for group in empty))
    if rows:
        database.many("put_back", rows)
    return {row[-1]: row[0] for row in rows}


def end_or_keep(database: Database, queue: Queue, ids: Sequence[int]) -> None:
    """Groups that were picked and have nothing to give: their turn is over."""
    entries = raises_of(database, ids)
    put_back(database, queue, [Left(id_, entries.get(id_, NO_ENTRY)) for id_ in ids])


def _key(database: Database, end: Settlement) -> str:
    """Of the message that is a group of its own, whether it was given or not."""
    if end.given:
        return end.given[0].key
    rows = database.run("key_of", id=end.id)
    return str(rows[0][0]) if rows else ""


def take_back(
    database: Database,
    queue: Queue,
    found: Sequence[tuple[int, int]],
    log: Log,
    reason: str,
    *,
    failed: str,
    blameless: frozenset[int] = frozenset(),
) -> None:
    """Release groups whose readers are gone; `found`: ids and tokens.

    It is a failure of the kind `failed`, but for the groups that are `blameless`.
    """
    for id_, token in found:
        rows = database.run("fence", ids=[id_])
        if not rows or rows[0][4] != token:
            continue
        why = "" if id_ in blameless else failed
        end = Settlement(RELEASE, id_, token, rows[0][2] or "", reason=reason, failed=why)
        _settle(database, queue, [end], log)


def expire(database: Database, queue: Queue, numbers: Sequence[int]) -> None:
    """Messages that were not wanted any more when they could be given are dead letters."""
    database.run(
        "bury", ids=list(numbers), died=queue.now, reason=EXPIRED, attempt=0, priority=None
    )
    drop(database, queue, list(numbers))


def drop(database: Database, queue: Queue, numbers: list[int]) -> None:
    """Messages are done."""
    if queue.columns.completing:
        _leave_completions(database, numbers, queue.now)
    database.run("drop_messages", ids=numbers)


def _rows(database: Database, queue: Queue, left: Sequence[Left]) -> tuple[list[Row], list[Left]]:
    """The rows of the groups of which something is left; and those of which nothing is."""
    if not left:
        return [], []
    heads = {
        row[0]: (row[1], row[2])
        for row in database.run("heads_of", ids=[group.id for group in left])
    }
    rows, empty = [], []
    for group in left:
        head, arrived = heads.get(group.id, (0, 0))
        if head or group.entry.number:
            rows.append(_row(queue, group, group.not_before, head, arrived))
        else:
            empty.append(group)
    return rows, empty


def _row(queue: Queue, left: Left, not_before: int | None, head: int = 0, arrived: int = 0) -> Row:
    entry = reentered(left.entry, left.otherwise)
    place = queue.place(entry, head, arrived) or (1, head)
    state = READY if not_before is None else PARKED
    return (
        *(state, not_before, *entry, *place, head, arrived, left.releases, left.failures),
        left.id,
    )


def raises_of(database: Database, ids: Sequence[int]) -> dict[int, Entry]:
    """To what groups were raised meanwhile, that are locked; their pending updates are used up."""
    entries: dict[int, Entry] = {}
    done = []
    for id_, group_id, number, priority, at in database.run("raises_of", ids=list(ids)):
        done.append(id_)
        if priority is not None:
            entries[group_id] = Entry(priority, at, number)
    if done:
        database.run("drop_pending_updates", ids=done)
    return entries


def _bury(database: Database, queue: Queue, row: Fenced, dead: Mapping[int, str]) -> None:
    for reason in sorted(set(dead.values())):
        database.run(
            "bury",
            ids=[number for number, why in dead.items() if why == reason],
            died=queue.now,
            reason=reason,
            attempt=row.releases + 1,
            priority=None if row.was_priority == UNRAISED else row.was_priority,
        )


def _log_ended(
    log: Log, end: Settlement, ended: Sequence[Given], dead: Mapping[int, str], row: Fenced
) -> None:
    """Write the events of messages that are done, and of those that are dead letters."""
    _log_given(log, end, [message for message in ended if message.number not in dead], row.tenant)
    for message in ended:
        if message.number in dead:
            log.add(
                REJECTED,
                group=end.group,
                key=message.key,
                tenant=row.tenant,
                cost=message.cost,
                attempt=row.releases + 1,
                token=end.token,
                detail=dead[message.number] or None,
            )


def _log_given(log: Log, end: Settlement, given: Sequence[Given], tenant: str) -> None:
    for message in given:
        log.add(
            ACCEPTED,
            group=end.group,
            key=message.key,
            tenant=tenant,
            cost=message.cost,
            token=end.token,
            detail=KEPT if end.keep else None,
        )
    if not given and not end.given:
        log.add(end.kind, group=end.group, tenant=tenant, token=end.token)


def _first(database: Database, id_: int) -> list[Given]:
    rows = database.run("more_of", id=id_, after=BEFORE_ALL, most=1)
    return [Given(row[1], row[2], row[5]) for row in rows]


def _cost(database: Database, id_: int) -> int:
    rows = database.run("costs_of", ids=[id_])
    return rows[0][1] if rows else 0


def _costs(database: Database, queue: Queue, ids: Sequence[int]) -> dict[int, int]:
    """What is left of groups costs so much; of no interest without tenants."""
    return dict(database.run("costs_of", ids=list(ids))) if queue.fair else {}


def _leave_completions(database: Database, messages: list[int], now: int) -> None:
    """These messages are about to be done; the clusters that wait for them are notified."""
    database.run("complete", ids=messages, now=now)
    database.run("acknowledge", ids=messages, now=now)
    database.run("drop_published", ids=messages)


def complete_delayed(database: Database, queue: Queue, key: str, reason: str) -> None:
    """The same of a delayed message that could not arrive."""
    if queue.columns.completing:
        values = {"queue": queue.id, "key": key}
        database.run("complete_delayed", **values)
        database.run("nack_delayed", **values, reason=reason, now=queue.now)
        database.run("unpublish", **values)
