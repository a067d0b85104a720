"""Whole tables: of whoever asks in Python, whose rows are all messages, or the table is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from fairlead.balance.objects import on_one_line
from fairlead.compiled.intake.accepted import Accepted, accepted, one_tenant, unique
from fairlead.compiled.intake.columns import plain_kind
from fairlead.compiled.intake.rows import CheckedTable, check_keys, validate
from fairlead.compiled.intake.units import ARROW_UNITS
from fairlead.compiled.plan import Plan
from fairlead.compiled.required_columns import check_columns
from fairlead.errors import MessageError
from fairlead.rows import ATTEMPT, DECISION

WHERE = "messages"
"""What errors call the table."""
VIEWS = (pa.types.is_string_view, pa.types.is_binary_view)


def whole(table: pa.Table, plan: Plan, *, trust_ids: bool, worked: bool) -> Accepted:
    """The messages of a table, in order. Raises MessageError where a row is none: for the first.

    `worked`: whether they are worked on (replay), not only decided.
    """
    _check_names(table.column_names, worked=worked)
    table = _taken_by_arrow(table)
    check_columns(plan, table.column_names, WHERE, worked=worked)
    check_keys(plan, table, WHERE)
    rows = validate(CheckedTable(table, None), plan, worked=worked, other_units=ARROW_UNITS)
    if not trust_ids:
        unique(rows)
    if worked:
        one_tenant(rows, [plan])
    if rows.reasons:
        row = min(rows.reasons)
        raise MessageError(f"{WHERE}: row {row}: {on_one_line(rows.reasons[row])}")
    return accepted(rows)


def _check_names(names: Sequence[str], *, worked: bool) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise MessageError(f"{WHERE}: column {name!r}: found {times} times, allowed: once")
    for name in ("id", "time"):
        if name not in names:
            raise MessageError(f"{WHERE}: no column {name!r}, found: {', '.join(names)}")
    for name in names:
        if name in DECISION or (worked and name in ATTEMPT):
            who = "the decisions add" if name in DECISION else "a replay adds"
            raise MessageError(f"{WHERE}: column {name!r} is what {who}; rename it")


def _taken_by_arrow(table: pa.Table) -> pa.Table:
    """The same table without views of texts; refused are other columns without an order in Arrow.

    Of neither kind Arrow can take rows. Raises MessageError.
    """
    schema = table.schema
    for place, field in enumerate(schema):
        if any(known(field.type) for known in VIEWS):
            schema = schema.set(place, field.with_type(plain_kind(field.type)))
            continue
        try:
            pa.nulls(0, field.type).take(pa.array([], pa.int64()))
        except pa.ArrowNotImplementedError:
            raise MessageError(
                f"{WHERE}: {field.name}: found {field.type}, whose rows Arrow cannot put into "
                "order, allowed: any other type"
            ) from None
    return table if schema is table.schema else table.cast(schema)
