"""What a dialog answers of itself: what is refused, its Errors, and messages of the store's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fairlead.balance.objects import listed, repr_of
from fairlead.balance.times import Time
from fairlead.config.services import ERROR
from fairlead.errors import ConversationError, MessageError
from fairlead.store.arguments import reason_of
from fairlead.store.dialogs.declared import Declared
from fairlead.store.queues.bodies import encoded
from fairlead.store.queues.endpoints import INITIATOR, Endpoint
from fairlead.store.queues.outgoing import OutgoingMessage

MAX_CODE: Final = 2**31 - 1
MAX_DESCRIPTION: Final = 3000


class Beginning(NamedTuple):
    """A dialog that is to begin, as it was asked for."""

    service: object
    far_service: object
    contract: object
    related: Endpoint | None
    group: str | None
    lifetime: Time | None


def no_end(handle: object) -> str:
    """What is wrong with an id of no end. An id is a secret, whosever it is: it is not repeated."""
    what = "an id of no end" if isinstance(handle, str) else repr_of(handle)[:60]
    return (
        f"conversation: found {what}, allowed: the id of an end that is open; its other end has "
        "an id of its own"
    )


def checked_error(error: object) -> tuple[int, str] | None:
    """How a conversation ends with an error. Raises MessageError."""
    if error is None:
        return None
    if isinstance(error, tuple | list) and len(error) == 2:
        code, description = error
        is_whole_number = isinstance(code, int) and not isinstance(code, bool)
        if is_whole_number and 0 < code <= MAX_CODE and isinstance(description, str):
            return code, reason_of(description)[:MAX_DESCRIPTION]
    raise MessageError(
        f"error: found {repr_of(error)}, allowed: (code, description), a code from 1 to {MAX_CODE}"
    )


def agreed_contract(
    declared: Declared, value: object, accepted: Sequence[str], service: str
) -> str:
    """The contract of a dialog, which may be left out where there is one. Raises MessageError."""
    if value is not None:
        return declared.contract(value).name
    if len(accepted) != 1:
        raise MessageError(
            f"contract: found none, allowed: one of those that service {service!r} accepts: "
            f"{listed(list(accepted)) or 'none'}"
        )
    return accepted[0]


def no_such_type(type_: object, end: Endpoint, allowed: list[str]) -> str:
    """What is wrong with a type that this side may not send."""
    side = "the initiator" if end.side == INITIATOR else "the target"
    return (
        f"type: found {repr_of(type_)}, allowed: {listed(allowed) or 'none'}, which contract "
        f"{end.contract!r} lets {side} send"
    )


def ended_error(end: Endpoint, why: str) -> ConversationError:
    """The error where nothing more can be said. `why`: what has ended."""
    return ConversationError(
        f"conversation {end.end}: {why}; allowed: to speak in one that is open"
    )


def key_of(end: Endpoint, place: int) -> str:
    """The id of the message that an end sends in this place."""
    return f"{end.end}/{place}"


def error_message(key: str, code: int, description: str) -> OutgoingMessage:
    """The message by which a dialog ends with an error."""
    format_, raw = encoded({"code": code, "description": description})
    return _own_message(key, ERROR, format_, raw)


def system_message(key: str, type_: str) -> OutgoingMessage:
    """A message of the store's own that says all by its type."""
    return _own_message(key, type_, 0, b"")


def _own_message(key: str, type_: str, format_: int, body: bytes) -> OutgoingMessage:
    return OutgoingMessage(
        group=None,
        priority=None,
        key=key,
        type=type_,
        tenant="",
        cost=1,
        due=None,
        expires=None,
        format=format_,
        body=body,
    )
