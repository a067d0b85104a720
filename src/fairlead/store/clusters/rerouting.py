"""Reroute: what waits for a subscriber that has failed goes to others, or its publisher is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from fairlead.balance.message import LOST, RELEASED
from fairlead.balance.objects import Ref, repr_of
from fairlead.balance.policies.smartsockets import SmartSocketsFailures
from fairlead.balance.policies.smartsockets_objects import (
    FAILURE,
    SUBSCRIBER,
    WARM,
    is_warm,
    there,
)
from fairlead.errors import ChangeError
from fairlead.store.clusters.changing import Author, make_due
from fairlead.store.clusters.choosing import ChoiceRequest, Choices
from fairlead.store.clusters.events import moment
from fairlead.store.clusters.memory import ClusterMemory
from fairlead.store.clusters.moving import HAS_FAILED, move
from fairlead.store.clusters.publishing import HandedOver, hand_over
from fairlead.store.clusters.state import read_row
from fairlead.store.clusters.subscribing import state_of
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.database.port import Database
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.settings import Queue, known_queue, read_queue
from fairlead.store.queues.settlement import Given
from fairlead.store.queues.taken_group import TakenGroup

NOBODY_LEFT: Final = "its receiver has failed, and no other is left"


class Departed(NamedTuple):
    """A subscriber that gets nothing any more."""

    queue: str
    """In which messages may still wait for it; "": nothing was ever sent to it."""
    way: str
    """What its failure means: `failure` or `success`."""


class Guaranteed(NamedTuple):
    """A guaranteed message, as it is known by a copy that waits."""

    id: int
    cluster: str
    key: str
    sequence: int
    said: str
    shared: bool
    """Whether others have theirs, whatever becomes of this copy."""


def departed(database: Database, wanted: Subscription, author: Author) -> Departed | None:
    """A subscriber whose messages are to go to others; None: it is warm, they are kept for it.

    Raises ChangeError where it is connected.
    """
    row = read_row(database, wanted.cluster, "lock_cluster")
    time = moment(database, row, author.now)
    if row.due is not None and row.due <= time:
        make_due(database, wanted.cluster, time, author.actor)
    subscriber = state_of(database, wanted.cluster).objects.get(
        Ref(SUBSCRIBER, wanted.name, wanted.subject)
    )
    if subscriber is None:
        return Departed(_there_is(database, wanted.queue, author), FAILURE)
    if there(subscriber):
        if is_warm(subscriber):
            return None
        raise ChangeError(
            f"cluster {wanted.cluster!r}: subject {repr_of(wanted.subject)}: found that the "
            f"subscriber {repr_of(wanted.name)} is connected, allowed: one that has failed or left"
        )
    way = FAILURE if subscriber.disconnect_mode == WARM else subscriber.disconnect_mode
    return Departed(_there_is(database, subscriber.queue or wanted.name, author), way)


def _there_is(database: Database, queue: str, author: Author) -> str:
    """A queue's name; "" where there is none of that name."""
    return "" if read_queue(database, queue, author.now) is None else queue


def reroute(
    database: Database,
    memory: ClusterMemory,
    departed: Departed,
    held: TakenGroup,
    given: Sequence[Given],
    author: Author,
) -> None:
    """These messages of a group leave the queue of a subscriber; `held`: the group, as taken."""
    queue = known_queue(database, departed.queue, author.now)
    rerouting = _Rerouting(database, Choices(database, memory), queue, departed.way, author)
    move(database, queue, held, given, rerouting.end, author)


class _Rerouting(NamedTuple):
    """What becomes of messages that wait in one queue."""

    database: Database
    choices: Choices
    queue: Queue
    way: str
    author: Author

    def end(self, outgoing: OutgoingMessage) -> str:
        """What becomes of one, for the journal. `outgoing`: as it would be sent again."""
        at = {"queue": self.queue.id, "key": outgoing.key}
        rows = self.database.run("guaranteed", **at)
        if not rows:
            return f"{LOST}: {HAS_FAILED}"
        known = Guaranteed(*rows[0])
        self.database.run("unpublish", **at)
        failures = SmartSocketsFailures(state_of(self.database, known.cluster))
        outcome, reason = failures.fate(self.way, shared=bool(known.shared)), HAS_FAILED
        if outcome == RELEASED:
            request = self._asked(known)
            version, decision = self.choices.decide_again(request, known.sequence)
            if decision.copies:
                again = HandedOver(version, decision, request, outgoing, known.id)
                hand_over(self.database, [again])
                return f"{RELEASED}: it goes to {decision.destination}"
            outcome, reason = decision.outcome, NOBODY_LEFT
        self.database.run(
            "add_acknowledgement",
            guaranteed=known.id,
            outcome=outcome,
            reason=reason,
            now=self.queue.now,
        )
        return f"{outcome}: {reason}"

    def _asked(self, known: Guaranteed) -> ChoiceRequest:
        attributes: dict[str, Any] = json.loads(known.said)
        return ChoiceRequest(
            known.cluster, attributes, self.author.now, self.author.actor, known.key
        )
