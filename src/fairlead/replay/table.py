"""Replay a table in memory, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.changes import GivenChanges, changes_in
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.journal import check_names
from fairlead.balance.message import SET_PRIORITY, WHOLE_NUMBERS
from fairlead.balance.times import MICROS
from fairlead.compiled.arrow_input import table_of
from fairlead.compiled.classes import bindings, classified, keys
from fairlead.compiled.columns import (
    check_keys,
    checked,
    coded,
    dates,
    dictionary_column,
    order_of,
    services_of,
    text,
    times_of,
    whole_numbers,
)
from fairlead.compiled.journal import messages_of, rows_of
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.labels import Codes
from fairlead.compiled.order import taken
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.compiled.required_columns import ALL_WORK, check_columns
from fairlead.errors import MessageError
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
    table = checked(table, base_plan.relevant_attributes, trust_ids=trust_ids)
    _check_added(table)
    check_columns(base_plan, table.column_names, "messages")
    check_keys(table, base_plan)
    times = times_of(table)
    order = order_of(table, times)
    if order is not None:
        table, times = taken(table, order), times[order]
    plan, codes = classified(table, base_plan)
    batch, groups, tenants = batch_of(table, plan, codes, times)
    _check_tenants(table, plan, batch, tenants)
    replays = Replays(plan, traits_of(batch, raises=has_control(table)))
    replays.feed(batch, groups, tenants)
    replays.finish()
    attempts = Attempts.together([replays.done(), replays.left()])
    if not (np.diff(attempts.message) > 0).all():
        order_of_rows = np.lexsort((attempts.attempt, attempts.message))
        attempts = Attempts(*(column[order_of_rows] for column in attempts))
    table = _with_attempts(table, plan, attempts)
    return rows_of(table, plan, codes, attempts.since, attempts.message) if journal else table


def _check_added(messages: pa.Table) -> None:
    """Refuse a table with a column that would be there twice."""
    for name in ATTEMPT:
        if name in messages.column_names:
            raise MessageError(f"messages: column {name!r} is what a replay adds; rename it")


def batch_of(
    messages: pa.Table, plan: ClassifiedPlan, codes: Int32s, times: Int64s
) -> tuple[Batch, int, list[str]]:
    """The messages as columns of numbers; how many groups there are, and the tenants' names."""
    groups, group = grouped(messages)
    tenant, tenants = coded(messages, "tenant")
    numbers = keys(messages, plan, codes)
    nothing = np.zeros(0, np.int64)
    batch = Batch(
        codes,
        times,
        services(messages),
        np.arange(len(messages)),
        nothing,
        nothing if numbers is None else numbers,
        group,
        whole(messages, "priority", NONE),
        tenant if len(tenants) > 1 else None,
        whole(messages, "cost", 1),
        whole(messages, "rollbacks", 0),
        bindings(messages, plan, codes),
    )
    return batch, groups, tenants


def _check_tenants(
    messages: pa.Table, plan: ClassifiedPlan, batch: Batch, tenants: Sequence[str]
) -> None:
    """Refuse a group, inside its cluster, that has messages of several tenants."""
    if batch.groups is None or batch.tenants is None:
        return
    names = [cluster.name for cluster in plan.clusters]
    whose, words = coded(messages, "cluster")
    place = {name: k for k, name in enumerate(names)}
    if len(names) == 1:
        place[""] = 0
    where = np.array([place.get(word, NONE) for word in words], np.int64)[whose]
    rows = np.flatnonzero((batch.groups != NONE) & (where != NONE))
    group = batch.groups[rows] * len(names) + where[rows]
    tenant = batch.tenants[rows]
    owner = np.empty(group.max(initial=0) + 1, np.int64)
    owner[group[::-1]] = tenant[::-1]  # the first is written last
    wrong = np.flatnonzero(owner[group] != tenant)
    if len(wrong):
        first = int(wrong[0])
        row = int(rows[first])
        raise MessageError(
            f"messages: id {text(messages, 'id')[row].as_py()!r} has the tenant "
            f"{tenants[tenant[first]]!r}, but its group {text(messages, 'group')[row].as_py()!r} "
            f"has {tenants[owner[group[first]]]!r} since its first message; "
            "allowed: one tenant for a group"
        )


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


def services(messages: pa.Table) -> Int64s:
    """How long each message takes, in microseconds. Raises MessageError."""
    durations = services_of(messages, ALL_WORK)
    if durations is None:
        raise MessageError(
            f"messages: no column 'service_time', found: {', '.join(messages.column_names)}; "
            "a replay needs the seconds that each message takes"
        )
    return durations


def whole(messages: pa.Table, name: str, missing: int) -> Int64s | None:
    """A column of whole numbers, `missing` where a row has none; None: there is no such column."""
    if name not in messages.column_names:
        return None
    numbers = pc.fill_null(whole_numbers(messages, name), missing).to_numpy()
    values = numbers[numbers != missing] if missing == NONE else numbers
    least, most = WHOLE_NUMBERS[name]
    if len(values) and not least <= values.min() <= values.max() <= most:
        raise MessageError(
            f"messages: {name}: found {values.min()} to {values.max()}, "
            f"allowed: an integer from {least} to {most}, or none"
        )
    return np.asarray(numbers, np.int64)


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
    kind = dates(messages)
    mask = times == NEVER
    if kind is None:
        return pa.array(times / MICROS, mask=mask)
    return pa.array(times, mask=mask).cast(kind)
