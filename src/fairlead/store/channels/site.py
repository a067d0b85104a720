"""A store that is a queue manager's: who serves it, and what is put to a queue anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from fairlead.balance.change import Change
from fairlead.balance.message import NO_DESTINATION, NOT_FIXED, ON_OPEN
from fairlead.balance.policies.ibm_mq import QUEUE, QUEUE_MANAGER
from fairlead.balance.state import AnyState
from fairlead.errors import MessageError, NoDestinationError
from fairlead.store.channels.kept_queues import check_put_queue
from fairlead.store.channels.receiving import Announcement
from fairlead.store.clusters.changing import Author, change
from fairlead.store.clusters.choosing import ChoiceRequest, Choices, KeptBindings
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.forwarding import OnwardRoute
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.publishing import publish
from fairlead.store.clusters.state import read_row
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.queues.outgoing import OutgoingMessage, outgoing
from fairlead.store.queues.settings import read_queue
from fairlead.store.queues.temporary import TEMPORARY, gone, is_there

AT = "@"
"""Between a queue and its queue manager, in an address."""


class SiteRow(NamedTuple):
    """The queue manager that this store is."""

    name: str
    """The queue manager's."""
    cluster: str
    """In which it chooses."""


class ServedSite(NamedTuple):
    """A queue manager, as an operator sees it."""

    name: str
    cluster: str
    server: str
    """The host and the process that serve it; "": none does."""
    suspended: bool
    """Whether others send to it only where they have to."""


class PutAddress(NamedTuple):
    """Where something is put to: a queue, or a queue of a queue manager."""

    queue: str
    manager: str = ""

    @classmethod
    def of(cls, text: str) -> PutAddress:
        """QUEUE, or QUEUE@QUEUE_MANAGER."""
        queue, _, manager = text.rpartition(AT)
        return cls(queue, manager) if queue and manager else cls(text)


def site(database: Database) -> SiteRow | None:
    """The queue manager that this store is; None: it is none."""
    rows = database.run("queue_manager")
    return SiteRow(*rows[0]) if rows else None


def server_of(database: Database) -> tuple[int | None, str | None, int | None]:
    """The process that serves this store's queue manager: its number, its host and its process."""
    rows = database.run("queue_manager_server")
    return rows[0] if rows else (None, None, None)


def known_site(database: Database, what: str) -> SiteRow:
    """The queue manager that this store is. Raises MessageError where it is none."""
    site_row = site(database)
    if site_row is None:
        raise MessageError(
            f"{what}: found a store that is no queue manager's, allowed: one that `fairlead serve "
            "--queue-manager NAME` has served"
        )
    return site_row


class PutCall(NamedTuple):
    """How a message is put."""

    database: Database
    memory: ClusterMemory
    now: int | None
    actor: str


def state_of(database: Database, memory: ClusterMemory, cluster: str) -> AnyState:
    """A cluster as it is now, without what it has counted."""
    row = read_row(database, cluster, "cluster")
    return memory.version(database, row).start.cluster


def goes_by_cluster(state: AnyState, address: PutAddress) -> bool:
    """Whether the cluster decides where what is put there goes: else it is a queue of this store.

    It does where a queue manager is named, too, be it this one.
    """
    is_known = any(ref.kind == QUEUE and ref.name == address.queue for ref in state.objects)
    return is_known or bool(address.manager)


def put(
    call: PutCall,
    address: PutAddress,
    message: OutgoingMessage,
    binding: Mapping[str, object],
) -> StoreDecision:
    """Put a message to a queue that may be anywhere: the cluster of this queue manager decides.

    `binding`: how it is bound, and by whom. Raises MessageError, NoDestinationError.
    """
    site_row = known_site(call.database, "put")
    state = state_of(call.database, call.memory, site_row.cluster)
    request = request_of(call, site_row, state, address, message, binding)
    return publish(call.database, Choices(call.database, call.memory), request, message)


def request_of(
    call: PutCall,
    site_row: SiteRow,
    state: AnyState,
    address: PutAddress,
    message: OutgoingMessage,
    binding: Mapping[str, object],
) -> ChoiceRequest:
    """What a message that is put asks of the cluster. `state`: of that.

    A queue that no cluster has is one of this queue manager, if there is one of that name. Raises
    MessageError.
    """
    check_put_queue(address.queue)
    is_known = any(ref.kind == QUEUE and ref.name == address.queue for ref in state.objects)
    manager = address.manager
    if not is_known and manager in ("", site_row.name):
        manager = _manager(call, site_row, address)
    attributes = {**binding, **_attributes(address.queue, manager, message, is_known=is_known)}
    is_open = attributes.get("producer") or attributes.get("bind")
    if not is_open and state.bind_default(state.key(state.values_of(attributes))) == ON_OPEN:
        attributes["bind"] = NOT_FIXED  # it was opened for this message alone
    route = OnwardRoute("" if is_known else address.queue)
    return ChoiceRequest(
        site_row.cluster, attributes, call.now, call.actor, message.key or "", route
    )


def _attributes(
    queue: str, manager: str, message: OutgoingMessage, *, is_known: bool
) -> dict[str, object]:
    """What the choice reads of a message. `manager`: to which it goes; "": any that has the queue.

    `is_known`: whether the cluster has the queue.
    """
    attributes: dict[str, object] = {}
    if message.group:
        attributes["group"] = message.group
    if message.type:
        attributes["type"] = message.type
    if manager:
        attributes["queue_manager"] = manager
    if is_known or not manager:
        attributes["queue"] = queue
    return attributes


def _manager(call: PutCall, site_row: SiteRow, address: PutAddress) -> str:
    """The queue manager to send to, where no cluster has the queue: this one, if it has it.

    Else the one that the address names, or "".
    """
    if address.queue.startswith(TEMPORARY):
        if not is_there(call.database, address.queue, call.now):
            raise MessageError(gone(address.queue))
        return site_row.name
    has_it = read_queue(call.database, address.queue, call.now) is not None
    return site_row.name if has_it else address.manager


def close_opener(
    database: Database, memory: ClusterMemory, address: PutAddress, opener: str
) -> None:
    """Whoever had opened a queue has closed it: what it was bound to is forgotten."""
    site_row = known_site(database, "close")
    cluster = read_row(database, site_row.cluster, "cluster")
    runtime = memory.version(database, cluster).start
    attributes: dict[str, Any] = {"queue": address.queue, "producer": opener}
    if address.manager:
        attributes["queue_manager"] = address.manager
    state = runtime.cluster
    key = state.binding(state.values_of(attributes), attributes)
    if key is not None:
        del KeptBindings(database, cluster.id, runtime)[key]


def set_state(
    database: Database, memory: ClusterMemory, channel: str, state: str, author: Author
) -> bool:
    """A channel has come into a state; whether it was in another one."""
    cluster = known_site(database, "channel").cluster
    objects = state_of(database, memory, cluster).objects
    now = next(known.state for ref, known in objects.items() if ref.name == channel)
    if now == state:
        return False
    change(database, cluster, [Change.at_micros(channel, "state", state, 0)], author)
    return True


def announce(call: PutCall, asked: Change) -> int:
    """Change what this queue manager says of itself, and tell the others; how many.

    The messages take part in the choice as publications do. Raises ChangeError, MessageError.
    """
    database = call.database
    site_row = known_site(database, "change")
    change(database, site_row.cluster, [asked], Author(call.actor, call.now))
    announcement = Announcement(asked.target, asked.attribute, asked.value, call.actor)
    body = msgspec.json.encode(announcement)
    sent: list[str] = []
    while True:
        attributes = {"pcf": "true", "already_sent": ";".join(sent)}
        message = outgoing(body, time_of(database, call.now), type="announcement")
        request = ChoiceRequest(site_row.cluster, attributes, call.now, call.actor)
        try:
            decision = publish(database, Choices(database, call.memory), request, message)
        except NoDestinationError as error:
            if error.outcome != NO_DESTINATION:
                raise
            return len(sent)
        state = state_of(database, call.memory, site_row.cluster)
        sent.append(
            next(
                ref.owner
                for ref in state.objects
                if ref.kind == "channel" and ref.name == decision.destination
            )
        )


def own_object(here: str, queue: str | None) -> str:
    """How a change names this queue manager, or an instance of a queue of its own."""
    return f"{QUEUE_MANAGER}:{here}" if queue is None else f"{QUEUE}:{queue}@{here}"
