"""Let messages leave a store for services outside, until a signal comes."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
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
    from fairlead.forward.forwarder import Forwarder
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

    files = files_of(paths, by="forward")
    log_to_stderr()
    asyncio.run(_forward(url, files, ForwardOptions(lease, grace, until_empty)))


def files_of(paths: Sequence[Path], by: str) -> list[ForwardFile]:
    """Files of clusters with destinations outside. Raises UserError.

    `by`: who is told which extra is missing.
    """
    from fairlead.forward.target import ForwardFile, check_file

    files = [ForwardFile(path, load_clusters(path)) for path in paths]
    schemes = set().union(*map(check_file, files))
    for extra, of_extra in (("forward", HTTP), ("amqp", AMQP)):
        if not schemes.isdisjoint(of_extra):
            need(extra, by=by)
    if not schemes.isdisjoint(AMQP):
        from fairlead.serve.wire.proton import check

        check()
    return files


@asynccontextmanager
async def forwarding(
    url: str, files: Sequence[ForwardFile], options: ForwardOptions
) -> AsyncIterator[tuple[Forwarder, asyncio.Task[None]]]:
    """Forward in this block; gives who does, and the task in which he does. Raises UserError."""
    from fairlead.forward.forwarder import Forwarder

    logging.getLogger("httpx").setLevel(logging.WARNING)  # it says a line for each request
    stop = asyncio.Event()
    async with await AsyncStore.open(url) as store:
        for file in files:
            await store.keep_clusters(file.clusters)
        forwarder = Forwarder(store, files, options)
        await forwarder.begin()
        running = asyncio.create_task(forwarder.run(stop))
        try:
            yield forwarder, running
        finally:
            stop.set()
            await running


async def _forward(url: str, files: Sequence[ForwardFile], options: ForwardOptions) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with forwarding(url, files, options) as (forwarder, running):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _told, stop, loop)
        acted()
        print(f"forwarding: {len(forwarder.lanes)} destinations", flush=True)
        LOGGER.info("event=started store=%s", forwarder.place)
        manager = ServiceManager()
        manager.ready()
        tasks = [asyncio.create_task(_alive(manager)), asyncio.create_task(stop.wait())]
        await asyncio.wait([running, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        manager.stopping()
    LOGGER.info("event=ended store=%s", forwarder.place)


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
