"""Attempts: what a replay in memory comes to, as rows, and counted as the comparison asks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.message import ROUTED
from fairlead.balance.times import MICROS
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.measure.attempts import End
from fairlead.measure.bins import Bins
from fairlead.measure.queues import Move, queue
from fairlead.measure.waits import (
    ALL,
    EXACT,
    HALF,
    KINDS,
    MAX_BITS,
    MAX_NAMES,
    PHASE,
    Bar,
    phase_times,
    waits,
)
from fairlead.memory.accepted import Accepted
from fairlead.memory.counts import by_number, coded, row_hashes, together
from fairlead.memory.validate import text
from fairlead.replay.batch import Attempts
from fairlead.replay.layout import NEVER, NONE
from fairlead.replay.table import attempt_columns
from fairlead.replay.words import AGAIN, CODED_WORDS
from fairlead.results.comparison import Longest, Queue, Waits
from fairlead.rows import ATTEMPT, DECISION

LOW = (1 << HALF) - 1
POWERS = np.array([1 << bits for bits in range(EXACT, MAX_BITS)], np.int64)
AGAIN_CODES = [CODED_WORDS.index(word) for word in AGAIN]


@dataclass(frozen=True)
class Tried:
    """The attempts of one scenario, in the order of messages, attempts and destinations."""

    messages: Accepted
    plan: ClassifiedPlan
    attempts: Attempts
    dated: bool
    """Whether times are dates, not plain seconds."""
    table: pa.Table
    """The rows that are written."""

    @property
    def started(self) -> Bools:
        """Which of them a reader began."""
        found: Bools = self.attempts.start != NEVER
        return found

    @property
    def last(self) -> Bools:
        """Which count: after these a message does not go on."""
        found: Bools = ~np.isin(self.attempts.outcome, AGAIN_CODES)
        return found

    @property
    def cluster(self) -> pa.Array:
        """What each row's message calls its cluster."""
        return text(self.table, "cluster")


def tried(messages: Accepted, plan: ClassifiedPlan, found: Attempts, *, dated: bool) -> Tried:
    """The attempts as rows: the messages' own columns, the decision, and what the attempt was."""
    order = np.lexsort((found.label, found.attempt, found.message))
    found = Attempts(*(column[order] for column in found))
    label = pa.array(np.where(found.label == NONE, 0, found.label), mask=found.label == NONE)
    added = attempt_columns(plan.codes, found, label, lambda times: _moments(times, dated=dated))
    added |= {name: added[name].cast(pa.int32()) for name in ("attempt", "reader")}
    table = messages.table.take(pa.array(found.message))
    for name in (*DECISION, *ATTEMPT):
        table = table.append_column(name, added[name])
    return Tried(messages, plan, found, dated, table)


def _moments(times: Int64s, *, dated: bool) -> pa.Array:
    mask = times == NEVER
    if dated:
        return pa.array(times, mask=mask).cast(pa.timestamp("us", "UTC"))
    return pa.array(times / MICROS, mask=mask)


def ends_of(of: Tried) -> list[End]:
    """How it ended with the rows, by outcome, cluster and destination."""
    every = of.attempts
    columns = [coded(of.table.column("outcome")), coded(of.cluster)]
    columns += [coded(of.table.column("destination"))]
    firsts, code = together([(each, len(words)) for each, words in columns])
    n = len(firsts)
    ids = of.messages.ids.take(pa.array(of.attempts.message))
    rows, xors, sums = by_number(row_hashes(of.table, ids, (*DECISION, *ATTEMPT)), code, n)
    started, ended = of.started, every.finish != NEVER
    routed = np.asarray(pc.equal(of.table.column("outcome").cast(pa.string()), ROUTED))

    def count(which: Bools) -> list[int]:
        found: list[int] = np.bincount(code[which], minlength=n).tolist()
        return found

    worked = started & ended
    busy = np.zeros(n, np.int64)
    np.add.at(busy, code[worked], (every.finish - every.start)[worked])
    latest = np.full(n, np.iinfo(np.int64).min)
    np.maximum.at(latest, code[ended], every.finish[ended])
    has_busy = np.bincount(code[worked], minlength=n) > 0
    has_last = np.bincount(code[ended], minlength=n) > 0
    names = [[words[each] for each in codes[firsts].tolist()] for codes, words in columns]
    waiting, again, begun = count(~started & routed), count(every.attempt > 1), count(started)
    return [
        End(
            scenario=0,
            outcome=str(names[0][k]),
            cluster=str(names[1][k]),
            destination=names[2][k],
            rows=rows[k],
            waiting=waiting[k],
            redeliveries=again[k],
            started=begun[k],
            busy=int(busy[k]) if has_busy[k] else None,
            last=int(latest[k]) if has_last[k] else None,
            xor=xors[k],
            sum=sums[k],
        )
        for k in range(n)
    ]


def waited(of: Tried) -> tuple[Int64s, Int64s]:
    """The rows that count and were started, and how long each message waited until then."""
    every = of.attempts
    rows = np.flatnonzero(of.last & of.started)
    sent = of.messages.times[every.message[rows]]
    since = np.where(every.attempt[rows] > 1, sent, every.since[rows])
    return rows, every.start[rows] - since


def waits_of(of: Tried) -> dict[str, list[Waits]]:
    """By kind of name: the waits of those that were started, those with the most first."""
    rows, wait = waited(of)
    names = {ALL: pa.repeat("", len(rows))}
    at = pa.array(rows)
    for kind in KINDS:
        if kind in of.table.column_names:
            names[kind] = text(of.table, kind).take(at)
    times = phase_times(of.plan)
    if times:
        sent = of.messages.times[of.attempts.message[rows]]
        names[PHASE] = pa.array(np.searchsorted(times, sent, "right")).cast(pa.string())
    shift = np.searchsorted(POWERS, wait, "right")
    bar = (shift << EXACT) + (wait >> shift)
    return {kind: _by_name(each, wait, bar) for kind, each in names.items() if len(rows)}


def _by_name(names: pa.Array, wait: Int64s, bar: Int64s) -> list[Waits]:
    code, words = coded(names)
    order = np.lexsort((bar, code))
    edges = np.flatnonzero(np.diff(code[order]) | np.diff(bar[order])) + 1
    starts = np.concatenate([[0], edges])
    wait = wait[order]
    high = np.add.reduceat(wait >> HALF, starts).tolist()
    low = np.add.reduceat(wait & LOW, starts).tolist()
    most = np.maximum.reduceat(wait, starts).tolist()
    n = np.diff(np.append(starts, len(wait))).tolist()
    bars: dict[str, list[Bar]] = {}
    for k, name in enumerate(code[order][starts].tolist()):
        bars.setdefault(str(words[name]), []).append(Bar(n[k], (high[k] << HALF) + low[k], most[k]))
    found = [waits(name, own) for name, own in bars.items()]
    found.sort(key=lambda each: (-each.messages, each.name))
    return found[:MAX_NAMES]


def late_of(of: Tried, limit: float) -> pa.Table:
    """The rows that count and waited longer than a limit (seconds)."""
    rows, wait = waited(of)
    return of.table.take(pa.array(rows[wait > round(limit * MICROS)]))


def longest_of(of: Tried) -> Longest | None:
    """The message that waited longest, the first by id of equals."""
    rows, wait = waited(of)
    if not len(rows):
        return None
    equals = rows[wait == wait.max()]
    ids = of.messages.ids.take(pa.array(of.attempts.message[equals])).to_pylist()
    first = min(range(len(ids)), key=lambda k: ids[k].encode())
    row = int(equals[first])
    destination = of.table.column("destination")[row].as_py()
    group = text(of.table, "group")[row].as_py()
    return Longest(ids[first], group, destination, float(wait.max()) / MICROS)


def groups_of(of: Tried) -> tuple[int, int]:
    """How many groups there are, and in how many the order was not kept."""
    if "group" not in of.table.column_names:
        return 0, 0
    group = text(of.table, "group")
    has = np.asarray(pc.not_equal(group, ""))
    rows = np.flatnonzero(of.last & of.started & has)
    if not len(rows):
        return 0, 0
    at = pa.array(rows)
    columns = [coded(each.take(at)) for each in (of.cluster, group)]
    _, code = together([(each, len(words)) for each, words in columns])
    message, start = of.attempts.message[rows], of.attempts.start[rows]
    order = np.lexsort((start, message, code))
    code, message, start = code[order], message[order], start[order]
    # A message for several destinations has started when the first of them has.
    first = np.append(True, np.diff(message) != 0) | np.append(True, np.diff(code) != 0)
    code, start = code[first], start[first]
    torn = (np.diff(start) < 0) & (np.diff(code) == 0)
    return int(code.max()) + 1, len(np.unique(code[1:][torn]))


def queue_of(of: Tried, bins: Bins) -> Queue:
    """How many waited over time."""
    every = of.attempts
    until = np.where(every.start != NEVER, every.start, every.finish)
    known = until != NEVER
    routed = np.asarray(pc.equal(of.table.column("outcome").cast(pa.string()), ROUTED))
    rows = np.flatnonzero(known | routed)
    sent = of.messages.times[every.message]
    since = np.where(known, every.since, sent)[rows]
    ends = np.where(known, until, bins.end)[rows]
    more = np.zeros(bins.number + 1, np.int64)
    after = np.zeros(bins.number + 1, np.int64)
    for times, sign in ((since, 1), (ends, -1)):
        inside = np.clip(times, bins.start, bins.end) - bins.start
        place = inside // bins.width
        np.add.at(more, place, sign)
        np.add.at(after, place, sign * (inside % bins.width))
    moves = zip(more.tolist(), after.tolist(), strict=True)
    return queue(bins, [Move(0, k, *each) for k, each in enumerate(moves)])
