"""Numbers and times of columns, of whatever type of Arrow's, in memory."""

from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from fairlead import Cluster, route
from fairlead.balance.times import LATEST
from fairlead.compiled.intake.numbers import Numbers, dated, integral, seconds, times, whole
from fairlead.errors import MessageError

POOL = Cluster.of("round-robin", destination=[{"name": "A"}])
SINCE = 1_772_442_000
MOST = 2**63 - 1


def listed(numbers: Numbers) -> list[int | None]:
    """The numbers; None where there is none, and 0 stands for it."""
    assert not numbers.values[~numbers.known].any()
    both = zip(numbers.values.tolist(), numbers.known.tolist(), strict=True)
    return [value if known else None for value, known in both]


@pytest.mark.parametrize("scale", [0, 3, 6, 7, 9, 12, 20])
@pytest.mark.parametrize("precision", [18, 38])
def test_decimals_are_read_exactly_however_many_digits_they_have(
    precision: int, scale: int
) -> None:
    if scale > precision:
        return
    random, step = Random(scale), Decimal(1).scaleb(-scale)  # noqa: S311
    most = min(10 ** (precision - scale), 10**15)
    values = [Decimal(random.randrange(-most, most)) + step * random.randrange(2) for _ in "x" * 50]
    values = [
        value for value in [*values, *(step * k for k in (0, 5, -5, 499, 500))] if abs(value) < most
    ]
    column = pa.array([*values, None], pa.decimal128(precision, scale))
    expected = [
        int((value.quantize(Decimal("1e-9"), ROUND_HALF_UP) * 10**6).quantize(1, ROUND_HALF_UP))
        if abs(value) <= LATEST
        else None
        for value in values
    ]
    assert listed(seconds(column)) == [*expected, None]
    assert listed(seconds(column.slice(3))) == [*expected[3:], None]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (
            pa.array([-MOST - 1, MOST, LATEST, -LATEST]),
            [None, None, LATEST * 10**6, -LATEST * 10**6],
        ),
        (pa.array([2**64 - 1, 2**63, 3], pa.uint64()), [None, None, 3_000_000]),
        (pa.array([10**15, 5, None], pa.timestamp("s")), [None, 5_000_000, None]),
        (pa.array([10**17, 5], pa.timestamp("ms", "UTC")), [None, 5_000]),
        (pa.array([1_999, -1], pa.timestamp("ns")), [1, 0]),
        (pa.array([MOST], pa.timestamp("us")), [MOST]),
        (pa.array([2**31 - 1, 1], pa.int32()).cast(pa.date32()), [None, 86_400_000_000]),
        (pa.array([float("nan"), None, 1.5]), [None, None, 1_500_000]),
        (pa.nulls(2), [None, None]),
    ],
    ids=str,
)
def test_what_64_bits_do_not_hold_is_no_time(column: pa.Array, expected: list[Any]) -> None:
    assert listed(times(column)) == expected


@pytest.mark.parametrize(
    ("column", "strictly", "nearly"),
    [
        (pa.array([1.0, 1.5, 7.0000000001, float("inf"), None]), [1, None, None, None, None], 7),
        (pa.array([Decimal(1), Decimal("1.5"), Decimal("7.0000000001")]), [1, None, None], 7),
        (pa.array(["1", "1.0", "7.0000000001"]), [1, None, None], 7),
        (pa.array([-(2.0**63), 2.0**63, 7.0]), [-MOST - 1, None, 7], 7),
        (pa.array([str(-MOST - 1), str(MOST + 1), "7"]), [-MOST - 1, None, 7], 7),
        (pa.array([2**63, 2**63 - 1, 7], pa.uint64()), [None, MOST, 7], 7),
        (pa.nulls(3), [None, None, None], None),
    ],
    ids=str,
)
def test_a_position_is_an_integer_and_a_priority_one_to_nine_digits(
    column: pa.Array, strictly: list[int | None], nearly: int | None
) -> None:
    assert listed(whole(column)) == strictly
    assert listed(integral(column))[2] == nearly


@pytest.mark.parametrize("plain", [True, False])
def test_texts_are_read_alike_whether_all_are_plain_or_not(plain: bool) -> None:
    """Those that Arrow can read are left to it."""
    words = [f"{k}.25" for k in range(50)]
    column = pa.array([*words, None] if plain else [*words, None, "x"])
    expected = [k * 10**6 + 250_000 for k in range(50)]
    for read in (times, seconds):
        assert listed(read(column)) == [*expected, *[None] * (len(column) - 50)]
    moments = [f"2026-11-21T12:30:{k}.5Z" for k in range(10, 50)]
    odd = ["2026-11-21T12:30:09.5+00:00"]
    column = pa.array(moments if plain else [*moments, *odd])
    known = listed(times(column))
    assert sorted(number for number in known if number is not None) == sorted(
        known[0] + k * 10**6 for k in range(0 if plain else -1, 40)
    )
    assert dated(column)
    assert not dated(pa.array(["5", *moments]))


@pytest.mark.parametrize(
    "column",
    [pa.array([True]), pa.array([1], pa.duration("s")), pa.array([1], pa.time64("us"))],
    ids=lambda column: str(column.type),
)
def test_in_memory_a_column_of_another_type_is_refused(column: pa.Array) -> None:
    with pytest.raises(MessageError, match=r"time: found a column of type .*, allowed: a time"):
        route(pa.table({"id": ["a"], "time": column}), POOL)


def test_in_memory_a_date_is_its_midnight() -> None:
    days = pa.array([20_778], pa.int32())
    assert listed(times(days.cast(pa.date32()))) == [20_778 * 86_400_000_000]


@pytest.mark.parametrize("given", [[0, 1, 2], [SINCE, SINCE + 1], [7_000_000_000], [-5.0, 1e11]])
def test_seconds_from_any_zero_stay_what_they_are(given: list[float]) -> None:
    assert listed(times(pa.array(given))) == [int(t * 1_000_000) for t in given]
