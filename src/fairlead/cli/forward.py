"""Let messages leave a store for services outside, until a signal comes."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairlead.balance.outside import AMQP, HTTP
from fairlead.cli.output import acted
from fairlead.config.clusters import load_clusters
from fairlead.extras import need
from fairlead.store.aio.store import AsyncStore
from fairlead.store.workers.manager import ServiceManager
from fairlead.store.workers.supervisor import log_to_stderr

if TYPE_CHECKING:  # it needs httpx
    from fairlead.forward.lane import ForwardOptions
    from fairlead.forward.target import ForwardFile

LOOK: Final = 0.5
"""Seconds between two words to the service manager, at most."""
LOGGER: Final = logging.getLogger("fairlead.forward")


def forward(
    url: str, paths: Sequence[Path], lease: float, grace: float, *, until_empty: bool = False
) -> None:
    """Forward until a signal comes, or until there is nothing to take. Raises UserError."""
    from fairlead.forward.lane import ForwardOptions
    from fairlead.forward.target import ForwardFile, check_file
    from fairlead.serve.wire.proton import check

    files = [ForwardFile(path, load_clusters(path)) for path in paths]
    schemes = set().union(*map(check_file, files))
    for extra, of_extra in (("forward", HTTP), ("amqp", AMQP)):
        if not schemes.isdisjoint(of_extra):
            need(extra, by="forward")
    if not schemes.isdisjoint(AMQP):
        check()
    log_to_stderr()
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it says a line for each request
    asyncio.run(_forward(url, files, ForwardOptions(lease, grace, until_empty)))


async def _forward(url: str, files: Sequence[ForwardFile], options: ForwardOptions) -> None:
    from fairlead.forward.forwarder import Forwarder

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with await AsyncStore.open(url) as store:
        for file in files:
            await store.keep_clusters(file.clusters)
        forwarder = Forwarder(store, files, options)
        await forwarder.begin()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _told, stop, loop)
        acted()
        print(f"forwarding: {len(forwarder.lanes)} destinations", flush=True)
        LOGGER.info("event=started store=%s", store.place)
        manager = ServiceManager()
        manager.ready()
        alive = asyncio.create_task(_alive(manager))
        try:
            await forwarder.run(stop)
        finally:
            alive.cancel()
            manager.stopping()
        LOGGER.info("event=ended store=%s", store.place)


def _told(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """It is to stop; a second signal ends it at once."""
    stop.set()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)


async def _alive(manager: ServiceManager) -> None:
    """Say that the loop goes on."""
    while True:
        manager.alive()
        await asyncio.sleep(LOOK)
