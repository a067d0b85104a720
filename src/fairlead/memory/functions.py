"""The functions of Spark SQL that the engine in memory has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from fairlead.compiled.intake.columns import is_number
from fairlead.compiled.intake.texts import TEXT, is_text, to_text
from fairlead.errors import UserError
from fairlead.memory.arithmetic import common, compared, logical
from fairlead.memory.values import DOUBLE, INT, LONG, MOMENT, by_word, cast, is_decimal, is_whole

Arrays = Sequence[pa.Array]
UNITS: Final = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
"""What `timestampadd` counts, in microseconds; a month or a year differs."""
PATTERN: Final = re.compile(r"'([^']*)'|([A-Za-z])\2*|.", re.DOTALL)
DIRECTIVES: Final = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "MMM": "%b",
    "SSS": "%f",
    "SSSSSS": "%f",
    "Z": "%z",
    "XXX": "%z",
    "X": "%z",
    "yy": "%y",
    "a": "%p",
    "hh": "%I",
    "MMMM": "%B",
    "E": "%a",
    "EEE": "%a",
}
"""Letters of Spark's datetime patterns, as `strptime` has them."""


def _texts(values: Arrays) -> list[pa.Array]:
    return [to_text(value) for value in values]


def _coalesce(values: Arrays) -> pa.Array:
    kind = values[0].type
    for value in values[1:]:
        kind = common(kind, value.type)
    return pc.coalesce(*(cast(value, kind) for value in values))


def _concat(values: Arrays) -> pa.Array:
    return pc.binary_join_element_wise(*_texts(values), "")


def _concat_ws(values: Arrays) -> pa.Array:
    separators, *parts = _texts(values)
    if not parts:
        return pc.if_else(separators.is_valid(), "", None)
    nothing = parts[0].is_null()
    for part in parts[1:]:
        nothing = pc.and_(nothing, part.is_null())
    # Arrow leaves out a row of which every part is null.
    parts[0] = pc.if_else(nothing, "", parts[0])
    return pc.binary_join_element_wise(*parts, separators, null_handling="skip")


def _nullif(values: Arrays) -> pa.Array:
    same = pc.fill_null(compared("=", *values), False)
    return pc.if_else(same, pa.scalar(None, values[0].type), values[0])


def _if(values: Arrays) -> pa.Array:
    condition, then, otherwise = values
    return chosen([(logical(condition, "if"), then)], otherwise)


def chosen(branches: Sequence[tuple[pa.Array, pa.Array]], otherwise: pa.Array) -> pa.Array:
    """The value of the first condition that holds."""
    kind = otherwise.type
    for _, value in branches:
        kind = common(kind, value.type)
    result = cast(otherwise, kind)
    for condition, value in reversed(branches):
        result = pc.if_else(pc.fill_null(condition, False), cast(value, kind), result)
    return result


def _extreme(pick: Callable[..., pa.Array]) -> Callable[[Arrays], pa.Array]:
    def found(values: Arrays) -> pa.Array:
        kind = values[0].type
        for value in values[1:]:
            kind = common(kind, value.type)
        alike = [cast(value, kind) for value in values]
        if pa.types.is_timestamp(kind):
            return pick(*(value.cast(LONG) for value in alike)).cast(kind)
        extreme = pick(*alike)
        if pick is pc.max_element_wise and pa.types.is_floating(kind):
            for value in alike:  # to Spark no number is greater than NaN
                extreme = pc.if_else(pc.fill_null(pc.is_nan(value), False), value, extreme)
        return extreme

    return found


def _substring(values: Arrays) -> pa.Array:
    words, start, *length = values
    starts = cast(start, LONG).to_pylist()
    lengths = cast(length[0], LONG).to_pylist() if length else [1 << 31] * len(words)
    parts = [
        None if None in (word, at, n) else _cut(word, at, n)
        for word, at, n in zip(to_text(words).to_pylist(), starts, lengths, strict=True)
    ]
    return pa.array(parts, TEXT)


def _cut(word: str, at: int, n: int) -> str:
    """From the at-th letter on, counted from 1, or from the end where it is negative."""
    first = at - 1 if at > 0 else len(word) + at if at < 0 else 0
    return word[max(0, first) : max(0, first + n)]


def _regexp_extract(values: Arrays) -> pa.Array:
    words, patterns, *group = _texts(values[:2]) + list(values[2:])
    pattern = _constant(patterns, "regexp_extract", "a pattern")
    which = 1 if not group else int(_constant(cast(group[0], LONG), "regexp_extract", "a group"))
    try:
        regex = re.compile(pattern)
    except re.error as error:
        raise UserError(f"regexp_extract: found {pattern!r}: {error}") from None
    if regex.groups < which:
        raise UserError(f"regexp_extract: found group {which} of {regex.groups} in {pattern!r}")

    def part(word: str) -> str:
        match = regex.search(word)
        return "" if match is None else match[which] or ""

    return by_word(words, part, TEXT)


def _constant(values: pa.Array, name: str, what: str) -> Any:  # noqa: ANN401 - a text, or a number
    first = pc.unique(values).to_pylist()
    if len(first) != 1 or first[0] is None:
        raise UserError(f"{name}: found a column, allowed: {what} as a constant")
    return first[0]


def _to_timestamp(values: Arrays) -> pa.Array:
    if len(values) == 1:
        return cast(values[0], MOMENT)
    pattern = _constant(to_text(values[1]), "to_timestamp", "a pattern")
    directives = "".join(_directive(match) for match in PATTERN.finditer(pattern))

    def read(word: str) -> int | None:
        try:
            moment = datetime.strptime(word, directives)  # noqa: DTZ007 - it may have a zone
        except ValueError:
            return None
        known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = known - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

    return by_word(to_text(values[0]), read, LONG).cast(MOMENT)


def _directive(part: re.Match[str]) -> str:
    if part[1] is not None:
        return part[1].replace("%", "%%") or "'"
    if part[2] is None:
        return "%%" if part[0] == "%" else part[0]
    if part[0] not in DIRECTIVES:
        raise UserError(
            f"to_timestamp: found {part[0]!r} in the pattern, allowed: {', '.join(DIRECTIVES)}"
        )
    return DIRECTIVES[part[0]]


def _moments(per_second: int) -> Callable[[Arrays], pa.Array]:
    def found(values: Arrays) -> pa.Array:
        if not is_whole(values[0].type) and per_second != 1:
            raise UserError(
                f"timestamp_…: found {values[0].type}, allowed: an integer, such as bigint(ts)"
            )
        if per_second == 1:
            return cast(cast(values[0], DOUBLE) if is_text(values[0].type) else values[0], MOMENT)
        return pc.multiply(values[0].cast(LONG), 1_000_000 // per_second).cast(MOMENT)

    return found


def _timestampadd(values: Arrays) -> pa.Array:
    unit = str(_constant(values[0], "timestampadd", "a unit")).lower()
    if unit not in UNITS:
        raise UserError(f"timestampadd: found {unit}, allowed: {', '.join(UNITS)}")
    later = pc.multiply(cast(values[1], LONG), UNITS[unit])
    return pc.add(cast(values[2], MOMENT).cast(LONG), later).cast(MOMENT)


def _rounding(pick: Callable[..., pa.Array]) -> Callable[[Arrays], pa.Array]:
    def found(values: Arrays) -> pa.Array:
        number = cast(values[0], DOUBLE) if is_text(values[0].type) else values[0]
        if is_whole(number.type):
            return number.cast(LONG)
        if is_decimal(number.type):
            raise UserError("floor, ceil: found a decimal, allowed: double(…) of it")
        return cast(pick(number), LONG)

    return found


def _round(values: Arrays) -> pa.Array:
    number = cast(values[0], DOUBLE) if is_text(values[0].type) else values[0]
    places = int(_constant(cast(values[1], LONG), "round", "digits")) if len(values) > 1 else 0
    if is_whole(number.type) and places >= 0:
        return number
    if not pa.types.is_floating(number.type):
        raise UserError(f"round: found {number.type}, allowed: double(…) of it")
    return pc.round(number, places, "half_towards_infinity")


def _abs(values: Arrays) -> pa.Array:
    number = cast(values[0], DOUBLE) if is_text(values[0].type) else values[0]
    if not is_number(number.type):
        raise UserError(f"abs: found {number.type}, allowed: a number")
    return pc.abs(number)


def _to(kind: pa.DataType) -> Callable[[Arrays], pa.Array]:
    return lambda values: cast(values[0], kind)


def _text(function: Callable[[pa.Array], pa.Array]) -> Callable[[Arrays], pa.Array]:
    return lambda values: function(to_text(values[0]))


FUNCTIONS: Final[dict[str, tuple[int, int, Callable[[Arrays], pa.Array]]]] = {
    "abs": (1, 1, _abs),
    "bigint": (1, 1, _to(LONG)),
    "boolean": (1, 1, _to(pa.bool_())),
    "ceil": (1, 1, _rounding(pc.ceil)),
    "coalesce": (1, 99, _coalesce),
    "concat": (1, 99, _concat),
    "concat_ws": (1, 99, _concat_ws),
    "double": (1, 1, _to(DOUBLE)),
    "floor": (1, 1, _rounding(pc.floor)),
    "greatest": (2, 99, _extreme(pc.max_element_wise)),
    "if": (3, 3, _if),
    "ifnull": (2, 2, _coalesce),
    "int": (1, 1, _to(INT)),
    "isnotnull": (1, 1, lambda values: values[0].is_valid()),
    "isnull": (1, 1, lambda values: values[0].is_null()),
    "least": (2, 99, _extreme(pc.min_element_wise)),
    "length": (1, 1, _text(pc.utf8_length)),
    "lower": (1, 1, _text(pc.utf8_lower)),
    "nullif": (2, 2, _nullif),
    "nvl": (2, 2, _coalesce),
    "regexp_extract": (2, 3, _regexp_extract),
    "round": (1, 2, _round),
    "string": (1, 1, lambda values: to_text(values[0])),
    "substring": (2, 3, _substring),
    "substr": (2, 3, _substring),
    "timestamp": (1, 1, _to(MOMENT)),
    "timestamp_micros": (1, 1, _moments(1_000_000)),
    "timestamp_millis": (1, 1, _moments(1_000)),
    "timestamp_seconds": (1, 1, _moments(1)),
    "timestampadd": (3, 3, _timestampadd),
    "to_timestamp": (1, 2, _to_timestamp),
    "trim": (1, 1, _text(lambda words: pc.utf8_trim(words, " "))),
    "try_to_timestamp": (1, 2, _to_timestamp),
    "upper": (1, 1, _text(pc.utf8_upper)),
}
"""By the name: how many arguments at least and at most, and what it does."""
