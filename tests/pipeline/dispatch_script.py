"""Dispatch a small table on the Spark that argv[1] names; prints the summary as JSON."""

import json
import random
import sys
from pathlib import Path

from fairlead import Change, Cluster
from fairlead.pipeline import dispatch
from fairlead.pipeline.deliver import Delivery
from fairlead.pipeline.read import read
from fairlead.pipeline.session import session

PLAIN = {
    "queue_manager": {"name": "HUB", "clusters": ["C"]},
    "remote": [{"name": "A"}, {"name": "B"}],
    "channel": [{"name": f"TO.{x}", "queue_manager": x} for x in "AB"],
    "queue": [{"name": q, "queue_manager": x} for q in ("Q", "R") for x in "AB"],
}
BINDS = ("", "not-fixed", "on-group", "on-open")


def main(master: str, folder: Path) -> None:
    pick = random.Random(3)  # noqa: S311 - messages for a test
    rows = [
        f"m{k},{k // 3},{pick.choice('QRX')},{pick.choice('xy')},{pick.choice(BINDS)},g{k % 7}"
        for k in range(3_000)
    ]
    table = folder / "messages.csv"
    table.write_text("\n".join(["id,time,queue,producer,bind,group", *rows, rows[5]]) + "\n")
    spark = session(master)
    with Delivery(str(folder / "out"), overwrite=True) as delivery:
        summary = dispatch.run(
            spark,
            read(spark, str(table)),
            [Cluster.of("ibm-mq", **PLAIN)],
            [Change("TO.A", "weight", 9, 400_000_000), Change("B", "suspended", True, 700_000_000)],
            delivery,
            where=table.name,
            rows_a_block=300,
            as_in_files=True,
            command="as in the test",
        )
        delivery.finish()
    print(json.dumps(summary.as_plain() | {"seconds": 0}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
