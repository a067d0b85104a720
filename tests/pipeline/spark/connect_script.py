"""The calls that the pipeline is built from, run on the Spark that argv[1] names."""

import json
import sys
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Observation, SparkSession

from fairlead.pipeline.spark.session import spark_session

ROWS = 9_000
BLOCKS = 3
STARTS = {0: 0, 1: 3_000, 2: 6_000}


def numbers() -> Column:
    """Number the rows of a partition, from where its block starts.

    Made when it is called: a function made before the session is one of Spark classic.
    """

    @F.arrow_udf("long")
    def number(blocks: Iterator[pa.Array]) -> Iterator[pa.Array]:
        seen = 0
        for block in blocks:
            first = STARTS[block[0].as_py()] + seen
            yield pa.array(range(first, first + len(block)), pa.int64())
            seen += len(block)

    return number.asNondeterministic()("block")


def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch({"twice": pc.multiply(batch["id"], 2)})


def in_blocks(rows: DataFrame) -> DataFrame:
    return rows.repartitionById(BLOCKS, "block").sortWithinPartitions("id")


def answers(spark: SparkSession) -> dict[str, object]:
    rows = spark.range(ROWS).select("id", F.floor(F.col("id") / 3_000).cast("int").alias("block"))
    shuffled = rows.orderBy(F.xxhash64("id"))
    observation = Observation()
    observed = shuffled.observe(observation, F.count(F.lit(1)).alias("rows"))
    numbered = observed.transform(in_blocks).withColumn("number", numbers())
    wrong = numbered.where("number <> id").count()
    return {
        "kind": type(spark).__module__,
        "time zone": spark.conf.get("spark.sql.session.timeZone"),
        "wrong numbers": wrong,
        "observed": observation.get,
        "blocks together": rows.transform(in_blocks)
        .groupBy(F.spark_partition_id().alias("partition"))
        .agg(F.count_distinct("block").alias("blocks"))
        .where("blocks > 1")
        .count(),
        "doubled": rows.mapInArrow(doubled, "twice long").agg(F.sum("twice")).first()[0],
    }


if __name__ == "__main__":
    print(json.dumps(answers(spark_session(sys.argv[1]))))
