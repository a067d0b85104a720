"""The table of messages that a command was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from fairlead.cli.arguments import pairs
from fairlead.cli.options import Read
from fairlead.errors import MessageError, UserError
from fairlead.rows import without_decisions
from fairlead.runs.kafka import KAFKA
from fairlead.runs.paths import TABLE, inside, local, refuse_of_files
from fairlead.runs.read_options import of_no_table
from fairlead.text import plural

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rich.console import Console

    from fairlead.compiled.intake.rows import CheckedTable

MOST_BRACKETS = 200
"""Of an expression: those of ever more, in each other, no parser can read."""
FEW = 2_000_000
"""Rows for which memory is proposed instead of Spark."""


SMALL = 32 << 20
"""Bytes: some 300,000 rows of text."""
TEXTS = (".csv", ".json", ".jsonl", ".ndjson", ".tsv", ".txt")
PACKED = 8
"""So many bytes are one in a file that is packed, as Parquet is."""


class MessagesTable(NamedTuple):
    """Where the messages are, and what is made of the columns there."""

    where: str
    columns: Mapping[str, str]
    drop: Sequence[str]
    number_rows: bool
    input_format: str | None
    options: Mapping[str, str]
    changes: str | None = None
    """What happened to the cluster, where a store has recorded that beside the messages."""
    name: str | None = None
    """What the messages are called, where the path says nothing: those of a store."""

    @classmethod
    def asked(
        cls,
        where: str,
        column: Sequence[str] | None,
        drop: Sequence[str] | None,
        number_rows: bool,
        input_format: Read | None,
        read_option: Sequence[str] | None,
        *,
        topics: bool = False,
    ) -> Self:
        """As the options say; `topics`: whether it can be one of Kafka. Raises UserError."""
        if where.startswith(KAFKA) and not topics:
            raise UserError(f"{where}: found a topic of Kafka, allowed: with dispatch --follow")
        return cls(
            where,
            pairs("--column", column or [], "EXPR"),
            drop or [],
            number_rows,
            input_format.value if input_format else None,
            pairs("--read-option", read_option or []),
        )

    @property
    def called(self) -> str:
        """Where the messages are, as it is said to people."""
        return self.name or self.where

    @property
    def is_small(self) -> bool:
        """Whether the files have few rows, by their sizes."""
        from fairlead.runs.files import files_in

        place = local(self.where)
        if place is None or not place.exists():
            return False
        sizes = {file: file.stat().st_size for file in files_in(place, self.where)}
        return (
            sum(size if file.suffix in TEXTS else size * PACKED for file, size in sizes.items())
            <= SMALL
        )

    def refuse(self, added: Sequence[str], check: Callable[[Sequence[str]], None]) -> None:
        """Refuse before Spark is started what options and files alone can tell. Raises UserError.

        `added`: columns that the command adds; `check`: what else is asked of the names.
        """
        from fairlead.runs.arrow_types import refuse_unknown, schema_of
        from fairlead.runs.files import kind_of, names_in, readable
        from fairlead.runs.names import names_of

        if self.number_rows and "id" in self.columns:
            raise UserError("--number-rows makes the column id; --column id=… would be ignored")
        for name, text in self.columns.items():
            if text.count("(") > MOST_BRACKETS:
                raise UserError(
                    f"--column {name}: found {text.count('('):,} brackets, allowed: {MOST_BRACKETS}"
                )
            if name.lower() in added:
                raise UserError(
                    f"--column {name}=…: the command adds a column {name.lower()!r}, "
                    "allowed: any other name"
                )
        if self.where.startswith(TABLE):
            options = {
                "--number-rows": self.number_rows,
                "--input-format": self.input_format,
                "--read-option": of_no_table(self.options),
            }
            refuse_of_files(self.where, options)
            return
        kind = kind_of(self.where, self.input_format, self.options)
        readable(self.where, kind)
        refuse_unknown(self.where, schema_of(self.where, kind), self._unused())
        names = names_in(self.where, kind)
        if names is not None:
            columns = names_of(
                names,
                self.called,
                columns=self.columns,
                drop=self.drop,
                number_rows=self.number_rows,
            )
            check(without_decisions(columns))

    def refuse_nothing(self, read: int, rejected: int, out: str) -> None:
        """Refuse a table of which no row is a message; its results say why. Raises MessageError.

        `read`, `rejected`: how many rows.
        """
        if _has_none(read, rejected):
            raise MessageError(
                f"{self.called}: found no message in {plural(read, 'row')}, allowed: at least one; "
                f"the reasons are in {inside(out, 'rejected')}"
            )

    def read_here(self) -> CheckedTable:
        """The messages, in this process. Raises UserError."""
        from fairlead.compiled.intake.rows import CheckedTable
        from fairlead.memory.columns import mapped
        from fairlead.memory.files import read
        from fairlead.memory.fits import check_fits
        from fairlead.runs.files import kind_of

        kind = kind_of(self.where, self.input_format, self.options)
        check_fits(self.where, kind)
        intake = read(self.where, kind, number_rows=self.number_rows, drop=self._unused())
        table = mapped(intake.table, self.called, self.columns, self.drop)
        return CheckedTable(table, intake.malformed)

    def _unused(self) -> list[str]:
        """The columns that are dropped, and of which no expression makes anything."""
        used = " ".join(self.columns.values()).lower()
        return [name for name in self.drop if name.lower() not in used]

    def _read_in_memory(self) -> bool:
        """Whether memory reads such a table, as far as its format, options and types tell."""
        from fairlead.memory.files import refuse_what_spark_reads
        from fairlead.runs.files import kind_of

        try:
            kind = kind_of(self.where, self.input_format, self.options)
            refuse_what_spark_reads(self.where, kind, self._unused())
        except UserError:
            return False
        return True

    def suggest_memory(self, read: int, rejected: int, to: Console) -> None:
        """Say what would do for a table of so few rows on this machine, if it reads that.

        Nothing is said of a table that is refused, as no row of it is a message.
        """
        from fairlead.runs.paths import local

        place = local(self.where)
        if read > FEW or _has_none(read, rejected):
            return
        if place is not None and place.exists() and self._read_in_memory():
            to.print(
                f"{plural(read, 'row')}: --engine memory gives the same without Spark, in seconds",
                markup=False,
            )

    def at_one_version(self, spark: SparkSession) -> Self:
        """The same; of a table of a catalog that has versions the one of now, if none is named."""
        if not self.where.startswith(TABLE):
            return self
        from fairlead.pipeline.intake.catalog import one_version

        return self._replace(options=one_version(spark, self.where, self.options))

    @property
    def version(self) -> str:
        """Which version of a table of a catalog it is; "" for all else."""
        if not self.where.startswith(TABLE):
            return ""
        return ", ".join(f"{name}={value}" for name, value in self.options.items())

    def read(self, spark: SparkSession, only: Sequence[str] | None = None) -> DataFrame:
        """The messages; `only`: in these of the folder's files. Raises UserError."""
        from fairlead.pipeline.intake.read import read

        return read(
            spark,
            self.where,
            input_format=self.input_format,
            columns=self.columns,
            drop=self.drop,
            number_rows=self.number_rows,
            options=self.options,
            only=only,
        )


def _has_none(read: int, rejected: int) -> bool:
    """Whether a table has rows, and none of them is a message."""
    return 0 < rejected == read
