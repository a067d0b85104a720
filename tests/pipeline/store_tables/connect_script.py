"""Read the store argv[2] on the Spark that argv[1] names, into argv[3]; prints what was found."""

import json
import sys
from pathlib import Path

from fairlead.pipeline.spark.session import spark_session


def main(master: str, url: str, folder: Path) -> None:
    spark = spark_session(master)
    tables = spark.read.format("fairlead").option("store", url)
    found: dict[str, object] = {
        name: sorted(map(list, tables.load(name).selectExpr(*columns).collect()))
        for name, columns in {
            "journal": ("position", "kind"),
            "decisions": ("position", "destination"),
            "waiting": ("queue", "place"),
        }.items()
    }
    events = spark.readStream.format("fairlead").option("store", url).load("journal")
    query = (
        events.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "events"))
    )
    query.awaitTermination(120)
    found["streamed"] = spark.read.parquet(str(folder / "events")).count()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
