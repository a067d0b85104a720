"""Numbers and times of a column, as Spark reads them; each different text is read once."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairlead.balance.times import (
    BLANK,
    EXACT,
    FINE,
    LATEST,
    MICROS,
    NANO,
    NEAR,
    TIMESTAMP,
    exact_micros,
    in_micros,
    micros,
    number,
)
from fairlead.compiled.intake.columns import is_number
from fairlead.compiled.intake.texts import is_text, words_of
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools

PLAIN_SECONDS: Final = r"^-?[0-9]{1,9}(\.[0-9]{1,6})?$"
PLAIN_MOMENT: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?$"
"""Texts that Arrow reads as we do, and faster."""
SAMPLE: Final = 1_000
"""So many texts at the beginning tell whether most of a column are different."""
WHOLE: Final = re.compile(r"[ \t\r\n]*[+-]?[0-9]+[ \t\r\n]*")
"""Spark takes neither "1.0" nor "1e1" for an integer."""
MOST: Final = 2**63 - 1
BEYOND: Final = float(2**63)
DAY: Final = 86_400 * MICROS
A_SECOND: Final = {"s": 1, "ms": 10**3, "us": MICROS, "ns": 10**9}
DIGITS: Final = 9
"""Behind the point, of those that count."""
WIDE: Final = 76
"""Digits of Arrow's longest decimal."""


class Numbers(NamedTuple):
    """Whole numbers by the row; where `known` is false there is none, and it is 0."""

    values: Int64s
    known: Bools


def times(column: pa.Array) -> Numbers:
    """Whole microseconds since the epoch, or since 0 for a plain number of seconds."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return _moments(column)
    if pa.types.is_date(kind):
        return _times(_filled(column.cast(pa.int32())), DAY)
    if is_text(kind):
        return _read(column, _plain_times, micros)
    return seconds(column)


def seconds(column: pa.Array) -> Numbers:
    """Seconds as whole microseconds, to nine digits, halves away from zero."""
    kind = column.type
    if is_text(kind):
        return _read(column, _plain_seconds, _seconds)
    if pa.types.is_integer(kind):
        return _times(_filled(column), MICROS, LATEST)
    if pa.types.is_decimal(kind):
        return _of_decimals(column)
    return _of_doubles(column) if pa.types.is_floating(kind) else nothing(column)


def whole(column: pa.Array) -> Numbers:
    """Integers; a number with a fraction is none."""
    return _integers(column, _whole, 0.0)


def integral(column: pa.Array) -> Numbers:
    """Whole numbers however they are written, to nine digits: "2.0" is one."""
    return _integers(column, _integral, 0.5 * 10.0**-DIGITS)


def nothing(column: pa.Array | pa.Table) -> Numbers:
    """No number in any row."""
    return Numbers(np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_))


def dated(column: pa.Array) -> bool:
    """Whether times are dates, and no plain numbers."""
    if not is_text(column.type):
        return not is_number(column.type)
    if len(column) and _all(column, PLAIN_MOMENT):
        return True
    words = (word for word in words_of(column.unique()) if word is not None)
    return all(re.fullmatch(TIMESTAMP, word.strip(BLANK)) for word in words)


# -------- texts


def _read(
    column: pa.Array,
    fast: Callable[[pa.Array], Numbers | None],
    read: Callable[[str], int | None],
) -> Numbers:
    """A number for each text, none for null. `fast`: of texts that are all plain, else None."""
    head = column.slice(0, SAMPLE)
    values = fast(column) if len(head.unique()) * 2 > len(head) else None
    return _by_word(column, read) if values is None else values


def _by_word(column: pa.Array, read: Callable[[str], int | None]) -> Numbers:
    """A number for each text; none for null, and where `read` gives none."""
    coded = column.dictionary_encode()
    if not len(coded.dictionary):
        return nothing(column)
    numbers = [read(word) for word in words_of(coded.dictionary)]
    values = np.array([value or 0 for value in numbers], np.int64)
    known = np.array([value is not None for value in numbers], np.bool_)
    at = np.asarray(coded.indices.fill_null(0)).astype(np.int64)
    if not column.null_count:
        return Numbers(values[at], known[at])
    valid = np.asarray(column.is_valid())
    return Numbers(np.where(valid, values[at], 0), known[at] & valid)


def _plain_times(column: pa.Array) -> Numbers | None:
    if not _all(column, PLAIN_MOMENT):
        return _plain_seconds(column)
    try:
        return _moments(pc.utf8_rtrim(column, "Z").cast(pa.timestamp("us")))
    except pa.ArrowInvalid:
        return None


def _plain_seconds(column: pa.Array) -> Numbers | None:
    return _of_doubles(column.cast(pa.float64())) if _all(column, PLAIN_SECONDS) else None


def _all(column: pa.Array, pattern: str) -> bool:
    """Whether all texts are such."""
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is True


def _seconds(word: str) -> int | None:
    value = number(word)
    return None if value is None else in_micros(value)


def _whole(word: str) -> int | None:
    value = number(word, MOST + 1) if WHOLE.fullmatch(word) else None
    return None if value is None or value > MOST else int(value)


def _integral(word: str) -> int | None:
    value = number(word)
    if value is None:
        return None
    written = value.quantize(NANO, ROUND_HALF_UP, EXACT)
    return int(written) if written == int(written) else None


# -------- numbers


def _filled(column: pa.Array) -> Numbers:
    """A column of integers."""
    kind, known = column.type, np.asarray(column.is_valid())
    values = np.asarray(column.fill_null(0) if column.null_count else column)
    if pa.types.is_uint64(kind):
        known &= values <= np.uint64(MOST)
        values = np.where(known, values, 0)
    return Numbers(values.astype(np.int64), known)


def _times(numbers: Numbers, many: int, most: int | None = None) -> Numbers:
    """So many times each number; none where it is more than `most`, or than 64 bits hold."""
    values, known = numbers
    most = MOST // many if most is None else most
    if len(values) and not -most <= values.min() <= values.max() <= most:
        known = known & (values >= -most) & (values <= most)
        values = np.where(known, values, 0)
    return Numbers(values * many, known)


def _moments(column: pa.Array) -> Numbers:
    kind = column.type
    if kind.unit == "ns":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    counted = _filled(column.cast(pa.int64()))
    many = MICROS // A_SECOND[column.type.unit]
    return counted if many == 1 else _times(counted, many)


def _of_decimals(column: pa.Array) -> Numbers:
    """Decimals, exactly."""
    scale = column.type.scale
    digits = _digits_of(column) if 0 <= scale <= DIGITS else None
    if digits is None:
        return _of_long_decimals(column)
    if scale <= 6:
        return _times(digits, 10 ** (6 - scale), LATEST * 10**scale)
    part = 10 ** (scale - 6)
    micro, rest = np.divmod(digits.values, part)
    rest *= 2
    micro += (rest > part) | ((rest == part) & (digits.values > 0))
    return Numbers(micro, digits.known)


def _digits_of(column: pa.Array) -> Numbers | None:
    """All digits of decimals as whole numbers; None where 64 of their 128 bits do not hold one."""
    known = np.asarray(column.is_valid())
    if not known.any():
        return nothing(column)
    words = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
    low, high = words[column.offset :][: len(column)].T
    if not known.all():
        low, high = np.where(known, low, 0), np.where(known, high, 0)
    return Numbers(low, known) if (high == low >> 63).all() else None


def _of_long_decimals(column: pa.Array) -> Numbers:
    """With six digits behind the point, all digits of a decimal count its microseconds."""
    fine = max(DIGITS, column.type.scale)
    wide = column.cast(pa.decimal256(WIDE, fine))
    within = pc.less_equal(pc.abs(wide), pa.scalar(Decimal(LATEST), pa.decimal256(WIDE, fine)))
    rounded = pc.if_else(within, wide, None)
    for digits in (DIGITS, 6):
        rounded = pc.round(rounded, digits, "half_towards_infinity")
    return _digits_of(rounded.cast(pa.decimal128(38, 6))) or nothing(column)


def _of_doubles(column: pa.Array) -> Numbers:
    doubles = _doubles(column)
    known: Bools = np.abs(doubles) <= LATEST  # never of what is no number
    about = (doubles if known.all() else np.where(known, doubles, 0.0)) * MICROS
    rounded = np.rint(about)
    exact: Int64s = rounded.astype(np.int64)
    sure = np.abs(about - rounded) <= NEAR
    sure &= np.abs(about) < FINE * MICROS
    if not sure.all():
        for row in np.flatnonzero(~sure):
            exact[row] = exact_micros(float(doubles[row]))
    return Numbers(exact, known)


def _doubles(column: pa.Array) -> NDArray[np.float64]:
    doubles = column.cast(pa.float64())
    return np.asarray(doubles.fill_null(np.nan) if doubles.null_count else doubles)


def _integers(column: pa.Array, read: Callable[[str], int | None], near: float) -> Numbers:
    """Integers. `near`: less far than this from one a number is that."""
    kind = column.type
    if is_text(kind):
        return _by_word(column, read)
    if pa.types.is_integer(kind):
        return _filled(column)
    if pa.types.is_decimal(kind):
        integers = [_integer(value, near) for value in column.to_pylist()]
        known = np.array([value is not None for value in integers], np.bool_)
        return Numbers(np.array([value or 0 for value in integers], np.int64), known)
    if not pa.types.is_floating(kind):
        return nothing(column)
    doubles = _doubles(column)
    known = (doubles >= -BEYOND) & (doubles < BEYOND)
    doubles = np.where(known, doubles, 0.0)
    rounded = np.rint(doubles)
    known &= (doubles == rounded) | (np.abs(doubles - rounded) < near)
    return Numbers(np.where(known, rounded, 0.0).astype(np.int64), known)


def _integer(value: Decimal | None, near: float) -> int | None:
    if value is None:
        return None
    rounded = round(value)
    whole = value == rounded or abs(value - rounded) < near
    return rounded if whole and -MOST - 1 <= rounded <= MOST else None
