"""Outboxes: what is sent to the queue `outbox:ORDERS` is put to ORDERS, by who serves the store.

Plain SQL cannot choose as a queue manager does, but it can send, in its own transaction. What it
sent leaves the outbox in the transaction that puts it: each message once, each group in its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fairlead.balance.message import PUT_INHIBITED
from fairlead.errors import MessageError, NoDestinationError, QueueFullError
from fairlead.store.channels.kept_queues import OUTBOX
from fairlead.store.channels.receiving import LEASE, Arrival
from fairlead.store.channels.sending import raised_to
from fairlead.store.channels.site import PutAddress, PutCall, known_site, put, request_of, state_of
from fairlead.store.clusters.choosing import Choices
from fairlead.store.clusters.publishing import no_destination, publish_many
from fairlead.store.database.port import Database
from fairlead.store.database.savepoint import undone_if_refused
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.settlement import ACCEPTED, RELEASE, Given, Settlement
from fairlead.store.queues.taken_group import TakenGroup
from fairlead.store.queues.unreadable import take_readable

PAGE: Final = 100
"""Messages of a group that are put at once."""
PAUSE: Final = 5_000_000
"""Microseconds until a group is tried again whose next message cannot be put now."""


class Relayed(NamedTuple):
    """What has become of the messages of an outbox."""

    messages: int
    """That have left it: they were put, or are dead letters."""
    waits: str
    """Why others have to wait; "" where none do."""


class _Tried(NamedTuple):
    """A group of which messages were put."""

    given: Sequence[Given]
    """Those that leave the outbox."""
    dead: dict[int, str]
    """Those of them that can never be put: number → why."""
    waits: str


def outboxes(database: Database) -> list[str]:
    """The outboxes of a store."""
    return [name for (name,) in database.run("queue_names") if name.startswith(OUTBOX)]


def relay(arrival: Arrival, outbox: str) -> Relayed:
    """Put the next messages of an outbox, in one transaction.

    What can never be put becomes a dead letter of the outbox. What cannot be put now, because a
    queue is full or is not put-enabled, waits with what is behind it in its group.
    """
    engine = arrival.engine
    groups = take_readable(engine, outbox, arrival.claim._replace(page=PAGE, lease=LEASE))
    if not groups:
        return Relayed(0, "")
    how = PutCall(arrival.database, arrival.memory, arrival.now, arrival.actor)
    address = PutAddress.of(outbox.removeprefix(OUTBOX))
    waiting = _as_sent(arrival.database, groups)
    if _put_together(how, address, [message for of_group in waiting for message in of_group]):
        tries = [_Tried(_given(group), {}, "") for group in groups]
    else:
        tries = [
            _put_one_by_one(how, address, group, of_group)
            for group, of_group in zip(groups, waiting, strict=True)
        ]
    ends = [_end(group, tried) for group, tried in zip(groups, tries, strict=True)]
    engine.settle(outbox, ends, arrival.actor)
    waits = next((tried.waits for tried in tries if tried.waits), "")
    return Relayed(sum(len(tried.given) for tried in tries), waits)


def _as_sent(database: Database, groups: Sequence[TakenGroup]) -> list[list[OutgoingMessage]]:
    """The messages of groups, each as it was sent."""
    ids = [message.number for group in groups for message in group.messages]
    rows = {row[0]: row[1:] for row in database.run("as_sent", ids=ids)}
    waiting = []
    for group in groups:
        priority = raised_to(group)
        of_group = []
        for message in group.messages:
            expires, cost, type_, format_, body = rows[message.number]
            key = None if message.id == f"m-{message.number}" else message.id  # that is no id
            outgoing = OutgoingMessage(
                *(group.group or None, priority, key, type_, group.tenant, cost, None, expires),
                *(format_, bytes(body)),
            )
            of_group.append(outgoing)
            priority = None
        waiting.append(of_group)
    return waiting


def _put_together(how: PutCall, address: PutAddress, messages: Sequence[OutgoingMessage]) -> bool:
    """Put messages, all or none; whether they were."""
    database, memory = how.database, how.memory
    row = known_site(database, "put")
    state = state_of(database, memory, row.cluster)
    try:
        requests = [request_of(how, row, state, address, message, {}) for message in messages]
        with undone_if_refused(database):
            choices = Choices(database, memory)
            for decision in publish_many(database, choices, memory, requests, messages):
                if decision is not None and not decision.copies:
                    raise no_destination(row.cluster, decision.outcome)
    except MessageError:
        return False
    return True


def _put_one_by_one(
    how: PutCall, address: PutAddress, group: TakenGroup, messages: Sequence[OutgoingMessage]
) -> _Tried:
    """Put the messages of a group, up to the first that has to wait."""
    dead: dict[int, str] = {}
    for place, (given, message) in enumerate(zip(_given(group), messages, strict=True)):
        try:
            with undone_if_refused(how.database):
                put(how, address, message, {})
        except MessageError as error:
            if _can_be_put_later(error):
                return _Tried(_given(group)[:place], dead, str(error))
            dead[given.number] = str(error)
    return _Tried(_given(group), dead, "")


def _can_be_put_later(error: MessageError) -> bool:
    if isinstance(error, NoDestinationError):
        return error.outcome == PUT_INHIBITED
    return isinstance(error, QueueFullError)


def _given(group: TakenGroup) -> list[Given]:
    return [Given(message.number, message.id, message.cost) for message in group.messages]


def _end(group: TakenGroup, tried: _Tried) -> Settlement:
    if tried.given:
        return Settlement(
            *(ACCEPTED, group.id, group.token, group.group), given=tried.given, dead=tried.dead
        )
    return Settlement(
        *(RELEASE, group.id, group.token, group.group), given=_given(group), delay=PAUSE
    )
