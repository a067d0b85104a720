"""The log of Spark's driver: a file that goes with this process, unless it tells of a fault."""

from __future__ import annotations

import atexit
import os
import tempfile
from pathlib import Path


class SparkLog:
    """The file that the Spark started by this process logs to."""

    def __init__(self) -> None:
        """Nothing is made before `begin`."""
        self._file: Path | None = None

    def begin(self) -> Path:
        """Make the file; there is one for all sessions of this process."""
        if self._file is None:
            handle, name = tempfile.mkstemp(prefix="fairlead-spark-", suffix=".log")
            os.close(handle)
            self._file = Path(name)
            atexit.register(self._file.unlink, missing_ok=True)
        return self._file

    def keep(self) -> Path | None:
        """Let the file stay, for there was a fault; None where Spark has logged nothing there."""
        if self._file is None or not self._file.stat().st_size:
            return None
        atexit.unregister(self._file.unlink)
        return self._file


SPARK_LOG = SparkLog()
