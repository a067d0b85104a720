"""Guaranteed messages: what became of them, for whoever published them.

Who settles a copy leaves word of it, and who asks counts the words: so settlers of one message's
copies never wait for each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

from fairlead.balance.message import ACKNOWLEDGED, NACK
from fairlead.store.clusters.choosing import ChoiceRequest
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.clusters.state import Version, read_row
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.queues.outgoing import OutgoingMessage

OPEN: Final = "open"
TIMEOUT: Final = "timeout"
SOME: Final = "some"
LATE: Final = "nobody has acknowledged it in time"


class Delivery(NamedTuple):
    """How it stands with a guaranteed message."""

    outcome: str
    """`open`: it is not known yet; `acknowledged`; `nack`: a receiver has failed, or refused it;
    `timeout`: it was not acknowledged within the cluster's `delivery_timeout`."""
    reason: str = ""
    """Why it has failed."""

    @property
    def is_open(self) -> bool:
        """Whether its publisher has to ask again."""
        return self.outcome == OPEN

    @property
    def has_succeeded(self) -> bool:
        """Whether as many have acknowledged it as were to."""
        return self.outcome == ACKNOWLEDGED


def guarantee(
    database: Database,
    version: Version,
    request: ChoiceRequest,
    decision: StoreDecision,
    outgoing: OutgoingMessage,
) -> int | None:
    """Remember a message that is being published, if it is guaranteed; the number of it, then.

    A copy that waits when it was to be acknowledged is not wanted any more; not so where the
    acknowledgement of another copy may have been enough.
    """
    cluster = version.start.cluster
    values = cluster.values_of(request.message)
    delivery = cluster.failures.ack_mode(values)
    if not delivery:
        return None
    now, timeout = time_of(database, request.now), cluster.failures.ack_timeout
    due = (outgoing.due or now) + timeout if timeout else outgoing.expires
    if due is not None and outgoing.expires is not None:
        due = min(due, outgoing.expires)
    if due is not None and (delivery != SOME or len(decision.copies) == 1):
        outgoing.expires = due
    attributes = dict(zip(cluster.policy.reads, cluster.failures.published(values), strict=True))
    database.run(
        "add_guaranteed",
        id=decision.number,
        cluster=read_row(database, request.cluster, "cluster").id,
        key=request.id,
        sequence=decision.sequence,
        said=json.dumps({name: value for name, value in attributes.items() if value}),
        delivery=delivery,
        copies=len(decision.copies),
        at=now,
        due=due,
    )
    return decision.number


def deliveries(database: Database, numbers: Iterable[int], now: int | None) -> dict[int, Delivery]:
    """How it stands with guaranteed messages, by the numbers of their decisions."""
    ids = sorted(set(numbers))
    rows = database.run("deliveries", ids=ids) if ids else []
    moment = time_of(database, now) if rows else 0
    return {id_: _found(*row, now=moment) for id_, *row in rows}


def _found(
    delivery: str,
    copies: int,
    due: int | None,
    acknowledged: int,
    failed: int,
    reason: str | None,
    *,
    now: int,
) -> Delivery:
    enough, too_many = (1, copies) if delivery == SOME else (copies, 1)
    if failed >= too_many:
        return Delivery(NACK, reason or "")
    if acknowledged >= enough:
        return Delivery(ACKNOWLEDGED)
    if due is not None and now >= due:
        return Delivery(TIMEOUT, LATE)
    return Delivery(OPEN)
