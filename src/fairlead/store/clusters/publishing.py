"""Publish: choose and enqueue in one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from fairlead.balance.message import CONTROL, REFUSED
from fairlead.errors import MessageError, NoDestinationError, TransientStoreError
from fairlead.store.arguments import REMEMBERED
from fairlead.store.clusters.choosing import ChoiceRequest, Choices
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.deliveries import guarantee
from fairlead.store.clusters.forwarding import wrapped
from fairlead.store.clusters.history import published_before
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.state import ClusterRow, Version, read_row, read_version
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database, Row
from fairlead.store.queues.bodies import REDELIVERED, digest
from fairlead.store.queues.engine import QueueEngine, engine_of
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.sending import other_message
from fairlead.store.queues.settings import Queue, made_queue
from fairlead.store.queues.temporary import landing

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
    if outgoing.key is not None and not _is_new(database, request, outgoing):
        return first_decision(database, request.cluster, outgoing.key)
    version, decision = choices.decide(request)
    if decision.outcome == CONTROL:
        return decision
    if not decision.copies:
        raise no_destination(request.cluster, decision.outcome)
    handed = handed_over(database, version, decision, request, outgoing)
    ((decision, keys),) = hand_over(database, [handed])
    return decision._replace(messages=tuple(keys))


def first_decision(database: Database, cluster: str, key: str) -> StoreDecision:
    """The decision with which a message was published before. Raises MessageError."""
    known = published_before(database, cluster, key)
    if known is None:
        raise MessageError(
            f"id: found {key!r}, which was published before; the journal does not say any more "
            "where to; allowed: a new id"
        )
    return known


def publish_many(
    database: Database,
    choices: Choices,
    memory: ClusterMemory,
    requests: Sequence[ChoiceRequest],
    batch: Sequence[OutgoingMessage],
) -> list[StoreDecision | None]:
    """Publish messages of one cluster, each after the one before, as `publish` would.

    None: its id is known, and it is not published again. A message that has no destination is not
    sent, not counted and not remembered: its decision says by its outcome why. Raises MessageError
    for the id of another message, QueueFullError.
    """
    fresh = _unknown(database, memory, requests, batch)
    if not fresh:
        return [None] * len(batch)
    decided = choices.decide_many([requests[place] for place in fresh])
    published = [
        (place, version, decision)
        for place, (version, decision) in zip(fresh, decided, strict=True)
        if decision.copies or decision.outcome == CONTROL
    ]
    contents = {
        key: _content(version, requests[place], batch[place])
        for place, version, _ in published
        if (key := batch[place].key) is not None
    }
    row = read_row(database, requests[0].cluster, "cluster")
    if len(_remember(database, row, contents, requests[0].now)) < len(contents):
        raise TransientStoreError(
            f"cluster {row.name!r}: found an id that was published meanwhile, allowed: again, and "
            "it is left out"
        )
    sendings = [
        handed_over(database, version, decision, requests[place], batch[place])
        for place, version, decision in published
        if decision.copies
    ]
    places = (place for place, _, decision in published if decision.copies)
    outcome: list[StoreDecision | None] = [None] * len(batch)
    for place, (_, decision) in zip(fresh, decided, strict=True):
        outcome[place] = decision
    for place, (decision, keys) in zip(places, hand_over(database, sendings), strict=True):
        outcome[place] = decision._replace(messages=tuple(keys))
    return outcome


def no_destination(cluster: str, outcome: str, where: str = "") -> NoDestinationError:
    """That nobody can get a message. `where`: which of many."""
    error = NoDestinationError(
        f"{where}cluster {cluster!r}: found no destination ({outcome}), allowed: "
        f"{MAKE_IT_GUARANTEED if outcome == REFUSED else PUBLISH_AGAIN}; nothing was sent or "
        "counted"
    )
    error.outcome = outcome
    return error


class HandedOver(NamedTuple):
    """A message and those who get it."""

    version: Version
    decision: StoreDecision
    request: ChoiceRequest
    outgoing: OutgoingMessage
    guaranteed: int | None
    """The number with which it is remembered, None: it is not."""


def handed_over(
    database: Database,
    version: Version,
    decision: StoreDecision,
    request: ChoiceRequest,
    outgoing: OutgoingMessage,
) -> HandedOver:
    """A message that is about to be sent, and is remembered if it is guaranteed."""
    guaranteed = guarantee(database, version, request, decision, outgoing)
    return HandedOver(version, decision, request, outgoing, guaranteed)


def hand_over(
    database: Database, every: Sequence[HandedOver]
) -> list[tuple[StoreDecision, list[str]]]:
    """Send messages of one cluster to the queues of those that were chosen.

    Returns each decision, and the ids that its message has in the queues of its copies.
    """
    if not every:
        return []
    request = every[0].request
    awaited = any(map(_is_awaited, every))
    row = read_row(database, request.cluster, "cluster") if awaited else None
    engine = engine_of(database, request.now, request.actor)
    by_queue: dict[str, list[tuple[int, int, OutgoingMessage]]] = {}
    for place, handed in enumerate(every):
        for copy in range(len(handed.decision.copies)):
            to, outgoing = _landing(database, handed, copy)
            by_queue.setdefault(to, []).append((place, copy, outgoing))
    keys = [[""] * len(handed.decision.copies) for handed in every]
    for to, copies in by_queue.items():
        queue = made_queue(database, to, request.now)
        batch = [
            _with_new_key(database, queue, every[place].decision, message)
            for place, _, message in copies
        ]
        waits: list[Row] = []
        for (place, copy, _), key in zip(copies, _sent(engine, to, batch), strict=True):
            keys[place][copy] = key
            if _is_awaited(every[place]):
                waits.append(_awaited(every[place], copy, key))
        if waits and row is not None:
            database.run("set_completing", queue=queue.id)
            database.many("add_published", waits, queue=queue.id, cluster=row.id)
    return [(handed.decision, keys[place]) for place, handed in enumerate(every)]


def _landing(database: Database, handed: HandedOver, copy: int) -> tuple[str, OutgoingMessage]:
    """The queue for a copy of a message, and the message as it is there."""
    cluster, request = handed.version.start.cluster, handed.request
    member = handed.version.member_of[handed.decision.to[copy][0]]
    named = cluster.queue_named_by(member, cluster.values_of(request.message))
    if named is not None:
        queue = named or request.route.queue
        if not queue:
            raise MessageError(
                f"queue: found none, allowed: the name of a queue of {cluster.object_of(member)}"
            )
        message = replace(handed.outgoing, key=handed.outgoing.key or request.route.id)
        return landing(database, queue, message, request.now)
    name, _ = handed.decision.copies[copy]
    queue = cluster.queue(member) or name
    if not cluster.forwards:
        return queue, replace(handed.outgoing)
    return queue, wrapped(handed.outgoing, request.message, request.route)


def _sent(engine: QueueEngine, queue: str, batch: list[OutgoingMessage]) -> list[str]:
    """Send messages; their ids in this queue."""
    return engine.send(queue, lambda _: batch)


def _is_awaited(handed: HandedOver) -> bool:
    """Whether the cluster waits for the settlement of the message."""
    return handed.guaranteed is not None or handed.version.start.cluster.timed(())


def _awaited(handed: HandedOver, copy: int, key: str) -> Row:
    """What the cluster has to know when a copy is settled, which has this id in its queue."""
    version = handed.version
    cluster = version.start.cluster
    getting = cluster.eligible(cluster.values_of(handed.request.message)).recipients
    id_, part = handed.decision.to[copy]
    shared = cluster.object_of(version.member_of[id_]) in map(cluster.object_of, getting)
    return key, id_, part, handed.decision.version, handed.guaranteed, int(shared)


def _with_new_key(
    database: Database, queue: Queue, decision: StoreDecision, outgoing: OutgoingMessage
) -> OutgoingMessage:
    """A message that comes back to a queue where it was before gets another id there."""
    if not outgoing.format & REDELIVERED or outgoing.key is None:
        return outgoing
    if not database.run("message_ids", queue=queue.id, keys=[outgoing.key]):
        return outgoing
    return replace(outgoing, key=f"{outgoing.key}:{decision.number}")


def _unknown(
    database: Database,
    memory: ClusterMemory,
    requests: Sequence[ChoiceRequest],
    batch: Sequence[OutgoingMessage],
) -> list[int]:
    """The places of the messages whose ids are new to the cluster. Raises MessageError."""
    row = read_row(database, requests[0].cluster, "cluster")
    version = memory.version(database, row)
    now = time_of(database, requests[0].now)
    contents: dict[str, str] = {}
    fresh = []
    for place, (request, message) in enumerate(zip(requests, batch, strict=True)):
        if message.key is None:
            fresh.append(place)
            continue
        content = _content(version, request, message)
        if message.key not in contents:
            fresh.append(place)
        if contents.setdefault(message.key, content) != content:
            raise other_message(message.key)
    rows = database.run("message_ids", queue=-row.id, keys=[*contents]) if contents else ()
    known = {key: content for key, at, content in rows if at >= now - REMEMBERED}
    for key, content in known.items():
        if contents[key] != content:
            raise other_message(key)
    return [place for place in fresh if batch[place].key not in known]


def _remember(
    database: Database, row: ClusterRow, contents: Mapping[str, str], clock: int | None
) -> set[str]:
    """Remember ids with what their messages say; those that were new to the cluster."""
    if not contents:
        return set()
    now = time_of(database, clock)
    keys = sorted(contents)  # in one order, so that two senders never wait for each other
    rows = database.run(
        "add_message_ids",
        queue=-row.id,
        keys=keys,
        digests=[contents[key] for key in keys],
        at=now,
        before=now - REMEMBERED,
    )
    return {key for (key,) in rows}


def _content(version: Version, request: ChoiceRequest, outgoing: OutgoingMessage) -> str:
    """What tells two messages of one id apart: the same body to another subject is another."""
    cluster = version.start.cluster
    of_body = digest(outgoing.format, outgoing.body)
    if not cluster.policy.streams:
        return of_body
    return of_body + ":" + "/".join(cluster.stream(cluster.values_of(request.message)))


def _is_new(database: Database, request: ChoiceRequest, outgoing: OutgoingMessage) -> bool:
    """Whether a message's id is new to the cluster, which remembers it from now on.

    Raises MessageError for another's id.
    """
    key = outgoing.key or ""
    row = read_row(database, request.cluster, "cluster")
    content = _content(read_version(database, row), request, outgoing)
    if _remember(database, row, {key: content}, request.now):
        return True
    ((_, _, known),) = database.run("message_ids", queue=-row.id, keys=[key])
    if known != content:
        raise other_message(key)
    return False
