"""Queue managers with stores of their own, and their servers where a test wants them."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from fairlead import Store
from fairlead.config.clusters import load_sites
from fairlead.store.channels.receiving import ChannelEnd
from fairlead.store.queues.taken_group import Claim
from tests.ports import free_port
from tests.stores import made_url

NAMES = ("QM1", "QM2", "QM3")
QUICK = {"short_retry": 0.1, "short_retries": 1000, "disconnect_after": 60}
"""Keys of every channel, so that a test need not wait."""
ORDERS = """
[[queue]]
name = "ORDERS"
queue_manager = "QM2"
bind = "not-fixed"

[[queue]]
name = "ORDERS"
queue_manager = "QM3"
"""


def written(
    folder: Path,
    queues: str = ORDERS,
    *,
    of: Mapping[str, Mapping[str, object]] | None = None,
    managers: tuple[str, ...] = NAMES,
    name: str = "sites.toml",
) -> Path:
    """A file of queue managers, each with one channel that leads to it. `of`: keys of a channel."""
    first, *others = managers
    text = f'policy = "ibm-mq"\n\n[queue_manager]\nname = "{first}"\nclusters = ["SHOP"]\n'
    text += "".join(f'\n[[remote]]\nname = "{other}"\n' for other in others)
    for manager in managers:
        keys: dict[str, object] = {
            "name": f"TO.{manager}",
            "queue_manager": manager,
            "address": f"amqp://127.0.0.1:{free_port()}",
            **QUICK,
            **(of or {}).get(manager, {}),
        }
        text += "\n[[channel]]\n" + "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in keys.items()
        )
    file = folder / name
    file.write_text(text + queues)
    return file


class Sites:
    """The stores of the queue managers of a file, and servers of them."""

    def __init__(self, file: Path, url_of: Callable[[str], str]) -> None:
        """`url_of`: the URL of a queue manager's store."""
        self.file = file
        self.sites = load_sites(file)
        self.urls = {name: url_of(name) for name in self.sites.managers}
        self.servers: dict[str, Any] = {}
        self._stack = contextlib.ExitStack()
        self.stores: dict[str, Store] = {
            name: self._stack.enter_context(Store.open(url, create=True))
            for name, url in self.urls.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in [*self.servers]:
            self.kill(name)
        self._stack.close()

    def declare(self) -> Self:
        """What servers do first, where a test has none."""
        for name, store in self.stores.items():
            store.keep_clusters([self.sites.cluster(name)])
            store.serve_queue_manager(name, self.cluster(name))
            for channel in self.sites.channels_from(name):
                store.moving.begin_channel(channel.name, channel.queue_manager)
        return self

    def cluster(self, name: str) -> str:
        return self.sites.cluster_name(name)

    def end(self, name: str, peer: str) -> ChannelEnd:
        """The receiving end at a queue manager."""
        return ChannelEnd(self.cluster(name), name, f"TO.{name}", peer)

    def claim(self, name: str) -> Claim:
        return self.stores[name].claim(60, most=100)

    # -------- servers

    def start(self, *names: str) -> Self:
        """Serve these, or all."""
        from tests.serve.running import Running

        for name in names or self.sites.managers:
            channel = self.sites.channel(f"TO.{name}")
            assert channel is not None
            self.servers[name] = Running(
                self.urls[name],
                *("-c", str(self.file), "--queue-manager", name),
                port=channel.place.port,
                log=self.file.parent / f"{name}.log",
            )
        return self

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        server = self.servers.pop(name)
        server.process.send_signal(signal.SIGCONT)
        server.end(number)

    def state(self, name: str, channel: str) -> str:
        """Of a channel, as its sending queue manager has it."""
        return next(row.state for row in self.stores[name].channels() if row.name == channel)

    def until(self, is_so: Callable[[], bool], seconds: float = 40.0) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                logs = "\n".join(
                    file.read_text()[-1500:] for file in self.file.parent.glob("*.log")
                )
                raise AssertionError(f"not in {seconds} s: {logs}")
            time.sleep(0.02)

    def until_state(self, name: str, channel: str, *states: str) -> None:
        self.until(lambda: self.state(name, channel) in states)

    def count(self, name: str, queue: str) -> int:
        """Messages in a queue."""
        return next((row.messages for row in self.stores[name].queues() if row.queue == queue), 0)

    def bodies(self, name: str, queue: str) -> list[Any]:
        """All that is in a queue, which is empty then; in the order in which it is given."""
        return [message.body for message in taken(self.stores[name], queue)]


def taken(store: Store, queue: str) -> Iterator[Any]:
    """All messages of a queue, which are accepted."""
    while (work := store.take(queue)) is not None:
        with work:
            yield from work


def sites_of(folder: Path, dialect: str, file: Path | None = None) -> Sites:
    """Three sites, each with a database of its own."""
    return Sites(file or written(folder), lambda _: made_url(dialect))
