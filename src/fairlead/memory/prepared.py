"""Prepared: messages in memory that are ready to be replayed, as often as one likes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from fairlead.compiled import hashes
from fairlead.compiled.classes import classified, compressed
from fairlead.compiled.intake import numbers
from fairlead.compiled.intake.accepted import Accepted
from fairlead.compiled.intake.columns import coded, column
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.plan import ClassifiedPlan, Plan
from fairlead.measure.measured import Measured
from fairlead.measure.meter import Meter, MeteredTraffic, What, what
from fairlead.memory.dispatch import narrow
from fairlead.replay.batch import Attempts
from fairlead.replay.columns import MessageColumns, message_columns
from fairlead.replay.layout import NONE
from fairlead.replay.replays import Replays
from fairlead.results.comparison import Window

AT_ONCE: Final = 1 << 18
"""Messages that arrive before what is over is measured."""


@dataclass(frozen=True)
class PreparedMessages:
    """Messages that are ready to be replayed, as often as one likes."""

    messages: Accepted
    read: pa.Table
    """What decisions read of them, as texts."""
    dated: bool
    """Whether times are dates, not plain seconds."""

    @cached_property
    def columns(self) -> MessageColumns:
        """What all scenarios read alike."""
        return message_columns(self.messages, self.read)

    @cached_property
    def clusters(self) -> tuple[Int64s, Sequence[str]]:
        """What messages call their cluster: numbers, and the names."""
        return coded(self.read, "cluster")

    @cached_property
    def traffic(self) -> MeteredTraffic:
        """What is asked of the messages where they are measured."""
        table, columns = self.messages.table, self.columns
        clusters, names = self.clusters
        groups = columns.groups
        if groups is not None and len(names) > 1:
            _, pairs = compressed((groups + 1) * len(names) + clusters)
            groups = np.where(groups == NONE, NONE, pairs)
        messages = MeteredTraffic(
            priorities=columns.priorities is not None, tenants="tenant" in table.column_names
        )
        ids = self.messages.ids.combine_chunks()
        messages.add(
            self.messages.times,
            hashes.with_texts(hashes.new(len(table)), ids).view(np.int64),
            clusters,
            columns.priorities,
            columns.tenants,
            groups,
        )
        return messages

    def what(self, windows: Sequence[Window] = (), *, in_full: bool = True) -> What:
        """What is measured of all scenarios alike."""
        period = self.messages.period
        return what(period, dated=self.dated, windows=windows, in_full=in_full)


def prepared(messages: Accepted, plans: Sequence[Plan]) -> PreparedMessages:
    """Learn what is the same in all scenarios."""
    dated = numbers.dated(column(messages.table, "time"))
    return PreparedMessages(messages, narrow(messages.table, plans), dated)


class Simulation:
    """One scenario, which goes through all messages."""

    def __init__(self, ready: PreparedMessages, plan: Plan) -> None:
        """Before the first message."""
        self.ready = ready
        self.plan, codes = classified(ready.read, plan)
        self.batch = ready.columns.batch(ready.read, self.plan, codes)

    def run(self, at_once: int = AT_ONCE) -> Iterator[Attempts]:
        """What is over after so many messages each, and at last what is left."""
        columns = self.ready.columns
        replays = Replays(self.plan, columns.traits)
        n = len(self.batch.codes)
        for low in range(0, n, at_once):
            piece = self.batch if at_once >= n else self.batch.at(slice(low, low + at_once))
            replays.feed(piece, columns.group_names, columns.tenant_names)
            yield replays.done()
        replays.finish()
        yield Attempts.together([replays.done(), replays.left()])


def simulated(ready: PreparedMessages, plan: Plan) -> tuple[ClassifiedPlan, Attempts]:
    """What becomes of the messages in one scenario."""
    simulation = Simulation(ready, plan)
    return simulation.plan, Attempts.together(simulation.run(len(ready.messages.times) or 1))


def measured(
    ready: PreparedMessages, plan: Plan, what: What, *, keep: bool = False
) -> tuple[ClassifiedPlan, Measured, Attempts]:
    """What one scenario comes to. `keep`: also give the attempts, which are none otherwise."""
    simulation = Simulation(ready, plan)
    meter = Meter(simulation.plan, what, ready.traffic)
    pieces = []
    for attempts in simulation.run():
        meter.add(attempts)
        if keep:
            pieces.append(attempts)
    meter.close(len(ready.messages.times))
    measures = meter.measured(ready.clusters[1], ready.columns.tenant_names)
    return simulation.plan, measures, Attempts.together(pieces)
