"""The table of messages that a command was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from fairlead.cli.arguments import pairs
from fairlead.cli.options import Read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Table(NamedTuple):
    """Where the messages are, and what is made of the columns there."""

    where: str
    columns: Mapping[str, str]
    drop: Sequence[str]
    number_rows: bool
    input_format: str | None
    options: Mapping[str, str]

    @classmethod
    def asked(
        cls,
        where: str,
        column: Sequence[str] | None,
        drop: Sequence[str] | None,
        number_rows: bool,
        input_format: Read | None,
        read_option: Sequence[str] | None,
    ) -> Self:
        """As the options say. Raises UserError."""
        return cls(
            where,
            pairs("--column", column or []),
            drop or [],
            number_rows,
            input_format.value if input_format else None,
            pairs("--read-option", read_option or []),
        )

    def refuse(self) -> None:
        """Refuse before Spark is started what is clearly no table. Raises UserError."""
        from fairlead.pipeline.read import readable

        readable(self.where, self.input_format)

    def read(self, spark: SparkSession) -> DataFrame:
        """The messages. Raises UserError."""
        from fairlead.pipeline.read import read

        return read(
            spark,
            self.where,
            input_format=self.input_format,
            columns=self.columns,
            drop=self.drop,
            number_rows=self.number_rows,
            options=self.options,
        )
