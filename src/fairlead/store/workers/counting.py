"""What a worker has done, counted: how work was settled, how long it waited and took."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from typing import Final

from fairlead.prometheus import Exposition

BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200)
"""Seconds: the upper ends of the classes in which times are counted; the last one has no end."""


class Times:
    """How often times were how long, counted in the classes of BUCKETS."""

    def __init__(self) -> None:
        """No times were counted yet."""
        self._counts = [0] * (len(BUCKETS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count one more time."""
        self._counts[bisect_left(BUCKETS, seconds)] += 1
        self._sum += seconds

    def write(self, to: Exposition, name: str, labels: dict[str, str], meaning: str) -> None:
        """As a histogram of Prometheus."""
        reached = 0
        for end, count in zip((*map(str, BUCKETS), "+Inf"), self._counts, strict=True):
            reached += count
            bucket = {**labels, "le": end}
            to.add(f"{name}_bucket", "histogram", bucket, reached, meaning=meaning, of=name)
        to.add(f"{name}_sum", "histogram", labels, self._sum, of=name)
        to.add(f"{name}_count", "histogram", labels, reached, of=name)


class WorkCounts:
    """Of one process, since it began. Thread-safe."""

    def __init__(self) -> None:
        """Nothing was done yet."""
        self._lock = threading.Lock()
        self._settled: Counter[tuple[str, str]] = Counter()
        self._messages: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._waits: dict[str, Times] = {}
        self._seconds: dict[str, Times] = {}

    def handled(
        self,
        queue: str,
        outcome: str,
        *,
        messages: int,
        failed: bool,
        waited: float | None,
        seconds: float,
    ) -> None:
        """A group was handled. `waited`: from its first message to the take; None: not measured."""
        with self._lock:
            self._settled[queue, outcome] += 1
            self._messages[queue] += messages
            self._failures[queue] += failed
            self._seconds.setdefault(queue, Times()).add(seconds)
            if waited is not None:
                self._waits.setdefault(queue, Times()).add(waited)

    def write(self, to: Exposition) -> None:
        """Write all counts as Prometheus reads them."""
        with self._lock:
            for (queue, outcome), count in sorted(self._settled.items()):
                labels = {"queue": queue, "outcome": outcome}
                text = "Groups that this process has handled, by how that ended."
                to.add("fairlead_work_groups_total", "counter", labels, count, meaning=text)
            for queue, count in sorted(self._messages.items()):
                text = "Messages that this process has handled."
                to.add(
                    "fairlead_work_messages_total", "counter", {"queue": queue}, count, meaning=text
                )
            for queue, count in sorted(self._failures.items()):
                text = "Handlers that have failed in this process."
                to.add(
                    "fairlead_work_failures_total", "counter", {"queue": queue}, count, meaning=text
                )
            for queue, times in sorted(self._waits.items()):
                text = "From the arrival of a group's first message to its first take."
                times.write(to, "fairlead_work_wait_seconds", {"queue": queue}, text)
            for queue, times in sorted(self._seconds.items()):
                text = "How long groups were in the hands of this process."
                times.write(to, "fairlead_work_seconds", {"queue": queue}, text)
