"""Several scenarios at once, measured while the messages pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from fairlead.compiled.kernels import Int64s
from fairlead.measure.measured import Measured
from fairlead.measure.meter import Meter, MeteredTraffic, What
from fairlead.replay.batch import Attempts, Traits
from fairlead.replay.layout import NONE
from fairlead.replay.numbers import Pairs
from fairlead.replay.traffic import Lane, Piece, ScenarioRuns

HASH: Final = "hash"
"""The column of a piece with the hashes of the ids."""
KEPT: Final = 1 << 17
"""So many messages are remembered before one looks which of them are over."""


class MeasureRequest(NamedTuple):
    """What is measured, and what one has to know for it."""

    what: What
    clusters: Sequence[str]
    """What messages call their cluster, by their codes."""


class MeasuredLanes:
    """Scenarios of the same messages, piece by piece."""

    def __init__(self, lanes: Sequence[Lane], traits: Traits, request: MeasureRequest) -> None:
        """At the beginning."""
        self._lanes = ScenarioRuns(lanes, traits)
        self._names = list(dict.fromkeys(request.clusters)) or [""]
        self._cluster_of = np.array(
            [self._names.index(cluster) for cluster in request.clusters] or [0], np.int64
        )
        self._plans = {lane.scenario: lane.plan for lane in lanes}
        self._asked = request.what
        self._pairs = Pairs()
        self._traffic: MeteredTraffic | None = None
        self._meters: dict[int, Meter] = {}
        self._look_at = KEPT

    def feed(self, rows: pa.RecordBatch) -> Iterator[tuple[int, Attempts]]:
        """Let a piece arrive; gives what is over by then, with the number of the scenario."""
        piece = self._lanes.read(rows)
        traffic = self._traffic_of(piece)
        clusters = self._cluster_of[piece.codes]
        traffic.add(
            piece.times,
            np.asarray(rows.column(HASH)),
            clusters,
            piece.priorities,
            piece.tenants,
            self._groups(piece, clusters),
        )
        for scenario, attempts in self._lanes.feed(piece):
            self._meters[scenario].add(attempts)
            yield scenario, attempts
        if len(traffic) > self._look_at:
            self._close(self._lanes.oldest())
            self._look_at = max(KEPT, 2 * len(traffic))

    def finish(self) -> Iterator[tuple[int, Attempts]]:
        """No more pieces come: gives the rest, and what still waits."""
        for scenario, attempts in self._lanes.finish():
            self._meters[scenario].add(attempts)
            yield scenario, attempts
        if self._traffic is not None:
            self._close(self._traffic.stop)

    def measured(self) -> Iterator[tuple[int, Measured]]:
        """What each scenario comes to, after it is finished."""
        tenants = self._lanes.tenants
        for scenario, meter in self._meters.items():
            yield scenario, meter.measured(self._names, tenants)

    def _traffic_of(self, piece: Piece) -> MeteredTraffic:
        if self._traffic is None:
            has = {"priorities": piece.priorities is not None, "tenants": piece.tenants is not None}
            self._traffic = MeteredTraffic(**has)
            self._meters = {
                scenario: Meter(plan, self._asked, self._traffic)
                for scenario, plan in self._plans.items()
            }
        return self._traffic

    def _groups(self, piece: Piece, clusters: Int64s) -> Int64s | None:
        """The number of each message's group, in its cluster."""
        if piece.groups is None or len(self._names) == 1:
            return piece.groups
        pairs = self._pairs.of(clusters, piece.groups)
        return np.where(piece.groups == NONE, NONE, pairs)

    def _close(self, upto: int) -> None:
        """All messages before this one are over."""
        if self._traffic is not None and upto > self._traffic.base:
            for meter in self._meters.values():
                meter.close(upto)
            self._traffic.forget(upto)
