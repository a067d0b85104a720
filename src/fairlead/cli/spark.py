"""Start Spark for a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.cli.stopping import handler_kept

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fairlead.cli.progress import Stages


def started(master: str | None, stages: Stages, *, small: bool = False) -> SparkSession:
    """The session that is running, or one that is started as a stage of the command.

    `small`: whether it is for little work.
    """
    with stages("start Spark"), handler_kept():
        from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer

        from fairlead.pipeline.spark.session import session

        for each in (AccumulatorTCPServer, AccumulatorUnixServer):
            each.handle_error = _quietly  # type: ignore[assignment]  # mypy counts `self` twice
        return session(master, {}, small=small)


def _quietly(*_: object) -> None:
    """A thread of PySpark's would print a traceback of its own when Java ends before its time."""
