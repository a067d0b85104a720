"""Answer browsers about a store, until a signal comes."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairlead.cli.output import acted
from fairlead.config.console import ConsoleFile, address_of, check_address, load_console
from fairlead.errors import UserError
from fairlead.extras import need
from fairlead.store.store import Store
from fairlead.store.workers.manager import ServiceManager
from fairlead.store.workers.supervisor import log_to_stderr

if TYPE_CHECKING:
    from fairlead.console.server import ConsoleServer

LOOK: Final = 0.5
"""Seconds between two words to the service manager, at most."""
LOGGER: Final = logging.getLogger("fairlead.console")


def serve_console(url: str, listen: str | None, settings: Path | None) -> None:
    """Answer until a signal comes. Raises UserError."""
    need("console", by="console")
    file = ConsoleFile() if settings is None else load_console(settings)
    address = file.address if listen is None else address_of(listen, "--listen")
    try:
        check_address(file, address)
    except UserError as error:
        where = "" if settings is None else f"{settings}: "
        raise UserError(f"{where}{error}") from None
    from fairlead.console.console import Console
    from fairlead.console.server import ConsoleServer, context_of, listening

    folder = Path() if settings is None else settings.absolute().parent
    log_to_stderr()
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # what fails is said here
    tls = None if file.tls is None else context_of(file.tls, folder)
    with Store.open(url, create=False) as store:
        console = Console(store, file, folder)
        try:
            ours = listening(address)
            acted()
            here = address._replace(port=ours.getsockname()[1])
            key = console.state.access.key
            path = "" if key is None else f"login?key={key}"
            print(f"console: http{'s' if tls else ''}://{here}/{path}", flush=True)
            asyncio.run(_serve(ConsoleServer(console, ours, tls)))
        finally:
            console.state.close()


async def _serve(server: ConsoleServer) -> None:
    from fairlead.console.server import serve_until

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    manager = ServiceManager()
    manager.ready()
    alive = asyncio.create_task(_alive(manager))
    LOGGER.info("event=started")
    try:
        await serve_until(server, stop)
    finally:
        alive.cancel()
        manager.stopping()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    LOGGER.info("event=ended")


async def _alive(manager: ServiceManager) -> None:
    """Say that the loop goes on."""
    while True:
        manager.alive()
        await asyncio.sleep(LOOK)
