"""Replay a table in memory, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.changes import GivenChanges, changes_in
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.journal import check_names
from fairlead.balance.message import SET_PRIORITY
from fairlead.balance.times import MICROS
from fairlead.compiled.arrow_input import table_of
from fairlead.compiled.classes import bindings, classified, keys
from fairlead.compiled.intake.accepted import Accepted
from fairlead.compiled.intake.columns import coded, column, text
from fairlead.compiled.intake.numbers import dated, integral
from fairlead.compiled.intake.texts import is_text
from fairlead.compiled.intake.whole import whole
from fairlead.compiled.journal import messages_of, rows_of
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.labels import Codes, dictionary_column
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.replay.batch import Attempts, Batch, Traits
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
    batch, groups, tenants = batch_of(messages_in_order, plan, codes)
    replays = Replays(plan, traits_of(batch, raises=has_control(table)))
    replays.feed(batch, groups, tenants)
    replays.finish()
    attempts = Attempts.together([replays.done(), replays.left()])
    if not (np.diff(attempts.message) > 0).all():
        order_of_rows = np.lexsort((attempts.attempt, attempts.message))
        attempts = Attempts(*(column[order_of_rows] for column in attempts))
    table = _with_attempts(table, plan, attempts)
    return rows_of(table, plan, codes, attempts.since, attempts.message) if journal else table


def batch_of(
    messages: Accepted, plan: ClassifiedPlan, codes: Int32s
) -> tuple[Batch, int, list[str]]:
    """The messages as columns of numbers; how many groups there are, and the tenants' names."""
    table = messages.table
    groups, group = grouped(table)
    tenant, tenants = coded(table, "tenant")
    numbers = keys(table, plan, codes)
    nothing = np.zeros(0, np.int64)
    batch = Batch(
        codes,
        messages.times,
        messages.services,
        np.arange(len(table)),
        nothing,
        nothing if numbers is None else numbers,
        group,
        integers(table, "priority", NONE),
        tenant if len(tenants) > 1 else None,
        integers(table, "cost", 1),
        integers(table, "rollbacks", 0),
        bindings(table, plan, codes),
    )
    return batch, groups, tenants


def traits_of(batch: Batch, *, raises: bool) -> Traits:
    """What these messages have, if they are all."""
    return Traits(
        groups=batch.groups is not None and bool((batch.groups != NONE).any()),
        priorities=batch.priorities is not None and bool((batch.priorities != NONE).any()),
        tenants=batch.tenants is not None,
        rollbacks=batch.rollbacks is not None and bool(batch.rollbacks.any()),
        raises=raises,
    )


def has_control(messages: pa.Table) -> bool:
    """Whether any row raises a group without being work."""
    if "type" not in messages.column_names:
        return False
    return bool(pc.any(pc.equal(text(messages, "type"), SET_PRIORITY)).as_py())


def grouped(messages: pa.Table) -> tuple[int, Int64s | None]:
    """How many groups there are, and each row's number, NONE for a group of its own."""
    if "group" not in messages.column_names:
        return 0, None
    numbers, words = coded(messages, "group")
    if "" in words:
        numbers = np.where(numbers == words.index(""), NONE, numbers)
    return len(words), numbers


def integers(messages: pa.Table, name: str, missing: int) -> Int64s | None:
    """A column of integers, `missing` where a row has none; None: there is no such column."""
    if name not in messages.column_names:
        return None
    cells = integral(column(messages, name))
    return np.where(cells.known, cells.values, missing)


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
