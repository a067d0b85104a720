"""A forwarder in a thread, beside the test that looks at it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairlead import load_clusters
from fairlead.forward.forwarder import Forwarder
from fairlead.forward.lane import ForwardOptions
from fairlead.forward.target import ForwardFile, check_file
from fairlead.store.aio.store import AsyncStore


@contextmanager
def forwarding(url: str, *paths: Path, lease: float = 60, grace: float = 5) -> Iterator[Forwarder]:
    """Forward until the block ends; gives the forwarder once it has begun."""
    files = [ForwardFile(path, load_clusters(path)) for path in paths]
    for file in files:
        check_file(file)
    begun = threading.Event()
    found: list[Forwarder] = []
    errors: list[BaseException] = []
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        stop = asyncio.Event()
        async with await AsyncStore.open(url) as store:
            for file in files:
                await store.keep_clusters(file.clusters)
            forwarder = Forwarder(store, files, ForwardOptions(lease, grace))
            await forwarder.begin()
            found.append(forwarder)
            stops.append((asyncio.get_running_loop(), stop))
            begun.set()
            await forwarder.run(stop)

    def thread() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # noqa: BLE001 - it is raised in the test
            errors.append(error)
        finally:
            begun.set()

    running = threading.Thread(target=thread, daemon=True)
    running.start()
    assert begun.wait(20)
    if errors:
        raise errors[0]
    try:
        yield found[0]
    finally:
        loop, stop = stops[0]
        loop.call_soon_threadsafe(stop.set)
        running.join(grace + 20)
    if errors:
        raise errors[0]
    assert not running.is_alive()


def written(path: Path, lines: Sequence[str]) -> Path:
    """A file of these lines."""
    path.write_text("\n".join([*lines, ""]), "utf-8")
    return path
