"""A schedule as a store's file declares it: `[[schedule]]`, and the moments at which it sends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import cached_property
from itertools import takewhile
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from msgspec import Meta

from fairlead.balance.objects import MAX_CHARGE, FileTable, Name, Priority
from fairlead.balance.times import EPOCH, MICROS, micros
from fairlead.config.queues import check_name

FIELDS: Final = 5
LONGEST: Final = 200
LEAP: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""A moment after which every day of the calendar comes within eight years."""
WINDOWS: Final = tuple(timedelta(hours=hours) for hours in (1, 24, 32 * 24, 366 * 24, 51 * 8766))
"""How far back the latest tick is looked for: few ticks stand in the first window that has one."""
LOOK: Final = timedelta(days=1)
"""No zone changes its clock twice within so long."""
MICROSECOND: Final = timedelta(microseconds=1)

Missed = Literal["once", "all", "skip"]


class Schedule(FileTable, frozen=True, kw_only=True, dict=True):
    """A `[[schedule]]`: a message that is sent again and again, each time at a *tick*."""

    name: Name
    queue: Name
    cron: str | None = None
    """Minute, hour, day of the month, month, day of the week."""
    every: Decimal | None = None
    """Seconds; ticks are the whole multiples of it since 1970."""
    time_zone: Name | None = None
    """That of `cron`, such as Europe/Paris; UTC without it."""
    missed: Missed = "once"
    """What becomes of ticks at which nobody was there to send."""
    body: Any = ""
    group: Name | None = None
    priority: Priority | None = None
    type: Name | None = None
    tenant: Name | None = None
    cost: Annotated[int, Meta(ge=1, le=MAX_CHARGE)] = 1

    def __post_init__(self) -> None:
        for key in ("name", "queue", "group", "type", "tenant"):
            if (value := getattr(self, key)) is not None:
                check_name(key, value)
        if len(self.name) > LONGEST:
            raise ValueError(
                f"name: found {len(self.name)} characters, allowed: at most {LONGEST}, for each "
                "tick's message has an id of it and the time"
            )
        if (self.cron is None) == (self.every is None):
            both = "nothing" if self.cron is None else "both"
            raise ValueError(f"cron: found {both} of cron and every, allowed: one of them")
        if self.every is not None:
            self._check_every(self.every)
        self._check_zone()
        if self.cron is not None and next(self._ticks(LEAP), None) is None:
            raise ValueError(f"cron: found {self.cron!r}, which no day has, allowed: a day that is")

    def _check_every(self, every: Decimal) -> None:
        if not (every.is_finite() and 1 <= every <= 10**9 and micros(every) == every * MICROS):
            raise ValueError(f"every: found {every}, allowed: seconds, from 1 to {10**9}")
        if self.time_zone is not None:
            raise ValueError(
                f"time_zone: found {self.time_zone!r} with every, which has none, allowed: cron"
            )

    def _check_zone(self) -> None:
        try:
            self._zone  # noqa: B018 - raises what is not allowed
        except (KeyError, ValueError, OSError):  # one that is not found is a KeyError
            raise ValueError(
                f"time_zone: found {self.time_zone!r}, allowed: a name such as Europe/Paris, of "
                "the time zones that this machine, or the package tzdata, has"
            ) from None

    @cached_property
    def _zone(self) -> tzinfo:
        return UTC if self.time_zone in {None, "UTC"} else ZoneInfo(self.time_zone or "")

    def _ticks(self, after: datetime) -> Iterator[datetime]:
        """The ticks after a moment, in order; where the clock goes back, each once."""
        fields = (self.cron or "").split()
        if len(fields) != FIELDS:
            raise self._refused(f"{len(fields)} fields")
        try:
            ticks = CronSim(" ".join(fields), after.astimezone(self._zone))
        except CronSimError as error:
            raise self._refused(str(error).lower()) from None
        if fields[0].startswith("*") or fields[1].startswith("*"):
            yield from self._as_time_passes(after)
            return
        last = after
        for tick in ticks:
            moment = tick.astimezone(UTC)
            if moment > last:
                yield moment
                last = moment

    def _as_time_passes(self, after: datetime) -> Iterator[datetime]:
        """The ticks of a cron with a wildcard: all at which the clock shows what it says.

        From one step of the clock to the next it is a clock without any.
        """
        since = after
        while True:
            step, looked = self._offset(since), since
            for shown in CronSim(self.cron or "", (after + step).replace(tzinfo=UTC)):
                tick = shown - step
                changed = self._changed(looked, tick)
                if changed is not None:
                    since, after = changed, changed - MICROSECOND
                    break
                yield tick
                looked = tick
            else:
                return

    def _offset(self, moment: datetime) -> timedelta:
        return self._zone.utcoffset(moment.astimezone(self._zone)) or timedelta()

    def _changed(self, after: datetime, until: datetime) -> datetime | None:
        """When the clock is changed first after a moment, up to another; None: it is not."""
        first = self._offset(after)
        while after < until:
            later = min(after + LOOK, until)
            if self._offset(later) != first:
                while later - after > MICROSECOND:
                    middle = after + (later - after) // 2
                    if self._offset(middle) == first:
                        after = middle
                    else:
                        later = middle
                return later
            after = later
        return None

    def _refused(self, why: str) -> ValueError:
        return ValueError(
            f"cron: found {self.cron!r} ({why}), allowed: minute, hour, day of the month, month "
            "and day of the week, such as '30 2 * * MON-FRI'"
        )

    def after(self, moment: int) -> int:
        """The first tick after a moment; both in microseconds since 1970."""
        if self.every is not None:
            period = int(self.every * MICROS)
            return (moment // period + 1) * period
        return _micros(next(self._ticks(_time(moment))))

    def latest(self, moment: int) -> int | None:
        """The last tick up to a moment; None: there was none in 51 years."""
        if self.every is not None:
            period = int(self.every * MICROS)
            return moment // period * period
        until = _time(moment)
        for window in WINDOWS:
            ticks = takewhile(lambda tick: tick <= until, self._ticks(until - window))
            last = deque(ticks, maxlen=1)
            if last:
                return _micros(last[0])
        return None


def _time(moment: int) -> datetime:
    return EPOCH + moment * MICROSECOND


def _micros(time: datetime) -> int:
    return (time - EPOCH) // MICROSECOND
