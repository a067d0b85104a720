"""What the answer of a service means for the message that it got."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

import msgspec

from fairlead.balance.objects import on_one_line
from fairlead.errors import MessageError
from fairlead.store.queues.bodies import encoded

DONE: Final = "done"
AGAIN: Final = "again"
"""It has failed, and is tried again."""
REFUSED: Final = "refused"
"""It becomes a dead letter."""
TRY_AGAIN: Final = frozenset({408, 425, 429})
"""Of those from 400 to 499."""
LONGEST_PAUSE: Final = 3600.0
"""Seconds, at most, that a service can ask us to wait."""
REASON: Final = 1024
"""So many bytes of an answer stand in the reason."""


class ServiceAnswer(NamedTuple):
    """What a service has sent back with a message that is done."""

    body: Any
    """Bytes, a text, or data."""


class ForwardOutcome(NamedTuple):
    """What became of a message that was sent once."""

    kind: str
    """done | again | refused."""
    reason: str = ""
    delay: float | None = None
    """Seconds after which the service wants to be asked again; None: it has not said."""
    answer: ServiceAnswer | None = None


def outcome_of(
    status: int, headers: Mapping[str, str], beginning: bytes, now: datetime
) -> ForwardOutcome:
    """What a status means. `beginning`: the first bytes of the answer; `headers`: by small names.

    `now`: in UTC.
    """
    if 200 <= status < 300:
        return ForwardOutcome(DONE)
    line = on_one_line(beginning[:REASON].decode("utf-8", "replace"))
    reason = f"{status}: {line}" if line else str(status)
    if status >= 500 or status in TRY_AGAIN:
        return ForwardOutcome(AGAIN, reason, retry_after(headers.get("retry-after", ""), now))
    if status >= 400:
        return ForwardOutcome(REFUSED, reason)
    return ForwardOutcome(AGAIN, f"found the status {status}, allowed: 2xx, 4xx or 5xx")


def retry_after(value: str, now: datetime) -> float | None:
    """Seconds from now that a header says, as a number or a date; at most an hour.

    >>> now = datetime(2026, 11, 29, 12, tzinfo=UTC)
    >>> [retry_after(value, now) for value in ("7", "Sun, 29 Nov 2026 12:00:05 GMT", "soon")]
    [7.0, 5.0, None]
    """
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:10]), LONGEST_PAUSE)
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    date = date.replace(tzinfo=UTC) if date.tzinfo is None else date
    return min(max((date - now).total_seconds(), 0.0), LONGEST_PAUSE)


def answer_of(body: bytes, kind: str) -> ServiceAnswer:
    """An answer as the body of a message: what is not what it says is bytes all the same.

    `kind`: its media type.
    """
    media, _, parameters = kind.lower().partition(";")
    media = media.strip()
    try:
        if media == "application/json" or media.endswith("+json"):
            data = msgspec.json.decode(body)
            encoded(data)  # or a store could not keep it
            return ServiceAnswer(data)
        if media.startswith("text/"):
            charset = parameters.partition("charset=")[2].partition(";")[0].strip(" \"'")
            return ServiceAnswer(body.decode(charset or "utf-8"))
    except (ValueError, LookupError, RecursionError, MessageError):
        pass
    return ServiceAnswer(body)
