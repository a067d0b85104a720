"""The receiving end of a channel: a batch and its number are written in one transaction.

Each message goes where this queue manager's cluster sends what came over a cluster channel: to the
local instance of its queue, else on. What cannot be done with a message is its own: it becomes a
dead letter of this end of the channel, with the reason, and the channel goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from fairlead.balance.change import Change
from fairlead.balance.policies.ibm_mq_objects import transmission_queue
from fairlead.errors import ChangeError, ConfigError, MessageError, NoDestinationError
from fairlead.store.channels.kept_queues import check_put_queue
from fairlead.store.channels.rows import IN, ForwardedMessage, channel_locked, unpacked
from fairlead.store.clusters.changing import Author, change
from fairlead.store.clusters.choosing import ChoiceRequest, Choices
from fairlead.store.clusters.forwarding import Header, unwrapped
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.publishing import no_destination, publish, publish_many
from fairlead.store.database.port import Database
from fairlead.store.database.savepoint import undone_if_refused
from fairlead.store.queues.engine import QueueEngine
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.settings import read_queue
from fairlead.store.queues.settlement import ACCEPTED, Given, Settlement
from fairlead.store.queues.taken_group import Claim
from fairlead.store.queues.temporary import TEMPORARY, gone, is_there, landing

HOPS: Final = 8
"""So many queue managers a message may leave; then it goes in a circle."""
LEASE: Final = 3_600_000_000
PAGE: Final = 1000


class ChannelEnd(NamedTuple):
    """The receiving end of a channel."""

    cluster: str
    """In which this queue manager chooses."""
    manager: str
    """This one."""
    channel: str
    """The channel's name."""
    peer: str
    """The queue manager at the other end."""


class Arrival(NamedTuple):
    """What is needed to take in what has come, in one transaction."""

    database: Database
    memory: ClusterMemory
    engine: QueueEngine
    claim: Claim
    """Of this process."""
    now: int | None
    """Of a clock of the user's own, in microseconds."""
    actor: str


def last_batch(database: Database, end: ChannelEnd) -> tuple[int, str]:
    """The number and the name of the last batch that came on a channel."""
    row = channel_locked(database, IN, end.channel, end.peer)
    return row.number, row.token


def receive(arrival: Arrival, end: ChannelEnd, number: int, token: str, content: bytes) -> int:
    """Take in a batch, once; how many messages of it became dead letters here.

    Raises MessageError for one that is not the next.
    """
    database = arrival.database
    row = channel_locked(database, IN, end.channel, end.peer)
    if (number, token) == (row.number, row.token):
        return 0
    if number != row.number + 1:
        raise MessageError(
            f"channel {end.channel!r}: found batch {number} of {end.peer}, allowed: "
            f"{row.number + 1}, the next"
        )
    messages = unpacked(content)
    dead = take_in(arrival, end, messages)
    database.run(
        "count_batch",
        direction=IN,
        name=end.channel,
        peer=end.peer,
        number=number,
        token=token,
        messages=len(messages),
    )
    return dead


def take_in(arrival: Arrival, end: ChannelEnd, messages: Sequence[ForwardedMessage]) -> int:
    """Send messages on from here; how many became dead letters."""
    refused: dict[int, str] = {}
    plain: list[tuple[int, ChoiceRequest, OutgoingMessage]] = []
    dead = 0
    for place, message in enumerate(messages):
        try:
            header, request, outgoing = _request(arrival, end, message)
            if header.said.get("pcf") == "true":
                _apply(arrival, end, outgoing)
            elif _is_own(header, end):
                _to_own_queue(arrival, header, outgoing)
            else:
                plain.append((place, request, outgoing))
        except (MessageError, ChangeError, ConfigError) as error:
            refused[place] = str(error)
    refused.update(_publish(arrival, plain))
    for place in sorted(refused):
        _bury(arrival, end, messages[place], refused[place])
        dead += 1
    return dead


def _request(
    arrival: Arrival, end: ChannelEnd, message: ForwardedMessage
) -> tuple[Header, ChoiceRequest, OutgoingMessage]:
    """What a message asks of the cluster here. Raises MessageError."""
    header, body = unwrapped(message.raw)
    check_put_queue(header.route.queue)
    way = (*header.route.way, end.peer)
    if len(way) > HOPS:
        raise MessageError(
            f"message: found that it has left {', '.join(way)}, allowed: at most {HOPS} queue "
            "managers, so that nothing goes round in a circle"
        )
    outgoing = OutgoingMessage(
        message.group or None,
        message.priority,
        header.id,
        message.type,
        message.tenant,
        message.cost,
        None,
        header.expires,
        header.format,
        body,
    )
    attributes = {**header.said, "via_cluster_channel": "true"}
    route = msgspec.structs.replace(header.route, way=way)
    key = header.id or ""
    request = ChoiceRequest(end.cluster, attributes, arrival.now, arrival.actor, key, route)
    return header, request, outgoing


def _is_own(header: Header, end: ChannelEnd) -> bool:
    """Whether a message is for a queue of this queue manager that no cluster knows."""
    return header.said.get("queue_manager") == end.manager and not header.said.get("queue")


def _to_own_queue(arrival: Arrival, header: Header, outgoing: OutgoingMessage) -> None:
    database, queue = arrival.database, header.route.queue
    if queue.startswith(TEMPORARY):
        if not is_there(database, queue, arrival.now):
            raise MessageError(gone(queue))
    elif read_queue(database, queue, arrival.now) is None:
        raise MessageError(f"queue: found {queue!r}, allowed: one that there is here")
    to, message = landing(database, queue, outgoing, arrival.now)
    with undone_if_refused(database):
        arrival.engine.send(to, lambda _: [message])


def _apply(arrival: Arrival, end: ChannelEnd, outgoing: OutgoingMessage) -> None:
    """What a queue manager says of itself: it is a change here, too."""
    try:
        announcement = msgspec.json.decode(outgoing.body, type=Announcement)
    except msgspec.DecodeError as error:
        raise MessageError(f"announcement: found none ({error}), allowed: a change") from None
    author = Author(f"{announcement.by} of {end.peer}", arrival.now)
    told_change = Change.at_micros(
        announcement.target, announcement.attribute, announcement.value, 0
    )
    with undone_if_refused(arrival.database):
        change(arrival.database, end.cluster, [told_change], author)


class Announcement(msgspec.Struct, frozen=True):
    """A change of a queue manager's own, as it is told to the others."""

    target: str
    attribute: str
    value: Any
    by: str
    """Who has made it."""


def _publish(
    arrival: Arrival, plain: Sequence[tuple[int, ChoiceRequest, OutgoingMessage]]
) -> Mapping[int, str]:
    """Publish messages, together where nothing is refused; why some could not be, by place."""
    if not plain:
        return {}
    try:
        return _together(arrival, plain)
    except (MessageError, NoDestinationError):
        return _one_by_one(arrival, plain)


def _together(
    arrival: Arrival, plain: Sequence[tuple[int, ChoiceRequest, OutgoingMessage]]
) -> Mapping[int, str]:
    database, memory = arrival.database, arrival.memory
    requests = [request for _, request, _ in plain]
    batch = [outgoing for _, _, outgoing in plain]
    with undone_if_refused(database):
        decisions = publish_many(database, Choices(database, memory), memory, requests, batch)
    return {
        place: str(no_destination(request.cluster, decision.outcome))
        for (place, request, _), decision in zip(plain, decisions, strict=True)
        if decision is not None and not decision.copies
    }


def _one_by_one(
    arrival: Arrival, plain: Sequence[tuple[int, ChoiceRequest, OutgoingMessage]]
) -> Mapping[int, str]:
    database = arrival.database
    refused: dict[int, str] = {}
    for place, request, outgoing in plain:
        try:
            with undone_if_refused(database):
                publish(database, Choices(database, arrival.memory), request, outgoing)
        except (MessageError, NoDestinationError) as error:
            refused[place] = str(error)
    return refused


def _bury(arrival: Arrival, end: ChannelEnd, message: ForwardedMessage, reason: str) -> None:
    """A message becomes a dead letter of this end of its channel."""
    queue, engine = transmission_queue(end.channel), arrival.engine
    outgoing = OutgoingMessage(
        message.group or f"channel:{end.peer}",
        None,
        None,
        message.type,
        message.tenant,
        message.cost,
        None,
        None,
        message.format,
        message.raw,
    )
    (key,) = engine.send(queue, lambda _: [outgoing])
    claim = arrival.claim._replace(name=outgoing.group, most=1, page=PAGE, lease=LEASE)
    held, _ = engine.take(queue, claim, in_portions=False)
    for group in held:
        for buried in group.messages:
            if buried.id == key:
                letter = [Given(buried.number, buried.id, buried.cost)]
                end_of_it = Settlement(
                    *(ACCEPTED, group.id, group.token, group.group),
                    given=letter,
                    dead={buried.number: reason[:2000]},
                )
                engine.settle(queue, [end_of_it], arrival.actor)
                return
