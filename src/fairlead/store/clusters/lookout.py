"""What one process hears of how work ended, and what it reports of it. No I/O and no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fairlead.balance.health import FailuresInARow, HealthOptions, too_many
from fairlead.balance.times import MICROS
from fairlead.store.clusters.unwell import (
    FAILED,
    FAILING,
    UNTRIED,
    WELL,
    Report,
    UnwellDestination,
)


class HealthReport(NamedTuple):
    """What is to be reported to a store."""

    cluster: str
    destination: str
    what: Report
    reason: str


class _WatchedCluster:
    """A cluster whose file has `[health]`."""

    def __init__(self, options: HealthOptions) -> None:
        self.options = options
        self.failures = FailuresInARow(options)
        self.due: dict[str, int] = {}
        """Who is down → when it may be tried, by the clock of this process."""
        self.on_trial: set[str] = set()


class Lookout:
    """The outcomes of this process, by the queues in which work waited."""

    def __init__(self) -> None:
        """No cluster is watched yet."""
        self._clusters: dict[str, _WatchedCluster] = {}
        self._queues: dict[str, tuple[str, str]] = {}
        """Queue → cluster and destination."""

    @property
    def clusters(self) -> list[str]:
        """Those that are watched."""
        return [*self._clusters]

    def watch(self, cluster: str, options: HealthOptions | None) -> None:
        """Watch a cluster from now on, or no more."""
        watched = self._clusters.get(cluster)
        if options is None:
            self._clusters.pop(cluster, None)
        elif watched is None or watched.options != options:
            self._clusters[cluster] = _WatchedCluster(options)

    def learn(
        self,
        cluster: str,
        queues: Mapping[str, str],
        unwell: Iterable[UnwellDestination],
        now: int,
    ) -> None:
        """How a cluster's destinations stand. `queues`: queue → destination."""
        watched = self._clusters[cluster]
        every = list(unwell)
        watched.due = {
            member.name: now + round(member.seconds * MICROS)
            for member in every
            if not member.on_trial
        }
        watched.on_trial = {member.name for member in every if member.on_trial}
        self._queues = {
            queue: place for queue, place in self._queues.items() if place[0] != cluster
        }
        self._queues.update({queue: (cluster, name) for queue, name in queues.items()})

    def heard(self, queue: str, failure: str | None, now: int) -> HealthReport | None:
        """Something of a queue has ended; what is to be reported.

        `failure`: why it has failed; None: it has succeeded. `now`: in microseconds.
        """
        cluster, name = self._queues.get(queue, ("", ""))
        watched = self._clusters.get(cluster)
        if watched is None:
            return None
        tried = name in watched.on_trial or now >= watched.due.get(name, now + 1)
        if failure is None:
            watched.failures.forget(name)
            reason = "it was tried, and is well"
            return HealthReport(cluster, name, WELL, reason) if tried else None
        if tried:
            reason = f"it was tried, and failed: {failure}"
            return HealthReport(cluster, name, FAILED, reason)
        if name in watched.due:
            return None
        micros = watched.failures.add(name, now)
        if micros is None:
            return None
        watched.failures.forget(name)
        reason = too_many(watched.options.failures, micros, failure)
        return HealthReport(cluster, name, FAILING, reason)

    def untried(self, now: int) -> list[HealthReport]:
        """Those that may be tried by now."""
        return [
            HealthReport(cluster, name, UNTRIED, "")
            for cluster, watched in self._clusters.items()
            for name, due in watched.due.items()
            if now >= due
        ]

    def queue_of(self, cluster: str, destination: str) -> str | None:
        """The queue of a destination."""
        places = {place: queue for queue, place in self._queues.items()}
        return places.get((cluster, destination))

    def options(self, cluster: str) -> HealthOptions | None:
        """What its file says."""
        watched = self._clusters.get(cluster)
        return None if watched is None else watched.options
