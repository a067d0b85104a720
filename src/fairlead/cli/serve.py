"""Serve a store to programs that speak AMQP 1.0, until a signal comes."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fairlead.config.serving import Place, Serving, check_places, load_serving, place_of
from fairlead.errors import UserError
from fairlead.extras import need
from fairlead.serve.access import Access
from fairlead.serve.loop import Listening, Server
from fairlead.serve.wire.proton import check
from fairlead.store.store import Store
from fairlead.store.workers.supervisor import log_to_stderr

LOGGER: Final = logging.getLogger("fairlead.serve")


class Options(NamedTuple):
    """Those of `fairlead serve`."""

    listen: Sequence[str]
    clusters: Sequence[Path]
    settings: Path | None
    lease: float
    grace: float
    once: bool
    name: str


def serve(url: str, options: Options) -> None:
    """Serve until a signal comes; with `once`, until everybody is gone. Raises UserError."""
    need("amqp", by="serve")
    check()
    serving = Serving() if options.settings is None else load_serving(options.settings)
    places = [place_of(each, "--listen") for each in options.listen] or serving.places
    check_places(serving, places)
    folder = None if options.settings is None else options.settings.absolute().parent
    access = Access(serving, folder)
    log_to_stderr()
    with Store.open(url) as store:
        for file in options.clusters:
            store.load_clusters(file)
        asyncio.run(_serve(store, access, places, options))


async def _serve(store: Store, access: Access, places: Sequence[Place], options: Options) -> None:
    server = Server(store, access, options.lease, options.name)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    try:
        await server.begin(
            [
                Listening(each.host, each.port, access.tls if each.secure else None)
                for each in places
            ]
        )
    except OSError as error:
        await server.stop(0)
        named = ", ".join(map(str, places))
        code = error.errno or 0
        why = os.strerror(code) if code > 0 else error.strerror or str(error)
        raise UserError(
            f"--listen: {named}: found {why}, allowed: addresses of this machine that are free"
        ) from None
    for place, (host, port) in zip(places, server.places, strict=False):
        print(f"listening: {place._replace(host=host, port=port)}", flush=True)
    LOGGER.info("event=started store=%s", store.place)
    if options.once:
        left = asyncio.ensure_future(server.left_alone())
        waiting = asyncio.ensure_future(told.wait())
        await asyncio.wait({left, waiting}, return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        waiting.cancel()
    else:
        await told.wait()
    for number in (signal.SIGINT, signal.SIGTERM):  # a second one ends it at once
        loop.remove_signal_handler(number)
    store.stopping()
    await server.stop(options.grace)
    LOGGER.info("event=ended store=%s", store.place)
