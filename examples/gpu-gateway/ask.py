"""Ask the gateway forty questions at once, some of them urgent, and print who answered."""

import asyncio
import sys
from collections import Counter
from statistics import mean
from typing import Any

import httpx

QUESTIONS, EACH = 40, 8
"""Each eighth question is urgent."""


async def main(gateway: str) -> None:
    """Ask, and print how many each GPU answered, and how long questions waited."""
    answers: list[dict[str, Any]] = []

    async def ask(client: httpx.AsyncClient, number: int) -> None:
        urgent = number % EACH == EACH - 1
        asked = {"prompt": f"question {number}", "priority": 200 if urgent else None}
        reply = await client.post(f"{gateway}/generate", json=asked)
        reply.raise_for_status()
        answers.append({**reply.json(), "urgent": urgent})

    limits = httpx.Limits(max_connections=QUESTIONS)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client, asyncio.TaskGroup() as tasks:
        for number in range(QUESTIONS):
            tasks.create_task(ask(client, number))
    print("answers:", dict(sorted(Counter(each["gpu"] for each in answers).items())))
    for name, urgent in (("urgent", True), ("others", False)):
        waits = [each["waited"] for each in answers if each["urgent"] is urgent]
        print(f"{name} waited {mean(waits):.2f} s on average")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8100"))
