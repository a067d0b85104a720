import asyncio
import json
from pathlib import Path

from fairlead import Pool

with Path("gpu-journal.jsonl").open("w") as file:
    pool = Pool.from_cluster(
        "gpus.toml", journal=lambda row: print(json.dumps(row.to_dict()), file=file)
    )

    async def answer(k: int) -> None:
        async with pool.acquire(id=f"r{k:02}", group=f"user-{k % 4}"):
            await asyncio.sleep(0.01)

    async def main() -> None:
        await asyncio.gather(*map(answer, range(20)))
        await pool.adrain()

    asyncio.run(main())
