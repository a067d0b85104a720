"""Columns as Spark SQL expressions of the table's own, and columns that are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairlead.pipeline.columns import quoted
from fairlead.pipeline.spark.refusals import unknown_column, why
from fairlead.runs.constants import MALFORMED
from fairlead.runs.names import kept, no_column, unmapped


def mapped(
    table: DataFrame, path: str, columns: Mapping[str, str], drop: Sequence[str]
) -> DataFrame:
    """The table with these columns instead of its own. Raises UserError."""
    others = [quoted(name) for name in kept(table.columns, columns, drop)]
    try:
        made = [F.expr(expression).alias(name) for name, expression in columns.items()]
        chosen = table.select(*others, *made)
        return chosen if own_columns(chosen) else table
    except (AnalysisException, ParseException) as error:
        spelled = ", ".join(f"{name}={expression}" for name, expression in columns.items())
        names = own_columns(table)
        unknown = unknown_column(error)
        reason = why(error) if unknown is None else no_column(unknown, names)
        raise unmapped(path, spelled, reason, names) from None


def own_columns(table: DataFrame) -> list[str]:
    """The columns that are the table's own."""
    return [name for name in table.columns if name != MALFORMED]
