"""s: handlers that await something for 10 ms, so many of them in flight at one time.

Each contender takes jobs as its users do, on one event loop, with PostgreSQL's default durability:
an `AsyncStore` by as many tasks, pgqueuer and procrastinate by their own workers.
"""

import asyncio
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.types import QueueExecutionMode
from procrastinate import App, PsycopgConnector

from benchmarks.stores import server
from benchmarks.timing import Line, medians
from fairlead import AsyncStore, Store

BODY = b"x" * 256
AWAITED = 0.01
"""Seconds."""
SIZES = {1: 100, 100: 2_000, 1_000: 4_000}
"""In flight -> messages."""
CONNECTIONS = 10


def part_s(runs: int) -> list[Line]:
    """How much longer the others take for the same messages."""
    lines = []
    with (
        tempfile.TemporaryDirectory(prefix="fairlead-bench-") as name,
        server(Path(name) / "pg") as url,
    ):
        numbers = count()
        for flying, messages in SIZES.items():
            found = medians(
                {
                    called: _timed(kind(url(f"s{next(numbers)}")), flying, messages)
                    for called, kind in KINDS.items()
                },
                runs,
            )
            ours = found.pop("ours")
            what = f"{flying:,} in flight on PostgreSQL: take, await 10 ms, settle"
            note = f"ours {messages / ours:,.0f}/s"
            lines += [
                Line("s", what, peer, seconds / ours, ">= 1", note)
                for peer, seconds in found.items()
            ]
    return lines


def _timed(
    contender: "Ours | Queuer | Procrastinate", flying: int, messages: int
) -> Callable[[], None]:
    return lambda: asyncio.run(contender.handle(flying, messages))


class Ours:
    """An AsyncStore."""

    def __init__(self, url: str) -> None:
        self.url = url
        Store.open(url, create=True).close()

    async def handle(self, flying: int, messages: int) -> None:
        async with await AsyncStore.open(self.url, connections=CONNECTIONS) as store:
            await store.send_many("q", [{"body": BODY}] * messages)

            async def read() -> None:
                while work := await store.take("q"):
                    async with work:
                        async for _ in work:
                            await asyncio.sleep(AWAITED)

            await asyncio.gather(*(read() for _ in range(flying)))


class Queuer:
    """pgqueuer."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.made = False

    async def handle(self, flying: int, messages: int) -> None:
        async with asyncpg.create_pool(self.url, min_size=2, max_size=CONNECTIONS) as pool:
            queuer = PgQueuer(AsyncpgPoolDriver(pool))
            if not self.made:
                await queuer.qm.queries.install()
                self.made = True
            await queuer.qm.queries.enqueue(["q"] * messages, [BODY] * messages, [0] * messages)

            @queuer.entrypoint("q", concurrency_limit=flying)
            async def handle(_: object) -> None:
                await asyncio.sleep(AWAITED)

            await queuer.run(
                batch_size=max(min(flying // 2, 100), 1),
                max_concurrent_tasks=max(flying, 2),
                mode=QueueExecutionMode.drain,
            )


class Procrastinate:
    """procrastinate."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.made = False

    async def handle(self, flying: int, messages: int) -> None:
        app = App(connector=PsycopgConnector(conninfo=self.url, max_size=CONNECTIONS))

        @app.task(name="t")
        async def handle(body: str) -> None:  # noqa: ARG001 - jobs are given by name
            await asyncio.sleep(AWAITED)

        async with app.open_async():
            if not self.made:
                await app.schema_manager.apply_schema_async()
                self.made = True
            await handle.batch_defer_async(*[{"body": BODY.decode()}] * messages)
            await app.run_worker_async(
                concurrency=flying,
                wait=False,
                install_signal_handlers=False,
                delete_jobs="successful",
            )


KINDS = {"ours": Ours, "pgqueuer": Queuer, "procrastinate": Procrastinate}
