"""A message, as a reader gets it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairlead.balance.objects import repr_of
from fairlead.errors import MessageError
from fairlead.store.conversation import Conversation
from fairlead.store.queues.received import Received


class GivenMessage(Struct, frozen=True):
    """What a reader gets of a message, however he answers."""

    id: str
    """The id it was sent with, or the one it was given."""
    body: Any
    """As it was sent: bytes, a text, or data."""
    type: str | None
    group: str
    """Its group's name; "" for a message that was sent without one."""
    tenant: str
    cost: int
    sent: float
    """When it arrived, in seconds since 1970."""
    number: int
    """Its place among all that arrives; that of an Error is below 0, as it is read first."""
    envelope: bytes | None = None
    """In what the body came, where a program of another kind sent it: over AMQP, its sections."""
    redelivered: bool = False
    """Whether it was sent to another destination before, which has failed."""


class Message(GivenMessage, frozen=True):
    """A message in the hands of a reader."""

    conversation: Conversation | None = None
    """The receiver's end of the conversation that it was said in; None: it was sent without one."""


def message_of(received: Received, conversation: Conversation | None = None) -> Message:
    """The same, with the conversation in which its reader can answer."""
    return Message(
        received.id,
        received.body,
        received.type,
        received.group,
        received.tenant,
        received.cost,
        received.sent,
        received.number,
        received.envelope,
        received.redelivered,
        conversation,
    )


def not_given(value: object) -> MessageError:
    """That something is no message which a piece of work has given."""
    shown = repr(value.id) if isinstance(value, GivenMessage) else repr_of(value)
    return MessageError(f"message: found {shown}, allowed: one that this work has given")
