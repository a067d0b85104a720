"""A replay in which nothing overtakes: first come, first served."""

from __future__ import annotations

import numpy as np

from fairlead.balance.change import FAILED, STATE, ResolvedChange
from fairlead.compiled.engine import engine, plain
from fairlead.replay import flow
from fairlead.replay.batch import Attempts, Batch, Traits
from fairlead.replay.flow import MAX_READERS
from fairlead.replay.layout import BEFORE_ALL, NONE, completion, header, queue, reader
from fairlead.replay.run import Run, Setting
from fairlead.replay.words import CODED_WORDS, ROUTED_CODE


def can_flow(setting: Setting, traits: Traits) -> bool:
    """Whether nothing can overtake, and nothing that was started can end otherwise."""
    cluster, steps, order = setting.cluster, setting.steps, setting.order
    overtaking = traits.priorities and order.discipline != "fifo"
    if traits.groups or traits.tenants or traits.rollbacks or overtaking:
        return False
    if cluster.policy.fans_out or cluster.binds or cluster.policy.waits or cluster.rule.foreign:
        return False
    if any(_disturbs(change) for _, changes in steps for change in changes):
        return False
    workers = [cluster.objects[cluster.queue_owner(i)] for i in range(len(cluster.members))]
    return all(1 <= worker.readers <= MAX_READERS for worker in workers)


def _disturbs(change: ResolvedChange) -> bool:
    return change.attribute in ("readers", "speed") or (
        (change.attribute, change.value) == (STATE, FAILED)
    )


class FlowRun(Run):
    """A cluster's traffic, message by message."""

    def __init__(self, setting: Setting) -> None:
        """At the cluster's beginning."""
        cluster = setting.cluster
        super().__init__(setting, engine(flow, cluster.rule), plain(flow, cluster.rule))
        self._timed = cluster.timed(change for _, changes in setting.steps for change in changes)
        m = self.memory.cells
        for q in self.memory.queues:
            first = m[q + queue.FIRST_READER] + reader.FREE_AT
            m[first : first + reader.SIZE * m[q + queue.READERS] : reader.SIZE] = BEFORE_ALL

    def arrive(self, batch: Batch) -> None:
        n = len(batch.times)
        if self._timed:
            most = int(self.memory.cells[header.COMPLETION_COUNT]) + n
            self.memory.at_least(header.COMPLETIONS, completion.SIZE * most, 0)
        member, by, start, finish = (np.empty(n, np.int64) for _ in range(4))
        self.ask(
            "flow_in",
            self._timed,
            batch.codes,
            batch.times,
            batch.services,
            batch.keys,
            *(member, by, start, finish),
        )
        every = range(len(self.cluster.members))
        labels = np.array([*(self.codes.label(self.cluster, i) for i in every), NONE], np.int64)
        outcomes = np.full(n, ROUTED_CODE, np.int64)
        if (nobody := member == NONE).any():
            first = [self.cluster.eligible(values) for values in self.classes]
            ends = np.array([CODED_WORDS.index(eligible.outcome) for eligible in first], np.int64)
            outcomes[nobody] = ends[batch.codes[nobody]]
        self.collect(
            Attempts(
                message=batch.messages,
                sequence=batch.sequences,
                outcome=outcomes,
                label=labels[member],
                attempt=np.ones(n, np.int64),
                reader=by,
                since=batch.times,
                start=start,
                finish=finish,
            )
        )

    def reach(self, time: int) -> None:
        self.ask("pass_to", time)

    def left(self) -> Attempts:
        return Attempts.together([])
