"""The journal of a table in memory: its rows, and the messages that such rows tell of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.compiled.intake.columns import text
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.labels import dictionary_column
from fairlead.compiled.plan import NO_STREAM, ClassifiedPlan, Plan
from fairlead.compiled.unique import all_different
from fairlead.rows import ATTEMPT, HAPPENED, JOURNAL, without_decisions

CLUSTER = "cluster"


def messages_of(table: pa.Table, plan: Plan) -> pa.Table:
    """The messages that a journal tells of, each once; any other table is left as it is."""
    if len(set(table.column_names)) < table.num_columns:
        return table  # refused later
    names = own_names(table, plan)
    if names == table.column_names:
        return table
    table = table.filter(decided(table))
    if not all_different(pa.chunked_array([text(table, "id")])):
        table = _once(table)
    return table.select(names)


def decided(table: pa.Table) -> pa.BooleanArray:
    """Which rows of a journal are decisions, and not what happened between them."""
    return pc.invert(pc.is_in(text(table, "outcome"), pa.array(HAPPENED)))


def own_names(table: pa.Table, plan: Plan) -> list[str]:
    """The columns that a table's messages have: of a journal, not what was decided then.

    Where a journal and the plan have one cluster each, its messages are for the plan's, whatever
    theirs was called then. (One to which nothing was routed may not have been there.)
    """
    names = without_decisions(table.column_names)
    if names == table.column_names or len(plan.clusters) > 1:
        return names
    clusters = {*pc.unique(text(table, CLUSTER)).to_pylist()} - {""}
    if len(clusters) == 1 and pc.any(pc.not_equal(text(table, "destination"), "")).as_py():
        names.remove(CLUSTER)
    return names


def _once(table: pa.Table) -> pa.Table:
    """The first row of each message, which has one for each destination and attempt."""
    keys = ["position", "time", "id"]
    rows = table.select(keys).append_column("row", pa.array(np.arange(len(table))))
    firsts = rows.group_by(keys, use_threads=False).aggregate([("row", "min")])["row_min"]
    return table.take(firsts.sort())


def rows_of(
    decided: pa.Table, plan: ClassifiedPlan, codes: Int32s, times: Int64s, message: Int64s
) -> pa.Table:
    """The rows of a journal: the messages' other columns, then those of every journal.

    `decided`: a row for each destination or attempt, with what was decided. `codes`: the classes
    by the message; `times` by the row, in microseconds; `message`: the place of each row's.
    """
    label = codes[message]
    added = {
        "position": pa.array(message),
        CLUSTER: dictionary_column(
            [message_class.cluster for message_class in plan.classes], pa.array(label)
        ),
        "version": pa.array(versions(plan, label, times)),
        "stream": dictionary_column(streams(plan), pa.array(label)),
    }
    if "attempt" not in decided.column_names:
        added["attempt"] = pa.array(np.ones(len(decided), np.int64))
    written = (*JOURNAL, *(name for name in ATTEMPT if name not in JOURNAL))
    every = {name: decided.column(name) for name in decided.column_names} | added
    last = {name: every.pop(name) for name in written if name in every}
    return pa.table({**every, **last})


def streams(plan: ClassifiedPlan) -> list[str]:
    """The name of each class's stream."""
    parts = [
        (message_class.cluster,) if stream == NO_STREAM else plan.streams[stream]
        for message_class, stream in zip(plan.classes, plan.stream_of, strict=True)
    ]
    return ["/".join(part for part in words if part) for words in parts]


def versions(plan: ClassifiedPlan, codes: Int32s, times: Int64s) -> Int64s:
    """How many steps of changes the cluster of each class had seen at each time."""
    counts = np.zeros(len(codes), np.int64)
    for name, steps in plan.steps.items():
        flags = [
            message_class.cluster == name and not message_class.control
            for message_class in plan.classes
        ]
        rows = np.flatnonzero(np.array(flags, np.bool_)[codes])
        counts[rows] = np.searchsorted([time for time, _ in steps], times[rows], "right")
    return counts
