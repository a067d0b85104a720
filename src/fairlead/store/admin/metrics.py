"""What a store holds, for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from fairlead.prometheus import Exposition
from fairlead.store.admin.queues import Metrics

if TYPE_CHECKING:
    from fairlead.store.clusters.shares import PoolShares

GAUGES: Final = {
    "messages": "Messages that wait or are worked on.",
    "ready": "Groups that can be taken.",
    "working": "Groups in the hands of readers.",
    "parked": "Groups that were released with a delay.",
    "delayed": "Messages that arrive later.",
    "dead": "Dead letters.",
    "failures": "Failures in a row of the groups that are there.",
}
"""Fields of `Metrics`, and what they mean."""


def write(
    to: Exposition, *, queues: list[Metrics], pools: list[PoolShares], overdue: Mapping[str, float]
) -> None:
    """What each queue holds, how often each destination was chosen, how late each schedule is."""
    for name, meaning in GAUGES.items():
        for queue in queues:
            labels = {"queue": queue.queue}
            to.add(f"fairlead_queue_{name}", "gauge", labels, getattr(queue, name), meaning=meaning)
    for queue in queues:
        text = "For how long the oldest group that can be taken has waited; 0: there is none."
        labels = {"queue": queue.queue}
        to.add("fairlead_queue_oldest_seconds", "gauge", labels, queue.oldest, meaning=text)
        text = "For how long the group that was taken first of those in hand is held; 0: none is."
        name = "fairlead_queue_longest_held_seconds"
        to.add(name, "gauge", labels, queue.longest_held, meaning=text)
        text = "1: the queue gives work; 0: it is switched off."
        to.add("fairlead_queue_enabled", "gauge", labels, int(queue.enabled), meaning=text)
        text = "Tenants of the queue that are switched off."
        count = len(queue.off_tenants)
        to.add("fairlead_queue_tenants_off", "gauge", labels, count, meaning=text)
    for schedule, late in overdue.items():
        text = "For how long a tick of a schedule is due that was not sent; 0: none is."
        name = "fairlead_schedule_overdue_seconds"
        to.add(name, "gauge", {"schedule": schedule}, late, meaning=text)
    for pool in pools:
        for machine in pool.machines:
            labels = {"cluster": pool.name, "destination": machine.name}
            text = "Messages for which a destination was chosen, since the cluster's last reset."
            to.add("fairlead_destination_chosen", "gauge", labels, machine.sent, meaning=text)
            text = "1: a message that says nothing can go there now."
            candidate = int(machine.candidate)
            to.add("fairlead_destination_candidate", "gauge", labels, candidate, meaning=text)
