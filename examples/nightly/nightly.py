"""Two nights: jobs go from a table into queues, and the journal says which machine was slow."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from threading import Thread

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead import Store, deliver, spark_session
from fairlead.errors import DeliveredError

URL = os.environ.get("FAIRLEAD_STORE", f"sqlite:///{Path('nightly.db').absolute()}")
JOBS = int(os.environ.get("JOBS", "120"))
UNIT = float(os.environ.get("UNIT_SECONDS", "0.02"))
"""How long the small machine takes for a page."""
SPEED = {"large": 3, "small": 1}
"""What nobody has told the cluster."""


def table_of(spark: SparkSession, night: str) -> DataFrame:
    """The jobs of a night, as another program has left them in a lake."""
    folder = f"lake/{night}"
    if not Path(folder).exists():
        jobs = spark.range(JOBS).selectExpr(
            f"concat('{night}-', id) AS id", "id AS time", "id % 5 + 1 AS pages"
        )
        jobs.write.parquet(folder)
    return spark.read.parquet(folder)


def bring(spark: SparkSession, store: Store, night: str) -> bool:
    """All jobs of the night are in the queues, or none; and once. Whether they came now."""
    jobs = table_of(spark, night)
    try:
        delivered = deliver(jobs, store, run=f"night of {night}", body=["pages"])
    except DeliveredError as error:
        print(f"not again: {error}")
        return False
    sent = {name: n for _, to in delivered.destinations.items() for name, n in sorted(to.items())}
    print(f"{night}: {delivered.published} jobs, {sent}")
    return True


def work(store: Store, machine: str) -> None:
    """Do what is in the machine's queue, until nothing is."""
    while job := store.take(machine):
        with job:
            for message in job:
                time.sleep(message.body["pages"] * UNIT / SPEED[machine])


def work_all(store: Store) -> None:
    threads = [Thread(target=work, args=[store, machine]) for machine in SPEED]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def seconds_for_a_job(spark: SparkSession, night_began: float) -> dict[str, float]:
    """How long each machine took on average, by the store's own journal."""
    tables = spark.read.format("fairlead").option("store", URL).option("from", night_began)
    journal = tables.load("journal")
    taken = journal.where("kind = 'taken'").select("token", F.col("time").alias("began"))
    accepted = journal.where("kind = 'accepted'").select("token", "queue", "time")
    took = accepted.join(taken, "token").groupBy("queue").agg(F.avg(F.expr("time - began")))
    return dict(took.orderBy("queue").collect())


def weights_for(seconds: dict[str, float]) -> dict[str, int]:
    """Whoever is twice as fast as the slowest gets twice as much."""
    slowest = max(seconds.values())
    return {machine: max(round(slowest / mean), 1) for machine, mean in seconds.items()}


def main() -> None:
    spark = spark_session()
    with Store.open(URL, create=True) as store:
        if not store.clusters():
            store.load_clusters("pool.toml")
        for night in sys.argv[1:] or ["2026-11-27", "2026-11-28"]:
            began = time.time()
            if not bring(spark, store, night):
                continue
            urgent = store.publish("pool", {"pages": 1}, id=f"{night}-urgent")
            print(f"published beside it: goes to {urgent.destination}, turn {urgent.sequence}")
            working = time.monotonic()
            work_all(store)
            print(f"all done after {time.monotonic() - working:.1f} s, for a job on average:")
            seconds = seconds_for_a_job(spark, began)
            for machine, mean in seconds.items():
                print(f"  {machine} {mean:.3f} s")
            for machine, weight in weights_for(seconds).items():
                store.change("pool", machine, "weight", weight)
                print(f"  {machine} gets weight {weight} from now on")


if __name__ == "__main__":
    main()
