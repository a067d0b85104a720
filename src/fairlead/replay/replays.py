"""All clusters' traffic under one plan: the replay's counterpart of the router."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.balance.rules.keyed import NO_KEY, PLACES
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.plan import ClassifiedPlan, MessageClass
from fairlead.compiled.router import Router
from fairlead.replay.batch import Attempts, Batch, Traits
from fairlead.replay.event_run import EventRun
from fairlead.replay.flow_run import FlowRun, can_flow
from fairlead.replay.layout import NEVER, NONE, arrival
from fairlead.replay.run import Run, Setting
from fairlead.replay.words import CONTROL_CODE, NOBODY_CODE


class Replays:
    """A replay of all clusters, resumable: `feed`, `done`, `feed`, …, `finish`, `done`."""

    def __init__(self, plan: ClassifiedPlan, traits: Traits, *, interpreted: bool = False) -> None:
        """At the beginning. `traits`: of all messages that will come."""
        self.plan = plan
        self.router = Router(plan)
        self._odd: list[Attempts] = []
        """Messages whose cluster nobody knows."""
        self.runs: list[Run] = []
        self._run_of = np.full(len(plan.classes), NONE, np.int64)
        self._own_code = np.full(len(plan.classes), arrival.CONTROL, np.int32)
        for place, cluster in enumerate(plan.clusters):
            state, steps = cluster.start(), plan.steps[cluster.name]
            mine = [
                code
                for code, message_class in enumerate(plan.classes)
                if self._is_of(message_class, place)
            ]
            codes = [code for code in mine if not plan.classes[code].control]
            raws = [plan.classes[code].values for code in codes]
            partitions = sorted({state.partition(values) for values in raws})
            if len(partitions) > 1:
                state.init_partitions(partitions)
            self._run_of[mine] = place
            self._own_code[codes] = np.arange(len(codes))
            setting = Setting(state, steps, raws, plan.codes, cluster.tables.order)
            if len(codes) == len(mine) and not interpreted and can_flow(setting, traits):
                self.runs.append(FlowRun(setting))
            else:
                events = EventRun(setting, remembers=traits.raises, interpreted=interpreted)
                self.runs.append(events)

    def _is_of(self, message_class: MessageClass, place: int) -> bool:
        """Whether messages of a class belong to a cluster; without a name, only to the only one."""
        clusters = self.plan.clusters
        return message_class.cluster == clusters[place].name or (
            not message_class.cluster and len(clusters) == 1
        )

    def feed(self, batch: Batch, groups: int = 0, tenants: Sequence[str] = ("",)) -> None:
        """Let messages arrive, and number them in their streams.

        `groups`: how many numbers of groups there are. `tenants`: their names, by number.
        """
        codes = batch.codes
        sequence = self.router.sequence(codes)
        times = batch.times
        if len(times):
            times = np.maximum(np.maximum.accumulate(times), self.router.latest)
            self.router.latest = int(times[-1])
        batch = batch._replace(
            codes=self._own_code[codes],
            times=times,
            sequences=sequence,
            keys=self._keys(batch, sequence),
        )
        runs = self._run_of[codes]
        for place, run in enumerate(self.runs):
            if isinstance(run, EventRun):
                bonds = 0 if batch.bindings is None else len(batch.bindings.bound)
                run.know(tenants, groups, bonds)
            mine = runs == place
            run.feed(batch if mine.all() else batch.at(np.flatnonzero(mine)))
        if (odd := runs == NONE).any():
            self._end_odd(batch.at(np.flatnonzero(odd)), codes[odd])

    def _keys(self, batch: Batch, sequence: Int64s) -> Int64s:
        """A message without a key is chosen for by its place in its stream."""
        if not self.plan.keyed:
            return sequence
        return np.where(batch.keys == NO_KEY, PLACES + sequence, batch.keys)

    def _end_odd(self, batch: Batch, codes: Int32s) -> None:
        n = len(codes)
        none = np.full(n, NONE, np.int64)
        control = np.array(
            [message_class.control for message_class in self.plan.classes] or [False], np.bool_
        )
        outcomes = np.where(control[codes], CONTROL_CODE, NOBODY_CODE)
        never, once = np.full(n, NEVER, np.int64), np.ones(n, np.int64)
        self._odd.append(
            Attempts(
                message=batch.messages,
                sequence=batch.sequences,
                outcome=outcomes,
                label=none,
                attempt=once,
                reader=none,
                since=batch.times,
                start=never,
                finish=never,
            )
        )

    def finish(self) -> None:
        """No more messages come."""
        for run in self.runs:
            run.finish()

    def done(self) -> Attempts:
        """What is over since the last call, in no order that matters."""
        attempts = Attempts.together([*self._odd, *(run.done() for run in self.runs)])
        self._odd = []
        return attempts

    def left(self) -> Attempts:
        """What waits or is worked on."""
        return Attempts.together([run.left() for run in self.runs])
