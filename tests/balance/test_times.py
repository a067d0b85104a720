"""Times: whatever a caller has, seconds or a timestamp, it is one microsecond everywhere."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairlead import Agenda, Balancer, Change, Cluster, JournalRow, route
from fairlead.balance.times import LATEST, micros, seconds, seconds_until, since_1970
from fairlead.compiled.intake.numbers import times
from fairlead.errors import ChangeError, FairleadError, MessageError
from fairlead.replay import replay

AB = [{"name": "a"}, {"name": "b"}]
PAIR = Cluster.of("round-robin", destination=AB)
BERLIN = timezone(timedelta(hours=1))
ONE_AND_A_HALF: list[Any] = [
    1.5,
    Decimal("1.5"),
    Fraction(3, 2),
    "1.5",
    np.float32(1.5),
    datetime(1970, 1, 1, 0, 0, 1, 500_000),  # noqa: DTZ001 - without a zone it is UTC
    datetime(1970, 1, 1, 1, 0, 1, 500_000, tzinfo=BERLIN),
    "1970-01-01T00:00:01.5Z",
    "1970-01-01T18:00:01.5+18:00",
    "1969-12-31T06:00:01.5-18",
    pd.Timestamp(1_500, unit="ms"),
]
NO_TIMES: list[Any] = [
    *(None, True, b"5", [5], "", "soon", "12:30", object(), timedelta(5)),
    *("1970-01-01T18:01:01.5+18:01", "1970-01-01T00:00:00-19", "1970-01-01T00:00:00+00:60"),
    *(float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), pd.NaT),
    *(LATEST + 1, -LATEST - 1, 1e300, Decimal("1e400"), Fraction(10**30), 10**5_000),
]


@pytest.mark.parametrize("time", ONE_AND_A_HALF, ids=repr)
def test_seconds_and_timestamps_are_the_same_time(time: Any) -> None:
    assert micros(time) == 1_500_000
    assert Change("a", "enabled", False, time) == Change("a", "enabled", False, 1.5)
    balancer = Balancer(PAIR)
    balancer.at(time)
    assert balancer.snapshot()["now"] == 1_500_000
    agenda = Agenda()
    agenda.send("g", "item", time)
    (standing,) = agenda.waiting().ranks
    assert standing.since == 1.5


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        (1, 1_000_000),
        (np.int64(-3), -3_000_000),
        (date(1970, 1, 2), 86_400_000_000),
        (0.0000005, 1),
        (-0.0000005, -1),
        (Decimal("0.0000005"), 1),
        (Decimal("-0.0000005"), -1),
        (Fraction(1, 2_000_000), 1),
        (Fraction(-1, 2_000_000), -1),
        (Fraction(1, 3_000_000), 0),
        (0.1 + 0.2, 300_000),
        (LATEST, LATEST * 1_000_000),
    ],
    ids=repr,
)
def test_halves_are_rounded_away_from_zero(given: Any, whole: int) -> None:
    assert micros(given) == whole


@given(st.floats(-LATEST, LATEST))
def test_a_float_is_the_microsecond_that_a_table_makes_of_it(time: float) -> None:
    assume(since_1970(time) is None)
    assert micros(time) == times(pa.array([time])).values[0]


def test_a_context_of_decimals_changes_no_time() -> None:
    with localcontext(prec=3):
        assert micros("1772409600.000001") == 1_772_409_600_000_001
        assert micros(Decimal("1772409600.000001")) == 1_772_409_600_000_001
        assert micros(4503599627.3704955) == 4_503_599_627_370_496


@pytest.mark.parametrize("wrong", NO_TIMES, ids=lambda wrong: repr(type(wrong)))
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda time: Change("a", "enabled", False, time), ChangeError),
        (Balancer(PAIR).at, ChangeError),
        (Agenda().take, MessageError),
        (lambda time: Agenda().send("g", 1, time), MessageError),
        (lambda time: Agenda().prioritise("g", time), MessageError),
    ],
    ids=["Change", "at", "take", "send", "prioritise"],
)
def test_what_is_no_time_is_refused(
    wrong: Any, call: Callable[[Any], object], error: type[FairleadError]
) -> None:
    with pytest.raises(error, match=r"(time|at|now): found .*, allowed: a timestamp") as refused:
        call(wrong)
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


def test_a_time_out_of_range_is_told_the_range() -> None:
    with pytest.raises(ChangeError, match="seconds from -9000000000000 to 9000000000000"):
        Change("a", "enabled", False, LATEST + 1)


# --- changes and tables ----------------------------------------------------------------------


@pytest.mark.parametrize("work", [route, replay])
def test_a_change_counts_in_the_seconds_of_the_messages(work: Any) -> None:
    rows = pa.table({"id": list("0123456789"), "time": range(10), "service_time": [0.1] * 10})
    found = work(rows, PAIR, [Change("a", "enabled", False, 5)])
    assert "".join(found["destination"].to_pylist()) == "ababa" + 5 * "b"
    since = datetime(2026, 3, 2, tzinfo=UTC)
    dated = [since + timedelta(seconds=k) for k in range(10)]
    rows = rows.set_column(1, "time", pa.array(dated, pa.timestamp("us", "UTC")))
    for time in (dated[5], dated[5].isoformat(), dated[5].timestamp()):
        again = work(rows, PAIR, Change("a", "enabled", False, time))
        assert again["destination"] == found["destination"]


def test_a_change_can_be_made_of_microseconds() -> None:
    change = Change("a", "enabled", False, Decimal("1772409600.000001"), "storm.csv:2")
    assert change.micros == 1_772_409_600_000_001
    again = Change.at_micros(**change.to_dict())
    assert (again, again.where) == (change, "storm.csv:2")
    assert pickle.loads(pickle.dumps(again)) == change  # noqa: S301
    assert replace(again, target="b").micros == change.micros


@pytest.mark.parametrize("names", [(None, "weight"), ("a", 7), (b"a", "weight")])
def test_a_change_of_no_name_is_refused(names: Any) -> None:
    with pytest.raises(ChangeError, match=r"change: (target|attribute): found .*, allowed: a text"):
        Change(*names)


# --- what is told ----------------------------------------------------------------------------


@given(st.integers(-LATEST * 1_000_000, (LATEST - 1) * 1_000_000))
def test_the_time_until_something_is_never_too_short(time: int) -> None:
    found = seconds_until(time)
    assert (micros(found) or 0) >= time
    assert found - seconds(time) < 0.002
    if abs(time) < 2**32 * 1_000_000:
        assert micros(found) == time


def test_a_timer_makes_every_change() -> None:
    slow = Cluster.of(
        "weighted",
        options={"slow_start": 0.007},
        destination=[{"name": "a"}, {"name": "b", "present": False}],
    )
    balancer = Balancer(slow)
    balancer.apply(Change("b", "present", True, 4_503_599_627_370.4955))
    times = []
    while (due := balancer.next_change()) is not None:
        balancer.at(due)
        times.append(due)
    assert times
    assert times == sorted(set(times))


def test_the_journal_tells_the_message_s_time_in_seconds() -> None:
    rows: list[JournalRow] = []
    balancer = Balancer(PAIR, journal=rows.append)
    for time in (17, 0.1, "1970-01-02", datetime(1970, 1, 2, tzinfo=UTC), "", None):
        balancer.choose({"time": time})
    assert [row.time for row in rows] == [17, 0.1, 86_400, 86_400, None, None]
    before = balancer.snapshot()
    with pytest.raises(MessageError, match=r"message time: found 'soon', allowed: a timestamp"):
        balancer.choose({"time": "soon"})
    assert balancer.snapshot() == before


def test_work_and_standings_tell_seconds() -> None:
    agenda = Agenda()
    agenda.send("g", "item", datetime(1970, 1, 1, 0, 1, tzinfo=UTC))
    assert "g: 1 item, not raised, since 60 s" in str(agenda.waiting())
    work = agenda.take(60.25)
    assert work is not None
    assert work.taken == 60.25
