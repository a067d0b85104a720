"""Schedules: which there are, when they send next, and what an operator does about them."""

from __future__ import annotations

import time
from typing import Final

from fairlead.balance.objects import on_one_line
from fairlead.cli.output import acted
from fairlead.cli.store.printing import print_json, print_rows, when
from fairlead.store.arguments import MAX_NUMBER
from fairlead.store.schedules.ticking import ScheduleState
from fairlead.store.store import Store
from fairlead.text import length

LATE: Final = 5
"""Seconds."""


def schedules(store: Store, *, as_json: bool) -> None:
    """Print all schedules."""
    rows = store.schedules()
    if as_json:
        print_json(schedule._asdict() for schedule in rows)
        return
    full = _full(store) if any(_is_late(schedule) for schedule in rows) else set()
    print_rows(
        [
            {
                "schedule": schedule.name,
                "queue": schedule.queue,
                "when": schedule.when,
                "time zone": schedule.time_zone,
                "missed": schedule.missed,
                "next": "" if schedule.paused else when(schedule.next),
                "last": "" if schedule.last is None else when(schedule.last),
                "now": "paused" if schedule.paused else _late(schedule, full),
            }
            for schedule in rows
        ],
        spare=("last", "missed", "time zone", "queue"),
    )
    for schedule in rows:
        if schedule.failure:
            print(
                on_one_line(f"{schedule.name}: its latest tick was passed over: {schedule.failure}")
            )


def _full(store: Store) -> set[str]:
    """The queues that take no more messages."""
    every = store.queues()
    return {row.queue for row in every if row.messages >= (row.max_waiting or MAX_NUMBER)}


def _is_late(state: ScheduleState) -> bool:
    """Whether nobody sends what is due; a worker needs a moment for it."""
    return not state.paused and time.time() - state.next > LATE


def _late(state: ScheduleState, full: set[str]) -> str:
    if not _is_late(state):
        return ""
    why = "its queue is full" if state.queue in full else "no worker runs"
    return f"overdue by {length(int(time.time() - state.next))}: {why}"


def ticks(store: Store, name: str, most: int, *, as_json: bool) -> None:
    """The next ticks of one."""
    moments = store.ticks(name, most)
    if as_json:
        print_json({"schedule": name, "tick": moment} for moment in moments)
    else:
        for moment in moments:
            print(when(moment))


def pause(store: Store, name: str, *, paused: bool) -> None:
    """Let one send nothing, or send again."""
    changed = store.pause_schedule(name, paused=paused)
    acted()
    already = "" if changed else "already "
    print(f"{name}: {already}paused" if paused else f"{name}: {already}sends")


def drop(store: Store, name: str) -> None:
    """Forget a schedule."""
    store.drop_schedule(name)
    acted()
    print(f"{name}: forgotten")
