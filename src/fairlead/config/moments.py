"""What names a moment: a time of day, a timestamp, seconds since 1970, or so long ago."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from typing import Final

from fairlead.balance.objects import repr_of
from fairlead.balance.times import MICROS, micros, number
from fairlead.errors import UserError

ALLOWED: Final = (
    "allowed: HH:MM, HH:MM:SS or YYYY-MM-DDTHH:MM:SS, in UTC; so long ago, such as 90s, 15m, 1h or "
    "2d; or seconds since 1970, from 2000 until now"
)
UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
"""Seconds."""
LENGTH: Final = re.compile(r"(?P<number>[0-9]{1,15}(\.[0-9]{1,9})?)\s*(?P<unit>s|min|m|h|d)?")
FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
"""A number of seconds that is less is no moment: somebody meant something else."""


def moment(option: str, found: str, latest: float, more: str = "") -> float:
    """A moment as it was given, in seconds since 1970. Raises UserError.

    `latest`: one without a day is the last such before this, and so long ago counts back from it.
    `more`: what else is allowed.
    """
    at = _moment(found.strip(), latest)
    if at is None:
        raise UserError(f"{option}: found {repr_of(found)}, {ALLOWED}{more}")
    return at


def _moment(found: str, latest: float) -> float | None:
    if is_time(found):
        return _last_such(found, latest)
    ago = LENGTH.fullmatch(found)
    if ago is not None and ago["unit"]:
        at = latest - float(ago["number"]) * UNITS[ago["unit"]]
        return at if at >= 0 else None
    seconds = number(found)
    if seconds is not None:
        return float(seconds) if FIRST <= seconds <= time.time() else None
    timestamp = micros(found)
    return None if timestamp is None else timestamp / MICROS


def _last_such(found: str, latest: float) -> float | None:
    """The last moment at this time of day."""
    try:
        of_day = time_of_day.fromisoformat(found)
    except ValueError:
        return None
    if of_day.tzinfo is not None:
        return None
    at = datetime.combine(datetime.fromtimestamp(latest, UTC).date(), of_day, UTC)
    return (at if at.timestamp() <= latest else at - timedelta(days=1)).timestamp()


def is_time(found: str) -> bool:
    """Whether it is a time of day, without the day."""
    return "-" not in found and ":" in found
