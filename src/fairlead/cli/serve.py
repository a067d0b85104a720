"""Serve a store to programs that speak AMQP 1.0, until a signal comes."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fairlead.channels.manager import QueueManager
from fairlead.cli.forward import files_of, forwarding
from fairlead.cli.output import acted
from fairlead.config.clusters import load_sites
from fairlead.config.serving import ListenAddress, ServingFile, check_places, load_serving, place_of
from fairlead.config.sites import Sites
from fairlead.errors import ConfigError, StoreError, UserError
from fairlead.extras import need
from fairlead.prometheus import MetricsServer
from fairlead.serve.access import Access
from fairlead.serve.channel_ends import ServedManager
from fairlead.serve.loop import Listening, Server
from fairlead.serve.metrics import page
from fairlead.serve.wire.proton import check
from fairlead.store.store import Store
from fairlead.store.workers.manager import ServiceManager
from fairlead.store.workers.supervisor import log_to_stderr

if TYPE_CHECKING:
    from fairlead.forward.target import ForwardFile

LOOK: Final = 0.5
"""Seconds between two words to the service manager, at most."""
LOGGER: Final = logging.getLogger("fairlead.serve")
NEW: Final = 20_000
"""So many objects more before cycles are looked for: messages are in none, and go soon."""


class ServeOptions(NamedTuple):
    """Those of `fairlead serve`."""

    listen: Sequence[str]
    clusters: Sequence[Path]
    settings: Path | None
    lease: float
    grace: float
    once: bool
    name: str
    metrics: str | None = None
    manager: str = ""
    """The queue manager that the store is."""
    forward: bool = False
    """Whether what waits for destinations outside leaves for them, too."""


def serve(url: str, options: ServeOptions) -> None:
    """Serve until a signal comes; with `once`, until everybody is gone. Raises UserError."""
    need("amqp", by="serve")
    check()
    serving = ServingFile() if options.settings is None else load_serving(options.settings)
    places = [place_of(address, "--listen") for address in options.listen] or serving.places
    try:
        check_places(serving, places)
    except UserError as error:
        where = "" if options.settings is None else f"{options.settings}: "
        raise UserError(f"{where}{error}") from None
    folder = None if options.settings is None else options.settings.absolute().parent
    access = Access(serving, folder)
    files = _forward_files(options)
    log_to_stderr()
    sites = _sites(options, places)
    with Store.open(url) as store:
        for file in options.clusters:
            if sites is None:
                store.load_clusters(file)
        manager = None if sites is None else _manager(store, sites, options)
        asyncio.run(_serve_and_forward(url, store, access, places, options, manager, files))


def _forward_files(options: ServeOptions) -> list[ForwardFile]:
    """The files whose destinations messages are to leave for. Raises UserError."""
    if not options.forward:
        return []
    if not options.clusters:
        raise UserError("--forward: found no file of --cluster, allowed: at least one")
    return files_of(options.clusters, by="serve --forward")


async def _serve_and_forward(
    url: str,
    store: Store,
    access: Access,
    places: Sequence[ListenAddress],
    options: ServeOptions,
    manager: QueueManager | None,
    files: Sequence[ForwardFile],
) -> None:
    if not files:
        await _serve(store, access, places, options, manager)
        return
    from fairlead.forward.lane import ForwardOptions

    async with forwarding(url, files, ForwardOptions(options.lease, options.grace)):
        await _serve(store, access, places, options, manager)


def _sites(options: ServeOptions, places: Sequence[ListenAddress]) -> Sites | None:
    """The queue managers of the file, where this server is to be one of them. Raises UserError."""
    if not options.manager:
        return None
    if len(options.clusters) != 1:
        raise UserError(
            f"--queue-manager: found {len(options.clusters)} files of --cluster, allowed: one, "
            "which describes all queue managers"
        )
    sites = load_sites(options.clusters[0])
    for channel in sites.channels_from(options.manager):
        if channel.place in places:
            raise UserError(
                f"{options.clusters[0]}: channel {channel.name!r}: address: found "
                f"{channel.address}, where this server listens; allowed: where "
                f"{channel.queue_manager} does"
            )
    return sites


def _manager(store: Store, sites: Sites, options: ServeOptions) -> QueueManager:
    """Raises UserError."""
    name = options.manager
    if name in sites.managers:
        store.keep_clusters([sites.cluster(name)], replace=True)
    return QueueManager(store, sites, name, options.clusters[0].absolute().parent)


async def _serve(
    store: Store,
    access: Access,
    places: Sequence[ListenAddress],
    options: ServeOptions,
    manager: QueueManager | None,
) -> None:
    served = None if manager is None else ServedManager(store, manager.sites, manager.name)
    server = Server(store, access, options.lease, options.name, served)
    with _watched(server, options.metrics) as metrics:
        await _serve_at(store, server, places, options, metrics, manager)


async def _serve_at(
    store: Store,
    server: Server,
    places: Sequence[ListenAddress],
    options: ServeOptions,
    metrics: str | None,
    manager: QueueManager | None,
) -> None:
    """`metrics`: where Prometheus is answered."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        await server.begin([Listening(place.host, place.port, place.secure) for place in places])
    except OSError as error:
        await server.stop(0)
        named = ", ".join(map(str, places))
        code = error.errno or 0
        why = os.strerror(code) if code > 0 else error.strerror or str(error)
        raise UserError(
            f"--listen: {named}: found {why}, allowed: addresses of this machine that are free"
        ) from None
    acted()
    for place, (host, port) in zip(places, server.places, strict=False):
        print(f"listening: {place._replace(host=host, port=port)}", flush=True)
    if metrics is not None:
        print(f"metrics: {metrics}", flush=True)
    gc.freeze()  # what is there by now stays
    gc.set_threshold(NEW)
    LOGGER.info("event=started store=%s", store.place)
    loop.add_signal_handler(signal.SIGHUP, _read_again, server, places, options.settings)
    if manager is not None:
        manager.begin()
    try:
        await _until(stop, server, once=options.once)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):  # a second one ends it at once
            loop.remove_signal_handler(number)
        if manager is not None:
            await manager.stop()
        telling = asyncio.create_task(asyncio.to_thread(_tell, store))
        await server.stop(options.grace)
        await telling
    LOGGER.info("event=ended store=%s", store.place)


def _tell(store: Store) -> None:
    """What this process holds from now on is no failure."""
    try:
        store.stopping()
    except StoreError as error:  # the rest ends in order all the same
        LOGGER.warning("%s; work in hand may count as failed", error)


async def _until(event: asyncio.Event, server: Server, *, once: bool) -> None:
    """Wait for a signal; with `once`, until everybody is gone, too."""
    manager = ServiceManager()
    manager.ready()
    ends = [event.wait(), *([server.left_alone()] if once else [])]
    tasks = [asyncio.ensure_future(coroutine) for coroutine in (_alive(manager), *ends)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    manager.stopping()


async def _alive(manager: ServiceManager) -> None:
    """Say that the loop goes on."""
    while True:
        manager.alive()
        await asyncio.sleep(LOOK)


@contextmanager
def _watched(server: Server, address: str | None) -> Iterator[str | None]:
    """Answer Prometheus, if that is asked for; where."""
    if address is None:
        yield None
        return
    with MetricsServer(partial(page, server), address, ConfigError) as metrics_server:
        yield metrics_server.url


def _read_again(server: Server, places: Sequence[ListenAddress], settings: Path | None) -> None:
    """Read users, rights, limits and certificates again; where that fails, all stays."""
    try:
        if settings is not None:
            serving = load_serving(settings)
            check_places(serving, [*places])
            server.govern(Access(serving, settings.absolute().parent, server.access))
    except UserError as error:
        LOGGER.warning("all stays as it was: %s", error)
    else:
        LOGGER.info("event=renewed")
