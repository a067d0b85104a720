"""Changes from a file at a URI, or from a table of the session's catalog."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath
from typing import Final

from pyspark.sql import SparkSession

from fairlead.balance.change import Change
from fairlead.config.changes import check_names
from fairlead.errors import ChangeError
from fairlead.pipeline.intake.catalog import table_of
from fairlead.pipeline.spark.hadoop import HadoopPath
from fairlead.runs.changes import load_changes, of_table
from fairlead.runs.paths import TABLE

MOST: Final = 1_000_000
"""Changes of a table; they are kept on the driver."""


def changes_at(spark: SparkSession, place: str) -> list[Change]:
    """The changes in a file, in its order; or in a table, those of one time by target and value.

    Raises ChangeError, UserError, EnvironmentProblem.
    """
    if place.startswith(TABLE):
        table = table_of(spark, place)
        check_names(table.columns, place)
        order = [name for name in ("time", "target", "attribute", "value") if name in table.columns]
        rows = table.limit(MOST + 1).orderBy(*order).toArrow()
        if len(rows) > MOST:
            raise ChangeError(f"{place}: found more than {MOST:,} rows, allowed: so many changes")
        return of_table(rows, place)
    with tempfile.TemporaryDirectory(prefix="fairlead-") as temporary:
        copy = Path(temporary) / PurePosixPath(place).name
        try:
            HadoopPath(spark, place).copy_to(copy)
        except OSError as error:
            raise ChangeError(f"{place}: cannot be read: {error.strerror}") from error
        try:
            return load_changes(copy)
        except ChangeError as error:
            raise ChangeError(str(error).replace(str(copy), place)) from None
