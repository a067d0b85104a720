"""Accepted: the rows that are messages, in order, each id once and each group of one tenant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.compiled import hashes
from fairlead.compiled.classes import compressed
from fairlead.compiled.intake.columns import column, text, texts
from fairlead.compiled.intake.rows import ValidatedRows
from fairlead.compiled.intake.texts import to_text
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import in_order, taken
from fairlead.compiled.plan import Plan
from fairlead.compiled.row_checks import LONGEST_SHOWN
from fairlead.compiled.unique import all_different

KIND: Final = re.compile(": found|: a message")


@dataclass(frozen=True)
class Accepted:
    """The messages, in order; times and services in whole microseconds."""

    table: pa.Table
    times: Int64s
    services: Int64s
    """0 where none is given."""

    @cached_property
    def ids(self) -> pa.ChunkedArray:
        """As texts."""
        return texts(self.table, "id")

    @property
    def period(self) -> tuple[int, int] | None:
        """The first and the last time."""
        return (int(self.times.min()), int(self.times.max())) if len(self.times) else None


def unique(rows: ValidatedRows) -> None:
    """Reject every message whose id an earlier one has."""
    good, ids = _good(rows)
    if all_different(ids):
        return
    code = _codes(ids.combine_chunks())
    several = np.flatnonzero(np.bincount(code)[code] > 1)
    suspects = good[several]
    order = np.lexsort((_whole(rows, suspects), rows.key[suspects], code[several]))
    repeated = np.append(False, np.diff(code[several][order]) == 0)
    bad = np.zeros(len(rows.good), np.bool_)
    bad[suspects[order[repeated]]] = True
    rows.reject(bad, lambda row: f"id: found '{rows.ids[row].as_py()}' again, allowed: once")


def _good(rows: ValidatedRows) -> tuple[Int64s, pa.ChunkedArray]:
    """The places of the messages, and their ids."""
    good = np.flatnonzero(rows.good)
    return good, rows.ids if len(good) == len(rows.good) else rows.ids.take(pa.array(good))


def _whole(rows: ValidatedRows, which: Int64s) -> Int64s:
    """A number of all that some rows say: of equals in order, the least stays in every engine."""
    at = pa.array(which)
    table = rows.table.take(at)
    row_hashes = hashes.new(len(which))
    for name in table.column_names:
        with suppress(pa.ArrowException):  # what nobody spells tells nobody apart
            row_hashes = hashes.with_texts(row_hashes, to_text(column(table, name)))
    service = pa.array(rows.service.values[which], mask=~rows.service.known[which])
    ids, key, time = rows.ids.take(at).combine_chunks(), rows.key[which], rows.time[which]
    for part in (pa.array(key), ids, pa.array(time), service):
        row_hashes = hashes.with_texts(row_hashes, part.cast(pa.string()))
    return row_hashes.view(np.int64)


def one_tenant(rows: ValidatedRows, plans: Iterable[Plan]) -> None:
    """Reject every message whose group, inside its cluster, is another tenant's."""
    if not {"group", "tenant"} <= set(rows.table.column_names):
        return
    named = "cluster" in rows.table.column_names
    every: dict[tuple[str, ...], None] = {}
    for plan in plans:
        names = sorted(cluster.name for cluster in plan.clusters)
        alone = ("",) if len(names) == 1 else ()
        every[(*alone, *names) if named else alone] = None
    for plan_names in every:
        _one_tenant(rows, plan_names)


def _one_tenant(rows: ValidatedRows, names: Sequence[str]) -> None:
    """... as a plan has it whose clusters are called so; "": the only one."""
    clusters, groups, tenants = (text(rows.table, n) for n in ("cluster", "group", "tenant"))
    mine = rows.good & np.asarray(pc.not_equal(groups, ""))
    if names != ("",):
        mine &= np.asarray(pc.is_in(clusters, pa.array(list(names), pa.string())))
    grouped, tenant = np.flatnonzero(mine), _codes(tenants)
    if not len(grouped) or not tenant.any():
        return
    whose, tenant = _codes(groups)[grouped], tenant[grouped]
    if "" not in names:  # else all that have the plan's are in the only cluster, named or not
        _, whose = compressed(_codes(clusters)[grouped] * (int(whose.max()) + 1) + whose)
    owner = np.zeros(int(whose.max()) + 1, np.int64)
    owner[whose] = np.arange(len(grouped))
    if (tenant == tenant[owner[whose]]).all():
        return
    order = in_order(rows.key[grouped], rows.ids.take(pa.array(grouped)))
    order = np.arange(len(grouped)) if order is None else order
    owner[whose[order[::-1]]] = order[::-1]  # the first is written last
    wrong = tenant != tenant[owner[whose]]
    bad = np.zeros(len(rows.good), np.bool_)
    bad[grouped[wrong]] = True
    first = np.zeros(len(rows.good), np.int64)
    first[grouped] = grouped[owner[whose]]

    def reason(row: int) -> str:
        actual, allowed = (
            tenants[index].as_py()[:LONGEST_SHOWN] for index in (row, int(first[row]))
        )
        return (
            f"tenant: found '{actual}', allowed: '{allowed}', as the first message of its group has"
        )

    rows.reject(bad, reason)


def _codes(words: pa.Array) -> Int64s:
    return np.asarray(words.dictionary_encode().indices).astype(np.int64)


def accepted(rows: ValidatedRows) -> Accepted:
    """The messages, in order."""
    table, key, time, services = rows.table, rows.key, rows.time, rows.service.values
    good, ids = _good(rows)
    some = len(good) < len(rows.good)
    order = in_order(key[good] if some else key, ids)
    if order is None and not some:
        return Accepted(table, time, services)
    places = good if order is None else good[order] if some else order
    services = services[places] if services.any() else services[: len(places)]
    return Accepted(taken(table, places), time[places], services)


def rejected(rows: ValidatedRows) -> pa.Table:
    """The rows that are no messages, each with its `reason`."""
    bad = pa.array(~rows.good)
    reasons = pa.array([rows.reasons[row] for row in sorted(rows.reasons)], pa.string())
    return rows.table.filter(bad).append_column("reason", reasons)


def rejections(rows: ValidatedRows) -> dict[str, int]:
    """Rejected rows by what was wrong: the reason up to what was found."""
    by_reason = Counter(KIND.split(reason)[0] for reason in rows.reasons.values())
    return dict(sorted(by_reason.items()))
