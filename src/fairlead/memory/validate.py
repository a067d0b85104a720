"""Validate: which rows are messages, and why the others are not, in the words of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.message import (
    ALLOWED_WORDS,
    CONTRADICTIONS,
    SET_PRIORITY,
    SPELLED_ALIKE,
    WHOLE_NUMBERS,
)
from fairlead.balance.times import LATEST, MICROS, SINCE, THEN, TIMES, UNITS, counts
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import (
    ALL_WORK,
    LONGEST_SERVICE,
    SECONDS,
    ServedClusters,
    served,
)
from fairlead.errors import MessageError
from fairlead.memory import numbers
from fairlead.memory.files import CheckedTable, is_utf8
from fairlead.memory.numbers import Numbers, is_number, is_text
from fairlead.memory.values import DOUBLE, cast, to_text
from fairlead.pipeline.constants import LONGEST_SHOWN, MADE_BY, WAYS

NAMES: Final = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.date32(): "date",
    pa.binary(): "binary",
}


@dataclass
class ValidatedRows:
    """All rows of a table, and why some are no messages."""

    table: pa.Table
    """The messages' own columns."""
    key: Int64s
    """What orders the messages, then `ids`."""
    ids: pa.Array
    time: Int64s
    """Whole microseconds."""
    service: Numbers
    """Whole microseconds."""
    good: Bools
    """Which rows are messages."""
    reasons: dict[int, str]
    """Why each of the others is none."""

    def reject(self, bad: Bools, reason: Callable[[int], str]) -> None:
        """Reject rows for a reason (of the row), where they have none yet."""
        for row in np.flatnonzero(bad & self.good).tolist():
            self.reasons[row] = reason(row)
            self.good[row] = False


def validate(found: CheckedTable, *plans: Plan, worked: bool = False) -> ValidatedRows:
    """The rows with what orders them, and the reasons of those that are none.

    `worked`: whether they are to be worked on (replay). Raises MessageError for columns of types
    that can be no messages'.
    """
    table = found.table
    _check_types(table)
    time = numbers.times(column(table, "time"))
    empty = Numbers(np.zeros(len(table), np.int64), np.zeros(len(table), np.bool_))
    service = empty
    if "service_time" in table.column_names:
        service = numbers.seconds(column(table, "service_time"))
    ids = to_text(column(table, "id"))
    good = np.ones(len(table), np.bool_)
    rows = ValidatedRows(table, time.values, ids, time.values, service, good, {})
    for row, why in enumerate(found.malformed or []):
        if why is not None:
            rows.reasons[row], good[row] = why, False
    rows.reject(~said(table, "id"), lambda _: "id: found nothing, allowed: a text")
    relevant = set().union(*(plan.relevant_attributes for plan in plans))
    for name in sorted({"id", "cluster", "group", "tenant", *relevant} & {*table.column_names}):
        if (bad := _no_utf8(column(table, name))) is not None:
            _reject(rows, bad, name, "text in UTF-8")
    _check_units(rows, time)
    _reject(rows, ~time.known, "time", TIMES)
    if "position" in table.column_names:
        place = numbers.whole(column(table, "position"))
        rows.key = place.values
        _reject(rows, ~place.known, "position", "an integer")
    if "service_time" in table.column_names:
        _check_service(rows, [ALL_WORK] if worked else [*map(served, plans)])
    if worked:
        _check_order(rows)
    _check_words(rows, relevant)
    return rows


def column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece."""
    return table.column(name).combine_chunks()


def text(table: pa.Table, name: str) -> pa.Array:
    """A column as text, "" where it is not given or there is none."""
    if name not in table.column_names:
        return pa.repeat("", len(table))
    return pc.fill_null(to_text(column(table, name)), "")


def said(table: pa.Table, name: str) -> Bools:
    """Whether a row says anything in a column."""
    if name not in table.column_names:
        return np.zeros(len(table), np.bool_)
    if is_number(table.schema.field(name).type):
        return np.asarray(column(table, name).is_valid())
    return np.asarray(pc.not_equal(text(table, name), ""))


def simple(kind: pa.DataType) -> str:
    """A type as Spark calls it."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return NAMES.get(kind, str(kind))


def _check_types(table: pa.Table) -> None:
    kinds = {field.name: field.type for field in table.schema}
    for name in ("position", "service_time", *WHOLE_NUMBERS):
        kind = kinds.get(name, pa.string())
        if not (is_number(kind) or is_text(kind) or pa.types.is_null(kind)):
            raise MessageError(
                f"messages: {name}: found a column of type {simple(kind)}, "
                "allowed: a number, or text"
            )
    if pa.types.is_floating(kinds["id"]):
        raise MessageError(
            f"messages: id: found a column of type {simple(kinds['id'])}, allowed: {SPELLED_ALIKE}"
        )
    time = kinds["time"]
    dated = pa.types.is_timestamp(time) or pa.types.is_date(time)
    if not (dated or is_number(time) or is_text(time)):
        raise MessageError(
            f"messages: time: found a column of type {simple(time)}, "
            "allowed: a timestamp, a number of seconds, or text"
        )


def _reject(rows: ValidatedRows, bad: Bools, name: str, allowed: str) -> None:
    """Reject rows for what stands in a column."""
    if not (bad & rows.good).any():
        return
    words = text(rows.table, name)
    rows.reject(bad, lambda row: f"{name}: found {_shown(words[row].as_py())}, allowed: {allowed}")


def _no_utf8(values: pa.Array) -> Bools | None:
    """Which bytes are no text, where they should be; None: none could be."""
    if not pa.types.is_binary(values.type):
        return None
    return np.array([not is_utf8(value or b"") for value in values.to_pylist()], np.bool_)


def _shown(word: str) -> str:
    return f"'{word[:LONGEST_SHOWN]}'" if word else "nothing"


def _check_units(rows: ValidatedRows, time: Numbers) -> None:
    """A number that would be a moment of these years in another unit is none in seconds."""
    times = column(rows.table, "time")
    if not (is_number(times.type) or is_text(times.type)):
        return
    for (unit, many), way in zip(UNITS.items(), WAYS, strict=True):
        first, last = (bound * many for bound in THEN)
        if first <= LATEST:
            low, high = first * MICROS, last * MICROS
            meant = time.known & (time.values >= low) & (time.values <= high)
        elif time.known.all():
            continue
        else:
            about = np.asarray(cast(times, DOUBLE).fill_null(np.nan))
            meant = ~time.known & (about >= first) & (about <= last)
        if meant.any():
            hint = f", {counts(unit)}; Spark SQL makes one of the number ts{MADE_BY}{way}"
            words = text(rows.table, "time")

            def reason(row: int, words: pa.Array = words, hint: str = hint) -> str:
                return f"time: found {_shown(words[row].as_py())}{hint}"

            rows.reject(meant, reason)


def refuse_other_units(rows: ValidatedRows, where: str) -> None:
    """Refuse a table without any message, if its times are in another unit. Raises MessageError."""
    first = rows.reasons.get(0)
    if first and SINCE in first:
        line = f"{where}: found no message; the first row says: {first}"
        raise MessageError(line, f"{line}: --column 'time={line.rpartition(MADE_BY)[2]}'")


def _check_service(rows: ValidatedRows, whose: Collection[ServedClusters]) -> None:
    """How long a message takes must be a number, where anybody asks."""
    table, service = rows.table, rows.service
    nothing = ~said(table, "service_time")
    outside = (service.values < 0) | (service.values > LONGEST_SERVICE * MICROS)
    bad = ~nothing & (~service.known | outside)
    needy = [need for need in whose if not need.nobody]
    masks = [_are(table, need) for need in needy]
    why = SECONDS if ALL_WORK in needy else "a number; completions decide here"
    missing = f"service_time: found nothing, allowed: {why}"
    for mask in masks:
        rows.reject(nothing & mask, lambda _: missing)
    for mask in masks:
        _reject(rows, bad & mask, "service_time", SECONDS)
    _reject(rows, bad, "service_time", f"{SECONDS}, or empty")


def _are(table: pa.Table, served: ServedClusters) -> Bools:
    """Which messages these are."""
    work: Bools = np.asarray(pc.not_equal(text(table, "type"), SET_PRIORITY))
    if served.clusters is None:
        return work
    names = pa.array(sorted(served.clusters), pa.string())
    named: Bools = np.asarray(pc.is_in(text(table, "cluster"), names))
    return work & named


def _check_order(rows: ValidatedRows) -> None:
    """What orders work, and how often it fails, must be whole numbers."""
    for name, (least, most) in WHOLE_NUMBERS.items():
        if name in rows.table.column_names:
            cells = numbers.integral(column(rows.table, name))
            bad = ~cells.known | (cells.values < least) | (cells.values > most)
            allowed = f"an integer from {least} to {most}, or empty"
            _reject(rows, said(rows.table, name) & bad, name, allowed)


def _check_words(rows: ValidatedRows, heeded: Collection[str]) -> None:
    names = rows.table.column_names
    for name, words in ALLOWED_WORDS.items():
        if name in names and name in heeded:
            bad = ~_in(text(rows.table, name), ["", *words])
            _reject(rows, bad, name, f"{', '.join(words)}, or empty")
    for rule in CONTRADICTIONS:
        for name in rule.excludes:
            if rule.flag in names and name in names and rule.flag in heeded:
                flagged = _in(text(rows.table, rule.flag), ["true"])
                both = flagged & np.asarray(pc.not_equal(text(rows.table, name), ""))
                reason = f"{rule.flag}: a message with it has no {name}"
                rows.reject(both, _always(reason))


def _in(column: pa.Array, words: Sequence[str]) -> Bools:
    return np.asarray(pc.is_in(column, pa.array(words, pa.string())))


def _always(reason: str) -> Callable[[int], str]:
    return lambda _: reason
