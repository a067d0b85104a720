"""What a first look at a table finds, before anything is decided. Times in microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairlead.text import duration, moment, percent

YEAR = 365 * 86_400 * 1_000_000
LONG = 30 * YEAR
MANY = 0.01


@dataclass(frozen=True)
class TableLook:
    """A table of messages, looked at."""

    read: int
    """Rows."""
    rejections: Mapping[str, int]
    """Rows that are no messages, by what is wrong."""
    period: tuple[int, int] | None
    """The first and the last time of a message; None: there is no message."""
    unknown_clusters: Mapping[str, int]
    """Messages by the name of a cluster that is in no file; "" is no name."""

    @property
    def rejected(self) -> int:
        """Rows that are no messages."""
        return sum(self.rejections.values())

    def odd(self, now: int) -> list[str]:
        """What looks wrong, in words. `now`: the time, in microseconds since 1970."""
        remarks = []
        if self.rejected > MANY * self.read:
            remarks.append(f"{percent(self.rejected / self.read)} of the rows are no messages")
        for name, n in self.unknown_clusters.items():
            which = f"of a cluster {name!r} that is in no file" if name else "of no cluster"
            remarks.append(f"{n:,} messages are {which}")
        return remarks + self._odd_times(now)

    def _odd_times(self, now: int) -> list[str]:
        if self.period is None:
            return []
        first, last = self.period
        if first == last and self.read - self.rejected > 1:
            return [f"all messages have the same time, {moment(first)}"]
        if abs(first) < YEAR < LONG < last:
            ends = f"the first time is {moment(first)} and the last {moment(last)}"
            return [f"{ends}: some are plain seconds, or in another unit"]
        remarks = []
        if last - first > LONG:
            remarks.append(f"the times span {duration(last - first)}")
        if last > now:
            remarks.append(f"the last time, {moment(last)}, is in the future")
        return remarks
