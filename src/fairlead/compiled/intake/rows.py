"""Rows: which of a table are messages, and why the others are not, in the words of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairlead.balance.message import SET_PRIORITY, SPELLED_ALIKE
from fairlead.balance.times import LATEST, MICROS, UNITS, since_1970
from fairlead.compiled.intake import numbers
from fairlead.compiled.intake.columns import (
    all_utf8,
    column,
    is_number,
    is_utf8,
    plain,
    plain_kind,
    said,
    simple,
    text,
    texts,
)
from fairlead.compiled.intake.numbers import Numbers
from fairlead.compiled.intake.texts import is_text, to_text, words_of
from fairlead.compiled.intake.units import OTHER_UNITS, OtherUnit, refuse_other_unit
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import ServedClusters
from fairlead.compiled.row_checks import (
    LONGEST_SHOWN,
    NUMBER_OR_TEXT,
    TIME_TYPES,
    CellCondition,
    RowCheck,
    row_checks,
    wrong_type,
)
from fairlead.errors import MessageError


class CheckedTable(NamedTuple):
    """A table, and of each row why it is none; None: it is one."""

    table: pa.Table
    malformed: list[str | None] | None
    """None: all are."""


@dataclass
class ValidatedRows:
    """All rows of a table, and why some are no messages."""

    table: pa.Table
    """The messages' own columns."""
    key: Int64s
    """What orders the messages, then `ids`."""
    ids: pa.ChunkedArray
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


def validate(
    checked_table: CheckedTable,
    *plans: Plan,
    worked: bool = False,
    other_units: Sequence[OtherUnit] = OTHER_UNITS,
) -> ValidatedRows:
    """The rows with what orders them, and the reasons of those that are none.

    `worked`: whether they are to be worked on (replay); `other_units`: how those are called in
    which times are not given. Raises MessageError for columns of types that can be no messages'.
    """
    table = checked_table.table
    _check_types(table)
    time = numbers.times(column(table, "time"))
    service = numbers.nothing(table)
    if "service_time" in table.column_names:
        service = numbers.seconds(column(table, "service_time"))
    good = np.ones(len(table), np.bool_)
    place = time
    if "position" in table.column_names:
        place = numbers.whole(column(table, "position"))
    ids = texts(table, "id")
    rows = ValidatedRows(
        *(table, place.values, ids, time.values, time.known, place.known), service, good, {}
    )
    for row, why in enumerate(checked_table.malformed or []):
        if why is not None:
            rows.reasons[row], good[row] = why, False
    for check in row_checks(table.column_names, *plans, worked=worked):
        if check.condition is CellCondition.MOMENT:
            _check_units(rows, other_units)
        _reject(rows, BAD[check.condition](rows, check), check)
    return rows


def _check_types(table: pa.Table) -> None:
    kinds = {field.name: plain_kind(field.type) for field in table.schema}
    for name in NUMBER_OR_TEXT:
        kind = kinds.get(name, pa.string())
        if not (is_number(kind) or is_text(kind) or pa.types.is_null(kind)):
            raise wrong_type(name, simple(kind))
    if pa.types.is_floating(kinds["id"]):
        raise wrong_type("id", simple(kinds["id"]), SPELLED_ALIKE)
    time = kinds["time"]
    dated = pa.types.is_timestamp(time) or pa.types.is_date(time)
    unsaid = pa.types.is_null(time) and not len(table)  # a list of no rows has no types
    if not (dated or is_number(time) or is_text(time) or unsaid):
        raise wrong_type("time", simple(time), TIME_TYPES)


def check_keys(plan: Plan, table: pa.Table, where: str) -> None:
    """Refuse keys that engines would spell otherwise. Raises MessageError."""
    for name in plan.keyed.values():
        kind = plain_kind(table.schema.field(name).type)
        alike = (is_text, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null)
        if not any(known(kind) for known in alike):
            raise MessageError(f"{where}: {name}: found {simple(kind)}, allowed: {SPELLED_ALIKE}")


def _reject(rows: ValidatedRows, bad: Bools, check: RowCheck) -> None:
    """Reject rows that do not pass a check."""
    if check.fixed:
        rows.reject(bad, lambda _: check.fixed)
    else:
        _reject_cells(rows, check.column, bad, f", allowed: {check.allowed}")


def _reject_cells(rows: ValidatedRows, name: str, bad: Bools, why: str) -> None:
    """Reject rows for what stands in a column; `why`: what follows what was found."""
    bad = bad & rows.good
    if not bad.any():
        return
    places = np.flatnonzero(bad)
    cells = plain(rows.table, name).take(pa.array(places)).combine_chunks()
    # A text may be none.
    words = to_text(cells.cast(pa.binary()) if is_text(cells.type) else cells).to_pylist()
    by_row = dict(zip(places.tolist(), words, strict=True))
    rows.reject(bad, lambda row: f"{name}: found {_shown(by_row[row])}{why}")


def _shown(word: str | None) -> str:
    return f"'{word[:LONGEST_SHOWN]}'" if word else "nothing"


def _check_units(rows: ValidatedRows, other_units: Sequence[OtherUnit]) -> None:
    """A number that would be a moment of these years in another unit is none in seconds."""
    kind = plain_kind(rows.table.schema.field("time").type)
    sure = rows.timed.all() and rows.time.max(initial=0) < other_units[0].first * MICROS
    if sure or not (is_number(kind) or is_text(kind)):
        return
    units = _units_beyond(rows)
    for unit, (first, last, hint) in zip(UNITS, other_units, strict=True):
        meant = units == unit
        if first <= LATEST:
            meant = rows.timed & (rows.time >= first * MICROS) & (rows.time <= last * MICROS)
        _reject_cells(rows, "time", meant, hint)


def _units_beyond(rows: ValidatedRows) -> NDArray[np.object_]:
    """By the row: the unit in which what is no time would be a moment of these years, or None."""
    units = np.full(len(rows.good), None, object)
    places = np.flatnonzero(~rows.timed)
    cells = plain(rows.table, "time").take(pa.array(places)).combine_chunks().dictionary_encode()
    every = [*map(since_1970, words_of(cells.dictionary)), None]
    units[places] = np.array(every, object)[np.asarray(cells.indices.fill_null(len(every) - 1))]
    return units


def refuse_other_units(rows: ValidatedRows, where: str) -> None:
    """Refuse a table without any message, if its times are in another unit. Raises MessageError."""
    refuse_other_unit(rows.reasons.get(0), where)


# -------- which rows do not pass


def _has_no_id(rows: ValidatedRows, _: RowCheck) -> Bools:
    ids = rows.ids
    if not (ids.null_count or pc.any(pc.equal(ids, "")).as_py()):
        return np.zeros(len(ids), np.bool_)
    return np.asarray(pc.equal(pc.fill_null(ids, ""), ""))


def _no_utf8(rows: ValidatedRows, check: RowCheck) -> Bools:
    if all_utf8(rows.table.column(check.column)):
        return np.zeros(len(rows.good), np.bool_)
    every = plain(rows.table, check.column).cast(pa.binary()).to_pylist()
    return np.array([not is_utf8(value or b"") for value in every], np.bool_)


def _no_moment(rows: ValidatedRows, _: RowCheck) -> Bools:
    return ~rows.timed


def _no_place(rows: ValidatedRows, _: RowCheck) -> Bools:
    return ~rows.placed


def _is_unserved(rows: ValidatedRows, check: RowCheck) -> Bools:
    if rows.service.known.all():
        return np.zeros(len(rows.good), np.bool_)
    silent = ~said(rows.table, check.column)
    return silent & _are(rows.table, check.whose) if silent.any() else silent


def _no_service(rows: ValidatedRows, check: RowCheck) -> Bools:
    values, known = rows.service
    bad: Bools = ~known
    if len(values) and not check.least <= values.min() <= values.max() <= check.most * MICROS:
        bad |= (values < check.least) | (values > check.most * MICROS)
    if bad.any():
        bad &= said(rows.table, check.column)
    return bad if check.whose is None or not bad.any() else bad & _are(rows.table, check.whose)


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
    CellCondition.SAID: _has_no_id,
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
