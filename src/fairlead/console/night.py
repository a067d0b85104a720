"""What a store holds and what is wrong in it now, as the overview shows it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from fairlead.console.addresses import url
from fairlead.console.rates import QueueRates, Rates
from fairlead.console.rendering import why_off
from fairlead.store.admin.holding import HeldGroup
from fairlead.store.admin.looking import StoreProcess
from fairlead.store.admin.queues import Metrics
from fairlead.store.arguments import OWN
from fairlead.store.clusters.shares import PoolShares
from fairlead.store.schedules.ticking import ScheduleState
from fairlead.store.store import Store
from fairlead.text import length, plural

HELD: Final = 200
"""Groups in readers' hands that are looked at, those that are held longest first."""
LATE: Final = 60.0
"""Seconds after which a schedule that has not sent is told."""
SCHEDULES: Final = "/#schedules"
"""The page where they are paused."""


class Trouble(NamedTuple):
    """Something that is wrong now."""

    text: str
    to: str
    """The page of ours where something is done about it."""
    grave: bool = True


class StoreOverview(NamedTuple):
    """What the first page shows of a store."""

    queues: list[Metrics]
    """But those that servers keep for themselves."""
    rates: Mapping[str, QueueRates]
    rates_complete: bool
    """Whether the whole last hour is counted."""
    processes: list[StoreProcess]
    held: list[HeldGroup]
    clusters: list[PoolShares]
    schedules: list[ScheduleState]
    overdue: Mapping[str, float]
    """Seconds, by schedule."""
    now: float
    """When it was counted, in seconds since 1970."""
    trouble: list[Trouble]

    @property
    def late(self) -> list[str]:
        """The schedules that are overdue."""
        return [name for name, late in self.overdue.items() if late > LATE]

    def held_in(self, process: str) -> list[str]:
        """The queues of which a process holds something, of what is held longest."""
        return sorted({group.queue for group in self.held if group.reader == process})


def overview_of(store: Store, rates: Rates) -> Callable[[], StoreOverview]:
    """What counts it all."""

    def count() -> StoreOverview:
        rates.look()
        queues = [row for row in store.queues() if not row.queue.startswith(OWN)]
        by_queue = {row.queue: rates.of(row.queue) for row in queues}
        clusters = [store.pool(name) for name in store.clusters()]
        overview = StoreOverview(
            queues,
            by_queue,
            rates.complete,
            store.processes(),
            store.held(most=HELD),
            clusters,
            store.schedules(),
            store.overdue_schedules(),
            time.time(),
            [],
        )
        return overview._replace(trouble=trouble_in(overview))

    return count


def trouble_in(overview: StoreOverview) -> list[Trouble]:
    """What is wrong now, the gravest first."""
    trouble: list[Trouble] = []
    for queue in overview.queues:
        trouble += _of_queue(queue, overview.rates[queue.queue])
    trouble += _of_processes(overview)
    trouble += [
        Trouble(
            f"schedule {name} is due for {length(int(overview.overdue[name]))} and was not sent",
            SCHEDULES,
        )
        for name in overview.late
    ]
    trouble += [
        Trouble(
            f"schedule {schedule.name} passed over its latest tick: {schedule.failure}", SCHEDULES
        )
        for schedule in overview.schedules
        if schedule.failure
    ]
    for cluster in overview.clusters:
        if cluster.machines and not any(machine.candidate for machine in cluster.machines):
            at = url("/cluster", name=cluster.name)
            trouble.append(Trouble(f"no destination of cluster {cluster.name} can be chosen", at))
    return sorted(trouble, key=lambda one: not one.grave)


def _of_queue(queue: Metrics, rates: QueueRates) -> list[Trouble]:
    name, at = queue.queue, url("/queue", name=queue.queue)
    trouble = []
    if not queue.enabled:
        trouble.append(Trouble(f"{name} is switched off{why_off(queue.off_why)}", at))
    if queue.off_tenants:
        whose = ", ".join(queue.off_tenants)
        text = f"tenants of {name} are switched off: {whose}"
        trouble.append(Trouble(text, url("/queue/tenants", name=name), grave=False))
    if queue.failures:
        text = f"groups of {name} have failed {plural(queue.failures, 'time')}, and wait again"
        trouble.append(Trouble(text, failures_url(name), grave=False))
    if queue.enabled and queue.ready and not queue.working and queue.oldest > 60:
        text = f"nobody takes from {name}: the oldest waits for {length(int(queue.oldest))}"
        trouble.append(Trouble(text, at))
    if rates.grows:
        came, went = rates.per_minute(rates.came), rates.per_minute(rates.went)
        text = f"{name} grows: {came:,.0f} a minute come, {went:,.0f} go"
        trouble.append(Trouble(text, at))
    if died := sum(rates.died[-15:]):
        text = f"{plural(died, 'message')} of {name} died in the last 15 minutes"
        trouble.append(Trouble(text, url("/queue/dead", name=name)))
    elif queue.dead:
        text = f"{name} has {plural(queue.dead, 'dead letter')}"
        trouble.append(Trouble(text, url("/queue/dead", name=name), grave=False))
    if queue.max_waiting is not None and queue.messages >= queue.max_waiting:
        trouble.append(Trouble(f"{name} is full: it holds {queue.messages:,} messages", at))
    return trouble


def _of_processes(overview: StoreOverview) -> list[Trouble]:
    trouble = []
    for process in overview.processes:
        if process.gone and process.holds:
            text = f"{process.name} is gone and holds {plural(process.holds, 'group')}"
            queues = overview.held_in(process.name)
            to = url("/queue/held", name=queues[0]) if queues else "/#processes"
            trouble.append(Trouble(text, to))
    lost = Counter(held.queue for held in overview.held if held.until < overview.now)
    trouble += [
        Trouble(
            f"{plural(count, 'lease')} of {queue} {'is' if count == 1 else 'are'} over",
            url("/queue/held", name=queue),
        )
        for queue, count in lost.items()
    ]
    return trouble


def failures_url(queue: str) -> str:
    """The address of what was given back of a queue, each with the reason."""
    return url("/journal", queue=queue, kind="released")
