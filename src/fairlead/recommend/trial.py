"""Trial: one cluster on recorded traffic, as far as it takes to know whether it meets a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import pyarrow as pa

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster
from fairlead.compiled.classes import bindings, classified, keys
from fairlead.compiled.columns import coded
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.plan import Plan
from fairlead.measure.waits import EXACT, HALF, Bar, waits
from fairlead.memory.attempts import AGAIN_CODES, LOW, POWERS
from fairlead.memory.replay import Prepared, batch_of
from fairlead.recommend.goal import Target
from fairlead.replay.batch import Attempts
from fairlead.replay.layout import NEVER
from fairlead.replay.replays import Replays
from fairlead.replay.table import has_control, traits_of
from fairlead.replay.words import CONTROL_CODE
from fairlead.results.comparison import Waits

AT_ONCE = 1 << 14
"""Messages, before it is asked whether the target is out of reach."""
NOTHING = Waits("", 0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Outcome:
    """What became of the traffic."""

    waits: Waits
    """Of those that started by then."""
    unserved: int
    """Messages that never started."""
    seen: float
    """Which part of the traffic arrived before it was broken off; 1: all."""
    late: Int64s
    """The messages whose waits passed the target's limit."""

    @property
    def whole(self) -> bool:
        """Whether all messages arrived."""
        return self.seen >= 1


def trial(
    ready: Prepared,
    cluster: Cluster,
    changes: Sequence[Change],
    target: Target,
    *,
    unserved: int | None = None,
) -> Outcome:
    """Replay the traffic under a cluster; broken off when the target cannot be met any more.

    `unserved`: so many messages may never start; None: do not break off.
    """
    plan = Plan([cluster], changes)
    known, codes = classified(ready.read, plan)
    batch, groups, tenants = batch_of(
        ready, codes, keys(ready.read, known, codes), bindings(ready.read, known, codes)
    )
    replays = Replays(known, traits_of(batch, raises=has_control(ready.read)))
    found = _Seen(ready, target)
    n = len(codes)
    allowed = None if unserved is None or target.part is None else floor(n * (1 - target.part))
    for low in range(0, n, AT_ONCE):
        replays.feed(batch.at(slice(low, low + AT_ONCE)), groups, tenants)
        found.add(replays.done())
        if allowed is not None and found.late_by_now > allowed:
            return found.outcome(0, (low + AT_ONCE) / n if low + AT_ONCE < n else 0.999)
    replays.finish()
    found.add(Attempts.together([replays.done(), replays.left()]))
    return found.outcome(found.unserved, 1.0)


class _Seen:
    """The waits of the messages that are over."""

    def __init__(self, ready: Prepared, target: Target) -> None:
        self.ready, self.target = ready, target
        self.limit = target.limit - target.below
        self.bars: dict[int, Bar] = {}
        self.late: list[Int64s] = []
        self.late_by_now = 0
        self.unserved = 0

    def add(self, attempts: Attempts) -> None:
        last = ~np.isin(attempts.outcome, AGAIN_CODES)
        begun = last & (attempts.start != NEVER)
        work = last & (attempts.outcome != CONTROL_CODE)
        self.unserved += int((work & ~begun).sum())
        sent = self.ready.messages.times[attempts.message[begun]]
        since = np.where(attempts.attempt[begun] > 1, sent, attempts.since[begun])
        wait = attempts.start[begun] - since
        late = attempts.message[begun][wait > self.limit]
        self.late.append(late)
        self.late_by_now += len(late)
        shift = np.searchsorted(POWERS, wait, "right")
        bar = (shift << EXACT) + (wait >> shift)
        order = np.argsort(bar, kind="stable")
        if not len(order):
            return
        starts = np.concatenate([[0], np.flatnonzero(np.diff(bar[order])) + 1])
        sorted_ = wait[order]
        rows = zip(
            bar[order][starts].tolist(),
            np.diff(np.append(starts, len(order))).tolist(),
            np.add.reduceat(sorted_ >> HALF, starts).tolist(),
            np.add.reduceat(sorted_ & LOW, starts).tolist(),
            np.maximum.reduceat(sorted_, starts).tolist(),
            strict=True,
        )
        for key, many, high, low, most in rows:
            before = self.bars.get(key, Bar(0, 0, 0))
            self.bars[key] = Bar(
                before.n + many, before.sum + (high << HALF) + low, max(before.max, most)
            )

    def outcome(self, unserved: int, seen: float) -> Outcome:
        ordered = [self.bars[key] for key in sorted(self.bars)]
        found = waits("", ordered) if ordered else NOTHING
        late = np.concatenate([*self.late, np.zeros(0, np.int64)])
        return Outcome(found, unserved, seen, late)


def part(ready: Prepared, rows: Int64s) -> Prepared:
    """Some of the messages, in order."""
    messages = ready.messages
    at = pa.array(rows)
    some = type(messages)(
        messages.table.take(at),
        messages.ids.take(at),
        messages.times[rows],
        messages.services[rows],
    )
    return Prepared(some, ready.read.take(at), ready.dated)


def conversations(ready: Prepared) -> Int64s:
    """By the message: the number of its group, or one of its own."""
    n = len(ready.messages.times)
    if "group" not in ready.read.column_names:
        return np.arange(n)
    group, words = coded(ready.read, "group")
    if "" in words:
        alone = group == words.index("")
        group = np.where(alone, len(words) + np.arange(n), group)
    return group
