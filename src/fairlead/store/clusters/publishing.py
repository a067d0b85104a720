"""Publish: choose and enqueue in one step."""

from __future__ import annotations

from typing import Final

from msgspec.structs import asdict, replace

from fairlead.balance.message import CONTROL, REFUSED
from fairlead.errors import MessageError, NoDestinationError
from fairlead.store.arguments import REMEMBERED
from fairlead.store.clusters.choosing import UNREAD, ChoiceRequest, Choices, as_said, decision_of
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.deliveries import guarantee
from fairlead.store.clusters.history import published_before
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.state import ClusterRow, Version, read_row, read_version
from fairlead.store.database.clock import set_clock, time_of
from fairlead.store.database.port import Database
from fairlead.store.queues.bodies import REDELIVERED, digest
from fairlead.store.queues.engine import QueueEngine, engine_of
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.settings import Queue, made_queue

PUBLISH_AGAIN: Final = "to publish again when there is one"
MAKE_IT_GUARANTEED: Final = (
    "a weighted message with delivery some or all: its acknowledgements are counted"
)


def publish(
    database: Database, choices: Choices, request: ChoiceRequest, outgoing: OutgoingMessage
) -> StoreDecision:
    """Choose a destination and send the message to its queue; to all where it goes to several.

    A SetPriority goes nowhere. A message whose id is known is not published again: its first
    decision is returned. Raises MessageError, NoDestinationError.
    """
    if outgoing.key is not None and not _remember(database, request, outgoing):
        known = published_before(database, request.cluster, outgoing.key)
        if known is None:
            raise MessageError(
                f"id: found {outgoing.key!r}, which was published before; the journal does not say "
                "any more where to; allowed: a new id"
            )
        return known
    version, decision = choices.decide(request)
    if decision.outcome == CONTROL:
        return decision
    if not decision.copies:
        error = NoDestinationError(
            f"cluster {request.cluster!r}: found no destination ({decision.outcome}), allowed: "
            f"{MAKE_IT_GUARANTEED if decision.outcome == REFUSED else PUBLISH_AGAIN}; "
            "nothing was sent or counted"
        )
        error.outcome = decision.outcome
        raise error
    guaranteed = guarantee(database, version, request, decision, outgoing)
    sent = hand_over(database, version, decision, request, outgoing, guaranteed)
    return decision._replace(messages=tuple(sent))


def hand_over(
    database: Database,
    version: Version,
    decision: StoreDecision,
    request: ChoiceRequest,
    outgoing: OutgoingMessage,
    guaranteed: int | None,
) -> list[str]:
    """Send a message to the queues of those that were chosen; the ids that it has there.

    `guaranteed`: the number with which it is remembered, None: it is not.
    """
    cluster = version.start.cluster
    row = None
    if guaranteed is not None or cluster.timed(()):
        row = read_row(database, request.cluster, "cluster")
    getting = cluster.eligible(cluster.values_of(request.message)).recipients
    shared = {cluster.object_of(member) for member in getting}
    sent = []
    engine = engine_of(database, request.now, request.actor)
    for (name, _), (id_, part) in zip(decision.copies, decision.to, strict=True):
        to = cluster.queue(version.member_of[id_]) or name
        queue = made_queue(database, to, request.now)
        copy = _with_new_key(database, queue, decision, outgoing)
        key = _send_one(engine, to, copy)
        sent.append(key)
        if row is not None:
            database.run("set_completing", queue=queue.id)
            database.run(
                "add_published",
                queue=queue.id,
                key=key,
                cluster=row.id,
                destination=id_,
                part=part,
                version=decision.version,
                guaranteed=guaranteed,
                shared=int(cluster.object_of(version.member_of[id_]) in shared),
            )
    return sent


def _send_one(engine: QueueEngine, queue: str, message: OutgoingMessage) -> str:
    """Send one of the copies of a message; its id in this queue."""
    (key,) = engine.send(queue, lambda _: [replace(message)])
    return key


def _with_new_key(
    database: Database, queue: Queue, decision: StoreDecision, outgoing: OutgoingMessage
) -> OutgoingMessage:
    """A message that comes back to a queue where it was before gets another id there."""
    if not outgoing.format & REDELIVERED or outgoing.key is None:
        return outgoing
    if not database.run("message_ids", queue=queue.id, keys=[outgoing.key]):
        return outgoing
    return replace(outgoing, key=f"{outgoing.key}:{decision.number}")


def publish_one(
    database: Database, memory: ClusterMemory, request: ChoiceRequest, outgoing: OutgoingMessage
) -> StoreDecision | None:
    """The same in one statement; None, and nothing done, where the database has no function for it.

    Raises MessageError, NoDestinationError.
    """
    if request.cluster in memory.only_here or request.message.keys() - UNREAD:
        return None
    set_clock(database, request.now)
    rows = database.run(
        "publish_one",
        cluster=request.cluster,
        said=as_said(request.message),
        actor=request.actor,
        **asdict(outgoing),
    )
    if not rows:
        return None
    *decided, key = rows[0]
    decision = decision_of(request.cluster, decided)
    if decision.copies and not decision.to:  # its id was known
        return published_before(database, request.cluster, key)
    return decision._replace(messages=() if key is None else (key,))


def _stream(database: Database, row: ClusterRow, request: ChoiceRequest) -> str:
    """What else tells two messages of one id apart: the same body to another subject is another."""
    cluster = read_version(database, row).start.cluster
    if not cluster.policy.streams:
        return ""
    return ":" + "/".join(cluster.stream(cluster.values_of(request.message)))


def _remember(database: Database, request: ChoiceRequest, outgoing: OutgoingMessage) -> bool:
    """Whether a message's id is new to the cluster. Raises MessageError for another's id."""
    row = read_row(database, request.cluster, "cluster")
    now = time_of(database, request.now)
    content = digest(outgoing.format, outgoing.body) + _stream(database, row, request)
    rows = database.run(
        "add_message_ids",
        queue=-row.id,
        keys=[outgoing.key],
        digests=[content],
        at=now,
        before=now - REMEMBERED,
    )
    if rows:
        return True
    ((_, _, known),) = database.run("message_ids", queue=-row.id, keys=[outgoing.key])
    if known != content:
        raise MessageError(
            f"id: found {outgoing.key!r}, which another message had before, allowed: an id of its "
            "own for each message"
        )
    return False
