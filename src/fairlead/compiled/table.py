"""Route a table in memory, without Spark."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from fairlead.balance.changes import GivenChanges, changes_in
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.journal import check_names
from fairlead.compiled.arrow_input import table_of
from fairlead.compiled.classes import bindings, classified, keys
from fairlead.compiled.intake.whole import whole
from fairlead.compiled.journal import messages_of, rows_of
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.labels import Codes, dictionary_column
from fairlead.compiled.plan import Plan
from fairlead.compiled.router import Router
from fairlead.rows import DECISION


def route(
    messages: object,
    clusters: Cluster | Iterable[Cluster],
    changes: GivenChanges = (),
    *,
    trust_ids: bool = False,
    journal: bool = False,
) -> pa.Table:
    """Decide where each message of a table goes.

    `messages`: a table of Arrow's, of pandas or Polars, anything with the Arrow stream interface,
    or a list of dicts. Columns `id` and `time` (a timestamp, or a number of seconds), and any of
    the routing attributes; other columns are carried through. The rows may be in any order; they
    are decided in the order of (`position` or `time`, `id`). `changes`: as Change or as dicts of
    time, target, attribute and value; their times count from where the messages' do. `trust_ids`:
    do not look for duplicate ids. `journal`: return rows of a journal, as the live balancer makes
    them: with `position`, `cluster`, `version`, `stream` and `attempt`, too. `messages` may be a
    journal: its messages are decided anew.

    Returns the rows in that order with `destination`, `address`, `outcome` (dictionaries of text)
    and `sequence` (int64) added, the same values that the live balancer and Spark give; a message
    that goes to several destinations is a row for each, by name. Raises ConfigError, ChangeError,
    RuleError, and MessageError for the first row,
    counted from 0 (of a journal: among its messages), that `dispatch` would put into `rejected/`:
    here the table is the caller's own, so it is refused as a whole.
    """
    base_plan = Plan(clusters_in(clusters), changes_in(changes))
    table = messages_of(table_of(messages), base_plan)
    if journal:
        check_names(table.column_names, base_plan.relevant_attributes)
    messages_in_order = whole(table, base_plan, trust_ids=trust_ids, worked=False)
    table, times = messages_in_order.table, messages_in_order.times
    timed = any(base_plan.timed.values())
    dated = times if base_plan.times or timed else None
    plan, codes = classified(table, base_plan)
    router = Router(plan)
    services = messages_in_order.services if timed else None
    bound = bindings(table, plan, codes)
    decided = router.feed(codes, dated, services, bound, keys(table, plan, codes))
    sequence = router.sequence(codes)
    table, rows = with_decisions(table, router.codes, decided, sequence, fans_out=plan.fans_out)
    if journal:
        return rows_of(table, plan, codes, np.maximum.accumulate(times)[rows], rows)
    return table


def with_decisions(
    table: pa.Table, codes: Codes, decided: Int32s, sequence: Int64s, *, fans_out: bool
) -> tuple[pa.Table, Int64s]:
    """The rows with their decisions, and the message of each row; `decided`: codes, by message."""
    rows = np.arange(len(table))
    label = pa.array(decided % codes.size if fans_out else decided)
    if fans_out:
        rows, destination, address = fanned_out(codes, decided)
        at = pa.array(rows)
        table, label, sequence = table.take(at), label.take(at), sequence[rows]
    else:
        destination = dictionary_column(codes.destination, label)
        address = dictionary_column(codes.address, label)
    added = {
        "destination": destination,
        "address": address,
        "outcome": dictionary_column(codes.outcome, label),
        "sequence": pa.array(sequence, mask=sequence < 0),
    }
    for name in DECISION:
        table = table.append_column(name, added[name])
    return table, rows


def fanned_out(codes: Codes, decided: Int32s) -> tuple[Int64s, pa.Array, pa.Array]:
    """A row for each destination of each message: its message, the destination, the address."""
    distinct, which = np.unique(decided, return_inverse=True)
    texts: dict[str | None, int] = {}
    parts = []
    for code in distinct.tolist():
        every: Iterable[tuple[str | None, str | None]] = codes.destinations_of(code)
        parts.append([[texts.setdefault(word, len(texts)) for word in pair] for pair in every])
    sizes = np.array([len(part) for part in parts], np.int64)
    flat = np.array([pair for part in parts for pair in part], np.int32).reshape(-1, 2)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.repeat(np.arange(len(decided)), sizes[which])
    ends = np.cumsum(sizes[which])
    inside = np.arange(len(rows)) - np.repeat(ends - sizes[which], sizes[which])
    at = flat[starts[which][rows] + inside]
    words = list(texts)
    return (
        rows,
        dictionary_column(words, pa.array(at[:, 0])),
        dictionary_column(words, pa.array(at[:, 1])),
    )
