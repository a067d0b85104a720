"""Numbers, times and names as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

YEAR: Final = 365 * 86_400 * 1_000_000
MINUTE: Final = 60
HOUR: Final = 3_600
RAW: Final = re.compile(r"\b(\d{9,}(?:\.\d+)?) s\b")
"""A time in seconds since 1970."""
LONGEST_NAME: Final = 48
LONGEST_TEXT: Final = 300
UNITS: Final = (
    (86_400_000_000, "day"),
    (3_600_000_000, "hour"),
    (60_000_000, "minute"),
    (1_000_000, "second"),
    (1_000, "millisecond"),
    (1, "microsecond"),
)


def date(micros: int) -> datetime | None:
    """The date that a time is; None for one that is only a number of seconds.

    Times near 0, where no recorded traffic lies, were numbers; so were those beyond all calendars.
    """
    if abs(micros) < YEAR:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return None


def moment(micros: int) -> str:
    """A time.

    >>> moment(1_360_342_800_000_000), moment(1_500_000)
    ('2013-02-08 17:00 UTC', '1.5 s')
    """
    time = date(micros)
    if time is None:
        return f"{micros / 1_000_000:,.15g} s"
    seconds = time.strftime(":%S") if time.second or time.microsecond else ""
    fraction = f".{time.microsecond:06}".rstrip("0") if time.microsecond else ""
    return f"{time:%Y-%m-%d %H:%M}{seconds}{fraction} UTC"


def to_the_second(micros: int) -> str:
    """A time without the fraction of its last second.

    >>> to_the_second(1_360_342_800_900_000)
    '2013-02-08 17:00 UTC'
    """
    return moment(micros // 1_000_000 * 1_000_000)


def dated(text: str) -> str:
    """A text in which times in seconds since 1970 are written as dates.

    >>> dated("it was entered earlier: 1360342800.5 s")
    'it was entered earlier: 2013-02-08 17:00:00.5 UTC'
    """
    return RAW.sub(lambda raw: moment(int(Decimal(raw[1]) * 1_000_000)), text)


def duration(micros: int) -> str:
    """A length of time in its largest units, at most two.

    >>> duration(93_600_000_000), duration(3_000_000), duration(0)
    ('1 day 2 hours', '3 seconds', '0 seconds')
    """
    for k, (unit, name) in enumerate(UNITS):
        if micros >= unit:
            whole, rest = divmod(micros, unit)
            words = plural(whole, name)
            if k + 1 < len(UNITS) and rest >= UNITS[k + 1][0]:
                words += " " + plural(rest // UNITS[k + 1][0], UNITS[k + 1][1])
            return words
    return "0 seconds"


def length(seconds: float) -> str:
    """A length of time in one unit, to three digits.

    >>> [length(s) for s in (0, 0.0123, 0.9999, 4.5, 90, 7200)]
    ['0 s', '12.3 ms', '1,000 ms', '4.5 s', '90 s', '2 h']
    """
    if 0 < seconds < 1:
        return f"{_digits(1000 * seconds)} ms"
    if seconds < 2 * MINUTE:
        return f"{_digits(seconds)} s"
    if seconds < 2 * HOUR:
        return f"{_digits(seconds / MINUTE)} min"
    return f"{_digits(seconds / HOUR, 4)} h"


def _digits(number: float, digits: int = 3) -> str:
    """Rounded, and never with an exponent."""
    return f"{float(f'{number:.{digits}g}'):,.15g}"


def every(micros: int) -> str:
    """A bin's width: `hour`, `3 days`."""
    return duration(micros).removeprefix("1 ")


def plural(n: int, what: str) -> str:
    """A count and its noun.

    >>> plural(1, "message"), plural(12_000, "message")
    ('1 message', '12,000 messages')
    """
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def percent(part: float) -> str:
    """A part of 1."""
    return f"{part:.2%}"


def visible(text: str, longest: int = LONGEST_TEXT) -> str:
    """A user's text in one line: what cannot be seen is escaped, what is too long is cut."""
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: longest + 1]
    )
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


class ShortNames:
    """Short names for destinations, no two the same."""

    def __init__(self, *, with_cluster: bool) -> None:
        """`with_cluster`: whether a name is shown with its cluster's."""
        self.with_cluster = with_cluster
        self.given: dict[tuple[str, str | None, str], str] = {}
        self.taken: set[str] = set()

    def __call__(self, cluster: str, subject: str | None, name: str) -> str:
        """The short name, the same each time; one of a subject is written as changes name it."""
        place = (cluster, subject, name)
        if place not in self.given:
            full = name if subject is None else f"{name}@{subject}"
            full = f"{cluster} / {full}" if self.with_cluster else full
            self.given[place] = self._free(visible(full, LONGEST_NAME))
        return self.given[place]

    def _free(self, short: str) -> str:
        name, k = short, 2
        while name in self.taken:
            name, k = f"{short} ({k})", k + 1
        self.taken.add(name)
        return name
