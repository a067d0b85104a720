"""Replay a table in memory, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from fairlead.balance.changes import GivenChanges, changes_in
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.journal import check_names
from fairlead.balance.times import MICROS
from fairlead.compiled.arrow_input import table_of
from fairlead.compiled.classes import classified
from fairlead.compiled.intake.columns import column
from fairlead.compiled.intake.numbers import dated
from fairlead.compiled.intake.texts import is_text
from fairlead.compiled.intake.whole import whole
from fairlead.compiled.journal import messages_of, rows_of
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.labels import Codes, dictionary_column
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.replay.batch import Attempts
from fairlead.replay.columns import message_columns
from fairlead.replay.layout import NEVER, NONE
from fairlead.replay.replays import Replays
from fairlead.replay.words import CODED_WORDS
from fairlead.rows import ATTEMPT, DECISION


def replay(
    messages: object,
    clusters: Cluster | Iterable[Cluster],
    changes: GivenChanges = (),
    *,
    trust_ids: bool = False,
    journal: bool = False,
) -> pa.Table:
    """What would have become of each message of a table, waiting and work included.

    `messages`: a table, as `fairlead.route` takes it, with the columns `id`, `time` and
    `service_time` (seconds), and any of `priority`, `group`, `tenant`, `cost`, `rollbacks` and of
    the routing attributes; other columns are carried through.
    The rows may be in any order. `changes`: their times count from where the messages' do.
    `journal`: return rows of a journal (see `fairlead.route`); `version` then is the cluster's when
    the message was sent, or came back. `messages` may be a journal: its messages are replayed.

    Returns a row for each attempt of each message, in the order of the messages, then by attempt,
    with `destination`, `address`, `outcome`, `sequence`, `attempt` and `reader` (from 1), `start`,
    `finish` (timestamps if `time` has dates, else seconds) and `wait` (seconds,
    until the start, or until it was taken away) added. What still waits at the end has neither.
    Raises ConfigError, ChangeError, RuleError and MessageError.
    """
    base_plan = Plan(clusters_in(clusters), changes_in(changes))
    table = messages_of(table_of(messages), base_plan)
    if journal:
        check_names(table.column_names, base_plan.relevant_attributes)
    messages_in_order = whole(table, base_plan, trust_ids=trust_ids, worked=True)
    table = messages_in_order.table
    plan, codes = classified(table, base_plan)
    columns = message_columns(messages_in_order, table)
    replays = Replays(plan, columns.traits)
    replays.feed(columns.batch(table, plan, codes), columns.group_names, columns.tenant_names)
    replays.finish()
    attempts = Attempts.together([replays.done(), replays.left()])
    if not (np.diff(attempts.message) > 0).all():
        order_of_rows = np.lexsort((attempts.attempt, attempts.message))
        attempts = Attempts(*(column[order_of_rows] for column in attempts))
    table = _with_attempts(table, plan, attempts)
    return rows_of(table, plan, codes, attempts.since, attempts.message) if journal else table


def _with_attempts(messages: pa.Table, plan: ClassifiedPlan, attempts: Attempts) -> pa.Table:
    place = pa.array(np.where(attempts.label != NONE, attempts.label, 0))
    added = attempt_columns(plan.codes, attempts, place, lambda times: _moments(messages, times))
    table = messages.take(pa.array(attempts.message))
    for name in (*DECISION, *ATTEMPT):
        table = table.append_column(name, added[name])
    return table


def attempt_columns(
    codes: Codes, attempts: Attempts, label: pa.Array, moments: Callable[[Int64s], pa.Array]
) -> dict[str, pa.Array]:
    """What attempts were, by the names of their columns. `label`: of each, the decision's code."""
    nothing = (attempts.start == NEVER) & (attempts.finish == NEVER)
    return {
        "destination": dictionary_column(codes.destination, label),
        "address": dictionary_column(codes.address, label),
        "outcome": dictionary_column(CODED_WORDS, pa.array(attempts.ended())),
        "sequence": pa.array(attempts.sequence, mask=attempts.sequence < 0),
        "attempt": pa.array(attempts.attempt),
        "reader": pa.array(attempts.reader, mask=attempts.reader < 0),
        "start": moments(attempts.start),
        "finish": moments(attempts.finish),
        "wait": pa.array(attempts.waits() / MICROS, mask=nothing),
    }


def _moments(messages: pa.Table, times: Int64s) -> pa.Array:
    """Times as the table's own are given: timestamps, or numbers of seconds."""
    mask = times == NEVER
    time = column(messages, "time")
    if not dated(time):
        return pa.array(times / MICROS, mask=mask)
    zone = "UTC" if is_text(time.type) else getattr(time.type, "tz", None)
    return pa.array(times, mask=mask).cast(pa.timestamp("us", zone))
