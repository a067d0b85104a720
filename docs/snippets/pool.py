import asyncio

from fairlead import Pool

pool = Pool.from_cluster("gpus.toml")


async def answer(prompt: str, user: str, priority: int | None = None) -> None:
    async with pool.acquire(group=user, priority=priority) as gpu:
        print(f"{prompt:8} {user} -> {gpu.destination}, reader {gpu.reader}")
        await asyncio.sleep(0.01)  # here your request to gpu.address


async def main() -> None:
    async with asyncio.TaskGroup() as tasks:
        for k in range(5):
            tasks.create_task(answer(f"draft {k}", f"user-{k}"))
        await asyncio.sleep(0)
        tasks.create_task(answer("batch", "kim"))
        tasks.create_task(answer("urgent", "lee", priority=200))
        await asyncio.sleep(0)
        print({name: len(each.ranks) for name, each in pool.waiting().items()})


asyncio.run(main())
print(pool.counts().ended)
