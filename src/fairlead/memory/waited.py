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


class _Rows:
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
        self.came: Int64s = until - waits.values
        self.known: Bools = waits.known

    def beside(self, k: int) -> Beside:
        finish = self.finish[k] / MICROS if self.finished[k] else None
        return Beside(
            self.ids[k],
            self.groups[k],
            int(self.readers[k]),
            self.came[k] / MICROS,
            self.start[k] / MICROS,
            finish,
        )

    def ordered(self, which: Bools, by: Int64s) -> list[Beside]:
        places = np.flatnonzero(which)
        return [self.beside(int(k)) for k in places[np.argsort(by[places], kind="stable")]]


def why_it_waited(folder: Path, run: RunFolder, plan: Plan, message_id: str) -> Waited:
    """Explain the wait of a message of a scenario. Raises UserError where there is no such one."""
    table = rows_of(folder, run)
    rows = _Rows(table)
    places = [k for k, name in enumerate(rows.ids) if name == message_id]
    if not places:
        rejected = rejection(folder, run.manifest["file_format"], message_id) or rejection(
            folder.resolve().parent, run.manifest["file_format"], message_id
        )
        raise UserError(
            f"{folder}: found no decision on {message_id!r}; "
            + (rejected or "no message has this id")
        )
    last = max(places, key=lambda k: (rows.attempts[k], rows.came[k] if rows.known[k] else 0))
    answer = _of(rows, last)
    if not rows.known[last] or not rows.destinations[last]:
        return answer
    answer = _with_others(rows, last, answer)
    return (
        replace(answer, otherwise=list(_otherwise(table, plan, answer))) if answer.wait else answer
    )


def _of(rows: _Rows, k: int) -> Waited:
    return Waited(
        rows.ids[k],
        rows.groups[k],
        rows.clusters[k],
        rows.destinations[k] or None,
        rows.outcomes[k],
        int(rows.attempts[k]),
        int(rows.readers[k]) or None,
        rows.came[k] / MICROS if rows.known[k] else None,
        rows.start[k] / MICROS if rows.started[k] else None,
        rows.finish[k] / MICROS if rows.finished[k] else None,
    )


def _with_others(rows: _Rows, k: int, waited: Waited) -> Waited:
    """Who was there before it, and who has gone before it."""
    here = np.array(
        [
            name == rows.destinations[k] and cluster == rows.clusters[k]
            for name, cluster in zip(rows.destinations, rows.clusters, strict=True)
        ]
    )
    here &= rows.started
    here[k] = False
    came = rows.came[k]
    until = rows.start[k] if rows.started[k] else rows.finish[k]
    in_work = here & (rows.start <= came) & (~rows.finished | (rows.finish > came))
    before = here & (rows.start > came) & (rows.start < until)
    later = np.array([rows.ids[j].encode() > rows.ids[k].encode() for j in range(len(here))])
    after = (rows.came > came) | ((rows.came == came) & later)
    held = here & (rows.readers == rows.readers[k]) & rows.finished & (rows.finish == until)
    holders = rows.ordered(held & (rows.start < until), rows.start)
    return replace(
        waited,
        holding=rows.ordered(in_work, rows.readers),
        earlier=rows.ordered(before & ~after, rows.start),
        overtook=rows.ordered(before & after, rows.start),
        until=holders[-1] if holders and rows.started[k] else None,
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
