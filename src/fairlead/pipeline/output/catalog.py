"""Results in tables of the session's catalog.

    NAME             the decisions
    NAME_rejected    the rows that are no messages
    NAME_run         the small files, a row for each: `name`, `content`

While a run writes, the only row of NAME_run is its claim. The rows that replace it come last, and
make results of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, Self

import msgspec
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from fairlead.errors import OutputError
from fairlead.pipeline.intake.catalog import RUN, files_of, has_schema, on_table, with_ending
from fairlead.pipeline.output.claim import RunClaim
from fairlead.pipeline.output.tables_delivery import TablesDelivery
from fairlead.pipeline.spark.hadoop import HadoopPath, has_files
from fairlead.pipeline.spark.refusals import why
from fairlead.runs.disk_full import writing
from fairlead.runs.paths import CLAIM, SUMMARY, TABLE

DECISIONS: Final = "decisions"
PARTS: Final = {DECISIONS: "", "rejected": "_rejected"}
EVERY: Final = (*PARTS.values(), RUN)
OWN: Final = "spark_catalog"
"""The session's own catalog."""
OF_TABLES: Final = ("part-", "_", ".")
"""How names begin of what Spark writes into the folder of a table."""
FILES: Final = "name string, content string"


class CatalogDelivery(TablesDelivery):
    """Results in three tables, of which the last is filled last."""

    def __init__(self, out: str, *, overwrite: bool, read: str = "") -> None:
        """`out`: `table:catalog.schema.table`; `read`: where the messages are."""
        self.out, self.name, self.overwrite = out, out.removeprefix(TABLE), overwrite
        if read in {with_ending(out, ending) for ending in EVERY}:
            raise OutputError(f"{out}: found the table that is read, allowed: another one")
        self._spark: SparkSession | None = None
        self._claim = RunClaim.own()
        self._before: dict[str, str] = {}
        """The small files of the results that are to be replaced."""
        self._files: dict[str, str] = {}
        self._written = False
        self._delivered = False

    @property
    def spark(self) -> SparkSession:
        """The session, which `begin` gives."""
        if self._spark is None:
            raise OutputError(f"{self.out}: found no session, allowed: after `begin`")
        return self._spark

    def begin(self, spark: SparkSession) -> None:
        """Refuse tables that are there, or cannot be, and claim them."""
        schema = self.name.rpartition(".")[0] or spark.catalog.currentDatabase()
        if not has_schema(spark, schema):
            raise OutputError(f"{self.out}: the session's catalog has no schema {schema}")
        taken = self._taken(spark)
        files = files_of(spark, self.name) or {}
        if taken and not files:
            raise OutputError(
                f"{self.out}: found a table {self._table(taken[0])} that no run wrote, "
                "allowed: another name"
            )
        self._refuse_claimed(files)
        if SUMMARY in files and not self.overwrite:
            raise OutputError(f"{self.out}: exists; name another table, or use --overwrite")
        if CLAIM in files:
            with writing(self.out):
                self._clear_left(spark, taken)
        self._before = {name: text for name, text in files.items() if name != CLAIM}
        try:
            self._save(spark, {**self._before, CLAIM: self._claimed}, replace=bool(files))
        except (OutputError, PySparkException, Py4JJavaError) as error:
            self._refuse_claimed(files_of(spark, self.name) or {})  # another one was first
            if isinstance(error, OutputError):
                raise
            raise OutputError(f"{self.out}: cannot write there: {why(error)}") from error
        self._spark = spark

    def _taken(self, spark: SparkSession) -> list[str]:
        try:
            return [ending for ending in EVERY if spark.catalog.tableExists(self._table(ending))]
        except ParseException:
            raise OutputError(
                f"{self.out}: found {self.name!r}, allowed: the name of a table, such as "
                f"{TABLE}catalog.schema.table"
            ) from None

    def _clear_left(self, spark: SparkSession, taken: list[str]) -> None:
        """Remove the files of tables that a killed run was making, and the catalog has not.

        In the session's own catalog a table's files are there before the table is, and no table can
        be made where files are. Raises OSError.
        """
        schema, _, table = self.name.removeprefix(f"{OWN}.").rpartition(".")
        foreign = "." in schema or "`" in self.name or spark.catalog.currentCatalog() != OWN
        if foreign or not has_files(spark):
            return
        database = spark.catalog.getDatabase(schema or spark.catalog.currentDatabase())
        for ending in PARTS.values():
            place = HadoopPath(spark, database.locationUri) / with_ending(table, ending).lower()
            if ending in taken or not place.exists():
                continue
            if all(name.startswith(OF_TABLES) for name in place.names()):
                place.delete()

    def _refuse_claimed(self, files: dict[str, str]) -> None:
        if CLAIM not in files:
            return
        claim = msgspec.json.decode(files[CLAIM], type=RunClaim)
        lives = claim.lives()
        if lives is False:
            return
        way = "" if lives else f"; if it has ended, drop the table {self._table(RUN)}"
        raise OutputError(
            f"{self.out}: found another run that writes there ({claim}), allowed: one{way}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spark is None or self._delivered:
            return
        # A session that has ended cannot clear away; the next run to this place does.
        with suppress(Py4JError, PySparkException, ConnectionError, OutputError):
            self._check_claim()
            if not self._written and self._before:
                self._save(self._spark, self._before, replace=True)
                return
            for ending in EVERY if self._written else (RUN,):
                on_table(self._spark, "DROP TABLE IF EXISTS {}", self._table(ending))

    def path(self, name: str) -> str:
        return self._table(PARTS[name])

    def load(
        self, spark: SparkSession, name: str, file_format: str, schema: StructType
    ) -> DataFrame:
        return spark.table(self.path(name))

    def write(self, table: DataFrame, name: str, file_format: str, by: str | None = None) -> None:
        """Write a table in the format of the catalog."""
        if not self._written:
            self._check_claim()
            self._written = True
            self._save(self.spark, {CLAIM: self._claimed}, replace=True)  # no results any more
        with self._writing():
            table.write.mode("overwrite").saveAsTable(self.path(name))

    def move(self, name: str, to: str) -> None:
        raise self._no_folder()

    def remove(self, name: str) -> None:
        raise self._no_folder()

    def write_text(self, name: str, text: str) -> None:
        """Keep a small file; it is written when all the large ones are there."""
        self._files[name] = text

    def finish(self) -> None:
        self._check_claim()
        self._save(self.spark, self._files, replace=True)
        self._delivered = True
        self.delivered.append(self.out)

    def _table(self, ending: str) -> str:
        return with_ending(self.name, ending)

    @property
    def _claimed(self) -> str:
        return msgspec.json.encode(self._claim).decode()

    def _check_claim(self) -> None:
        """Make sure that the tables are still claimed by this run. Raises OutputError."""
        if (files_of(self.spark, self.name) or {}).get(CLAIM) != self._claimed:
            raise OutputError(f"{self.out}: found that another run has taken the place meanwhile")

    def _save(self, spark: SparkSession, files: Mapping[str, str], *, replace: bool) -> None:
        """Replace the table of small files; a new one is nobody else's."""
        rows = spark.createDataFrame(list(files.items()), FILES).coalesce(1)
        with self._writing():
            mode = "overwrite" if replace else "error"
            rows.write.mode(mode).saveAsTable(self._table(RUN))

    def _no_folder(self) -> OutputError:
        return OutputError(f"{self.out}: found a table, allowed: a folder")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Say where it was, if a table cannot be written. Raises OutputError."""
        try:
            with writing(self.out):
                yield
        except AnalysisException as error:
            raise OutputError(f"{self.out}: cannot write there: {why(error)}") from error
