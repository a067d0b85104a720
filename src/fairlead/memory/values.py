"""Values of Spark SQL in Arrow: their types, and one made of another as Spark casts them.

As in a session without ANSI, which is how Fairlead starts Spark: what cannot be cast is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from math import isfinite
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.times import micros
from fairlead.compiled.intake.columns import is_number
from fairlead.compiled.intake.texts import TEXT, is_text, to_text
from fairlead.errors import UserError

INT: Final = pa.int32()
LONG: Final = pa.int64()
DOUBLE: Final = pa.float64()
BOOL: Final = pa.bool_()
MOMENT: Final = pa.timestamp("us", "UTC")
NAMED: Final = {
    **dict.fromkeys(("string", "varchar", "char"), TEXT),
    **dict.fromkeys(("int", "integer"), INT),
    **dict.fromkeys(("bigint", "long"), LONG),
    "double": DOUBLE,
    "boolean": BOOL,
    "timestamp": MOMENT,
}
DECIMAL: Final = re.compile(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,(\d+))?\))?")
MOST_DIGITS: Final = 38
MOST_LONG: Final = (1 << 63) - 1
LEAST_SCALE: Final = 6
WHOLE: Final = re.compile(
    r"[ \t\r\n]*([+-]?)(\d+)(?:\.\d*)?[ \t\r\n]*|[ \t\r\n]*[+-]?\.\d+[ \t\r\n]*", re.ASCII
)
NUMBER: Final = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN|inf)[dDfF]?", re.ASCII
)
YEAR_MONTH: Final = re.compile(r"(\d{4})(?:-(\d\d?))?", re.ASCII)
BLANK: Final = " \t\r\n"
TRUE: Final = {"t", "true", "y", "yes", "1"}
FALSE: Final = {"f", "false", "n", "no", "0"}
EXACT: Final = Context(prec=80, rounding=ROUND_HALF_UP)


def kind_of(name: str) -> pa.DataType:
    """The type that Spark SQL calls so. Raises UserError."""
    if name in NAMED:
        return NAMED[name]
    match = DECIMAL.fullmatch(name)
    if match is not None:
        digits, scale = int(match[1] or 10), int(match[2] or 0)
        if 1 <= digits <= MOST_DIGITS and scale <= digits:
            return pa.decimal128(digits, scale)
    allowed = ", ".join(("decimal(P,S)", *NAMED))
    raise UserError(f"found the type {name}, allowed: {allowed}")


def is_whole(kind: pa.DataType) -> bool:
    """Whether it is an integer."""
    return bool(pa.types.is_integer(kind))


def is_decimal(kind: pa.DataType) -> bool:
    """Whether it is a decimal."""
    return bool(pa.types.is_decimal(kind))


def by_word(words: pa.Array, read: Callable[[str], Any], kind: pa.DataType) -> pa.Array:
    """A value for each text, read once for each different one; null for null."""
    coded = words.dictionary_encode()
    results = pa.array(
        [None if word is None else read(word) for word in coded.dictionary.to_pylist()], kind
    )
    return results.take(coded.indices)


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values as another type; null where one cannot be that. Raises UserError for types."""
    source = values.type
    if source == kind:
        return values
    if pa.types.is_null(source):
        return pa.nulls(len(values), kind)
    if is_text(source):
        return _of_text(values, kind)
    if is_text(kind):
        return to_text(values)
    if pa.types.is_boolean(source) and is_number(kind):
        return cast(values.cast(INT), kind)
    if is_number(source):
        return _of_number(values, kind)
    if pa.types.is_timestamp(source) and is_number(kind):
        micros_ = cast(values, MOMENT).cast(LONG)
        if is_whole(kind):
            return _whole_seconds(micros_, kind)
        return _number(pc.divide(micros_.cast(DOUBLE, safe=False), 1e6), kind)
    if kind == MOMENT and (pa.types.is_timestamp(source) or pa.types.is_date(source)):
        return (
            values.cast(pa.timestamp("us", getattr(source, "tz", None)), safe=False)
            .cast(LONG)
            .cast(MOMENT)
        )
    raise UserError(f"found a cast of {source} to {kind}, allowed: of texts and numbers")


def _of_number(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pc.not_equal(values.cast(DOUBLE, safe=False), 0.0)
    if is_number(kind):
        return _number(values, kind)
    if kind == MOMENT:
        return _moment(values)
    raise UserError(f"found a cast of {values.type} to {kind}, allowed: to a number or timestamp")


def _of_text(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_floating(kind):
        return by_word(values, _double, kind)
    if is_whole(kind):
        least, most = -(1 << (kind.bit_width - 1)), (1 << (kind.bit_width - 1)) - 1
        return by_word(values, lambda word: _whole(word, least, most), kind)
    if is_decimal(kind):
        return by_word(values, lambda word: rounded(_decimal(word), kind), kind)
    if pa.types.is_boolean(kind):
        return by_word(values, _truth, kind)
    if kind == MOMENT:
        return by_word(values, _time, LONG).cast(MOMENT)
    raise UserError(f"found a cast of a text to {kind}, allowed: to a number, boolean or timestamp")


def _double(word: str) -> float | None:
    match = NUMBER.fullmatch(word.strip(BLANK))
    return (
        None
        if match is None
        else float(match[0].rstrip("dDfF") if "inf" not in match[0].lower() else match[0])
    )


def _whole(word: str, least: int, most: int) -> int | None:
    match = WHOLE.fullmatch(word)
    if match is None:
        return None
    number = int((match[1] or "") + (match[2] or "0"))
    return number if least <= number <= most else None


def _decimal(word: str) -> Decimal | None:
    try:
        number = EXACT.create_decimal(word.strip(BLANK))
    except InvalidOperation:
        return None
    return number if number.is_finite() and "_" not in word else None


def rounded(value: Decimal | None, kind: pa.DataType) -> Decimal | None:
    """A decimal with the type's digits, halves away from zero; None where they do not hold it."""
    if value is None:
        return None
    result = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, EXACT)
    return result if abs(result) < Decimal(10) ** (kind.precision - kind.scale) else None


def _truth(word: str) -> bool | None:
    lower = word.strip(BLANK).lower()
    return True if lower in TRUE else False if lower in FALSE else None


def _time(word: str) -> int | None:
    word = word.strip(BLANK)
    match = YEAR_MONTH.fullmatch(word)
    if match is not None:
        word = f"{match[1]}-{int(match[2] or 1):02}-01"
    # Any other plain number is no timestamp to Spark.
    return None if NUMBER.fullmatch(word) or not word.isascii() else micros(word)


def _number(values: pa.Array, kind: pa.DataType) -> pa.Array:
    source = values.type
    if pa.types.is_floating(kind):
        return values.cast(kind, safe=False)  # the nearest one
    if is_whole(kind) and is_whole(source):
        return values.cast(kind, safe=False)
    if is_whole(kind) and is_decimal(source):
        cut = [None if value is None else int(value) for value in values.to_pylist()]
        bits = (1 << kind.bit_width) - 1
        half = 1 << (kind.bit_width - 1)
        return pa.array(
            [None if value is None else ((value + half) & bits) - half for value in cut], kind
        )
    if is_whole(kind):
        most = float((1 << (kind.bit_width - 1)) - 1)
        numbers = np.nan_to_num(np.asarray(values.fill_null(0.0)), nan=0.0)
        whole = np.trunc(np.clip(numbers, -most - 1, most))
        ends = np.where(whole >= most, (1 << (kind.bit_width - 1)) - 1, 0)
        inside = np.where(whole >= most, 0, whole).astype(np.int64)
        return pa.array(
            np.where(whole >= most, ends, inside), LONG, mask=np.asarray(values.is_null())
        ).cast(kind)
    texts = [
        None if value is None else _decimal(repr(value) if isinstance(value, float) else str(value))
        for value in values.to_pylist()
    ]
    return pa.array([rounded(text, kind) for text in texts], kind)


def _moment(values: pa.Array) -> pa.Array:
    if is_whole(values.type):
        return pc.multiply(values.cast(LONG), 1_000_000).cast(MOMENT)
    moments = [
        None if value is None or not isfinite(value) else _within(value * 1_000_000)
        for value in values.to_pylist()
    ]
    return pa.array(moments, LONG).cast(MOMENT)


def _within(number: float | Decimal) -> int:
    """The whole part, or the end of the range of integers."""
    if number > MOST_LONG:
        return MOST_LONG
    return -MOST_LONG - 1 if number < -MOST_LONG else int(number)


def _whole_seconds(moments: pa.Array, kind: pa.DataType) -> pa.Array:
    """Seconds of microseconds, rounded down; null where the type does not hold them."""
    seconds = np.asarray(moments.fill_null(0)) // 1_000_000
    most = 1 << (kind.bit_width - 1)
    outside = (seconds < -most) | (seconds >= most)
    return pa.array(seconds, LONG, mask=np.asarray(moments.is_null()) | outside).cast(kind)
