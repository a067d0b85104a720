"""What if a group had been raised, in memory: the scenario replayed with one row more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    group_by_id = dict(
        zip(text(messages, "id").to_pylist(), text(messages, "group").to_pylist(), strict=True)
    )
    return _effect(starts(last_attempts(rows)), starts(last_attempts(again)), group_by_id, group)


def messages_of(rows: pa.Table) -> pa.Table:
    """The messages that a scenario's decisions are about, their times in seconds."""
    first = rows.filter(pc.equal(column(rows, "attempt").cast(pa.int64()), 1))
    names = [name for name in first.column_names if name not in (*DECISION, *ATTEMPT)]
    places = _first_places(text(first, "id").to_pylist())
    messages = taken(first.select(names), places)
    at = times(column(messages, "time"))
    exact = _exact(at.values.tolist(), pa.decimal128(38, 6))
    return messages.set_column(names.index("time"), "time", exact)


def _first_places(ids: list[str]) -> Int64s:
    """Where each id stands for the first time, in order."""
    first: dict[str, int] = {}
    for place, name in enumerate(ids):
        first.setdefault(name, place)
    return np.array([*first.values()], np.int64)


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
    members = _members(messages, group)
    owners = sorted(
        {*zip(*(text(members, name).to_pylist() for name in names), strict=True)} or {()}
    )
    messages = _with_texts(messages, ("id", "group", "type", *names, "priority"))
    raise_rows = [
        {
            **dict(zip(names, owner, strict=True)),
            "id": f"{RAISE}-{k}",
            "group": group,
            "type": SET_PRIORITY,
            "priority": str(priority),
            "time": time,
        }
        for k, owner in enumerate(owners)
    ]
    columns = []
    for field in messages.schema:
        values = [row.get(field.name) for row in raise_rows]
        if field.name == "time":
            columns.append(_exact(values, field.type))
        else:
            columns.append(pa.array(values, field.type))
    return pa.concat_tables([messages, pa.Table.from_arrays(columns, schema=messages.schema)])


def _members(messages: pa.Table, group: str) -> pa.Table:
    """The messages of a group. Raises UserError where there are none."""
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
    return members


def _with_texts(messages: pa.Table, names: Sequence[str]) -> pa.Table:
    """The same messages, with each of these columns as text."""
    for name in names:
        values = text(messages, name)
        if name in messages.column_names:
            place = messages.column_names.index(name)
            messages = messages.set_column(place, name, values)
        else:
            messages = messages.append_column(name, values)
    return messages


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


def _effect(
    before: Starts, after: Starts, group_by_id: Mapping[str, str], group: str
) -> RaiseEffect:
    moved = [
        (name, start / MICROS, (after[name] - start) / MICROS)
        for name, start in before.items()
        if name in after and name in group_by_id
    ]
    members = [move for move in moved if group_by_id[move[0]] == group]
    others = [move for move in moved if group_by_id[move[0]] != group]
    sooner = sorted((start, name, delay) for name, start, delay in members if delay < 0)
    delayed = [move for move in others if move[2] > 0]
    hurt: dict[str, list[tuple[float, float]]] = {}
    for name, start, delay in delayed:
        hurt.setdefault(group_by_id[name] or name, []).append((delay, start))
    listed = [
        Shift(
            name, len(delays), min(start for _, start in delays), max(delay for delay, _ in delays)
        )
        for name, delays in hurt.items()
    ]
    listed.sort(key=lambda each: (-each.seconds, each.name))
    return RaiseEffect(
        group=group,
        waiting=len(sooner),
        raised=[Shift(name, 1, start, delay) for start, name, delay in sooner[:MAX_LISTED]],
        delayed=len(delayed),
        longest=max(0.0, *(delay for _, _, delay in others)) if others else 0.0,
        total=sum(delay for _, _, delay in delayed),
        hurt=listed[:MAX_LISTED],
        sooner=sum(delay < 0 for _, _, delay in others),
    )
