"""A gateway in front of three GPU servers: requests wait in it until one is free."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from fairlead import Change, Pool, load_clusters
from fairlead.errors import NoDestinationError, PoolTimeoutError

PATIENCE = 30.0
"""Seconds that a request waits for a GPU at most."""
LOOK = 0.2
"""Seconds until a GPU that has failed is asked again."""

clusters = load_clusters(Path(__file__).with_name("gpus.toml"))
addresses = {each.name: each.address for each in clusters[0].tables.destination}
pool = Pool(clusters)
failed: set[str] = set()
client = httpx.AsyncClient(timeout=60)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Look after the GPUs; at the end take nothing new, and finish what is there."""
    looking = asyncio.create_task(look_after())
    yield
    await pool.adrain(timeout=PATIENCE)
    looking.cancel()
    await client.aclose()


app = FastAPI(lifespan=lifespan)


class Asked(BaseModel):
    """What a client asks."""

    prompt: str
    priority: int | None = None


@app.post("/generate")
async def generate(asked: Asked) -> dict[str, Any]:
    """Ask a GPU; urgent requests go first."""
    try:
        async with pool.acquire(priority=asked.priority, timeout=PATIENCE) as gpu:
            while True:
                try:
                    reply = await client.post(
                        f"{gpu.address}/generate", json={"prompt": asked.prompt}
                    )
                    reply.raise_for_status()
                except httpx.TransportError:  # it is gone: all that it had is asked elsewhere
                    fail(gpu.destination)
                    await gpu.aretry(timeout=PATIENCE)
                else:
                    found = {"gpu": gpu.destination, "attempt": gpu.attempt, "waited": gpu.waited}
                    return {**reply.json(), **found}
    except PoolTimeoutError:
        raise HTTPException(503, "all GPUs are busy; ask again later") from None
    except NoDestinationError:
        raise HTTPException(503, "no GPU is up; ask again later") from None
    except httpx.HTTPStatusError as error:
        raise HTTPException(502, f"the GPU says {error.response.status_code}") from None


@app.get("/pool")
async def state() -> dict[str, Any]:
    """How it stands with the pool, for people and monitoring."""
    counts = pool.counts()
    return {
        "waiting": counts.waiting,
        "working": {name: each.working for name, each in counts.destinations.items()},
        "ended": counts.ended,
        "failed": sorted(failed),
        "next": {name or "any": str(each) for name, each in pool.waiting().items()},
    }


def fail(name: str) -> None:
    """A GPU is gone."""
    if name not in failed:
        failed.add(name)
        pool.apply(Change(name, "state", "failed"))


async def look_after() -> None:
    """Ask GPUs that have failed whether they are up again."""
    while True:
        await asyncio.sleep(LOOK)
        for name in sorted(failed):
            try:
                (await client.get(f"{addresses[name]}/health")).raise_for_status()
            except httpx.HTTPError:
                continue
            failed.discard(name)
            pool.apply(Change(name, "state", "up"))
