"""What callers give, checked: names, numbers, priorities, times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Final

from fairlead.balance.objects import MAX_NAME, hint, listed, repr_of
from fairlead.balance.times import MICROS, Time, micros, moment
from fairlead.errors import MessageError
from fairlead.order.agenda import HIGHEST, LOWEST

MAX_REASON: Final = 10_000
"""Characters of a reason that are kept."""
MAX_SECONDS: Final = 10**12
MAX_NUMBER: Final = 2**63 - 1
"""Of a delay, a lease or an expiry: what is added to the time of day stays within 64 bits."""
MAX_TAKEN: Final = 10_000
"""Groups that are taken, or messages that are looked at, at once."""
OWN: Final = "fairlead:"
"""So the names of queues begin that a server keeps for itself."""
REMEMBERED: Final = 7 * 24 * 3600 * 1_000_000
"""How long the id of a message is known, in microseconds."""


def check_keys(what: str, found: Iterable[object], known: Sequence[str]) -> None:
    """Raises MessageError for a key that is none of these."""
    for key in found:
        if key not in known:
            raise MessageError(
                f"{what}: found the unknown key {key!r}, allowed: {listed(list(known))}"
                f"{hint(str(key), list(known))}"
            )


def name(what: str, value: object) -> str | None:
    """A name, or None. Raises MessageError."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise MessageError(f"{what}: found {repr_of(value)}, allowed: a text")
    if len(value) > MAX_NAME:
        raise MessageError(f"{what}: found {len(value)} characters, allowed: at most {MAX_NAME}")
    if "\0" in value or not value.isprintable():
        raise MessageError(f"{what}: found {value!r}, allowed: a text of printable characters")
    return value


def reason_of(value: object) -> str:
    """Why something failed, as every database can keep it: errors bring texts of all kinds."""
    if value == "":
        return ""
    text = str(value)[:MAX_REASON].encode(errors="backslashreplace").decode()
    return text.replace("\0", "\\x00")


def queue_name(value: object) -> str:
    """The name of a queue. Raises MessageError."""
    checked = name("queue", value)
    if not checked:
        raise MessageError(f"queue: found {repr_of(value)}, allowed: a name")
    return checked


def tenant_name(value: object) -> str:
    """The name of a tenant; "" for None, which is none. Raises MessageError."""
    if value == "":
        raise MessageError("tenant: found no name, allowed: that of a tenant, or None")
    return name("tenant", value) or ""


def cluster_name(value: object) -> str:
    """The name of a cluster. Raises MessageError."""
    checked = name("cluster", value)
    if not checked:
        raise MessageError(f"cluster: found {repr_of(value)}, allowed: a name")
    return checked


def run_name(value: object) -> str:
    """The name of a run of many messages. Raises MessageError."""
    checked = name("run", value)
    if not checked:
        raise MessageError(f"run: found {repr_of(value)}, allowed: a name")
    return checked


def check_priority(value: object) -> None:
    """Raises MessageError for what is no priority, nor None."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (whole and LOWEST <= value <= HIGHEST):  # type: ignore[operator]
        raise MessageError(
            f"priority: found {repr_of(value)}, allowed: an integer from {LOWEST} to {HIGHEST}, "
            "or None"
        )


def whole(what: str, value: object, least: int, most: int = MAX_NUMBER) -> None:
    """Raises MessageError for what is no integer of this range, or more than a database holds."""
    known = isinstance(value, int) and not isinstance(value, bool)
    if not (known and least <= value <= most):  # type: ignore[operator]
        to = "" if most == MAX_NUMBER else f" to {most}"
        raise MessageError(f"{what}: found {repr_of(value)}, allowed: an integer from {least}{to}")


def duration(what: str, value: object, least: float = 0) -> int:
    """Seconds from the least on, in microseconds. Raises MessageError."""
    known = None if isinstance(value, str | date) else micros(value)
    if known is None or not least * MICROS <= known <= MAX_SECONDS * MICROS:
        raise MessageError(
            f"{what}: found {repr_of(value)}, allowed: a number of seconds from {least} to "
            f"{MAX_SECONDS}"
        )
    return known


def later(what: str, time: Time, now: int) -> int:
    """A time from now on, or a timestamp, in microseconds since 1970. Raises MessageError."""
    if isinstance(time, str | date):
        return moment(time, what, MessageError)
    return now + duration(what, time)
