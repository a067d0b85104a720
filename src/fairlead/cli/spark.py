"""Start Spark for a command."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Final

from fairlead.cli.stopping import handler_kept

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fairlead.cli.progress import Stages


LATER: Final = ("fairlead.pipeline.dispatch", "pyspark.testing.utils")
"""What is needed as soon as Java has started; PySpark asks the last one what is installed."""
PAGE: Final = ("altair",)
"""What a report is drawn with."""


def started(
    master: str | None, stages: Stages, *, small: bool = False, page: bool = False
) -> SparkSession:
    """The session that is running, or one that is started as a stage of the command.

    `small`: whether it is for little work. `page`: whether a report follows.
    """
    with stages("start Spark"), handler_kept():
        from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer

        from fairlead.pipeline.spark.session import session

        for server in (AccumulatorTCPServer, AccumulatorUnixServer):
            server.handle_error = _quietly  # type: ignore[assignment]  # mypy counts `self` twice
        # Not before: two threads in one circle of imports would see a module that is half there.
        _load((*LATER, *PAGE) if page else LATER)
        return session(master, {}, small=small)


def _load(modules: Sequence[str]) -> None:
    """Load modules while Java starts, for which this process would only wait."""

    def load() -> None:
        for module in modules:
            with suppress(Exception):  # who needs it meets the same, and says it
                import_module(module)

    Thread(target=load, name="fairlead-load", daemon=True).start()


def _quietly(*_: object) -> None:
    """A thread of PySpark's would print a traceback of its own when Java ends before its time."""
