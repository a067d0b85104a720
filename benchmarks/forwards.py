"""x: messages that leave for an HTTP service, beside a bare loop of httpx with as many at once."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
from tests.ports import free_port

from benchmarks.stores import server
from benchmarks.timing import Line, medians
from fairlead import Store, load_clusters
from fairlead.forward.forwarder import Forwarder
from fairlead.forward.lane import ForwardOptions
from fairlead.forward.target import ForwardFile
from fairlead.store.aio.store import AsyncStore

MESSAGES = 3_000
AT_ONCE = 16
BODY = {"order": "o-1", "items": ["book", "lamp"]}
SERVICE = """
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})
"""
CLUSTER = """
policy = "round-robin"

[[destination]]
name = "service"
address = "{}"
readers = {}
"""


def part_x(runs: int) -> list[Line]:
    """A service in a process of its own, and a store of each kind."""
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as name:
        folder = Path(name)
        with service(folder) as address, server(folder / "pg") as made:
            path = folder / "services.toml"
            path.write_text(CLUSTER.format(address, AT_ONCE), "utf-8")
            lines = []
            for what, url in (
                ("SQLite", f"sqlite:///{folder}/work.db"),
                ("PostgreSQL", made("forwards")),
            ):
                seconds = medians(
                    {
                        "bare": lambda: asyncio.run(bare(address)),
                        "send": partial(send, url),
                        "forward": lambda url=url: asyncio.run(forward(url, path)),
                    },
                    runs,
                )
                rate = f"{MESSAGES / seconds['forward']:,.0f} a second"
                ours = f"messages a second forwarded from {what}, {AT_ONCE} at once"
                ratio = seconds["bare"] / seconds["forward"]
                lines.append(Line("x", ours, "a bare loop of httpx", ratio, "≥ 0.7", rate))
            return lines


@contextmanager
def service(folder: Path) -> Iterator[str]:
    """Where a service answers."""
    (folder / "service.py").write_text(SERVICE, "utf-8")
    port = free_port()
    options = ["--port", str(port), "--lifespan", "off", "--no-access-log"]
    quiet = ["--log-level", "critical"]
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "service:app", *options, *quiet], cwd=folder
    )
    address = f"http://127.0.0.1:{port}/in"
    try:
        for _ in range(200):
            try:
                httpx.post(address)
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                break
        yield address
    finally:
        process.terminate()
        process.wait(10)


async def bare(address: str) -> None:
    """As many requests, so many of them at once."""
    left = iter(range(MESSAGES))
    async with httpx.AsyncClient() as client:

        async def ask() -> None:
            for number in left:
                key = {"Idempotency-Key": f"m-{number}"}
                answer = await client.post(address, json=BODY, headers=key)
                answer.raise_for_status()

        await asyncio.gather(*(ask() for _ in range(AT_ONCE)))


def send(url: str) -> None:
    """What is to leave."""
    with Store.open(url, create=True) as store:
        store.send_many("service", [{"body": BODY} for _ in range(MESSAGES)])


async def forward(url: str, path: Path) -> None:
    """Until nothing waits."""
    file = ForwardFile(path, load_clusters(path))
    async with await AsyncStore.open(url) as store:
        await store.keep_clusters(file.clusters)
        forwarder = Forwarder(store, [file], ForwardOptions(until_empty=True))
        await forwarder.begin()
        await forwarder.run(asyncio.Event())
