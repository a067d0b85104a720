"""A queue manager: all channels on which it sends, and what operators want of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fairlead.balance.policies.ibm_mq_objects import transmission_queue
from fairlead.channels.channel import ChannelRunner
from fairlead.config.sites import Sites
from fairlead.errors import ConfigError, StoreError, UserError
from fairlead.store.channels.receiving import ChannelEnd
from fairlead.store.channels.rows import RUNS
from fairlead.store.queues.taken_group import Claim
from fairlead.store.store import Store

LOGGER: Final = logging.getLogger("fairlead.channels")
THREADS: Final = 4
LISTEN: Final = 5.0
"""Seconds: so often it is looked which channels listen, where nothing comes."""
COMMANDS: Final = 1.0
"""Seconds between two looks at what operators want, at what was put back, and for new outboxes."""
LEASE: Final = 60.0
MOST: Final = 100
"""Groups that are chosen for anew at one time."""
UNHEARD: Final = 0.05
"""Seconds until it is looked again for what waits for a channel that does not listen now."""


class QueueManager:
    """What a store's queue manager does by itself: it runs its channels and empties outboxes."""

    def __init__(self, store: Store, sites: Sites, name: str, folder: Path) -> None:
        """`store`: open, with the queue manager's cluster. `folder`: from which files are named.

        Raises ConfigError for a name that the file does not have, MessageError where another
        server has it.
        """
        if name not in sites.managers:
            raise ConfigError(
                f"--queue-manager: found {name!r}, allowed: {', '.join(sites.managers)}"
            )
        self.store = store
        self.sites = sites
        self.name = name
        self.folder = folder
        self.facts = {key: str(value) for key, value in sites.facts().items()}
        store.serve_queue_manager(name, sites.cluster_name(name))
        self.channels = [ChannelRunner(self, channel) for channel in sites.channels_from(name)]
        for channel in self.channels:
            store.moving.begin_channel(channel.name, channel.channel.queue_manager)
        self._own = [
            channel.name for channel in sites.tables.channel if channel.queue_manager == name
        ]
        """The channels that lead here."""
        for own in self._own:
            store.moving.begin_channel(own, "")
        self._threads = ThreadPoolExecutor(THREADS, "fairlead-channels")
        self._listener = ThreadPoolExecutor(2, "fairlead-channels-wait")
        self._tasks: list[asyncio.Task[None]] = []

    async def in_thread(self, verb: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401
        """Do something that waits for the database, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, verb, *args)

    def claim(self) -> Claim:
        """As whom this process takes messages, and for how long."""
        return self.store.claim(LEASE, most=MOST)

    def begin(self) -> None:
        """Run the channels, until `stop`."""
        steps = [channel.run for channel in self.channels]
        for step in (*steps, self._hear, self._look, self._relay):
            self._tasks.append(asyncio.ensure_future(self._for_ever(step)))

    async def stop(self) -> None:
        """End all connections; what waits is sent when somebody serves the queue manager again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for channel in self.channels:
            with suppress(UserError):  # the next server finds out by itself
                await channel.ended()
        for pool in (self._threads, self._listener):
            pool.shutdown()

    async def _for_ever(self, step: Callable[[], Any]) -> None:
        while True:
            try:
                await step()
            except UserError as error:
                LOGGER.warning("event=failed step=%s why=%r", step.__name__, str(error))
            except Exception:
                LOGGER.exception("event=failed step=%s", step.__name__)
            await asyncio.sleep(COMMANDS)

    async def _hear(self) -> None:
        """Wake the channels for which something waits."""
        run = asyncio.get_running_loop().run_in_executor
        while True:
            listening = [channel for channel in self.channels if channel.listens]
            if not listening:
                await asyncio.sleep(UNHEARD)
                continue
            queues = [channel.queue for channel in listening]
            try:
                heard = await run(self._listener, self.store.waker.wait, queues, LISTEN)
            except StoreError:
                await asyncio.sleep(LISTEN)
                continue
            if not heard:
                continue
            for channel in listening:
                if await self.in_thread(self.store.ready, channel.queue):
                    channel.wake()
            await asyncio.sleep(UNHEARD)

    async def _look(self) -> None:
        """Hear what operators want, and take in anew what they have put back."""
        retry_at = 0.0
        while True:
            wanted = await self.in_thread(self.store.moving.wanted_channels)
            for channel in self.channels:
                channel.want(wanted.get(channel.name, RUNS))
            is_due = time.monotonic() >= retry_at
            retry_at = time.monotonic() + LISTEN if is_due else retry_at
            for name in self._own if is_due else ():
                if await self.in_thread(self.store.ready, transmission_queue(name)):
                    end = ChannelEnd(self.sites.cluster_name(self.name), self.name, name, self.name)
                    await self.in_thread(self.store.moving.retry_own, end, self.claim())
            await asyncio.sleep(COMMANDS)

    async def _relay(self) -> None:
        """Put what is sent to outboxes, some of each in turn: none keeps another waiting."""
        run = asyncio.get_running_loop().run_in_executor
        while True:
            outboxes = await self.in_thread(self.store.moving.outboxes)
            counts = [await self._relay_some(outbox) for outbox in outboxes]
            if not outboxes:
                await asyncio.sleep(COMMANDS)
            elif not any(counts):
                await run(self._listener, self.store.waker.wait, outboxes, COMMANDS)

    async def _relay_some(self, outbox: str) -> int:
        """Put the next messages of an outbox; how many have left it."""
        if not await self.in_thread(self.store.ready, outbox):
            return 0
        relayed = await self.in_thread(self.store.moving.relay, outbox, self.claim())
        if relayed.waits:
            LOGGER.warning("event=outbox-waits outbox=%s why=%r", outbox, relayed.waits)
        return int(relayed.messages)
