"""Route in memory, then dispatch twice in a session of the user's own on this machine.

Prints where each message goes.
"""

import pyarrow as pa
from pyspark.sql import SparkSession

from fairlead import Cluster, dispatch, route

CLUSTER = Cluster.of("nanomsg", destination=[{"name": "A", "capacity": 1}, {"name": "B"}])


def main() -> None:
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    rows = {"id": ["a", "b", "c"], "time": [1, 2, 9], "service_time": [5, 5, 1]}
    messages = spark.createDataFrame(pa.table(rows))
    print(*route(pa.table(rows), CLUSTER)["destination"].to_pylist())
    for _ in range(2):
        decided = dispatch(messages, CLUSTER).orderBy("id").collect()
        print(*(row["destination"] for row in decided))
    spark.stop()


if __name__ == "__main__":
    main()
