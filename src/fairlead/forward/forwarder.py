"""All destinations outside of some clusters, each as the store says that it is now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from fairlead.errors import FairleadError, StoreError
from fairlead.forward.lane import ForwardOptions, OutsideLane
from fairlead.forward.outcome import ForwardOutcome
from fairlead.forward.settling import Settler
from fairlead.forward.target import ForwardFile, OutsideTarget, check_queues, targets
from fairlead.store.aio.store import AsyncStore

LOGGER: Final = logging.getLogger("fairlead.forward")
LOOK: Final = 1.0
"""Seconds between two looks at the clusters of a store."""
SOON: Final = 0.05
"""Seconds between two looks whether there is nothing to take."""


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
        self.lanes: dict[tuple[str, str], OutsideLane] = {}
        """Cluster and destination → what is on its way there."""

    async def begin(self) -> None:
        """Begin with the destinations that are there. Raises FairleadError."""
        every = await self._targets()
        check_queues(every)
        for target in every:
            self._add(target)

    async def run(self, stop: asyncio.Event) -> None:
        """Follow what the store says, until it is told to stop; then end what is under way."""
        try:
            while not (stop.is_set() or self._is_over):
                await self._renew()
                with suppress(StoreError):  # whoever takes says so
                    await self._follow(await self._targets())
                with suppress(TimeoutError):
                    async with asyncio.timeout(SOON if self._options.until_empty else LOOK):
                        await stop.wait()
        finally:
            await self._end()

    @property
    def _is_over(self) -> bool:
        return all(lane.is_over for lane in self.lanes.values())

    async def _targets(self) -> list[OutsideTarget]:
        every: list[OutsideTarget] = []
        for file in self._files:
            for cluster in file.clusters:
                pool = await self._store.pool(cluster.name)
                forwarding = file.forwarding(cluster.name)
                every += targets(pool, forwarding, file.path.absolute().parent)
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

    def _heard(self, target: OutsideTarget, outcome: ForwardOutcome) -> None:
        """What became of a message."""

    async def _renew(self) -> None:
        await asyncio.gather(*(lane.renew() for lane in self.lanes.values()))

    async def _end(self) -> None:
        telling = asyncio.create_task(self._tell())
        grace = self._options.grace
        left = await asyncio.gather(*(lane.stop(grace) for lane in self.lanes.values()))
        if any(left):
            LOGGER.warning(
                "event=left messages=%d; after %g s they are given back, without blame",
                *(sum(left), grace),
            )
        await telling

    async def _tell(self) -> None:
        """What this process holds from now on is no failure."""
        try:
            await self._store.stopping()
        except StoreError as error:
            LOGGER.warning("%s; work in hand may count as failed", error)
