"""Times: seconds or timestamps where they are given, whole microseconds inside.

Everybody who is given a time reads it here: changes, the live balancer and the agenda, and the
files of changes and scenarios. Columns of tables are read alike, in `compiled/intake/numbers.py`
and `pipeline/intake/validate.py`.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational, Real
from typing import Final, TypeAlias

from fairlead.balance.objects import shown
from fairlead.errors import FairleadError

Time: TypeAlias = float | Decimal | Fraction | date | str
"""A number of seconds, or a timestamp: a datetime, a date, or a text in ISO 8601 (UTC where it has
no zone)."""

MICROS: Final = 1_000_000
LATEST: Final = 9_000_000_000_000
"""Seconds; microseconds of it still fit into 64 bits."""
TIMES: Final = "a timestamp, or a number of seconds"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

TIMESTAMP: Final = (
    r"(?!0000)(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?"
    r" ?(Z|UTC|GMT|[+-]\d{4}|[+-]\d{1,2}(?::\d{2})?)?)?"
)
"""A text that is a timestamp, whoever reads it; Python and Java understand the pattern alike.

It has a date, for nobody is to complete one from the day on which he reads it, and no zone but UTC
and an offset: other zones skip an hour and have one twice, and their short names mean several.
"""
UNITS: Final = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
"""What programs count since 1970 if it is not seconds: how many of them are one."""
SINCE: Final = " since 1970"
THEN: Final = (631_152_000, 4_102_444_800)
"""From 1990 to 2100, in seconds: a number that is such a moment in another unit is meant so."""
BLANK: Final = " \t\r\n"
"""What may stand around a time."""
FURTHEST: Final = timedelta(hours=18)
"""The largest offset of a zone."""

FINE: Final = 1 << 31
"""Seconds below which floating point puts microseconds less than 0.245 from what is written."""
NEAR: Final = 0.25
"""So far from a whole number they can be no other one; else decimals tell, which take long."""
NANO: Final = Decimal("1e-9")
EXACT: Final = Context(prec=60, rounding=ROUND_HALF_UP)
"""A user's own context of decimals must not change times."""


def moment(value: object, what: str, refused: type[FairleadError]) -> int:
    """A time that was given, in whole microseconds; else raises `refused`, a line about `what`."""
    unit = since_1970(value)
    if unit is not None:
        raise refused(f"{what}: found {value}, {counts(unit)}")
    instant = micros(value)
    if instant is None:
        number = isinstance(value, Real | Decimal) and not isinstance(value, bool)
        words = f"{TIMES} from -{LATEST} to {LATEST}" if number else TIMES
        raise refused(f"{what}: found {shown(value)}, allowed: {words}")
    return instant


def since_1970(value: object) -> str | None:
    """The unit in which a number is a moment of these years; None where that is seconds, or none.

    >>> since_1970("1772442000000"), since_1970(1772442000)
    ('milliseconds', None)
    """
    amount = number(value, most=THEN[1] * max(UNITS.values())) if isinstance(value, str) else value
    if not isinstance(amount, float | Decimal | Fraction | int):
        return None
    if isinstance(amount, Decimal) and not amount.is_finite():
        return None
    first, last = THEN
    for unit, many in UNITS.items():
        if first * many <= amount <= last * many:
            return unit
    return None


def counts(unit: str) -> str:
    """What an error line says of a number that is no time, and of what is allowed."""
    return f"which counts {unit}{SINCE}, allowed: {TIMES}"


def micros(value: object) -> int | None:
    """A time in whole microseconds; None where it is none, or 64 bits would not hold it.

    A number of seconds is rounded to the nearest microsecond, halves away from zero; floating
    point counts as it is written, to nine digits. A timestamp is cut off.
    """
    if isinstance(value, int):
        within = not isinstance(value, bool) and -LATEST <= value <= LATEST
        return value * MICROS if within else None
    if isinstance(value, float):
        return _of_float(value)
    if isinstance(value, Decimal):
        return _of_decimal(value)
    if isinstance(value, Rational):
        return _of_rational(Fraction(value))
    if isinstance(value, Real):
        return _of_float(float(value))
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, datetime):
        return _since_epoch(value)
    return _since_epoch(datetime.combine(value, time())) if isinstance(value, date) else None


def seconds(time: int) -> float:
    """Whole microseconds as they are given out: in seconds."""
    return time / MICROS


def seconds_until(time: int) -> float:
    """The same, but never before it: far from 0 floating point knows no single microseconds."""
    instant = seconds(time)
    while (micros(instant) or 0) < time and instant < LATEST:
        instant = math.nextafter(instant, math.inf)
    return instant


def in_seconds(time: int) -> str:
    """Whole microseconds in seconds, with all their digits."""
    return f"{EXACT.divide(Decimal(time), Decimal(MICROS)):f}"


def exact_micros(seconds: float) -> int:
    """Microseconds of a number as it is written, to nine digits, halves away from zero."""
    return in_micros(Decimal(repr(seconds)))


def _of_rational(value: Fraction) -> int | None:
    if not -LATEST <= value <= LATEST:
        return None
    magnitude = math.floor(abs(value) * MICROS + Fraction(1, 2))
    return magnitude if value >= 0 else -magnitude


def _of_decimal(value: Decimal) -> int | None:
    if not value.is_finite() or not -LATEST <= value <= LATEST:
        return None
    return int(EXACT.multiply(value, MICROS).to_integral_value(ROUND_HALF_UP))


def _of_float(value: float) -> int | None:
    if not abs(value) <= LATEST:
        return None
    about = value * MICROS
    whole = round(about)
    if abs(value) < FINE and abs(about - whole) <= NEAR:
        return whole
    return exact_micros(value)


def _of_text(text: str) -> int | None:
    seconds = number(text)
    return _timestamp(text.strip(BLANK)) if seconds is None else in_micros(seconds)


def number(text: str, most: int = LATEST) -> Decimal | None:
    """A text that is a number of seconds; None where it is none, or more than 64 bits hold."""
    word = text.strip(BLANK)
    if "_" in word or word != word.strip():
        return None  # Python alone would take it
    try:
        value = EXACT.create_decimal(word)
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value) <= most else None


def in_micros(seconds: Decimal) -> int:
    """Whole microseconds of a number, to nine digits, halves away from zero."""
    written = seconds.quantize(NANO, ROUND_HALF_UP, EXACT)
    return int(EXACT.multiply(written, MICROS).to_integral_value(ROUND_HALF_UP))


def _timestamp(text: str) -> int | None:
    match = re.fullmatch(TIMESTAMP, text, re.ASCII)
    if match is None:
        return None
    *numbers, fraction, zone = match.groups()
    year, month, day, hour, minute, second = (int(digits or 0) for digits in numbers)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    offset = _offset(zone or "Z")
    since = _since_epoch(moment)
    if offset is None or since is None:
        return None
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return since - offset // timedelta(microseconds=1) + micros


def _offset(zone: str) -> timedelta | None:
    """How far a zone is before UTC."""
    if zone[0] not in "+-":
        return timedelta()
    hours, _, minutes = zone[1:].partition(":")
    if len(hours) == 4:
        hours, minutes = hours[:2], hours[2:]
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if int(minutes or 0) > 59 or offset > FURTHEST:
        return None
    return -offset if zone[0] == "-" else offset


def _since_epoch(moment: datetime) -> int | None:
    if moment != moment:  # noqa: PLR0124 - what pandas has for no time is a datetime, too
        return None
    known = moment if moment.utcoffset() is not None else moment.replace(tzinfo=UTC)
    since = known - EPOCH
    return (since.days * 86_400 + since.seconds) * MICROS + since.microseconds
