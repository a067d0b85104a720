"""Trial: one cluster on recorded traffic, as far as it takes to know whether it meets a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import pyarrow as pa

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster
from fairlead.compiled.intake.columns import coded
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.plan import Plan
from fairlead.measure.light import Light
from fairlead.memory.prepared import PreparedMessages, Simulation
from fairlead.recommend.goal import Target
from fairlead.results.comparison import Waits

AT_ONCE = 1 << 14
"""Messages, before it is asked whether the target is out of reach."""
NEARLY = 0.999
"""What was seen of a trial that was broken off when all messages had arrived."""
NOTHING = Waits("", 0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class TrialOutcome:
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
    ready: PreparedMessages,
    cluster: Cluster,
    changes: Sequence[Change],
    target: Target,
    *,
    unserved: int | None = None,
) -> TrialOutcome:
    """Replay the traffic under a cluster; broken off when the target cannot be met any more.

    `unserved`: so many messages may never start; None: do not break off.
    """
    simulation = Simulation(ready, Plan([cluster], changes))
    n = len(ready.messages.times)
    seen = Light(ready.messages.times, target.limit - target.below)
    allowed = None if unserved is None or target.part is None else floor(n * (1 - target.part))
    arrived = 0
    for attempts in simulation.run(AT_ONCE):
        seen.add(attempts)
        some_left, arrived = arrived < n, arrived + AT_ONCE
        if allowed is not None and some_left and seen.late_by_now > allowed:
            return TrialOutcome(seen.waits() or NOTHING, 0, min(arrived / n, NEARLY), seen.late)
    return TrialOutcome(seen.waits() or NOTHING, seen.unserved, 1.0, seen.late)


def part(ready: PreparedMessages, rows: Int64s) -> PreparedMessages:
    """Some of the messages, in order."""
    messages = ready.messages
    at = pa.array(rows)
    some = type(messages)(
        messages.table.take(at),
        messages.times[rows],
        messages.services[rows],
    )
    return PreparedMessages(some, ready.read.take(at), ready.dated)


def conversations(ready: PreparedMessages) -> Int64s:
    """By the message: the number of its group, or one of its own."""
    n = len(ready.messages.times)
    if "group" not in ready.read.column_names:
        return np.arange(n)
    group, words = coded(ready.read, "group")
    if "" in words:
        alone = group == words.index("")
        group = np.where(alone, len(words) + np.arange(n), group)
    return group
