"""Columns as Spark SQL expressions of the table's own, and columns that are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairlead.balance.objects import hint
from fairlead.compiled.needed import named
from fairlead.errors import UserError
from fairlead.pipeline.columns import MALFORMED, quoted
from fairlead.pipeline.spark.refusals import unknown_column, why

IDENTITY = "id"
COLUMN = re.compile(r"[A-Za-z_]\w*")
"""An expression that is a column and nothing else, or one of CONSTANTS."""
CONSTANTS = {
    *("null", "true", "false", "user", "current_user", "session_user", "current_date"),
    *("current_time", "current_timestamp", "localtimestamp", "current_catalog", "_metadata"),
}


def names_of(
    names: Sequence[str],
    path: str,
    *,
    columns: Mapping[str, str],
    drop: Sequence[str],
    number_rows: bool,
) -> list[str]:
    """What `read` makes of a table's names. Raises UserError for what it cannot do with them."""
    if number_rows and IDENTITY in names and IDENTITY not in drop:
        line = "makes the column id, found one in the table; leave it out, or"
        raise UserError(
            f"{path}: number_rows {line} drop id to lose the table's own",
            f"{path}: --number-rows {line} --drop id to lose the table's own",
        )
    for name in drop:
        if name not in names:
            line = f"drop: found {name!r}, allowed: {named(names)}{hint(name, names)}"
            raise UserError(f"{path}: {line}", f"{path}: --{line}")
    for name, expression in columns.items():
        column = expression.strip()
        known = {each.lower() for each in names} | CONSTANTS
        if COLUMN.fullmatch(column) and column.lower() not in known:
            raise _unmapped(path, f"{name}={expression}", _no_column(column, names), names)
    return [*_kept(names, columns, drop), *([IDENTITY] if number_rows else []), *columns]


def _no_column(name: str, names: Sequence[str]) -> str:
    return f"found no column {name!r}{hint(name, names)}"


def _unmapped(path: str, spelled: str, found: str, names: Sequence[str]) -> UserError:
    line = f"{spelled}: {found}; the table has: {named(names)}"
    return UserError(f"{path}: columns: {line}", f"{path}: --column {line}")


def _kept(names: Sequence[str], columns: Mapping[str, str], drop: Sequence[str]) -> list[str]:
    """The table's own columns that stay. Spark does not tell upper from lower case in names."""
    made = {name.lower() for name in columns}
    return [name for name in names if name.lower() not in made and name not in drop]


def mapped(
    table: DataFrame, path: str, columns: Mapping[str, str], drop: Sequence[str]
) -> DataFrame:
    """The table with these columns instead of its own. Raises UserError."""
    kept = [quoted(name) for name in _kept(table.columns, columns, drop)]
    try:
        made = [F.expr(expression).alias(name) for name, expression in columns.items()]
        chosen = table.select(*kept, *made)
        return chosen if own_columns(chosen) else table
    except (AnalysisException, ParseException) as error:
        spelled = ", ".join(f"{name}={expression}" for name, expression in columns.items())
        names = own_columns(table)
        unknown = unknown_column(error)
        found = why(error) if unknown is None else _no_column(unknown, names)
        raise _unmapped(path, spelled, found, names) from None


def own_columns(table: DataFrame) -> list[str]:
    """The columns that are the table's own."""
    return [name for name in table.columns if name != MALFORMED]
