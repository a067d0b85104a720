"""Delivery of Spark's tables, beside the small files."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from fairlead.runs.delivery import ResultsDelivery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


class TablesDelivery(ResultsDelivery):
    """Results of Spark's in the making."""

    @abstractmethod
    def begin(self, spark: SparkSession) -> None:
        """Refuse, before any work, what only the session can tell of the place.

        Raises OutputError, EnvironmentProblem.
        """

    @abstractmethod
    def path(self, name: str) -> str:
        """Where Spark finds a part that was written."""

    @abstractmethod
    def write(self, table: DataFrame, name: str, file_format: str, by: str | None = None) -> None:
        """Write a table in files of this format, in the order of its partitions.

        `by`: a column of integers, for each value of which there is a folder.
        """

    def load(
        self, spark: SparkSession, name: str, file_format: str, schema: StructType
    ) -> DataFrame:
        """A table that was written, with the columns that it was written with."""
        from fairlead.pipeline.output.read_back import load

        return load(spark, self.path(name), file_format, schema)
