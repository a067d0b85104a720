"""What a worker's failures mean for the destinations whose queues it reads.

A queue that is a destination's, in a cluster with `[health]`, has its outcomes counted: who fails
too often goes down in the store's cluster. What still waits in its queue tries it later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from typing import Final

from fairlead.errors import FairleadError
from fairlead.store.clusters.lookout import HealthReport, Lookout
from fairlead.store.clusters.unwell import UNTRIED
from fairlead.store.store import Store

LOGGER: Final = logging.getLogger("fairlead.worker")
LOOK: Final = 1.0
"""Seconds between two looks at how destinations stand."""
LOOK_FOR_CLUSTERS: Final = 30.0
"""Seconds after which a cluster that was loaded meanwhile is known."""


class HealthWatch:
    """Hears how work ended, and reports it to the store. Thread-safe."""

    def __init__(self, store: Store) -> None:
        """Nothing is known before the first look."""
        self._store = store
        self._lookout = Lookout()
        self._lock = threading.Lock()
        self._looked = 0.0
        """When it was looked for clusters the last time."""

    @property
    def watches(self) -> bool:
        """Whether there is a cluster with `[health]`, as far as is known."""
        return bool(self._lookout.clusters)

    def look(self, queues: Collection[str]) -> None:
        """See how destinations stand; who is due, with nothing that waits, is on trial then.

        `queues`: those that this process reads. Raises StoreError.
        """
        now = time.monotonic()
        if not self._looked or now - self._looked >= LOOK_FOR_CLUSTERS:
            self._look_for_clusters()
            self._looked = now
        for cluster in self._lookout.clusters:
            self._learn(cluster)
        with self._lock:
            due = self._lookout.untried(_micros())
        for report in due:
            queue = self._lookout.queue_of(report.cluster, report.destination)
            if queue is not None and queue in queues and not self._store.ready(queue):
                self._report(report)

    def heard(self, queue: str, failure: str | None) -> None:
        """Work of a queue has ended. `failure`: why it has failed; None: it has not."""
        with self._lock:
            report = self._lookout.heard(queue, failure, _micros())
        if report is not None:
            self._report(report)

    def _look_for_clusters(self) -> None:
        names = self._store.clusters()
        if not names:
            return
        from fairlead.store.clusters.health import options_of  # it loads all policies

        for name in names:
            options = options_of(self._store.loaded_cluster(name).tables)
            with self._lock:
                self._lookout.watch(name, options)

    def _learn(self, cluster: str) -> None:
        machines = self._store.pool(cluster).machines
        queues = {machine.queue: machine.name for machine in machines}
        unwell = self._store.unwell(cluster)
        with self._lock:
            self._lookout.learn(cluster, queues, unwell, _micros())

    def _report(self, report: HealthReport) -> None:
        """What follows is in the log; a store that cannot be told is told the next time."""
        try:
            change = self._store.report_health(*report)
            if change is not None:
                LOGGER.warning(
                    "event=health cluster=%s destination=%s state=%s trial=%s",
                    *(report.cluster, report.destination, change.state or "unchanged"),
                    report.what == UNTRIED,
                )
            self._learn(report.cluster)
        except FairleadError as error:
            LOGGER.warning("event=not-reported destination=%s %s", report.destination, error)


def _micros() -> int:
    return time.monotonic_ns() // 1000
