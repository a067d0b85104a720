"""Columns of a table in memory, read and checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from decimal import ROUND_HALF_UP
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairlead.balance.message import SET_PRIORITY, SPELLED_ALIKE
from fairlead.balance.objects import shown
from fairlead.balance.times import (
    EXACT,
    FINE,
    LATEST,
    MICROS,
    NANO,
    NEAR,
    TIMES,
    counts,
    exact_micros,
    in_micros,
    number,
    since_1970,
)
from fairlead.balance.times import micros as micros_of
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import in_order
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import LONGEST_SERVICE, SECONDS, ServedClusters
from fairlead.compiled.row_checks import EVERYBODY, CellCondition, word_checks
from fairlead.compiled.unique import all_different
from fairlead.errors import MessageError
from fairlead.rows import DECISION

TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
BYTES = (pa.types.is_binary, pa.types.is_large_binary)
NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
KEY_TYPES = (
    *TEXTS,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_null,
)
VIEWS: Final = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
MAX_WHOLE = 2**63 - 1
WHOLE: Final = re.compile(r"[ \t\r\n]*[+-]?[0-9]+[ \t\r\n]*")
"""Spark takes neither "1.0" nor "1e1" for an integer."""
DAY: Final = 86_400
PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
ARROW: Final = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
"""What Arrow calls these units."""
ALLOWED: Final = {
    "time": TIMES,
    "service_time": SECONDS,
}


def checked(messages: pa.Table, heeded: Collection[str], *, trust_ids: bool) -> pa.Table:
    """A table in which every row is a message. Raises MessageError."""
    _check_names(messages.column_names)
    _check_types(messages)
    for name in (*EVERYBODY, *sorted(heeded)):
        _check_utf8(messages, name)
    ids = text(messages, "id")
    if pc.any(pc.equal(ids, "")).as_py():
        raise MessageError("messages: id: found nothing in a row, allowed: a text")
    if not trust_ids and not all_different(ids):
        raise MessageError("messages: id: found one twice, allowed: once")
    _check_words(messages, heeded)
    return _without_views(messages)


def _check_names(names: Sequence[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise MessageError(f"messages: column {name!r}: found {times} times, allowed: once")
    for name in ("id", "time"):
        if name not in names:
            raise MessageError(f"messages: no column {name!r}, found: {', '.join(names)}")
    for name in DECISION:
        if name in names:
            raise MessageError(f"messages: column {name!r} is what the decisions add; rename it")


def _check_types(messages: pa.Table) -> None:
    """Refuse columns whose rows Arrow cannot put into order, and ids of floating point."""
    for field in messages.schema:
        if field.type in VIEWS:
            continue
        try:
            pa.nulls(0, field.type).take(pa.array([], pa.int64()))
        except pa.ArrowNotImplementedError:
            raise MessageError(
                f"messages: {field.name}: found {field.type}, whose rows Arrow cannot put into "
                "order, allowed: any other type"
            ) from None
    kind = messages.schema.field("id").type
    if pa.types.is_floating(kind):
        raise MessageError(f"messages: id: found {kind}, allowed: {SPELLED_ALIKE}")


def _without_views(messages: pa.Table) -> pa.Table:
    """The same table; Arrow cannot take rows of views of texts."""
    schema = messages.schema
    for place, field in enumerate(schema):
        if field.type in VIEWS:
            schema = schema.set(place, field.with_type(VIEWS[field.type]))
    return messages if schema is messages.schema else messages.cast(schema)


def _check_utf8(messages: pa.Table, name: str) -> None:
    """Refuse a column that is no text, which pyarrow itself notices late or never."""
    if name not in messages.column_names:
        return
    column = messages.column(name)
    try:
        if _is_text(column.type):
            column.validate(full=True)
        elif any(known(column.type) for known in BYTES):
            column.cast(pa.large_string())
    except pa.ArrowInvalid:
        raise MessageError(
            f"messages: {name}: found bytes that are no UTF-8, allowed: text in UTF-8"
        ) from None


def _check_words(messages: pa.Table, heeded: Collection[str]) -> None:
    for check in word_checks(messages.column_names, heeded):
        cells = text(messages, check.column)
        if check.condition is CellCondition.ONE_OF:
            for value in pc.unique(cells).to_pylist():
                if value and value not in check.words:
                    raise MessageError(
                        f"messages: {check.column}: found {value!r}, allowed: {check.allowed}"
                    )
        else:
            other = text(messages, check.words[0])
            both = pc.and_(pc.equal(cells, "true"), pc.not_equal(other, ""))
            if pc.any(both).as_py():
                raise MessageError(f"messages: {check.fixed}")


def check_keys(messages: pa.Table, plan: Plan) -> None:
    """Refuse keys that engines would spell otherwise. Raises MessageError."""
    for name in plan.keyed.values():
        kind = _plain(messages.schema.field(name).type)
        if not any(known(kind) for known in KEY_TYPES):
            raise MessageError(f"messages: {name}: found {kind}, allowed: {SPELLED_ALIKE}")


def text(messages: pa.Table, name: str) -> pa.ChunkedArray:
    """A column as text, "" where it is not given or the table has none."""
    if name not in messages.column_names:
        return pa.chunked_array([pa.repeat("", len(messages))])
    return pc.fill_null(_cast(messages, name, pa.string(), "a text"), "")


def _cast(messages: pa.Table, name: str, kind: pa.DataType, allowed: str) -> pa.ChunkedArray:
    """A column as another type. Raises MessageError where a value cannot be that."""
    column = messages.column(name)
    try:
        return column.cast(kind)
    except pa.ArrowException:
        raise MessageError(f"messages: {name}: found {column.type}, allowed: {allowed}") from None


def whole_numbers(messages: pa.Table, name: str) -> pa.ChunkedArray:
    """A column of whole numbers, null where a row has none. Raises MessageError."""
    kind = messages.schema.field(name).type
    if _is_text(kind):
        codes, words = coded(messages, name)
        whole = pa.array([_whole(name, word) for word in words], pa.int64())
        return pa.chunked_array([whole.take(pa.array(codes))])
    if not any(known(_plain(kind)) for known in NUMBERS):
        raise MessageError(f"messages: {name}: found {kind}, allowed: integers")
    return _cast(messages, name, pa.int64(), "integers only")


def _whole(name: str, word: str) -> int | None:
    """A whole number as all engines read it; None for an empty text. Raises MessageError.

    A position is written in digits alone; all others as any number is.
    """
    if not word:
        return None
    value = None if name == "position" and not WHOLE.fullmatch(word) else number(word, MAX_WHOLE)
    whole = None if value is None else value.quantize(NANO, ROUND_HALF_UP, EXACT)
    if whole is None or whole != int(whole):
        raise MessageError(f"messages: {name}: found {shown(word)}, allowed: an integer")
    return int(whole)


def times_of(messages: pa.Table) -> Int64s:
    """The times, in whole microseconds. Raises MessageError."""
    column = messages.column("time")
    if column.null_count:
        raise MessageError("messages: time: found nothing in a row")
    kind = dates(messages)
    if kind is None or _is_text(column.type):
        _check_unit(column)
    if _is_text(column.type):
        return _read(messages, "time", micros_of)
    if kind is not None:
        _check_dates(column)
        moments = column.cast(kind, safe=False).cast(pa.int64())
        return np.asarray(moments.to_numpy(), np.int64)
    return micros(messages, "time")


def _check_unit(column: pa.ChunkedArray) -> None:
    """Refuse numbers that count milliseconds, or less, since 1970. Raises MessageError."""
    if _is_text(column.type):
        words = pc.unique(column).to_pylist()
    elif any(known(column.type) for known in NUMBERS):
        half = pa.types.is_float16(column.type)
        words = [pc.max(column.cast(pa.float32()) if half else column).as_py()]
    else:
        words = []
    for word in words:
        unit = since_1970(word)
        if unit is not None:
            raise MessageError(
                f"messages: time: found {word!r}, {counts(unit)}; a timestamp is made of it by "
                f"table['time'].cast('int64').cast(pyarrow.timestamp({ARROW[unit]!r}))"
            )


def dates(messages: pa.Table) -> pa.DataType | None:
    """The type of the times where they are dates, in microseconds; None where they are numbers."""
    kind = messages.schema.field("time").type
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_date(kind):
        return pa.timestamp("us")
    if _is_text(kind) and all(number(word) is None for word in coded(messages, "time")[1]):
        return pa.timestamp("us", "UTC")
    return None


def _is_text(kind: pa.DataType) -> bool:
    return any(known(_plain(kind)) for known in TEXTS)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _read(messages: pa.Table, name: str, read: Callable[[str], int | None]) -> Int64s:
    """Texts that are times or numbers, as the changes are read and as Spark reads them."""
    codes, words = coded(messages, name)
    values = [read(word) for word in words]
    if None in values:
        word = words[values.index(None)]
        raise MessageError(f"messages: {name}: found {shown(word)}, allowed: {ALLOWED[name]}")
    return np.array(values, np.int64)[codes]


def _seconds(word: str) -> int | None:
    value = number(word)
    return None if value is None else in_micros(value)


def micros(messages: pa.Table, name: str) -> Int64s:
    """A number of seconds as whole microseconds."""
    column = messages.column(name)
    column = column.cast(_plain(column.type))
    if column.null_count:
        raise MessageError(f"messages: {name}: found nothing in a row, allowed: {ALLOWED[name]}")
    if pa.types.is_integer(column.type):
        whole = np.asarray(whole_numbers(messages, name).to_numpy(), np.int64)
        _check_range(name, whole)
        return whole * MICROS
    if _is_text(column.type):
        return _read(messages, name, _seconds)
    if not any(known(column.type) for known in NUMBERS):
        raise MessageError(f"messages: {name}: found {column.type}, allowed: {ALLOWED[name]}")
    seconds = np.asarray(column.cast(pa.float64()).to_numpy())
    if not np.isfinite(seconds).all():
        raise MessageError(f"messages: {name}: found no number, allowed: {ALLOWED[name]}")
    _check_range(name, seconds)
    about = seconds * MICROS
    whole = np.rint(about)
    values: Int64s = whole.astype(np.int64)
    sure = (np.abs(seconds) < FINE) & (np.abs(about - whole) <= NEAR)
    for row in np.flatnonzero(~sure):
        values[row] = exact_micros(float(seconds[row]))
    return values


def _check_dates(column: pa.ChunkedArray) -> None:
    """Refuse moments whose microseconds 64 bits do not hold, which Arrow takes for others."""
    seconds = DAY if pa.types.is_date32(column.type) else 1
    many = 1 if pa.types.is_date32(column.type) else PER_SECOND[getattr(column.type, "unit", "ms")]
    counted = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    for extreme in pc.min_max(counted).values() if len(column) else ():
        if abs(extreme.as_py()) * seconds // many > LATEST:
            raise MessageError(
                f"messages: time: found {column.type} {extreme}, "
                f"allowed: at most {LATEST} seconds from 1970"
            )


def _check_range(name: str, seconds: NDArray[Any]) -> None:
    """Refuse what 64 bits of microseconds do not hold: nanoseconds since the epoch, mostly."""
    if len(seconds) and np.abs(seconds).max() > LATEST:
        raise MessageError(
            f"messages: {name}: found {np.abs(seconds).max()}, allowed: at most {LATEST} seconds"
        )


def order_of(messages: pa.Table, times: Int64s) -> Int64s | None:
    """The rows in order, or None where they are already."""
    keys = times
    if "position" in messages.column_names:
        places = whole_numbers(messages, "position")
        if places.null_count:
            raise MessageError("messages: position: found nothing in a row, allowed: an integer")
        keys = np.asarray(places.to_numpy(), np.int64)
    return in_order(keys, text(messages, "id"))


def coded(messages: pa.Table, name: str) -> tuple[Int64s, list[str]]:
    """A column as codes, and the words they stand for."""
    column = text(messages, name).combine_chunks().dictionary_encode()
    return np.asarray(column.indices).astype(np.int64), column.dictionary.to_pylist()


def services_of(messages: pa.Table, served: ServedClusters) -> Int64s | None:
    """The service times in whole microseconds, 0 where a row needs none and gives none.

    None where there are none, or nobody needs them. Raises MessageError where one is missing; what
    is given must be sensible wherever it stands.
    """
    if "service_time" not in messages.column_names:
        return None
    nothing = _nothing(messages, "service_time")
    some = pc.any(nothing).as_py()
    if some and pc.any(pc.and_(nothing, _are(messages, served))).as_py():
        raise MessageError(f"messages: service_time: found nothing in a row, allowed: {SECONDS}")
    services = micros(messages.filter(pc.invert(nothing)) if some else messages, "service_time")
    if len(services) and not 0 <= services.min() <= services.max() <= LONGEST_SERVICE * MICROS:
        raise MessageError(
            f"messages: service_time: found {services.min() / MICROS} to "
            f"{services.max() / MICROS}, allowed: 0 to {LONGEST_SERVICE} seconds"
        )
    if served.nobody or not some:
        return None if served.nobody else services
    every = np.zeros(len(messages), np.int64)
    every[~np.asarray(nothing)] = services
    return every


def _nothing(messages: pa.Table, name: str) -> pa.ChunkedArray:
    """Where a row says nothing in a column."""
    column = messages.column(name)
    # To make texts of numbers takes long.
    return pc.equal(text(messages, name), "") if _is_text(column.type) else pc.is_null(column)


def _are(messages: pa.Table, served: ServedClusters) -> pa.ChunkedArray:
    """Which messages these are."""
    work = pc.not_equal(text(messages, "type"), SET_PRIORITY)
    if served.clusters is None:
        return work
    names = pa.array(sorted(served.clusters), pa.string())
    return pc.and_(work, pc.is_in(text(messages, "cluster"), names))


def dictionary_column(words: Sequence[str | None], codes: pa.Array) -> pa.Array:
    """Codes as a dictionary-encoded column of words."""
    distinct = list(dict.fromkeys(word for word in words if word is not None))
    place = {word: k for k, word in enumerate(distinct)}
    at = pa.array([None if word is None else place[word] for word in words], pa.int32())
    return pa.DictionaryArray.from_arrays(at.take(codes), pa.array(distinct, pa.string()))
