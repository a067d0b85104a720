"""Schedules: their ticks, against every minute of a time zone looked at one by one."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.config.schedules import Schedule
from fairlead.config.services import load_declared
from fairlead.errors import ConfigError

SECOND = 1_000_000
MINUTE = timedelta(minutes=1)
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
CHANGES = [
    datetime(2026, month, day, tzinfo=UTC)
    for month, day in ((3, 29), (10, 25), (3, 8), (11, 1), (4, 4), (10, 3))
]
"""The clock is changed there, in Europe, America and Australia."""
CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "summer_time.json").read_text("utf-8")
)


def micros(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def schedule(cron: str, zone: str = "UTC") -> Schedule:
    return Schedule(name="s", queue="q", cron=cron, time_zone=zone)


def minutes(zone: ZoneInfo, first: datetime, last: datetime) -> Iterator[datetime]:
    """Each minute of a clock on the wall, as it is shown, in the order in which it is."""
    at = first
    while at <= last:
        yield at.astimezone(zone)
        at += MINUTE


def plain_ticks(
    minute: set[int], hour: set[int], zone: ZoneInfo, first: datetime, last: datetime
) -> list[datetime]:
    """The rule in its plainest form, for a daily time: shown twice, it counts once, the first time;
    a time that is never shown comes when the clock has jumped over it."""
    found, seen = set(), set[tuple[object, int, int]]()
    before: datetime | None = None
    for shown in minutes(zone, first - timedelta(days=1), last):
        if before is not None:
            step = before.replace(tzinfo=None) + MINUTE
            while step < shown.replace(tzinfo=None):  # the clock jumps over these
                if step.minute in minute and step.hour in hour:
                    found.add(shown.astimezone(UTC))
                step += MINUTE
        wall = (shown.date(), shown.hour, shown.minute)
        if shown.minute in minute and shown.hour in hour and wall not in seen:
            found.add(shown.astimezone(UTC))
        seen.add(wall)
        before = shown
    return sorted(each for each in found if first < each <= last)


@pytest.mark.parametrize("case", CASES, ids=[each["what"] for each in CASES])
def test_the_clock_is_changed(case: dict[str, Any]) -> None:
    found = schedule(case["cron"], case["time_zone"])
    at = micros(datetime.fromisoformat(case["after"]))
    for expected in case["ticks"]:
        at = found.after(at)
        assert at == micros(datetime.fromisoformat(expected))


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    minute=st.sets(st.integers(0, 59), min_size=1, max_size=3),
    hour=st.sets(st.integers(0, 23), min_size=1, max_size=3),
    change=st.sampled_from(CHANGES),
)
def test_daily_times_around_a_change_of_the_clock(
    zone: str, minute: set[int], hour: set[int], change: datetime
) -> None:
    first, last = change - timedelta(hours=20), change + timedelta(hours=40)
    expected = plain_ticks(minute, hour, ZoneInfo(zone), first, last)
    cron = f"{','.join(map(str, sorted(minute)))} {','.join(map(str, sorted(hour)))} * * *"
    each, at, found = schedule(cron, zone), micros(first), []
    while (at := each.after(at)) <= micros(last):
        found.append(at)
    assert found == [micros(tick) for tick in expected]


@settings(max_examples=20, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    cron=st.sampled_from(
        [
            "* * * * *",
            "*/7 * * * *",
            "0 */2 * * *",
            "*/15 2 * * *",
            "30 * * * *",
            "*/20 1-3 * * SUN",
        ]
    ),
    change=st.sampled_from(CHANGES),
)
def test_a_wildcard_ticks_whenever_the_clock_shows_it(
    zone: str, cron: str, change: datetime
) -> None:
    """Whatever the step of the clock is: each minute that it shows is looked at."""
    first, last = change - timedelta(hours=20), change + timedelta(hours=40)
    shown = {}
    for wall in minutes(ZoneInfo(zone), first + MINUTE, last):
        shown[micros(wall.astimezone(UTC))] = wall.replace(tzinfo=UTC)
    clock = schedule(cron)
    expected = [at for at, wall in shown.items() if clock.after(micros(wall) - 1) == micros(wall)]
    each, at, found = schedule(cron, zone), micros(first), []
    while (at := each.after(at)) <= micros(last):
        found.append(at)
    assert found == expected


CRONS = st.sampled_from(
    [
        "* * * * *",
        "*/7 * * * *",
        "0 */3 * * *",
        "30 2 * * *",
        "15,45 1-3 * * *",
        "0 0 1 * *",
        "0 12 * * MON-FRI",
        "59 23 L * *",
        "0 9 * * 1#1",
        "0 0 29 2 *",
        "0 0 13 * FRI",
    ]
)


@settings(max_examples=200, deadline=None)
@given(
    cron=CRONS,
    zone=st.sampled_from(ZONES),
    first=st.integers(0, 50 * 31_557_600 * SECOND),
    step=st.integers(0, 40 * 86_400 * SECOND),
)
def test_what_is_next_does_not_depend_on_when_one_asks(
    cron: str, zone: str, first: int, step: int
) -> None:
    each = schedule(cron, zone)
    tick = each.after(first)
    assert tick > first
    between = min(first + step, tick - 1)
    assert each.after(between) == tick
    assert each.latest(tick) == tick
    assert (each.latest(tick - 1) or 0) <= first
    assert each.latest(each.after(tick) - 1) == tick


@pytest.mark.slow
@pytest.mark.parametrize("zone", ZONES)
def test_fifty_years(zone: str) -> None:
    """Half past two each day, in fifty years: one tick for each date of the zone's calendar."""
    each = schedule("30 2 * * *", zone)
    at, last = (
        micros(datetime(2000, 1, 1, 12, tzinfo=UTC)),
        micros(datetime(2050, 1, 1, tzinfo=UTC)),
    )
    ticks = []
    while (at := each.after(at)) < last:
        ticks.append(datetime.fromtimestamp(at / SECOND, ZoneInfo(zone)))
    assert all(b.date() - a.date() == timedelta(days=1) for a, b in pairwise(ticks))
    assert {(tick.hour, tick.minute) for tick in ticks} <= {(2, 30), (3, 0)}


@given(every=st.decimals("1", "100000", places=2), moment=st.integers(0, 2**52))
def test_every_so_many_seconds(every: Any, moment: int) -> None:
    each = Schedule(name="s", queue="q", every=every)
    period = int(every * SECOND)
    following = each.after(moment)
    assert following % period == 0
    assert moment < following <= moment + period
    assert each.latest(moment) == following - period


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "cron: found nothing of cron and every, allowed: one of them"),
        ("cron = '* * * * *'\nevery = 5", "cron: found both of cron and every, allowed: one of"),
        ("cron = '* * * *'", "cron: found '* * * *' (4 fields), allowed: minute, hour, day of the"),
        ("cron = '0 * * * * *'", "(6 fields)"),
        ("cron = '61 * * * *'", "cron: found '61 * * * *' (bad minute), allowed"),
        ("cron = '0 0 30 2 *'", "cron: found '0 0 30 2 *'"),
        ("every = 0", "every: found 0, allowed: seconds, from 1 to 1000000000"),
        ("every = nan", "every: found"),
        ("every = 1.0000001", "every: found 1.0000001, allowed"),
        ("every = 5\ntime_zone = 'UTC'", "time_zone: found 'UTC' with every"),
        ("cron = '0 0 * * *'\ntime_zone = 'Mars/Olympus'", "time_zone: found 'Mars/Olympus'"),
        ("cron = '0 0 * * *'\ntime_zone = '../passwd'", "time_zone: found '../passwd'"),
        ("every = 5\nmissed = 'never'", "missed: found 'never', allowed: "),
        ("every = 5\npriority = 256", "priority: found 256"),
        ("every = 5\ncost = 0", "cost: found 0"),
        ("every = 5\nbodies = 1", "bodies: found an unknown key"),
    ],
)
def test_what_a_file_may_not_say(line: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f"[[schedule]]\nname = 'night'\nqueue = 'jobs'\n{line}\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_declared(file)
    assert says in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
