"""Messages that wait for a channel that cannot run, and are bound to nothing: another choice."""

from __future__ import annotations

from msgspec.structs import replace

from fairlead.balance.message import NOT_FIXED, ON_GROUP
from fairlead.balance.state import AnyState
from fairlead.store.channels.receiving import Arrival
from fairlead.store.channels.rows import ForwardedMessage
from fairlead.store.channels.sending import settled, taken_back
from fairlead.store.channels.site import known_site, state_of
from fairlead.store.clusters.choosing import ChoiceRequest, Choices
from fairlead.store.clusters.forwarding import Header, unwrapped
from fairlead.store.clusters.publishing import publish
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.settlement import RELEASE, Settlement


def rechoose(arrival: Arrival, channel: str) -> int:
    """Give messages that are not bound back to the choice, in their order; how many.

    They are counted as any choice is. A group of which something is bound stays as it is.
    """
    database, engine = arrival.database, arrival.engine
    row = known_site(database, "rechoose")
    state = state_of(database, arrival.memory, row.cluster)
    messages, ends = taken_back(engine, channel, arrival.claim, arrival.claim.most)
    by_group: dict[str, list[ForwardedMessage]] = {}
    place = 0
    leaving: list[Settlement] = []
    staying: list[Settlement] = []
    for end in ends:
        of_group = messages[place : place + len(end.given)]
        place += len(end.given)
        if all(_is_free(state, message) for message in of_group):
            leaving.append(end)
            by_group.setdefault(f"{end.id}", []).extend(of_group)
        else:
            staying.append(
                Settlement(RELEASE, end.id, end.token, end.group, given=end.given, delay=0)
            )
    settled(engine, channel, [*leaving, *staying], arrival.actor)
    count = 0
    for of_group in by_group.values():
        for message in of_group:
            _again(arrival, row.cluster, message)
            count += 1
    return count


def _is_free(state: AnyState, message: ForwardedMessage) -> bool:
    """Whether a message is bound to nothing."""
    header, _ = unwrapped(message.raw)
    attributes = header.said
    bind = attributes.get("bind") or state.bind_default(state.key(state.values_of(attributes)))
    return bind == NOT_FIXED or (bind == ON_GROUP and not attributes.get("group"))


def _again(arrival: Arrival, cluster: str, message: ForwardedMessage) -> None:
    header, body = unwrapped(message.raw)
    outgoing = _outgoing(message, header, body)
    route = replace(header.route, id=header.id)
    request = ChoiceRequest(cluster, header.said, arrival.now, arrival.actor, "", route)
    publish(arrival.database, Choices(arrival.database, arrival.memory), request, outgoing)


def _outgoing(message: ForwardedMessage, header: Header, body: bytes) -> OutgoingMessage:
    return OutgoingMessage(
        message.group or None,
        message.priority,
        None,
        message.type,
        message.tenant,
        message.cost,
        None,
        header.expires,
        header.format,
        body,
    )
