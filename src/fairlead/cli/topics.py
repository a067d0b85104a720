"""Topics of Kafka that a command follows."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fairlead.cli.table import MessagesTable
from fairlead.errors import EnvironmentProblem, UserError
from fairlead.runs.kafka import COLUMNS, DEFAULTS, KAFKA, brokers_of, checked, topics_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    from fairlead.compiled.plan import Plan
    from fairlead.pipeline.streaming.follow import Source

SECONDS_TO_CONNECT: Final = 20


def is_topic(where: str) -> bool:
    """Whether MESSAGES are topics of Kafka."""
    return where.startswith(KAFKA)


@dataclass(frozen=True)
class TopicMessages:
    """Where the messages of a stream come from, where that is Kafka."""

    table: MessagesTable
    servers: str
    options: Mapping[str, str]

    @classmethod
    def asked(cls, table: MessagesTable, servers: str | None, plan: Plan) -> TopicMessages:
        """As the options say. Raises UserError for what can be refused without a broker."""
        from fairlead.compiled.required_columns import check_columns
        from fairlead.runs.names import check_names, names_of

        topics_of(table.where)
        if servers is None:
            raise UserError(f"{table.where}: found no --kafka, allowed: --kafka HOST:PORT")
        brokers_of(servers)
        for name, value in (
            ("--number-rows", table.number_rows),
            ("--input-format", table.input_format),
        ):
            if value:
                raise UserError(f"{name}: found with {table.where}, allowed: with files")
        columns = {**DEFAULTS, **table.columns}
        names = names_of(COLUMNS, table.where, columns=columns, drop=table.drop, number_rows=False)
        check_names(names, table.where)
        check_columns(plan, names, table.where)
        return cls(table, servers, checked(table.options))

    def await_broker(self) -> None:
        """Make sure that somebody is there: Spark alone would try for minutes, and not say it.

        Raises EnvironmentProblem.
        """
        reasons = []
        for place in brokers_of(self.servers):
            try:
                socket.create_connection(place, SECONDS_TO_CONNECT).close()
            except OSError as error:
                reasons.append(f"{place[0]}:{place[1]}: {error.strerror or error}")
            else:
                return
        raise EnvironmentProblem(
            f"no broker of Kafka answered at {self.servers} ({'; '.join(reasons)}); check the "
            "address and that it runs"
        )

    def stream(self, spark: SparkSession) -> DataFrame:
        """What comes into the topics. Raises UserError, EnvironmentProblem."""
        from fairlead.pipeline.intake.kafka import topic_stream

        return topic_stream(spark, self.table.where, self.servers, self.options)

    def unread(self, error: PySparkException) -> UserError:
        """Why it ended, if Spark says it."""
        from fairlead.pipeline.intake.kafka import unread

        return unread(self.table.where, error)

    def source(self) -> Source:
        """What makes messages of that."""
        from fairlead.pipeline.intake.kafka import messages_of

        table = self.table

        def messages(rows: DataFrame) -> tuple[DataFrame, list[str]]:
            return messages_of(rows, table.where, table.columns, table.drop), []

        return messages
