"""Dispatch a small table on the Spark that argv[1] names; prints the summary as JSON."""

import json
import random
import sys
from pathlib import Path

from fairlead import Change, Cluster
from fairlead.pipeline import dispatch
from fairlead.pipeline.intake.read import read
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.pipeline.spark.session import spark_session
from fairlead.runs.options import Options

PLAIN = {
    "queue_manager": {"name": "HUB", "clusters": ["C"]},
    "remote": [{"name": "A"}, {"name": "B"}],
    "channel": [{"name": f"TO.{x}", "queue_manager": x} for x in "AB"],
    "queue": [{"name": q, "queue_manager": x} for q in ("Q", "R") for x in "AB"],
}
BINDS = ("", "not-fixed", "on-group", "on-open")
THREE = [{"name": name} for name in "DEF"]
CLUSTERS = [
    Cluster.of("ibm-mq", name="mq", **PLAIN),
    Cluster.of("weighted", name="stay", options={"affinity": "group"}, destination=THREE),
    Cluster.of("rendezvous", name="keys", destination=THREE),
    Cluster.of("smartsockets", name="news", subscriber=[{**x, "subject": "/s"} for x in THREE]),
]
CHANGES = [
    Change("TO.A", "weight", 9, 400),
    Change("B@mq", "suspended", True, 700),
    Change("D@stay", "state", "down", 500),
    Change("D@stay", "state", "up", 800),
    Change("D@news", "connected", "warm", 600),
]


def main(master: str, folder: Path) -> None:
    pick = random.Random(3)  # noqa: S311 - messages for a test
    rows = [
        f"m{k},{k // 3},{pick.choice(CLUSTERS).name},{pick.choice('QRX')},{pick.choice('xy')},"
        f"{pick.choice(BINDS)},g{pick.randrange(70)},{pick.choice(['none', 'round-robin'])}"
        for k in range(3_000)
    ]
    table = folder / "messages.csv"
    head = "id,time,cluster,queue,producer,bind,group,mode"
    table.write_text("\n".join([head, *rows, rows[5]]) + "\n")
    spark = spark_session(master)
    with FolderTables(str(folder / "out"), overwrite=True) as delivery:
        summary = dispatch.run(
            spark,
            read(spark, str(table)),
            CLUSTERS,
            CHANGES,
            delivery,
            Options(where=table.name, rows_a_block=300, as_in_files=True, command="as in the test"),
        )
        delivery.finish()
    print(json.dumps(summary.to_dict() | {"seconds": 0}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
