"""Attempts that were written: which of them count."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fairlead.replay.words import AGAIN


def last_attempts(written: DataFrame) -> DataFrame:
    """The attempts that count: after which a message does not go on."""
    return written.where(~F.col("outcome").isin(*AGAIN))
