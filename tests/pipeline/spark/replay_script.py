"""Replay a small table on the Spark that argv[1] names; prints the comparison as JSON."""

import json
import random
import sys
from pathlib import Path

from fairlead import Change, Cluster
from fairlead.compiled.plan import Plan
from fairlead.pipeline import replay
from fairlead.pipeline.intake.read import read
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.pipeline.spark.session import spark_session
from fairlead.runs.options import Options

TWO = [{"name": name, "readers": 2} for name in "AB"]
ORDER = {"discipline": "priority"}
CHANGES = [
    Change("A", "state", "failed", 300),
    Change("A", "state", "up", 600),
]


def main(master: str, folder: Path) -> None:
    pick = random.Random(3)  # noqa: S311 - messages for a test
    rows = [
        f"m{k},{k / 3:.6f},{pick.randrange(1, 3_000) / 1_000},g{pick.randrange(70)},"
        f"{pick.choice(['', '1', '9'])}"
        for k in range(3_000)
    ]
    table = folder / "messages.csv"
    table.write_text("\n".join(["id,time,service_time,group,priority", *rows, rows[5]]) + "\n")
    plans = {
        policy: Plan([Cluster.of(policy, order=ORDER, destination=TWO)], CHANGES)
        for policy in ("weighted", "fewest-pending")
    }
    spark = spark_session(master)
    with FolderTables(str(folder / "out"), overwrite=True) as delivery:
        found = replay.run(
            spark,
            read(spark, str(table)),
            plans,
            delivery,
            Options(where=table.name, rows_a_block=300),
        )
        delivery.finish()
    print(json.dumps(found.to_dict() | {"seconds": 0}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
