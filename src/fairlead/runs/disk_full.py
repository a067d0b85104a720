"""Disk full: whether a disk was full, or could not be written to, when a write failed."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fairlead.errors import OutputError

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
IN_WORDS: Final = re.compile("|".join(re.escape(os.strerror(code)) for code in NO_ROOM))
FILE_SYSTEM: Final = re.compile(r"[^\n]*\n(\s+at java\.[^\n]*\n)*\s+at org\.apache\.hadoop\.fs\.")
"""Who calls Java, where Spark writes results; it writes its temporary files by itself."""


def no_room(error: BaseException) -> str | None:
    """Why something could not be written; None if it is an error of another kind."""
    if isinstance(error, OSError):
        return error.strerror if error.errno in NO_ROOM else None
    if "pyspark" not in sys.modules:  # as in programs that do without it
        return None
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    if not isinstance(error, Py4JJavaError | PySparkException):
        return None
    match = IN_WORDS.search(str(error))
    return match[0] if match else None


def of_results(error: BaseException) -> bool:
    """Whether it was for results that there was no room, not for Spark's temporary files."""
    if isinstance(error, OSError):
        return True
    text = str(error)
    if "\tat " not in text:  # of Spark Connect, which tells no more
        return "TASK_WRITE_FAILED" in text
    *_, last = IN_WORDS.finditer(text)
    return FILE_SYSTEM.match(text, last.end()) is not None


@contextmanager
def writing(place: Path | str) -> Iterator[None]:
    """Say where it was, if something cannot be written. Raises OutputError."""
    try:
        yield
    except ConnectionError:
        raise  # Spark's Java process is gone, which no file says
    except OSError as error:
        raise OutputError(f"{place}: cannot write there: {error.strerror}") from error
    except Exception as error:
        reason = no_room(error)
        if reason is None or not of_results(error):
            raise
        raise OutputError(f"{place}: cannot write there: {reason}") from error
