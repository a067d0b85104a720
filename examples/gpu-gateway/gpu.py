"""A fake GPU server: it takes its time, and refuses more than two requests at once."""

import asyncio

from fastapi import FastAPI, HTTPException

AT_ONCE = 2
SECONDS = 0.05

app = FastAPI()
working: set[str] = set()


@app.get("/health")
async def health() -> dict[str, str]:
    """Say that it is there."""
    return {"status": "up"}


@app.post("/generate")
async def generate(asked: dict[str, str]) -> dict[str, str]:
    """Answer a prompt."""
    if len(working) >= AT_ONCE:
        raise HTTPException(503, "out of memory")
    working.add(asked["prompt"])
    try:
        await asyncio.sleep(SECONDS)
    finally:
        working.discard(asked["prompt"])
    return {"text": asked["prompt"].upper()}
