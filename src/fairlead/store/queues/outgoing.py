"""A message as it is sent, and as a reader gets it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final, TypedDict

from msgspec import Struct

from fairlead.balance.objects import MAX_CHARGE, MAX_NAME, hint, listed, spelled
from fairlead.balance.times import MICROS, Time, micros, moment
from fairlead.errors import MessageError
from fairlead.order.agenda import HIGHEST, LOWEST
from fairlead.store.queues.bodies import encoded

if TYPE_CHECKING:
    from fairlead.store.conversation import Conversation

MAX_REASON: Final = 10_000
"""Characters of a reason that are kept."""
MAX_SECONDS: Final = 10**12
MAX_NUMBER: Final = 2**63 - 1
"""Of a delay, a lease or an expiry: what is added to the time of day stays within 64 bits."""


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


KEYS: Final = tuple(Sending.__annotations__)


class Letter(Struct):
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


class Message(Struct, frozen=True):
    """A message in the hands of a reader."""

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
    conversation: Conversation | None = None
    """The receiver's end of the conversation that it was said in; None: it was sent without one."""


def letter(  # the verb's own names
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
) -> Letter:
    """Check a message. Raises MessageError.

    `delay`: seconds until it arrives, or the timestamp at which it does. `expires`: the same, for
    when it is not wanted any more.
    """
    check_keys("send", unknown, KEYS)
    check_priority(priority)
    whole("cost", cost, 1, MAX_CHARGE)
    after = _later("delay", delay, now) if delay else now
    until = None if expires is None else _later("expires", expires, now)
    if until is not None and until <= max(after, now):
        raise MessageError(
            f"expires: found {spelled(expires)}, allowed: a time after the message arrives"
        )
    format_, raw = encoded(body)
    return Letter(
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


def letter_of(plain: object, now: int) -> Letter:
    """Check one message of many: {"body": ..., "group": ..., ...}. Raises MessageError."""
    if not isinstance(plain, dict | Mapping) or "body" not in plain:
        raise MessageError(
            f"message: found {spelled(plain)}, allowed: a table with body, and {listed(KEYS)}"
        )
    check_keys("message", plain, ("body", *KEYS))
    return letter(now=now, **plain)


def check_keys(what: str, found: Iterable[object], known: Sequence[str]) -> None:
    """Raises MessageError for a key that is none of these."""
    for key in found:
        if key not in known:
            raise MessageError(
                f"{what}: found the unknown key {key!r}, allowed: {listed(list(known))}"
                f"{hint(str(key), list(known))}"
            )


def name(what: str, found: object) -> str | None:
    """A name, or None. Raises MessageError."""
    if found is None:
        return None
    if not isinstance(found, str):
        raise MessageError(f"{what}: found {spelled(found)}, allowed: a text")
    if len(found) > MAX_NAME:
        raise MessageError(f"{what}: found {len(found)} characters, allowed: at most {MAX_NAME}")
    if "\0" in found or not found.isprintable():
        raise MessageError(f"{what}: found {found!r}, allowed: a text of printable characters")
    return found


def reason_of(found: object) -> str:
    """Why something failed, as every database can keep it: errors bring texts of all kinds."""
    if found == "":
        return ""
    text = str(found)[:MAX_REASON].encode(errors="backslashreplace").decode()
    return text.replace("\0", "\\x00")


def queue_name(found: object) -> str:
    """The name of a queue. Raises MessageError."""
    checked = name("queue", found)
    if not checked:
        raise MessageError(f"queue: found {spelled(found)}, allowed: a name")
    return checked


def check_priority(found: object) -> None:
    """Raises MessageError for what is no priority, nor None."""
    whole = isinstance(found, int) and not isinstance(found, bool)
    if found is not None and not (whole and LOWEST <= found <= HIGHEST):  # type: ignore[operator]
        raise MessageError(
            f"priority: found {spelled(found)}, allowed: an integer from {LOWEST} to {HIGHEST}, "
            "or None"
        )


def whole(what: str, found: object, least: int, most: int = MAX_NUMBER) -> None:
    """Raises MessageError for what is no integer of this range, or more than a database holds."""
    known = isinstance(found, int) and not isinstance(found, bool)
    if not (known and least <= found <= most):  # type: ignore[operator]
        to = "" if most == MAX_NUMBER else f" to {most}"
        raise MessageError(f"{what}: found {spelled(found)}, allowed: an integer from {least}{to}")


def duration(what: str, found: object, least: float = 0) -> int:
    """Seconds from the least on, in microseconds. Raises MessageError."""
    known = None if isinstance(found, str | date) else micros(found)
    if known is None or not least * MICROS <= known <= MAX_SECONDS * MICROS:
        raise MessageError(
            f"{what}: found {spelled(found)}, allowed: a number of seconds from {least} to "
            f"{MAX_SECONDS}"
        )
    return known


def _later(what: str, found: Time, now: int) -> int:
    if isinstance(found, str | date):
        return moment(found, what, MessageError)
    return now + duration(what, found)
