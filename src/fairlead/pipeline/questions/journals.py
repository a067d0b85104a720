"""The rows of a journal that is to be explained, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.message import ROUTED
from fairlead.balance.objects import listed
from fairlead.compiled.intake.columns import column
from fairlead.compiled.intake.columns import text as text_of
from fairlead.compiled.intake.numbers import whole
from fairlead.compiled.order import in_order, taken
from fairlead.errors import UserError
from fairlead.rows import ATTEMPT, DECIDED, JOURNAL
from fairlead.runs.files import files_in, kind_of, readable
from fairlead.runs.read_rows import read_rows


def last_choice(place: Path, table: pa.Table, message_id: str) -> int | None:
    """Of a pool's journal: the place of the last choice for a message; of others None."""
    if DECIDED not in table.column_names:
        return None
    rows = table.filter(pc.equal(text_of(table, "id"), message_id))
    last: int | None = pc.max(rows[DECIDED]).as_py()
    if len(rows) and last is None:
        raise UserError(
            f"{place}: found no decision on {message_id!r}: it gave up before any destination was "
            "ready for it"
        )
    return last


def given(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a row says was decided; how the work ended afterwards is no part of that."""
    outcome = ROUTED if row.get(DECIDED) is not None and row["destination"] else row["outcome"]
    return row["destination"], outcome, row["sequence"]


def in_pool(table: pa.Table) -> pa.Table:
    """The rows of a pool's journal in the order of what was decided and what happened."""
    table = table.filter(pc.is_valid(table[DECIDED])) if table[DECIDED].null_count else table
    order = [(DECIDED, "ascending"), ("attempt", "ascending")]
    return table.take(pc.sort_indices(table, sort_keys=order))


def rows_of_journal(place: Path) -> pa.Table:
    """The rows of a journal, in their order."""
    kind = kind_of(str(place), None, {})
    readable(str(place), kind)
    parts = [read_rows(file, kind.format, None) for file in files_in(place, str(place))]
    table = pa.concat_tables(parts, promote_options="permissive")
    columns = set(table.column_names)
    replayed = set(ATTEMPT) <= columns and DECIDED not in columns
    if not set(JOURNAL) <= columns or replayed:
        raise UserError(
            f"{place}: found {listed(table.column_names)}, allowed: a journal of a live balancer, "
            f"of a pool, of route or of dispatch, which has {listed(JOURNAL)}"
        )
    if DECIDED in columns:
        return table
    places = whole(column(table, "position"))
    if not places.known.all():
        row = int(np.flatnonzero(~places.known)[0])
        word = table["position"][row].as_py()
        raise UserError(f"{place}: position: found {word!r}, allowed: an integer")
    order = in_order(places.values, text_of(table, "id"))
    return table if order is None else taken(table, order)
