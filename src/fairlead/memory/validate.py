"""Validate: which rows are messages, and why the others are not, in the words of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.message import SET_PRIORITY, SPELLED_ALIKE
from fairlead.balance.times import LATEST, MICROS
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import ServedClusters
from fairlead.compiled.row_checks import (
    NUMBER_OR_TEXT,
    TIME_TYPES,
    CellCondition,
    RowCheck,
    row_checks,
    wrong_type,
)
from fairlead.memory import numbers
from fairlead.memory.files import CheckedTable, is_utf8
from fairlead.memory.numbers import Numbers, is_number, is_text
from fairlead.memory.values import DOUBLE, cast, to_text
from fairlead.runs.constants import LONGEST_SHOWN
from fairlead.runs.other_units import OTHER_UNITS, refuse_other_unit

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
    timed: Bools
    """Where `time` is one."""
    placed: Bools
    """Where `key` is a position, if the table has any."""
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


def validate(checked_table: CheckedTable, *plans: Plan, worked: bool = False) -> ValidatedRows:
    """The rows with what orders them, and the reasons of those that are none.

    `worked`: whether they are to be worked on (replay). Raises MessageError for columns of types
    that can be no messages'.
    """
    table = checked_table.table
    _check_types(table)
    time = numbers.times(column(table, "time"))
    empty = Numbers(np.zeros(len(table), np.int64), np.zeros(len(table), np.bool_))
    service = empty
    if "service_time" in table.column_names:
        service = numbers.seconds(column(table, "service_time"))
    ids = to_text(column(table, "id"))
    good = np.ones(len(table), np.bool_)
    place = time
    if "position" in table.column_names:
        place = numbers.whole(column(table, "position"))
    rows = ValidatedRows(
        *(table, place.values, ids, time.values, time.known, place.known), service, good, {}
    )
    for row, why in enumerate(checked_table.malformed or []):
        if why is not None:
            rows.reasons[row], good[row] = why, False
    for check in row_checks(table.column_names, *plans, worked=worked):
        if check.condition is CellCondition.MOMENT:
            _check_units(rows, time)
        _reject(rows, BAD[check.condition](rows, check), check)
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
    for name in NUMBER_OR_TEXT:
        kind = kinds.get(name, pa.string())
        if not (is_number(kind) or is_text(kind) or pa.types.is_null(kind)):
            raise wrong_type(name, simple(kind))
    if pa.types.is_floating(kinds["id"]):
        raise wrong_type("id", simple(kinds["id"]), SPELLED_ALIKE)
    time = kinds["time"]
    dated = pa.types.is_timestamp(time) or pa.types.is_date(time)
    if not (dated or is_number(time) or is_text(time)):
        raise wrong_type("time", simple(time), TIME_TYPES)


def _reject(rows: ValidatedRows, bad: Bools, check: RowCheck) -> None:
    """Reject rows that do not pass a check."""
    if not (bad & rows.good).any():
        return
    if check.fixed:
        rows.reject(bad, lambda _: check.fixed)
        return
    name, words = check.column, text(rows.table, check.column)
    rows.reject(
        bad, lambda row: f"{name}: found {_shown(words[row].as_py())}, allowed: {check.allowed}"
    )


def _shown(word: str) -> str:
    return f"'{word[:LONGEST_SHOWN]}'" if word else "nothing"


def _check_units(rows: ValidatedRows, time: Numbers) -> None:
    """A number that would be a moment of these years in another unit is none in seconds."""
    times = column(rows.table, "time")
    if not (is_number(times.type) or is_text(times.type)):
        return
    for first, last, hint in OTHER_UNITS:
        if first <= LATEST:
            low, high = first * MICROS, last * MICROS
            meant = time.known & (time.values >= low) & (time.values <= high)
        elif time.known.all():
            continue
        else:
            about = np.asarray(cast(times, DOUBLE).fill_null(np.nan))
            meant = ~time.known & (about >= first) & (about <= last)
        if meant.any():
            words = text(rows.table, "time")

            def reason(row: int, words: pa.Array = words, hint: str = hint) -> str:
                return f"time: found {_shown(words[row].as_py())}{hint}"

            rows.reject(meant, reason)


def refuse_other_units(rows: ValidatedRows, where: str) -> None:
    """Refuse a table without any message, if its times are in another unit. Raises MessageError."""
    refuse_other_unit(rows.reasons.get(0), where)


# -------- which rows do not pass


def _is_silent(rows: ValidatedRows, check: RowCheck) -> Bools:
    return ~said(rows.table, check.column)


def _no_utf8(rows: ValidatedRows, check: RowCheck) -> Bools:
    values = column(rows.table, check.column)
    if not pa.types.is_binary(values.type):
        return np.zeros(len(values), np.bool_)
    return np.array([not is_utf8(value or b"") for value in values.to_pylist()], np.bool_)


def _no_moment(rows: ValidatedRows, _: RowCheck) -> Bools:
    return ~rows.timed


def _no_place(rows: ValidatedRows, _: RowCheck) -> Bools:
    return ~rows.placed


def _is_unserved(rows: ValidatedRows, check: RowCheck) -> Bools:
    return _is_silent(rows, check) & _are(rows.table, check.whose)


def _no_service(rows: ValidatedRows, check: RowCheck) -> Bools:
    service = rows.service
    outside = (service.values < check.least) | (service.values > check.most * MICROS)
    bad = said(rows.table, check.column) & (~service.known | outside)
    return bad if check.whose is None else bad & _are(rows.table, check.whose)


def _no_whole(rows: ValidatedRows, check: RowCheck) -> Bools:
    cells = numbers.integral(column(rows.table, check.column))
    bad = ~cells.known | (cells.values < check.least) | (cells.values > check.most)
    return said(rows.table, check.column) & bad


def _is_other(rows: ValidatedRows, check: RowCheck) -> Bools:
    return ~_in(text(rows.table, check.column), ["", *check.words])


def _has_both(rows: ValidatedRows, check: RowCheck) -> Bools:
    flagged = _in(text(rows.table, check.column), ["true"])
    return flagged & ~_in(text(rows.table, check.words[0]), [""])


BAD: Final[Mapping[CellCondition, Callable[[ValidatedRows, RowCheck], Bools]]] = {
    CellCondition.SAID: _is_silent,
    CellCondition.UTF8: _no_utf8,
    CellCondition.MOMENT: _no_moment,
    CellCondition.PLACE: _no_place,
    CellCondition.SERVED: _is_unserved,
    CellCondition.SERVICE: _no_service,
    CellCondition.WHOLE: _no_whole,
    CellCondition.ONE_OF: _is_other,
    CellCondition.WITHOUT: _has_both,
}


def _are(table: pa.Table, served: ServedClusters | None) -> Bools:
    """Which messages these are."""
    work: Bools = np.asarray(pc.not_equal(text(table, "type"), SET_PRIORITY))
    if served is None or served.clusters is None:
        return work
    names = pa.array(sorted(served.clusters), pa.string())
    named: Bools = np.asarray(pc.is_in(text(table, "cluster"), names))
    return work & named


def _in(column: pa.Array, words: Sequence[str]) -> Bools:
    return np.asarray(pc.is_in(column, pa.array(words, pa.string())))
