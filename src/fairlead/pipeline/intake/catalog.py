"""Tables of the session's catalog, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from fairlead.errors import UserError
from fairlead.pipeline.spark.refusals import why
from fairlead.runs.paths import SUMMARY, TABLE

RUN = "_run"
"""How the table ends that has the small files of a run: `name`, `content`."""
VERSION_AS_OF: Final = "versionAsOf"
NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")


def table_of(
    spark: SparkSession, place: str, version: Mapping[str, str] | None = None
) -> DataFrame:
    """The table that a place names: `table:catalog.schema.table`. Raises UserError.

    `version`: which one of it, as `one_version` says; without it the one of now, if it has any.
    """
    name = place.removeprefix(TABLE)
    try:
        table = spark.read.options(**one_version(spark, place, version)).table(name)
        if not table.columns:
            raise UserError(f"{place}: not a table: found no columns")
    except ParseException:
        raise UserError(
            f"{place}: found {name!r}, allowed: the name of a table, such as "
            f"{TABLE}catalog.schema.table"
        ) from None
    except PySparkException as error:
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


def one_version(
    spark: SparkSession, place: str, version: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Options with which a table stays what it is now, whoever writes to it meanwhile.

    A table of Delta or Iceberg is read anew by each query, and one run has several. `version`:
    which one was asked for. Other tables have no versions, and get no option.
    """
    if version:
        return dict(version)
    name = place.removeprefix(TABLE)
    with suppress(PySparkException):  # a table that cannot be read is refused where it is read
        latest = _version_of(spark, name)
        if latest is not None:
            return {VERSION_AS_OF: str(latest)}
    return {}


def _version_of(spark: SparkSession, name: str) -> int | None:
    """The version of a table of Delta, or the snapshot of one of Iceberg; None: it has none."""
    rows = (
        on_table(spark, "DESCRIBE TABLE EXTENDED {}", name).where("col_name = 'Provider'").take(1)
    )
    provider = str(rows[0]["data_type"]).lower() if rows else ""
    if provider == "delta":
        last = on_table(spark, "DESCRIBE HISTORY {} LIMIT 1", name).first()
        return None if last is None else int(last["version"])
    if provider == "iceberg":
        main = spark.table(f"{name}.refs").where("name = 'main'").first()
        return None if main is None else int(main["snapshot_id"])
    return None


def on_table(spark: SparkSession, statement: str, name: str) -> DataFrame:
    """Run a statement on a table, whose name stands for `{}`.

    Under Delta's extension no parameter can stand there. What Spark reads as a name is one as a
    whole, with no more of a statement in it. Raises ParseException where it is none.
    """
    spark.catalog.tableExists(name)
    return spark.sql(statement.format(name))


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
