"""A web service that takes orders, and packs them in the background; nothing is lost on the way."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from fairlead import AsyncStore

PACKERS = 3
"""So many orders are packed at one time, of as many customers."""
PACKING = float(os.environ.get("PACKING", "0.05"))
"""Seconds that one takes."""
TABLE = """
CREATE TABLE IF NOT EXISTS orders (
    id VARCHAR(40) PRIMARY KEY, customer TEXT NOT NULL, item TEXT NOT NULL, state TEXT NOT NULL)
"""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the store and let the packers work; at the end they give back what they have in hand."""
    url = os.environ.get("FAIRLEAD_STORE", "sqlite:///orders.db")
    async with await AsyncStore.open(url, create=True) as store:
        async with store.transaction() as tx:
            await tx.execute(TABLE)
        app.state.store, app.state.mark = store, "?" if url.startswith("sqlite") else "%s"
        packers = [asyncio.create_task(pack(app)) for _ in range(PACKERS)]
        yield
        for each in packers:
            each.cancel()
        await asyncio.gather(*packers, return_exceptions=True)


app = FastAPI(lifespan=lifespan)


class Order(BaseModel):
    """What a customer orders."""

    id: str
    customer: str
    item: str
    urgent: bool = False


@app.post("/orders", status_code=202)
async def order(found: Order) -> dict[str, str]:
    """Take an order: its row and its message are committed together, or neither is."""
    row = [found.id, found.customer, found.item]
    async with app.state.store.transaction() as tx:
        known = await tx.execute(sql("SELECT state FROM orders WHERE id = ?"), [found.id])
        if await known.fetchone() is None:
            await tx.execute(sql("INSERT INTO orders VALUES (?, ?, ?, 'ordered')"), row)
            priority = 200 if found.urgent else None
            await tx.send("orders", found.id, group=found.customer, priority=priority)
    return {"id": found.id}


@app.get("/orders/{name}")
async def state(name: str) -> dict[str, str]:
    """How it stands with an order."""
    async with app.state.store.transaction() as tx:
        rows = await tx.execute(sql("SELECT state FROM orders WHERE id = ?"), [name])
        found = await rows.fetchone()
    if found is None:
        raise HTTPException(404, f"there is no order {name}")
    return {"id": name, "state": found[0]}


@app.get("/queue")
async def queue() -> dict[str, Any]:
    """What waits, for people and monitoring."""
    every = {each.queue: each for each in await app.state.store.queues()}
    found = every.get("orders")
    return {} if found is None else {"messages": found.messages, "working": found.working}


async def pack(app: FastAPI) -> None:
    """Pack orders, those of one customer one after another, until this task is cancelled."""
    store = app.state.store
    while True:
        work = await store.take("orders", wait=60)
        if work is None:
            continue
        async with work:
            done = []
            async for message in work:
                await asyncio.sleep(PACKING)
                done.append(message.body)
            async with work.transaction() as tx:  # the rows change with the settlement
                for each in done:
                    await tx.execute(sql("UPDATE orders SET state = 'packed' WHERE id = ?"), [each])
                await tx.accept()


def sql(text: str) -> str:
    """A statement as the database of this store spells its parameters."""
    return text.replace("?", app.state.mark)
