"""Numbers and times of a column, as Spark reads them; each different text is read once."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairlead.balance.times import (
    BLANK,
    FINE,
    LATEST,
    MICROS,
    NEAR,
    TIMESTAMP,
    in_micros,
    micros,
    number,
)
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools

PLAIN_SECONDS: Final = r"^-?[0-9]{1,9}(\.[0-9]{1,6})?$"
PLAIN_MOMENT: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?$"
"""Texts that Arrow reads as we do, and faster."""
WHOLE: Final = re.compile(r"[ \t\r\n]*[+-]?[0-9]+[ \t\r\n]*")
"""Spark takes neither "1.0" nor "1e1" for an integer."""
MOST: Final = 2**63 - 1
DIGITS: Final = Decimal("1e-9")
DAY: Final = 86_400 * MICROS


class Numbers(NamedTuple):
    """Whole numbers by the row; where `known` is false there is none, and it is 0."""

    values: Int64s
    known: Bools


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds texts."""
    return bool(pa.types.is_string(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers."""
    of = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(known(kind) for known in of)


def by_word(column: pa.Array, read: Callable[[str], int | None]) -> Numbers:
    """A number for each text; none for null, and where `read` gives none."""
    coded = column.dictionary_encode()
    words = coded.dictionary.to_pylist()
    numbers = [read(word) for word in words]
    values = np.array([value or 0 for value in numbers], np.int64)
    known = np.array([value is not None for value in numbers], np.bool_)
    if not len(words):
        return Numbers(np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_))
    at = np.asarray(coded.indices.fill_null(0)).astype(np.int64)
    valid = np.asarray(column.is_valid())
    return Numbers(np.where(valid, values[at], 0), known[at] & valid)


def times(column: pa.Array) -> Numbers:
    """Whole microseconds since the epoch, or since 0 for a plain number of seconds."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return _filled(column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64()))
    if pa.types.is_date(kind):
        days = _filled(column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()))
        return Numbers(days.values * DAY, days.known)
    if is_text(kind):
        fast = _all_alike(column)
        return fast if fast is not None else by_word(column, micros)
    return seconds(column)


def _all_alike(column: pa.Array) -> Numbers | None:
    """Texts that are all plain; None where any is not."""
    if column.null_count:
        return None
    if _all(column, PLAIN_SECONDS):
        return seconds(column.cast(pa.float64()))
    if not _all(column, PLAIN_MOMENT):
        return None
    try:
        moments = pc.utf8_rtrim(column, "Z").cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    return _filled(moments.cast(pa.int64()))


def _all(column: pa.Array, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is True


def seconds(column: pa.Array) -> Numbers:
    """Seconds as whole microseconds, to nine digits, halves away from zero."""
    kind = column.type
    if is_text(kind):
        if not column.null_count and _all(column, PLAIN_SECONDS):
            return seconds(column.cast(pa.float64()))
        return by_word(column, _seconds)
    if pa.types.is_null(kind):
        return Numbers(np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_))
    if pa.types.is_integer(kind):
        whole = _filled(column.cast(pa.int64()))
        known = whole.known & (np.abs(whole.values) <= LATEST)
        return Numbers(np.where(known, whole.values, 0) * MICROS, known)
    if pa.types.is_decimal(kind):
        exact = [None if value is None else _of_decimal(value) for value in column.to_pylist()]
        known = np.array([value is not None for value in exact], np.bool_)
        return Numbers(np.array([value or 0 for value in exact], np.int64), known)
    return _of_doubles(column)


def _seconds(word: str) -> int | None:
    value = number(word)
    return None if value is None else in_micros(value)


def _of_decimal(value: Decimal) -> int | None:
    return in_micros(value) if abs(value) <= LATEST else None


def _of_doubles(column: pa.Array) -> Numbers:
    doubles: NDArray[np.float64] = np.asarray(column.cast(pa.float64()).fill_null(np.nan))
    known = np.abs(doubles) <= LATEST  # never of what is no number
    about = np.where(known, doubles, 0.0) * MICROS
    whole = np.rint(about)
    exact: Int64s = whole.astype(np.int64)
    sure = (np.abs(doubles) < FINE) & (np.abs(about - whole) <= NEAR)
    for row in np.flatnonzero(known & ~sure):
        exact[row] = in_micros(Decimal(repr(float(doubles[row]))))
    return Numbers(exact, known)


def whole(column: pa.Array) -> Numbers:
    """Integers; a number with a fraction is none."""
    kind = column.type
    if is_text(kind):
        return by_word(column, _whole)
    if pa.types.is_integer(kind):
        return _filled(column.cast(pa.int64()))
    if pa.types.is_null(kind):
        return Numbers(np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_))
    integers = [_integer(value) for value in column.to_pylist()]
    known = np.array([value is not None for value in integers], np.bool_)
    return Numbers(np.array([value or 0 for value in integers], np.int64), known)


def _whole(word: str) -> int | None:
    value = number(word, MOST) if WHOLE.fullmatch(word) else None
    return None if value is None else int(value)


def _integer(value: Any) -> int | None:  # noqa: ANN401 - a float, or a decimal
    if value is None or value != value or abs(value) > MOST or value != int(value):  # noqa: PLR0124
        return None
    return int(value)


def integral(column: pa.Array) -> Numbers:
    """Whole numbers however they are written: "2.0" is one."""
    kind = column.type
    if is_text(kind):
        return by_word(column, _integral)
    return whole(column)


def _integral(word: str) -> int | None:
    value = number(word)
    if value is None:
        return None
    written = value.quantize(DIGITS, ROUND_HALF_UP)
    return int(written) if written == int(written) else None


def _filled(column: pa.Array) -> Numbers:
    known = np.asarray(column.is_valid())
    return Numbers(np.asarray(column.fill_null(0)).astype(np.int64), known)


def are_timestamps(column: pa.Array) -> bool:
    """Whether all texts are timestamps, and none a plain number."""
    return all(re.fullmatch(TIMESTAMP, word.strip(BLANK)) for word in _different(column))


def _different(column: pa.Array) -> list[str]:
    return [word for word in column.unique().to_pylist() if word is not None]
