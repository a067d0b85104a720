"""Tables of Spark's in a folder of this machine, which all executors must see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.pipeline.output.tables_delivery import TablesDelivery
from fairlead.runs.disk_full import writing
from fairlead.runs.folder import FolderDelivery
from fairlead.runs.paths import on_this_machine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class FolderTables(FolderDelivery, TablesDelivery):
    """A folder of this machine, to which Spark writes tables."""

    def begin(self, spark: SparkSession) -> None:
        """Nothing: a folder of this machine is looked at before there is a session."""

    def path(self, name: str) -> str:
        return on_this_machine(self.making / name)

    def write(self, table: DataFrame, name: str, file_format: str, by: str | None = None) -> None:
        from fairlead.pipeline.output.write import writer

        output = writer(table, file_format)
        if by is not None:
            output = output.partitionBy(by)
        with writing(self.final):
            output.save(self.path(name))
