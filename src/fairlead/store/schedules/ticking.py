"""A tick: the message is sent and the next tick is written down in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from fairlead.balance.objects import hint, listed, repr_of
from fairlead.balance.times import EPOCH, MICROS, seconds
from fairlead.config.schedules import Schedule
from fairlead.errors import ConfigError, MessageError
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database, Row
from fairlead.store.journal.log import Log
from fairlead.store.queues.outgoing import outgoing
from fairlead.store.queues.settings import AHEAD, known_queue

LATE: Final = 60 * MICROS
"""Microseconds: a tick that could not be sent for longer than this was missed."""
PAUSED: Final = "schedule-paused"
RESUMED: Final = "schedule-resumed"
DROPPED: Final = "schedule-dropped"
MOST: Final = 100
"""So many ticks are sent in one transaction."""
ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


class ScheduleState(NamedTuple):
    """A schedule, and how far it has come."""

    name: str
    queue: str
    """To which it sends."""
    when: str
    """cron '30 2 * * *', or every 60 s."""
    time_zone: str
    """In which a cron's hours are meant."""
    missed: str
    """What becomes of ticks at which nobody was there to send: once | all | skip."""
    next: float
    """The next tick, in seconds since 1970."""
    last: float | None
    """The last tick that was sent; None: none was."""
    paused: bool
    failure: str
    """Why the latest tick was passed over; "" where it was sent."""


class ScheduleRow(NamedTuple):
    """A schedule as the database has it."""

    name: str
    queue: str
    definition: str
    next: int
    last: int | None
    looked: int
    paused: int
    failure: str | None

    @property
    def schedule(self) -> Schedule:
        """As it was declared."""
        return msgspec.json.decode(self.definition, type=Schedule)

    @property
    def state(self) -> ScheduleState:
        """As it is shown."""
        schedule = self.schedule
        when = f"every {schedule.every} s" if schedule.cron is None else f"cron {schedule.cron!r}"
        return ScheduleState(
            *(self.name, self.queue, when, schedule.time_zone or "UTC", schedule.missed),
            next=seconds(self.next),
            last=None if self.last is None else seconds(self.last),
            paused=bool(self.paused),
            failure=self.failure or "",
        )


class ScheduleStep(NamedTuple):
    """What is to be done for a schedule now."""

    ticks: Sequence[int]
    """Those that are sent."""
    next: int
    """The tick after them."""


def put(database: Database, schedule: Schedule, now: int) -> None:
    """Declare a schedule; where it was declared like this before, it goes on as it was.

    Raises ConfigError.
    """
    definition = _definition(schedule, now)
    rows = database.run("schedule", name=schedule.name)
    if rows and ScheduleRow(*rows[0]).definition == definition:
        return
    database.run(
        "put_schedule",
        name=schedule.name,
        queue=schedule.queue,
        definition=definition,
        next=schedule.after(now),
        looked=now,
    )


def every(database: Database) -> list[ScheduleRow]:
    """All schedules, by name."""
    return [ScheduleRow(*row) for row in database.run("schedules")]


def known(database: Database, name: object) -> ScheduleRow:
    """A schedule by its name. Raises MessageError."""
    rows: Sequence[Row] = database.run("schedule", name=name) if isinstance(name, str) else []
    if not rows:
        names = [record.name for record in every(database)]
        allowed = listed(names) or "none; `fairlead declare FILE` declares some"
        raise MessageError(
            f"schedule: found {repr_of(name)}, allowed: {allowed}{hint(str(name), names)}"
        )
    return ScheduleRow(*rows[0])


def due(database: Database, now: int) -> list[str]:
    """The schedules whose ticks are due."""
    return sorted(name for (name,) in database.run("due_schedules", now=now, wrong=now + AHEAD))


def locked(database: Database, name: str) -> ScheduleRow | None:
    """A schedule for which nobody else sends until the transaction ends; None: somebody does."""
    rows = database.run("schedule_locked", name=name)
    return ScheduleRow(*rows[0]) if rows else None


def step(kept: ScheduleRow, now: int, most: int = MOST) -> ScheduleStep | None:
    """Which ticks are sent now, at most so many; None: none is due."""
    schedule = kept.schedule
    if kept.paused:
        return None
    if kept.looked > now + AHEAD:  # a clock was wrong then
        return ScheduleStep((), schedule.after(now))
    if kept.next > now:
        return None
    if schedule.missed == "all":
        ticks = list(islice(_ticks(schedule, kept.next, now), most))
        return ScheduleStep(ticks, schedule.after(ticks[-1]))
    latest = schedule.latest(now)
    if latest is None or latest < kept.next:
        latest = kept.next
    late = now - latest > LATE
    return ScheduleStep(
        [] if late and schedule.missed == "skip" else [latest], schedule.after(latest)
    )


def message(schedule: Schedule, tick: int) -> tuple[object, dict[str, Any]]:
    """What is sent at a tick: the body, and what `send` takes with it.

    The id names the tick, so that it is known when it comes twice, as after a backup is restored.
    """
    keys = ("group", "priority", "type", "tenant", "cost")
    more = {key: getattr(schedule, key) for key in keys}
    time = (EPOCH + timedelta(microseconds=tick)).isoformat().replace("+00:00", "Z")
    return schedule.body, {**more, "id": f"{schedule.name}@{time}"}


def move(
    database: Database, kept: ScheduleRow, now: int, done: ScheduleStep, failure: str | None = None
) -> None:
    """Write down how far a schedule has come."""
    sent = done.ticks[-1] if done.ticks and failure is None else None
    database.run(
        "move_schedule", name=kept.name, next=done.next, last=sent, looked=now, failure=failure
    )


def pause(database: Database, name: object, clock: int | None, actor: str, *, paused: bool) -> bool:
    """Let a schedule send nothing, or send again, from its next tick on; whether that changes it.

    Ticks at which it was paused are not missed: nobody wanted them.
    """
    database.run("may_operate")
    record = known(database, name)
    now = time_of(database, clock)
    following = record.next if paused else record.schedule.after(now)
    values = {"name": record.name, "paused": int(paused), "next": following, "looked": now}
    if not database.run("pause_schedule", **values):
        return False
    _tell(database, record, PAUSED if paused else RESUMED, clock, actor)
    return True


def drop(database: Database, name: object, clock: int | None, actor: str) -> None:
    """Forget a schedule. Raises MessageError."""
    database.run("may_operate")
    record = known(database, name)
    if database.run("drop_schedule", name=record.name):
        _tell(database, record, DROPPED, clock, actor)


def _tell(database: Database, kept: ScheduleRow, kind: str, clock: int | None, actor: str) -> None:
    """Write to the journal what an operator has done to a schedule."""
    log = Log(database, kept.queue, known_queue(database, kept.queue, clock).moment, actor)
    log.add(kind, key=kept.name)
    log.flush()


def following(kept: ScheduleRow, most: int) -> list[int]:
    """The next ticks of a schedule."""
    ticks = [kept.next]
    while len(ticks) < most:
        ticks.append(kept.schedule.after(ticks[-1]))
    return ticks[:most]


def _ticks(schedule: Schedule, first: int, now: int) -> Iterator[int]:
    while first <= now:
        yield first
        first = schedule.after(first)


def _definition(schedule: Schedule, now: int) -> str:
    """As JSON, of which the message is made at each tick. Raises ConfigError."""
    try:
        text = ENCODER.encode(schedule)
        body, more = message(msgspec.json.decode(text, type=Schedule), now)
        outgoing(body, now, **more)
    except (ValueError, TypeError, OverflowError, MessageError) as error:
        raise ConfigError(f"schedule.{schedule.name}: {error}") from None
    return text.decode()
