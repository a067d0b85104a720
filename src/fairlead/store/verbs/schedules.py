"""Schedules, as a store's programs and its operator use them."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from typing import Any, Final

from fairlead.balance.times import seconds
from fairlead.errors import MessageError, QueueFullError
from fairlead.store.arguments import whole
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.database.retrying import again
from fairlead.store.schedules import ticking
from fairlead.store.schedules.ticking import ScheduleRow, ScheduleState, ScheduleStep
from fairlead.store.verbs.store_verbs import StoreVerbs

LOGGER: Final = logging.getLogger("fairlead.schedules")
MAX_TICKS: Final = 10_000
RETRY: Final = 1.0
"""Seconds until a tick is tried again whose queue is full, or that somebody else is sending."""


AGAIN: Final = 60.0
"""Seconds until it is told again that a queue is full."""


class StoreSchedules(StoreVerbs):
    """Each in a transaction of its own."""

    @abstractmethod
    def _verbs(self, database: Database) -> Any:  # noqa: ANN401 - of all kinds
        """The verbs, for one of them: where it is refused, the whole transaction is undone."""

    _full: dict[str, tuple[float, float]]
    """Schedule → since when its queue is full, and when that is told again."""

    def schedules(self) -> list[ScheduleState]:
        """The schedules that are declared, by name."""
        with self._connection() as database:
            return [record.state for record in ticking.every(database)]

    def overdue_schedules(self) -> dict[str, float]:
        """For how many seconds each schedule's next tick is due and not sent; 0: it is not due.

        Nobody is there to send, then. One that is paused is never due.
        """
        with self._connection() as database:
            now = time_of(database, self._clock())
            return {
                state.name: 0.0 if state.paused else max(now / 1_000_000 - state.next, 0.0)
                for state in (record.state for record in ticking.every(database))
            }

    def ticks(self, schedule: str, most: int = 10) -> list[float]:
        """The next ticks of a schedule, in seconds since 1970. Raises MessageError."""
        whole("most", most, 1, MAX_TICKS)
        with self._connection() as database:
            record = ticking.known(database, schedule)
        return [seconds(tick) for tick in ticking.following(record, most)]

    @again
    def pause_schedule(self, schedule: str, *, paused: bool = True) -> bool:
        """Let a schedule send nothing, or (`paused=False`) send again; whether that changes it.

        The ticks until it sends again are not missed: nobody wanted them. Raises MessageError.
        """
        with self._writing() as database:
            actor = self._context.actor
            return ticking.pause(database, schedule, self._clock(), actor, paused=paused)

    @again
    def drop_schedule(self, schedule: str) -> None:
        """Forget a schedule; what it has sent stays. Raises MessageError."""
        with self._writing() as database:
            ticking.drop(database, schedule, self._clock(), self._context.actor)

    def tick(self) -> float | None:
        """Send what schedules are to send by now; seconds until the next tick, None: there is none.

        `fairlead work` does so by itself. However many processes do, each tick is sent once.
        """
        with self._connection() as database:
            now = time_of(database, self._clock())
            names = ticking.due(database, now)
        done = [self._tick(name) for name in names]
        with self._connection() as database:
            ((following,),) = database.run("next_due")
            now = time_of(database, self._clock())
        if following is None:
            return None
        return max(seconds(following - now), 0.0 if all(done) else RETRY)

    def _tick(self, name: str) -> bool:
        """Send what one schedule is to send; whether that is done."""
        refused = ""
        try:
            for most in (ticking.MOST, 1):  # where one of many is refused, they go one by one
                try:
                    return self._send(name, most)
                except QueueFullError:
                    raise
                except MessageError as error:
                    refused = str(error)
        except QueueFullError as error:
            self._tell_full(name, error)
            return False
        self._full.pop(name, None)
        self._pass_over(name, refused)
        return True

    def _tell_full(self, name: str, error: QueueFullError) -> None:
        """At first, after a minute, and then each time after twice as long."""
        now = time.monotonic()
        since, due = self._full.setdefault(name, (now, now))
        if now >= due:
            self._full[name] = since, now + max(now - since, AGAIN)
            LOGGER.warning("schedule=%s waits: %s", name, error)

    @again
    def _send(self, name: str, most: int) -> bool:
        with self._writing() as database:
            now, record, step = self._due(database, name, most)
            if record is None:
                return False
            if step is not None:
                schedule = record.schedule
                for tick in step.ticks:
                    body, more = ticking.message(schedule, tick)
                    self._verbs(database).send(schedule.queue, body, **more)
                ticking.move(database, record, now, step)
            return True

    @again
    def _pass_over(self, name: str, failure: str) -> None:
        """A tick whose message is refused is not tried for ever."""
        with self._writing() as database:
            now, record, step = self._due(database, name, 1)
            if record is not None and step is not None:
                ticking.move(database, record, now, step, failure)
                LOGGER.error("schedule=%s passed over a tick: %s", name, failure)

    def _due(
        self, database: Database, name: str, most: int
    ) -> tuple[int, ScheduleRow | None, ScheduleStep | None]:
        record = ticking.locked(database, name)
        now = time_of(database, self._clock())
        return now, record, None if record is None else ticking.step(record, now, most)
