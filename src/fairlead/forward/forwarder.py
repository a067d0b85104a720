"""All destinations outside of some clusters, each as the store says that it is now."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final

from msgspec import UNSET

from fairlead.errors import FairleadError, StoreError
from fairlead.forward.lane import ForwardOptions, OutsideLane
from fairlead.forward.outcome import AGAIN, ForwardOutcome
from fairlead.forward.settling import Settler
from fairlead.forward.target import ForwardFile, OutsideTarget, check_queues, targets
from fairlead.store.aio.store import AsyncStore
from fairlead.store.clusters.health import options_of
from fairlead.store.clusters.lookout import HealthReport, Lookout
from fairlead.store.clusters.shares import PoolShares

LOGGER: Final = logging.getLogger("fairlead.forward")
LOOK: Final = 1.0
"""Seconds between two looks at the clusters of a store."""
SOON: Final = 0.05
"""The same where somebody goes on only until there is nothing to take."""


class Forwarder:
    """Lets what waits for destinations outside leave, until it is told to stop."""

    def __init__(
        self, store: AsyncStore, files: Sequence[ForwardFile], options: ForwardOptions
    ) -> None:
        """`files`: whose clusters the store has."""
        self._store = store
        self._files = files
        self._options = options
        self._settler = Settler(store)
        self._lookout = Lookout()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._tried: set[str] = set()
        """The queues of destinations that are being tried."""
        self.lanes: dict[tuple[str, str], OutsideLane] = {}
        """Cluster and destination → what is on its way there."""
        for file in files:
            for cluster in file.listing:
                self._lookout.watch(cluster.name, options_of(cluster.tables))

    @property
    def place(self) -> str:
        """The store's database, without user and password."""
        return self._store.place

    async def begin(self) -> None:
        """Begin with the destinations that are there. Raises FairleadError."""
        every = await self._targets()
        check_queues(every)
        for target in every:
            self._add(target)

    async def run(self, stop: asyncio.Event) -> None:
        """Follow what the store says, until it is told to stop; then end what is under way."""
        stopping = asyncio.create_task(self._wake_at(stop))
        try:
            while not (stop.is_set() or self._is_over):
                self._changed.clear()
                try:
                    await self._renew()
                    with suppress(StoreError):  # whoever takes says so
                        await self._follow(await self._targets())
                    self._try_due()
                except Exception:  # what waits would wait for ever
                    LOGGER.exception("a fault of ours; going on")
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pause):
                        await self._changed.wait()
        finally:
            stopping.cancel()
            await self._end()

    @property
    def _pause(self) -> float:
        """Seconds until the next look: leases are to be made longer before they are over."""
        return SOON if self._options.until_empty else min(LOOK, self._options.lease / 4)

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._changed.set()

    @property
    def _is_over(self) -> bool:
        return all(lane.is_over for lane in self.lanes.values())

    # -------- follow

    async def _targets(self) -> list[OutsideTarget]:
        every: list[OutsideTarget] = []
        for file in self._files:
            for cluster in file.listing:
                pool = await self._store.pool(cluster.name)
                trials = await self._look_at_health(pool)
                folder = file.path.absolute().parent
                for target in targets(pool, file.forwarding(cluster.name), folder):
                    one = target.name in trials and target.readers > 1
                    every.append(target._replace(readers=1) if one else target)
        return every

    async def _follow(self, every: Sequence[OutsideTarget]) -> None:
        known = {(target.cluster, target.name): target for target in every}
        for key, target in known.items():
            if key in self.lanes:
                await self.lanes[key].follow(target)
                continue
            try:
                check_queues(every)
                self._add(target)
            except FairleadError as error:
                LOGGER.warning("event=left-out destination=%s %s", target.called, error)
        for key in self.lanes.keys() - known.keys():
            await self.lanes.pop(key).stop(self._options.grace)

    def _add(self, target: OutsideTarget) -> None:
        lane = OutsideLane(self._store, self._settler, target, self._options, self._heard)
        self.lanes[target.cluster, target.name] = lane
        LOGGER.info(
            "event=forwarding destination=%s queue=%s address=%s readers=%d",
            *(target.called, target.queue, target.address.text, target.readers),
        )
        lane.begin()

    async def _renew(self) -> None:
        await asyncio.gather(*(lane.renew() for lane in self.lanes.values()))

    # -------- health

    async def _look_at_health(self, pool: PoolShares) -> set[str]:
        """See how a cluster's destinations stand; those that are on trial."""
        if self._lookout.options(pool.name) is None:
            return set()
        unwell = await self._store.unwell(pool.name)
        queues = {machine.queue: machine.name for machine in pool.machines}
        self._lookout.learn(pool.name, queues, unwell, _micros())
        return {destination.name for destination in unwell if destination.on_trial}

    def _heard(self, target: OutsideTarget, outcome: ForwardOutcome) -> None:
        """A message has left, or has not; what is refused was answered, at least."""
        failure = outcome.reason if outcome.kind == AGAIN else None
        report = self._lookout.heard(target.queue, failure, _micros())
        if report is not None:
            self._do(self._report(report))

    def _try_due(self) -> None:
        """Try those that are down, and have cooled down."""
        for report in self._lookout.untried(_micros()):
            lane = self.lanes.get((report.cluster, report.destination))
            if lane is not None and lane.target.queue not in self._tried:
                self._tried.add(lane.target.queue)
                self._do(self._try(lane, report))

    async def _try(self, lane: OutsideLane, report: HealthReport) -> None:
        options = self._lookout.options(report.cluster)
        path = None if options is None or options.probe is UNSET else options.probe
        try:
            if await lane.probe(path) is None:
                await self._report(report)
        except (StoreError, TimeoutError) as error:
            LOGGER.warning("event=not-tried destination=%s %s", lane.target.called, error)
        finally:
            self._tried.discard(lane.target.queue)

    async def _report(self, report: HealthReport) -> None:
        try:
            change = await self._store.report_health(*report)
        except FairleadError as error:
            LOGGER.warning("event=not-reported destination=%s %s", report.destination, error)
            return
        if change is not None:
            LOGGER.warning(
                "event=health cluster=%s destination=%s state=%s what=%s",
                *(report.cluster, report.destination, change.state or "unchanged", report.what),
            )
        self._changed.set()

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -------- the end

    async def _end(self) -> None:
        telling = asyncio.create_task(self._tell())
        grace = self._options.grace
        left = await asyncio.gather(*(lane.stop(grace) for lane in self.lanes.values()))
        if any(left):
            LOGGER.warning(
                "event=left messages=%d; after %g s they are given back, without blame",
                *(sum(left), grace),
            )
        for task in self._tasks:
            task.cancel()
        await telling

    async def _tell(self) -> None:
        """What this process holds from now on is no failure."""
        try:
            await self._store.stopping()
        except StoreError as error:
            LOGGER.warning("%s; work in hand may count as failed", error)


def _micros() -> int:
    return time.monotonic_ns() // 1000
