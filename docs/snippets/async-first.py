import asyncio

from fairlead import AsyncStore


async def read(store):
    while work := await store.take("orders", wait=1):
        async with work:
            print(work.group, [message.body async for message in work])


async def main():
    async with await AsyncStore.open("sqlite:///async.db") as store:
        reading = asyncio.create_task(read(store))
        for order in ("o1", "o2"):
            await store.send("orders", f"pack {order}", group=order)
        await reading


asyncio.run(main())
