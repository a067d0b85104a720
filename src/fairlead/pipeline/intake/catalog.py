"""Tables of the session's catalog, by their names."""

from __future__ import annotations

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from fairlead.errors import UserError
from fairlead.pipeline.spark.refusals import why
from fairlead.runs.paths import SUMMARY, TABLE

RUN = "_run"
"""How the table ends that has the small files of a run: `name`, `content`."""
NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")


def table_of(spark: SparkSession, place: str) -> DataFrame:
    """The table that a place names: `table:catalog.schema.table`. Raises UserError."""
    name = place.removeprefix(TABLE)
    try:
        table = spark.table(name)
        if not table.columns:
            raise UserError(f"{place}: not a table: found no columns")
    except ParseException:
        raise UserError(
            f"{place}: found {name!r}, allowed: the name of a table, such as "
            f"{TABLE}catalog.schema.table"
        ) from None
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith(NOT_FOUND):
            raise UserError(f"{place}: cannot be read: {why(error)}") from None
        raise UserError(f"{place}: {missing(spark, name)}") from None
    files = files_of(spark, name)
    if files is not None and SUMMARY not in files:
        raise UserError(
            f"{place}: found results that are not whole (a run writes them, or was killed), "
            "allowed: those of a run that has ended"
        )
    return table


def missing(spark: SparkSession, name: str) -> str:
    """What the catalog lacks of a table that is not there: the table, or its schema."""
    schema, _, table = name.rpartition(".")
    schema = schema or spark.catalog.currentDatabase()
    if not has_schema(spark, schema):
        return f"the session's catalog has no schema {schema}"
    return f"the session's catalog has no table {table} in the schema {schema}"


def has_schema(spark: SparkSession, name: str) -> bool:
    """Whether the catalog has a schema; not where it has no such catalog either."""
    try:
        return spark.catalog.databaseExists(name)
    except AnalysisException:
        return False


def with_ending(name: str, ending: str) -> str:
    """The name of a table beside another one.

    >>> with_ending("main.routed", "_run"), with_ending("main.`my-table`", "_run")
    ('main.routed_run', 'main.`my-table_run`')
    """
    return f"{name[:-1]}{ending}`" if name.endswith("`") else name + ending


def files_of(spark: SparkSession, name: str) -> dict[str, str] | None:
    """The small files of a run whose decisions are in a table; None where it is no run's."""
    beside = with_ending(name, RUN)
    if not spark.catalog.tableExists(beside):
        return None
    files = spark.table(beside)
    if files.columns != ["name", "content"]:
        return None
    return {row["name"]: row["content"] for row in files.collect()}
