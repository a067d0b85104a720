"""Folders elsewhere to which a run of ours writes: what is there are no messages yet."""

from __future__ import annotations

from pyspark.sql import SparkSession

from fairlead.errors import UserError
from fairlead.pipeline.spark.hadoop import HadoopPath, has_files
from fairlead.runs.paths import CLAIM, COMPARISON, SPECIAL, SUMMARY, TABLE, is_elsewhere


def refuse_unfinished(spark: SparkSession, path: str) -> None:
    """Refuse results elsewhere that are not whole, or a part of them. Raises UserError.

    Nothing is looked at for a pattern, and under Spark Connect, which has no way to look.
    """
    if (
        path.startswith(TABLE)
        or not is_elsewhere(path)
        or SPECIAL.search(path.partition(":")[2])
        or not has_files(spark)
    ):
        return
    try:
        place = HadoopPath(spark, path)
        for folder in (place, place.parent):
            if folder is None or not (folder / CLAIM).exists():
                continue
            if not any((folder / name).exists() for name in (SUMMARY, COMPARISON)):
                raise UserError(
                    f"{path}: found results that are not whole (a run writes them, or was "
                    "killed), allowed: those of a run that has ended"
                )
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
