"""Messages of topics of Kafka, as a stream."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead.errors import EnvironmentProblem, UserError
from fairlead.pipeline.intake.mapped import mapped
from fairlead.pipeline.spark.refusals import of_client, why
from fairlead.runs.kafka import COLUMNS, DEFAULTS, KAFKA, SERVERS

NO_SOURCE = "DATA_SOURCE_NOT_FOUND"
NO_TOPIC = "UnknownTopicOrPartitionException"
CLIENT = re.compile(r"org\.apache\.kafka\.common\.errors\.(?:Ssl|Sasl|Invalid)\w*: (.*)")
"""What Kafka's client says of certificates, passwords and its own settings."""
ENDED = "terminated with exception: "
LAST_OF_EACH = """
transform(
  array_distinct(transform(headers, header -> header.key)),
  name -> element_at(filter(headers, header -> header.key = name), -1)
)
"""
"""Headers may come several times; the last one of a name holds, as in Kafka's own client."""
BY_NAME = "map_from_entries(transform({}, header -> struct(header.key, header.value)))"


def topic_stream(
    spark: SparkSession, where: str, servers: str, options: Mapping[str, str]
) -> DataFrame:
    """A stream of what comes into topics, from their beginning where the options say nothing else.

    `where`: `kafka:TOPIC`. `servers`: `HOST:PORT`, or several. Its columns are those of COLUMNS.
    Raises UserError, EnvironmentProblem.
    """
    settings = {
        "startingOffsets": "earliest",
        **options,
        SERVERS: servers,
        "subscribe": where.removeprefix(KAFKA),
        "includeHeaders": "true",
    }
    try:
        rows = spark.readStream.format("kafka").options(**settings).load()
    except PySparkException as error:
        if NO_SOURCE in str(error) or "Failed to find data source" in str(error):
            raise EnvironmentProblem(
                f"{where}: this Spark lacks its package for Kafka, spark-sql-kafka-0-10_2.13 of "
                "Spark's own version"
            ) from None
        raise UserError(f"{where}: cannot be read: {why(error)}") from None
    return rows.withColumn("headers", F.expr(BY_NAME.format(LAST_OF_EACH))).select(*COLUMNS)


def unread(where: str, error: PySparkException) -> UserError:
    """Why a stream of topics ended, in one line."""
    if NO_TOPIC in str(error):
        return UserError(f"{where}: the broker has no such topic")
    refused = of_client(error, CLIENT)
    if refused is not None:
        return UserError(f"{where}: cannot be read: {refused}")
    return UserError(f"{where}: cannot be read: {why(error).rpartition(ENDED)[2]}")


def messages_of(
    rows: DataFrame, where: str, columns: Mapping[str, str], drop: Sequence[str]
) -> DataFrame:
    """The messages that rows of a topic are: with DEFAULTS, unless the columns say otherwise.

    Raises UserError.
    """
    return mapped(rows, where, {**DEFAULTS, **columns}, drop)
