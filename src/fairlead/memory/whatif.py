"""What if a group had been raised, in memory: the scenario replayed with one row more."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.message import SET_PRIORITY
from fairlead.balance.times import MICROS
from fairlead.compiled.intake.accepted import accepted
from fairlead.compiled.intake.columns import column, text
from fairlead.compiled.intake.numbers import times
from fairlead.compiled.intake.rows import CheckedTable, validate
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import taken
from fairlead.compiled.plan import Plan
from fairlead.errors import MessageError, UserError
from fairlead.memory.attempts import attempt_rows
from fairlead.memory.diff import last_attempts, rows_of
from fairlead.memory.prepared import prepared, simulated
from fairlead.results.whatif import RaiseEffect, Shift
from fairlead.rows import ATTEMPT, DECISION
from fairlead.runs.constants import MAX_LISTED, MAX_NAMED
from fairlead.runs.read_rows import RunFolder

RAISE: Final = "~__fairlead_raised"
"""How the id of the row more begins: after all others of its time."""
Starts = Mapping[str, int]
"""By message: when it started first, in microseconds."""


def what_if(
    folder: Path, run: RunFolder, plan: Plan, group: str, time: int, priority: int
) -> RaiseEffect:
    """Raise a group of a scenario at a time, and tell what that does. Raises UserError."""
    rows = rows_of(folder, run)
    messages = messages_of(rows)
    _check_order(messages)
    with_raise = validate(
        CheckedTable(_with_raise(messages, group, time, priority), None), plan, worked=True
    )
    ready = prepared(accepted(with_raise), [plan])
    known, attempts = simulated(ready, plan)
    again = attempt_rows(ready.messages, known, attempts, dated=False)
    whose = dict(
        zip(text(messages, "id").to_pylist(), text(messages, "group").to_pylist(), strict=True)
    )
    return _effect(starts(last_attempts(rows)), starts(last_attempts(again)), whose, group)


def messages_of(rows: pa.Table) -> pa.Table:
    """The messages that a scenario's decisions are about, their times in seconds."""
    first = rows.filter(pc.equal(column(rows, "attempt").cast(pa.int64()), 1))
    names = [name for name in first.column_names if name not in (*DECISION, *ATTEMPT)]
    ids = text(first, "id").to_pylist()
    places: Int64s = np.array([*{name: k for k, name in reversed([*enumerate(ids)])}.values()])
    messages = taken(first.select(names), np.sort(places))
    at = times(column(messages, "time"))
    exact = _exact(at.values.tolist(), pa.decimal128(38, 6))
    return messages.set_column(names.index("time"), "time", exact)


def _check_order(messages: pa.Table) -> None:
    """Refuse messages among which no group can be raised at a time."""
    if "group" not in messages.column_names:
        raise MessageError(
            "decisions: no column 'group', so there is no group that could be raised"
        )
    if "position" in messages.column_names:
        raise MessageError(
            "decisions: column 'position' orders the messages, so a time is no place among them"
        )


def _with_raise(messages: pa.Table, group: str, time: int, priority: int) -> pa.Table:
    """The same messages, and one in each cluster that has the group, which raises it."""
    names = [name for name in ("cluster", "tenant") if name in messages.column_names]
    groups = text(messages, "group")
    members = messages.filter(pc.equal(groups, group))
    if not len(members):
        every = sorted({*groups.to_pylist()} - {""})
        near = get_close_matches(group, every, MAX_NAMED, cutoff=0) or every[:MAX_NAMED]
        known = ", ".join(map(repr, near))
        raise UserError(
            f"--promote: found {group!r}, allowed: a group of the scenario's messages"
            + (f", such as {known}" if known else "; none of them has one")
        )
    whose = sorted(
        {*zip(*(text(members, name).to_pylist() for name in names), strict=True)} or {()}
    )
    texts = dict.fromkeys(("id", "group", "type", *names), pa.string())
    for name in (*texts, "priority"):
        have = text(messages, name)
        place = messages.column_names.index(name) if name in messages.column_names else None
        messages = (
            messages.append_column(name, have)
            if place is None
            else messages.set_column(place, name, have)
        )
    more = [
        {
            **dict(zip(names, owner, strict=True)),
            "id": f"{RAISE}-{k}",
            "group": group,
            "type": SET_PRIORITY,
            "priority": str(priority),
            "time": time,
        }
        for k, owner in enumerate(whose)
    ]
    columns = []
    for field in messages.schema:
        values = [row.get(field.name) for row in more]
        if field.name == "time":
            columns.append(_exact(values, field.type))
        else:
            columns.append(pa.array(values, field.type))
    return pa.concat_tables([messages, pa.Table.from_arrays(columns, schema=messages.schema)])


def _exact(micros: list[object], kind: pa.DataType) -> pa.Array:
    return pa.array([Decimal(str(time)).scaleb(-6) for time in micros], kind)


def starts(rows: pa.Table) -> dict[str, int]:
    """By message: when it started first, in microseconds."""
    at = times(column(rows, "start"))
    firsts: dict[str, int] = {}
    ids = text(rows, "id").to_pylist()
    for name, start, known in zip(ids, at.values.tolist(), at.known.tolist(), strict=True):
        if known:
            firsts[name] = min(start, firsts.get(name, start))
    return firsts


def _effect(before: Starts, after: Starts, whose: Mapping[str, str], group: str) -> RaiseEffect:
    moved = [
        (name, start / MICROS, (after[name] - start) / MICROS)
        for name, start in before.items()
        if name in after and name in whose
    ]
    members = [move for move in moved if whose[move[0]] == group]
    others = [move for move in moved if whose[move[0]] != group]
    sooner = sorted((start, name, later) for name, start, later in members if later < 0)
    delayed = [move for move in others if move[2] > 0]
    hurt: dict[str, list[tuple[float, float]]] = {}
    for name, start, later in delayed:
        hurt.setdefault(whose[name] or name, []).append((later, start))
    listed = [
        Shift(
            name, len(delays), min(start for _, start in delays), max(later for later, _ in delays)
        )
        for name, delays in hurt.items()
    ]
    listed.sort(key=lambda each: (-each.seconds, each.name))
    return RaiseEffect(
        group=group,
        waiting=len(sooner),
        raised=[Shift(name, 1, start, later) for start, name, later in sooner[:MAX_LISTED]],
        delayed=len(delayed),
        longest=max(0.0, *(later for _, _, later in others)) if others else 0.0,
        total=sum(later for _, _, later in delayed),
        hurt=listed[:MAX_LISTED],
        sooner=sum(later < 0 for _, _, later in others),
    )
