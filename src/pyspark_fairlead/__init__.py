"""Spark looks for data sources in modules whose names begin with `pyspark_`, and finds this one."""

from fairlead.pipeline.store_tables.source import StoreTables as DefaultSource

__all__ = ["DefaultSource"]
