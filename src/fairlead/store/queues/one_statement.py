"""On PostgreSQL, what concerns one message or one group is one statement, and one transaction.

The functions of the schema do it, which plain SQL calls, too. How work is taken so stands in
`take_call.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from fairlead.store.database.clock import set_clock
from fairlead.store.database.context import BaseContext
from fairlead.store.database.port import Database
from fairlead.store.database.postgresql import refusal, spread
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.settings import known_queue
from fairlead.store.queues.settlement import ACCEPTED, Settlement


def send_one(
    database: Database, queue: str, each: OutgoingMessage, actor: str, now: int | None
) -> str:
    """Send one message; its id. Raises MessageError, QueueFullError."""
    set_clock(database, now)
    ((key,),) = database.run("send_one", queue=queue, actor=actor, **asdict(each))
    return str(key)


def settle_one(database: Database, end: Settlement, actor: str, now: int | None) -> None:
    """Settle work on one group. Raises StaleWorkError."""
    set_clock(database, now)
    database.run("settle_one", **_ending(end, actor))


def try_send_one(
    database: Database, queue: str, each: OutgoingMessage, actor: str, now: int | None
) -> str:
    """Send one message in a transaction that goes on after a refusal, as `send_one` does."""
    set_clock(database, now)
    ((key, state, line),) = database.run("try_send_one", queue=queue, actor=actor, **asdict(each))
    if state is not None:
        raise refusal(state, line)
    return str(key)


def try_prioritise(
    database: Database, queue: str, group: str | None, priority: int | None, context: BaseContext
) -> bool:
    """Raise a group; whether it was raised. Raises MessageError."""
    set_clock(database, context.clock())
    ((raised, state, line),) = database.run(
        "try_prioritise", queue=queue, group=group, priority=priority, actor=context.actor
    )
    if state is not None:
        known_queue(database, queue, context.clock())  # says which queues there are
        raise refusal(state, line)
    return bool(raised)


def try_send_many(
    database: Database, queue: str, batch: Sequence[OutgoingMessage], context: BaseContext
) -> list[str]:
    """Send messages in a transaction that goes on after a refusal; their ids, in their order.

    Raises MessageError, QueueFullError.
    """
    if not batch:
        return []
    set_clock(database, context.clock())
    rows = [
        (
            *(
                message.group,
                message.priority,
                message.key,
                message.type,
                message.tenant,
                message.cost,
                message.due,
            ),
            *(message.expires, message.format, message.body),
        )
        for message in batch
    ]
    values = spread("try_send_many", rows)
    ((keys, state, line),) = database.run(
        "try_send_many", queue=queue, actor=context.actor, **values
    )
    if state is not None:
        raise refusal(state, line)
    return list(keys)


def try_settle_one(database: Database, end: Settlement, actor: str, now: int | None) -> None:
    """Settle work in a transaction that goes on after a refusal, as `settle_one` does."""
    set_clock(database, now)
    ((state, line),) = database.run("try_settle_one", **_ending(end, actor))
    if state is not None:
        raise refusal(state, line)


def _ending(end: Settlement, actor: str) -> dict[str, object]:
    return {
        "id": end.id,
        "token": end.token,
        "outcome": end.kind,
        "given": [given.number for given in end.given],
        "reason": end.reason,
        "delay": end.delay,
        "failed": bool(end.failed),
        "actor": actor,
        "partly": end.partly,
    }


def is_for_one(end: Settlement) -> bool:
    """Whether `settle_one` can do it: all that was given ends alike."""
    return not (end.done or end.keep or end.moved or end.redelivers) and not (
        end.kind == ACCEPTED and end.dead
    )
