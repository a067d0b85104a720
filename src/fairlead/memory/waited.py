"""Why a message of a replayed scenario waited: what stood before it, and what would have helped.

The first is read from the scenario's decisions; the second is replayed, in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.change import Change
from fairlead.balance.message import WHOLE_NUMBERS
from fairlead.balance.objects import Ref, WorkerObject
from fairlead.balance.policies.destinations import KIND
from fairlead.balance.times import MICROS
from fairlead.compiled.intake.accepted import accepted
from fairlead.compiled.intake.columns import column, text
from fairlead.compiled.intake.numbers import times
from fairlead.compiled.intake.rows import CheckedTable, validate
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools
from fairlead.compiled.plan import Plan
from fairlead.errors import UserError
from fairlead.memory.attempts import attempt_rows
from fairlead.memory.diff import last_attempts, rows_of
from fairlead.memory.prepared import prepared, simulated
from fairlead.memory.whatif import messages_of, starts
from fairlead.results.waited import Beside, Waited, WaitedAlternative
from fairlead.runs.read_rows import RunFolder, rejection

FIFO: Final = "fifo"
READERS, PRIORITY = "readers", "priority"
_, HIGHEST = WHOLE_NUMBERS[PRIORITY]


class AttemptColumns:
    """The attempts of a scenario, as columns of numbers; times in microseconds."""

    def __init__(self, table: pa.Table) -> None:
        self.ids = text(table, "id").to_pylist()
        self.groups = text(table, "group").to_pylist()
        self.clusters = text(table, "cluster").to_pylist()
        self.destinations = text(table, "destination").to_pylist()
        self.outcomes = text(table, "outcome").to_pylist()
        self.attempts = np.asarray(column(table, "attempt").cast(pa.int64()))
        readers = pc.fill_null(column(table, "reader").cast(pa.int64()), 0)
        self.readers = np.asarray(readers)
        start, finish = times(column(table, "start")), times(column(table, "finish"))
        self.start, self.started = start
        self.finish, self.finished = finish
        waits = times(column(table, "wait"))
        until = np.where(self.started, self.start, self.finish)
        self.waiting_since: Int64s = until - waits.values
        self.has_wait: Bools = waits.known

    def beside(self, row: int) -> Beside:
        """An attempt, as it is shown beside another one."""
        finish = self.finish[row] / MICROS if self.finished[row] else None
        return Beside(
            self.ids[row],
            self.groups[row],
            int(self.readers[row]),
            self.waiting_since[row] / MICROS,
            self.start[row] / MICROS,
            finish,
        )

    def ordered(self, which: Bools, by: Int64s) -> list[Beside]:
        """Some of the attempts, in the order of a column."""
        places = np.flatnonzero(which)
        return [self.beside(int(row)) for row in places[np.argsort(by[places], kind="stable")]]


def why_it_waited(folder: Path, run: RunFolder, plan: Plan, message_id: str) -> Waited:
    """Explain the wait of a message of a scenario. Raises UserError where there is no such one."""
    table = rows_of(folder, run)
    rows = AttemptColumns(table)
    places = [k for k, name in enumerate(rows.ids) if name == message_id]
    if not places:
        rejected = rejection(folder, run.manifest["file_format"], message_id) or rejection(
            folder.resolve().parent, run.manifest["file_format"], message_id
        )
        raise UserError(
            f"{folder}: found no decision on {message_id!r}; "
            + (rejected or "no message has this id")
        )
    last = max(
        places, key=lambda k: (rows.attempts[k], rows.waiting_since[k] if rows.has_wait[k] else 0)
    )
    answer = _without_others(rows, last)
    if not rows.has_wait[last] or not rows.destinations[last]:
        return answer
    answer = _with_others(rows, last, answer)
    return (
        replace(answer, otherwise=list(_otherwise(table, plan, answer))) if answer.wait else answer
    )


def _without_others(rows: AttemptColumns, row: int) -> Waited:
    """What an attempt says by itself."""
    return Waited(
        rows.ids[row],
        rows.groups[row],
        rows.clusters[row],
        rows.destinations[row] or None,
        rows.outcomes[row],
        int(rows.attempts[row]),
        int(rows.readers[row]) or None,
        rows.waiting_since[row] / MICROS if rows.has_wait[row] else None,
        rows.start[row] / MICROS if rows.started[row] else None,
        rows.finish[row] / MICROS if rows.finished[row] else None,
    )


def _with_others(rows: AttemptColumns, row: int, waited: Waited) -> Waited:
    """Who was there before it, and who has gone before it."""
    started_here = np.array(
        [
            name == rows.destinations[row] and cluster == rows.clusters[row]
            for name, cluster in zip(rows.destinations, rows.clusters, strict=True)
        ]
    )
    started_here &= rows.started
    started_here[row] = False
    since = rows.waiting_since[row]
    until = rows.start[row] if rows.started[row] else rows.finish[row]
    in_work = started_here & (rows.start <= since) & (~rows.finished | (rows.finish > since))
    started_meanwhile = started_here & (rows.start > since) & (rows.start < until)
    has_later_id = np.array([id_.encode() > rows.ids[row].encode() for id_ in rows.ids])
    came_later = (rows.waiting_since > since) | ((rows.waiting_since == since) & has_later_id)
    same_reader = started_here & (rows.readers == rows.readers[row])
    freed_its_reader = same_reader & rows.finished & (rows.finish == until)
    holders = rows.ordered(freed_its_reader & (rows.start < until), rows.start)
    return replace(
        waited,
        holding=rows.ordered(in_work, rows.readers),
        earlier=rows.ordered(started_meanwhile & ~came_later, rows.start),
        overtook=rows.ordered(started_meanwhile & came_later, rows.start),
        until=holders[-1] if holders and rows.started[row] else None,
    )


def _otherwise(table: pa.Table, plan: Plan, waited: Waited) -> Iterator[WaitedAlternative]:
    """What would have helped, each replayed by itself."""
    messages = messages_of(table)
    if any(cluster.tables.order.discipline != FIFO for cluster in plan.clusters):
        raised = _with_priority(messages, waited.id)
        start = _start_in(raised, plan, waited.id)
        yield WaitedAlternative(f"a priority of {HIGHEST}", start)
    more = _one_more_reader(messages, plan, waited)
    if more is not None:
        start = _start_in(messages, more, waited.id)
        yield WaitedAlternative(f"one more reader at {waited.destination}", start)


def _start_in(messages: pa.Table, plan: Plan, message_id: str) -> float | None:
    ready = prepared(accepted(validate(CheckedTable(messages, None), plan, worked=True)), [plan])
    known, attempts = simulated(ready, plan)
    again = attempt_rows(ready.messages, known, attempts, dated=False)
    start = starts(last_attempts(again)).get(message_id)
    return None if start is None else start / MICROS


def _with_priority(messages: pa.Table, message_id: str) -> pa.Table:
    priorities: list[Any] = text(messages, PRIORITY).to_pylist()
    priorities[text(messages, "id").to_pylist().index(message_id)] = str(HIGHEST)
    values = pa.array([priority or None for priority in priorities], pa.string())
    if PRIORITY in messages.column_names:
        return messages.set_column(messages.column_names.index(PRIORITY), PRIORITY, values)
    return messages.append_column(PRIORITY, values)


def _one_more_reader(messages: pa.Table, plan: Plan, waited: Waited) -> Plan | None:
    """The same with one more reader at the destination, from the beginning on.

    None where readers are not the destination's own.
    """
    several = len(plan.clusters) > 1
    for cluster in plan.clusters:
        worker = cluster.start().objects.get(Ref(KIND, waited.destination or ""))
        if (several and cluster.name != waited.cluster) or not isinstance(worker, WorkerObject):
            continue
        target = f"{worker.name}@{cluster.name}" if several else worker.name
        first = int(times(column(messages, "time")).values.min(initial=0))
        begins = min([first, *(change.micros for change in plan.changes)])
        change = Change.at_micros(target, READERS, worker.readers + 1, begins)
        return Plan(plan.clusters, [change, *plan.changes])
    return None
