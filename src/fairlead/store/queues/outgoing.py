"""A message as it is sent: checked, before it has a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict

from msgspec import Struct

from fairlead.balance.objects import MAX_CHARGE, listed, repr_of
from fairlead.balance.times import Time
from fairlead.errors import MessageError
from fairlead.store.arguments import check_keys, check_priority, later, name, whole
from fairlead.store.queues.bodies import encoded


class Sending(TypedDict, total=False):
    """What a message is sent with, besides its body; `Store.send` says what each means."""

    group: str | None
    priority: int | None
    id: str | None
    type: str | None
    tenant: str | None
    cost: int
    delay: Time
    expires: Time | None


TIMED: Final = {"delay", "expires"}
"""Of these the time is to be known."""
KEYS: Final = tuple(Sending.__annotations__)


class OutgoingMessage(Struct):
    """A message that was checked, before it has a number."""

    group: str | None
    priority: int | None
    key: str | None
    """Its id; None: it gets one with its number."""
    type: str | None
    tenant: str
    cost: int
    due: int | None
    """When it arrives, if that is later; microseconds."""
    expires: int | None
    format: int
    body: bytes
    conversation: int | None = None
    """The receiver's end, if it is said in a conversation."""


def outgoing(  # the verb's own names
    body: object,
    now: int,
    *,
    group: str | None = None,
    priority: int | None = None,
    id: str | None = None,  # noqa: A002
    type: str | None = None,  # noqa: A002
    tenant: str | None = None,
    cost: int = 1,
    delay: Time = 0,
    expires: Time | None = None,
    **unknown: object,
) -> OutgoingMessage:
    """Check a message. Raises MessageError.

    `delay`: seconds until it arrives, or the timestamp at which it does. `expires`: the same, for
    when it is not wanted any more.
    """
    check_keys("send", unknown, KEYS)
    check_priority(priority)
    whole("cost", cost, 1, MAX_CHARGE)
    after = later("delay", delay, now) if delay else now
    until = None if expires is None else later("expires", expires, now)
    if until is not None and until <= max(after, now):
        raise MessageError(
            f"expires: found {repr_of(expires)}, allowed: a time after the message arrives"
        )
    format_, raw = encoded(body)
    return OutgoingMessage(
        name("group", group) or None,
        priority,
        name("id", id) or None,
        name("type", type),
        name("tenant", tenant) or "",
        cost,
        after if after > now else None,
        until,
        format_,
        raw,
    )


def is_timed(plain: object) -> bool:
    """Whether the time is to be known, of one message of many."""
    return isinstance(plain, Mapping) and bool(TIMED & plain.keys())


def outgoing_of(plain: object, now: int) -> OutgoingMessage:
    """Check one message of many: {"body": ..., "group": ..., ...}. Raises MessageError."""
    if not isinstance(plain, dict | Mapping) or "body" not in plain:
        raise MessageError(
            f"message: found {repr_of(plain)}, allowed: a table with body, and {listed(KEYS)}"
        )
    check_keys("message", plain, ("body", *KEYS))
    return outgoing(now=now, **plain)
