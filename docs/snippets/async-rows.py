import asyncio

from fairlead import AsyncStore


async def main():
    async with await AsyncStore.open("sqlite:///async-rows.db") as store:
        async with store.transaction() as tx:
            await tx.execute("CREATE TABLE packed (parcel TEXT)")
            await tx.send("orders", "o1")
        work = await store.take("orders")
        async with work.transaction() as tx:
            async for message in work:
                await tx.execute("INSERT INTO packed VALUES (?)", [message.body])
                await tx.send("invoices", message.body)
            await tx.accept()
        async with store.transaction() as tx:
            print(await (await tx.execute("SELECT parcel FROM packed")).fetchall())


asyncio.run(main())
