"""A process that takes a group, says so, and waits to be ended."""

import asyncio
import sys
import time

from fairlead import AsyncStore, Store


async def on_a_loop(url: str) -> None:
    store = await AsyncStore.open(url)
    work = await store.take("q")
    assert work is not None
    print((await anext(work)).body, flush=True)
    await asyncio.sleep(600)


def main(door: str, url: str) -> None:
    if door == "async":
        asyncio.run(on_a_loop(url))
    store = Store.open(url)
    work = store.take("q")
    assert work is not None
    print(next(work).body, flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
