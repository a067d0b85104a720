"""Channels as their rows say them, and what travels on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from fairlead.errors import MessageError
from fairlead.store.database.port import Database

OUT: Final = "out"
IN: Final = "in"
RUNS, STOPPED, PAUSED = "", "stopped", "paused"
"""What an operator wants of a channel."""


class ChannelRow(NamedTuple):
    """One end of a channel."""

    direction: str
    """out: messages go on it; in: they come on it."""
    name: str
    peer: str
    """The queue manager at the other end."""
    number: int
    """Of the last batch that both ends have."""
    token: str
    """Its name, which no other batch has."""
    messages: int
    """That have gone or come, in all."""
    wanted: str
    """What an operator wants of it: stopped, paused; "": it runs when it can."""
    error: str
    """Why it does not run; "" where nothing is wrong."""
    since: int
    """When that began; microseconds."""
    under_way: int = 0
    """Messages of batches that were formed, and are not confirmed."""
    state: str = ""
    """Of a channel that sends: as its cluster has it."""


class ForwardedMessage(Struct, array_like=True, frozen=True):
    """A message in a batch."""

    format: int
    raw: bytes
    """All that its transmission queue kept of it: its header, and its body as it was sent."""
    group: str
    priority: int | None
    """To which its group is raised; None: it is not."""
    type: str | None
    tenant: str
    cost: int


class ChannelBatch(NamedTuple):
    """Messages that are sent as one."""

    number: int
    token: str
    messages: int
    content: bytes


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(list[ForwardedMessage])


def packed(messages: Sequence[ForwardedMessage]) -> bytes:
    """Messages as they travel."""
    return _ENCODER.encode(messages)


def unpacked(content: bytes) -> list[ForwardedMessage]:
    """The messages of a batch. Raises MessageError."""
    try:
        return _DECODER.decode(content)
    except msgspec.DecodeError as error:
        raise MessageError(
            f"batch: found what is none ({error}), allowed: one of a channel"
        ) from None


def channels(database: Database) -> list[ChannelRow]:
    """All ends of channels of this store, those that send first."""
    return [ChannelRow(*row) for row in database.run("channels")]


def channel_locked(database: Database, direction: str, name: str, peer: str) -> ChannelRow:
    """One end of a channel; nobody else counts on it until the transaction ends."""
    for _ in range(2):
        rows = database.run("channel_locked", direction=direction, name=name, peer=peer)
        if rows:
            return ChannelRow(*rows[0])
        database.run("add_channel", direction=direction, name=name, peer=peer)
    ((*columns,),) = database.run("channel_locked", direction=direction, name=name, peer=peer)
    return ChannelRow(*columns)


def batches(database: Database, channel: str) -> list[ChannelBatch]:
    """Those that were formed and are not confirmed, in their order."""
    rows = database.run("channel_batches", channel=channel)
    return [
        ChannelBatch(number, token, count, bytes(content)) for number, token, count, content in rows
    ]
