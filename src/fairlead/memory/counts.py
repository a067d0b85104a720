"""Counts: the decisions on a table in memory, counted as the summary and a report ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.compiled import hashes
from fairlead.compiled.classes import compressed
from fairlead.compiled.hashes import Hashes
from fairlead.compiled.intake.columns import text
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.measure import bins, facts
from fairlead.measure.bins import Bins
from fairlead.measure.levels import PriorityPeriod, levels
from fairlead.measure.over_time import Binned, Destination, busiest, over_time
from fairlead.measure.tally import DecisionCount
from fairlead.results.summary import GroupCounts, Made, OverTime, Period, ReportFacts
from fairlead.rows import DECISION

SHIFT = np.uint64(33)


@dataclass(frozen=True)
class Decided:
    """Decisions that were written, a row each."""

    table: pa.Table
    """With the messages' own columns."""
    plan: ClassifiedPlan
    codes: Int32s
    """Of the messages' classes."""
    times: Int64s
    """Of the messages."""
    message: Int64s
    """Which message each row is of."""

    @property
    def versions(self) -> Int64s:
        """Of the messages: how many steps of changes had come."""
        return np.searchsorted(self.plan.times, self.times, "right").astype(np.int64)


def coded(words: pa.Array | pa.ChunkedArray) -> tuple[Int64s, list[str | None]]:
    """A column as codes, and the words they stand for; null is one of them."""
    if isinstance(words, pa.ChunkedArray):
        words = words.combine_chunks()
    if pa.types.is_dictionary(words.type):
        words = words.dictionary_decode()
    codes = words.cast(pa.string()).dictionary_encode(null_encoding="encode")
    return np.asarray(codes.indices).astype(np.int64), codes.dictionary.to_pylist()


def together(columns: Sequence[tuple[Int64s, int]]) -> tuple[Int64s, Int64s]:
    """The rows that are alike in all columns (codes, and how many there are) have one number.

    Returns a row of each, and every row's number.
    """
    code = np.zeros(len(columns[0][0]), np.int64)
    for codes, n in columns:
        _, code = compressed(code * n + codes)
    firsts = np.zeros(int(code.max()) + 1 if len(code) else 0, np.int64)
    firsts[code[::-1]] = np.arange(len(code))[::-1]
    return firsts, code


def by_number(hashed: Hashes, code: Int64s, n: int) -> tuple[list[int], list[int], list[int]]:
    """By number: how many rows there are, and the xor and the sum of their hashes."""
    xors, sums = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    np.bitwise_xor.at(xors, code, hashed)
    np.add.at(sums, code, hashed >> SHIFT)
    counts = np.bincount(code, minlength=n).tolist()
    return counts, xors.view(np.int64).tolist(), sums.tolist()


def row_hashes(table: pa.Table, ids: pa.Array, names: Sequence[str]) -> Hashes:
    """The hash of each row's id, and of these columns of it, as Spark has it."""
    values = hashes.with_texts(hashes.new(len(table)), ids)
    for name in names:
        values = hashes.with_column(values, table.column(name))
    return values


class DecisionCounts:
    """The finest counts, and what is made of them."""

    def __init__(self, decided: Decided, ids: pa.Array) -> None:
        """`ids`: of the rows."""
        self.decided, plan, table = decided, decided.plan, decided.table
        only = plan.clusters[0].name if len(plan.clusters) == 1 else ""
        named = text(table, "cluster")
        cluster = pc.if_else(pc.equal(named, ""), only, named)
        subject = _subject(table, cluster, plan)
        every = [coded(column) for column in (cluster, subject)]
        every += [coded(table.column(name)) for name in ("destination", "outcome")]
        version = decided.versions[decided.message]
        codes = [(code, len(words)) for code, words in every]
        firsts, self.number = together([(version, len(plan.times) + 1), *codes])
        counts, xors, sums = by_number(row_hashes(table, ids, DECISION), self.number, len(firsts))
        words = [[names[index] for index in code[firsts].tolist()] for code, names in every]
        self.counted = [
            DecisionCount(*row)
            for row in zip(version[firsts].tolist(), *words, counts, xors, sums, strict=True)
        ]

    def messages(self) -> dict[int, int]:
        """How many messages were decided, by version."""
        counts = np.bincount(self.decided.versions, minlength=0).tolist()
        return {version: n for version, n in enumerate(counts) if n}

    def facts(self, made: Made, period: tuple[int, int] | None) -> ReportFacts:
        """What a report needs beside the counts."""
        plan = self.decided.plan
        whole = bins.over(*period) if period else None
        close = bins.around(plan.times, whole) if whole else None
        seen = [None if span is None else self._over_time(span) for span in (whole, close)]
        seen = [series if series is not None and series.outcomes else None for series in seen]
        messages = np.bincount(self.decided.codes, minlength=len(plan.classes)).tolist()
        return ReportFacts(
            made=made,
            period=Period(*period) if period else None,
            over_time=seen[0],
            around_changes=seen[1],
            changes=facts.changes(plan.changes),
            streams=facts.streams(plan, {code: n for code, n in enumerate(messages) if n}),
            groups=groups(self.decided),
            policies=facts.policies(plan),
        )

    def _over_time(self, bins: Bins) -> OverTime:
        plan, counted = self.decided.plan, self.counted
        top, on = busiest(counted, plan), levels(plan, counted)
        times = self.decided.times[self.decided.message]
        place = times // bins.width - bins.start // bins.width
        inside = np.flatnonzero((place >= 0) & (place < bins.number))
        firsts, code = together([(self.number[inside], len(counted)), (place[inside], bins.number)])
        number = self.number[inside][firsts].tolist()
        n = np.bincount(code, minlength=len(firsts)).tolist()
        rows = [
            Binned(bin_, _slot(counted[k], top), *_level(counted[k], on), counted[k].outcome, many)
            for k, bin_, many in zip(number, place[inside][firsts].tolist(), n, strict=True)
        ]
        return over_time(rows, bins, top, plan)


def _subject(table: pa.Table, cluster: pa.Array, plan: ClassifiedPlan) -> pa.Array:
    """What each row's destination belongs to; null where there is none, or it is in no subject."""
    subjects = {name: state.subjects for name, state in plan.states.items() if state.subjects}
    if not subjects:
        return pa.nulls(len(table), pa.string())
    subject = text(table, "subject")
    for name, choices in subjects.items():
        if len(choices) == 1:
            nameless = pc.and_(pc.equal(subject, ""), pc.equal(cluster, name))
            subject = pc.if_else(nameless, choices[0], subject)
    has = pc.and_(
        table.column("destination").combine_chunks().is_valid(),
        pc.is_in(cluster, pa.array(list(subjects), pa.string())),
    )
    return pc.if_else(has, subject, pa.scalar(None, pa.string()))


def _slot(count: DecisionCount, top: Sequence[Destination]) -> int | None:
    if count.destination is None:
        return None
    place = (count.cluster, count.subject, count.destination)
    return top.index(place) if place in top else len(top)


def _level(count: DecisionCount, levels: Sequence[PriorityPeriod]) -> tuple[int | None, int | None]:
    for level in levels:
        same = (level.cluster, level.destination) == (count.cluster, count.destination)
        if same and level.since <= count.version <= level.until:
            return level.owner, level.priority
    return None, None


def groups(decided: Decided) -> GroupCounts | None:
    """Whether groups stayed together; None where the table has no groups.

    Where a message goes to several destinations, so does every group: such clusters are left out.
    """
    plan, table = decided.plan, decided.table
    stay = [name for name, state in plan.states.items() if not state.policy.fans_out]
    if "group" not in table.column_names or not stay:
        return None
    cluster, group = text(table, "cluster"), text(table, "group")
    routed = table.column("destination").combine_chunks().is_valid()
    mask = pc.and_(pc.not_equal(group, ""), routed)
    if plan.fans_out:
        mask = pc.and_(mask, pc.is_in(cluster, pa.array(stay, pa.string())))
    rows = pa.array(np.flatnonzero(np.asarray(mask)))
    columns = [coded(column.take(rows)) for column in (cluster, group)]
    destination, names = coded(table.column("destination").take(rows))
    firsts, code = together([(codes, len(words)) for codes, words in columns])
    spread = np.zeros(len(firsts), np.bool_)
    if len(firsts):
        least = np.full(len(firsts), len(names))
        most = np.full(len(firsts), -1)
        np.minimum.at(least, code, destination)
        np.maximum.at(most, code, destination)
        spread = least != most
    return GroupCounts(len(firsts), int(spread.sum()))
