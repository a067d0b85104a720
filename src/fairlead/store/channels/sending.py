"""The sending end of a channel: batches are formed, sent until they are confirmed, and forgotten.

A batch leaves its transmission queue in the transaction in which it is written down as it will be
sent. So whatever ends a process, the same bytes are sent again under the same number, and the
receiving end, which writes down the number with the messages, takes them once.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Final

from fairlead.balance.objects import DEFAULT_PRIORITY
from fairlead.balance.policies.ibm_mq_objects import transmission_queue
from fairlead.errors import MessageError
from fairlead.order.key import UNRAISED
from fairlead.store.channels.rows import (
    OUT,
    ChannelBatch,
    ChannelRow,
    ForwardedMessage,
    batches,
    channel_locked,
    packed,
)
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.queues.engine import QueueEngine
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import ACCEPTED, Given, Settlement
from fairlead.store.queues.taken_group import Claim, TakenGroup
from fairlead.store.queues.unreadable import take_readable

LEASE: Final = 3_600_000_000
"""Microseconds, of what is taken and settled in one transaction."""
BYTES: Final = 1_000_000
"""Of the messages of a batch, about; one message may be longer."""
FIRST_GROUPS: Final = 8
"""So many groups are taken first; then twice as many, as long as they are small."""
PAGE: Final = 8
"""So many messages of a group are taken at once, unless a batch has room for fewer."""


def form_batch(
    database: Database,
    engine: QueueEngine,
    channel: ChannelRow,
    claim: Claim,
    most: int,
    longest: int,
) -> ChannelBatch | None:
    """Take the next messages out of the transmission queue, and write them down as a batch.

    `claim`: of this process. `most`: messages. `longest`: bytes that the other end takes as one
    message, 0: any; what is longer becomes a dead letter. None: nothing waits.
    """
    forwarded = list(_taken(engine, transmission_queue(channel.name), claim, most, longest))
    if not forwarded:
        return None
    pending = batches(database, channel.name)
    batch = ChannelBatch(
        number=(pending[-1].number if pending else channel.number) + 1,
        token=secrets.token_hex(8),
        messages=len(forwarded),
        content=packed(forwarded),
    )
    now = time_of(database, None)
    database.run("add_batch", channel=channel.name, formed=now, **batch._asdict())
    return batch


def _taken(
    engine: QueueEngine, queue: str, claim: Claim, most: int, longest: int
) -> Iterator[ForwardedMessage]:
    """The next messages of a queue, which they leave; until they are many, or long."""
    count, size, groups = 0, 0, FIRST_GROUPS
    while count < most and size < BYTES:
        together = min(groups, most - count)
        page = min(PAGE, (most - count) // together)
        wanted = claim._replace(most=together, page=page, lease=LEASE)
        held = take_readable(engine, queue, wanted)
        if not held:
            return
        engine.settle(queue, [_ended(group, longest) for group in held], claim.actor)
        for group in held:
            priority = raised_to(group)
            for message in group.messages:
                if _is_too_long(message, longest):
                    continue
                forwarded = _forwarded(message, group, priority)
                priority = None
                count, size = count + 1, size + len(forwarded.raw)
                yield forwarded
        groups = groups * 2 if size < BYTES // 8 else groups


def raised_to(group: TakenGroup) -> int | None:
    """The priority that goes with the first message of a group; None: it was not raised."""
    return None if group.priority in (UNRAISED, DEFAULT_PRIORITY) else group.priority


def _forwarded(message: Received, group: TakenGroup, priority: int | None) -> ForwardedMessage:
    return ForwardedMessage(
        message.format,
        message.envelope or b"",
        group.group,
        priority,
        message.type,
        message.tenant,
        message.cost,
    )


def _is_too_long(message: Received, longest: int) -> bool:
    return bool(longest) and len(message.envelope or b"") > longest


def _ended(group: TakenGroup, longest: int) -> Settlement:
    return Settlement(
        *(ACCEPTED, group.id, group.token, group.group),
        given=[Given(message.number, message.id, message.cost) for message in group.messages],
        dead={
            message.number: f"found {len(message.envelope or b'')} bytes, allowed by the other end "
            f"of the channel: at most {longest}"
            for message in group.messages
            if _is_too_long(message, longest)
        },
    )


def confirm(database: Database, channel: str, peer: str, number: int, token: str) -> None:
    """The other end has a batch: it is forgotten here."""
    row = channel_locked(database, OUT, channel, peer)
    first = next(iter(batches(database, channel)), None)
    if first is None or (first.number, first.token) != (number, token):
        raise MessageError(
            f"channel {channel!r}: found the confirmation of batch {number}, allowed: of the first "
            "that is under way"
        )
    database.run("drop_batch", channel=channel, number=number)
    database.run("count_batch", **_of(row), number=number, token=token, messages=first.messages)


def agree(
    database: Database, channel: str, peer: str, number: int, token: str
) -> list[ChannelBatch]:
    """What is still to be sent, after the other end has said which batch it has last.

    Raises MessageError where the two ends do not know of the same batches: one of them was brought
    back from a backup, and an operator has to say what is so.
    """
    row = channel_locked(database, OUT, channel, peer)
    pending = batches(database, channel)
    if (number, token) == (row.number, row.token):
        return pending
    known = [
        place
        for place, batch in enumerate(pending)
        if (batch.number, batch.token) == (number, token)
    ]
    if known:
        for batch in pending[: known[0] + 1]:
            confirm(database, channel, peer, batch.number, batch.token)
        return pending[known[0] + 1 :]
    last = pending[-1].number if pending else row.number
    raise MessageError(
        f"channel {channel!r}: found batch {number} as the last one at {peer}, and {row.number} to "
        f"{last} here: one side was brought back from a backup; allowed: `fairlead channels reset "
        f"{channel}`, after which what the sides do not agree on comes twice, or is missing"
    )


def reset(
    database: Database, channel: str, peer: str, number: int, token: str
) -> list[ChannelBatch]:
    """Go on behind the batch that the other end has last, whatever it was; what is to be sent."""
    row = channel_locked(database, OUT, channel, peer)
    pending = batches(database, channel)
    for batch in pending:
        database.run("drop_batch", channel=channel, number=batch.number)
    now = time_of(database, None)
    anew = [batch._replace(number=number + place) for place, batch in enumerate(pending, start=1)]
    for batch in anew:
        database.run("add_batch", channel=channel, formed=now, **batch._asdict())
    database.run("count_batch", **_of(row), number=number, token=token, messages=0)
    return anew


def _of(row: ChannelRow) -> dict[str, str]:
    return {"direction": row.direction, "name": row.name, "peer": row.peer}


def taken_back(
    engine: QueueEngine, channel: str, claim: Claim, most: int
) -> tuple[list[ForwardedMessage], list[Settlement]]:
    """Messages that wait for a channel, to be chosen for anew; and what ends their work there."""
    queue = transmission_queue(channel)
    held = take_readable(engine, queue, claim._replace(most=most, page=PAGE, lease=LEASE))
    ends = [_ended(group, 0) for group in held]
    messages = [_forwarded(message, group, None) for group in held for message in group.messages]
    return messages, ends


def settled(engine: QueueEngine, channel: str, ends: Sequence[Settlement], actor: str) -> None:
    """They have gone another way."""
    if ends:
        engine.settle(transmission_queue(channel), ends, actor)
