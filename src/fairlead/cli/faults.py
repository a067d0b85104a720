"""What a command's end means to the shell: done, a mistake, or a fault."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from signal import Signals
from typing import Final

import typer

from fairlead.cli.output import UnwrittenError, watched
from fairlead.cli.stopping import NOTHING, prevailing
from fairlead.errors import FairleadError, MessageError, RuleError, UserError

UNREADABLE = "FAILED_READ_FILE"
"""What Spark calls a file that is not what its name or its folder's other files promise."""
ON_EXECUTORS = "|".join(kind.__name__ for kind in (RuleError, MessageError))
OURS = re.compile(rf"{RuleError.__module__}\.({ON_EXECUTORS}): (?P<line>.*)")
"""What a rule of a user's own did wrong on an executor, or what messages say that cannot be."""
BROKEN_OFF: Final = {
    re.compile(
        r"Python worker exited unexpectedly|EOFException occurred while reading the port number"
        r"|java\.(io|net)\.(EOFException|\w+: (Broken pipe|Connection reset))[^\n]*\n"
        r"(\s+at [^\n]*\n){0,9}?\s+at org\.apache\.spark\.[a-z.]*python\."
    ): "a Python worker was killed, or crashed",
    re.compile(r"ExecutorLostFailure"): "executors were lost",
    re.compile(r"java\.lang\.OutOfMemoryError"): "Java had too little memory",
    re.compile(r"SparkContext was shut down|stopped SparkContext"): "it was stopped",
}
"""What Spark says where it could not go on, for no fault of anybody's program: in words."""
SECONDS_TO_END: Final = 5
DONE, FAULT, MISTAKE, STOPPED = 0, 1, 2, 130


def guarded(command: Callable[[], object]) -> int:
    """Run a command; every error becomes one clear line on stderr."""
    try:
        with prevailing(), watched():
            status = command()
    except UnwrittenError as error:
        return DONE if error.unread else _say(str(error), MISTAKE)
    except UserError as error:
        return _say(error.in_shell, MISTAKE)
    except FairleadError as error:
        return _say(f"a fault of ours: {error}", FAULT)
    except typer.Exit as stop:
        if stop.exit_code == STOPPED:  # what Typer makes of a KeyboardInterrupt
            return _say(f"stopped; {NOTHING}", STOPPED)
        return stop.exit_code
    except typer.TyperException as error:
        text = error.format_message()  # empty where the help has been printed instead
        return _say(text, MISTAKE) if text else MISTAKE
    except Exception as error:  # noqa: BLE001 - the last line of defence
        line = sparks_line(error) or machines_line(error)
        if line is not None:
            return _say(line, MISTAKE)
        line = broken_off(error)
        if line is not None:
            return _say(f"{line}; {NOTHING}{_log()}", FAULT)
        traceback.print_exc()
        return _say(f"a fault of ours: {type(error).__name__}: {error}{_log()}", FAULT)
    return status if isinstance(status, int) else DONE


def sparks_line(error: Exception) -> str | None:
    """What Spark says of a mistake in the user's data or expressions; None for anything else."""
    if "pyspark" not in sys.modules:
        return None
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    if isinstance(error, Py4JJavaError) and UNREADABLE in str(error):
        cause = str(error).rpartition("Caused by: ")[2].partition("\n\tat ")[0]
        return "Spark: " + " ".join(cause.partition(": ")[2].split())
    if not isinstance(error, PySparkException):
        return None
    match = OURS.search(str(error))
    if match:
        return match["line"]
    condition = error.getCondition() or ""
    ours = condition in {"", "INTERNAL_ERROR"} or "PYTHON" in condition
    first = str(error).strip().splitlines()[0]
    return None if ours else f"Spark: {first}"


def machines_line(error: Exception) -> str | None:
    """What this machine, or another one, has no room for; None for anything else."""
    from fairlead.runs.disk_full import no_room

    if isinstance(error, MemoryError):
        return f"found no more memory, allowed: less at a time; {NOTHING}"
    reason = no_room(error)
    if reason is None:
        return None
    if isinstance(error, OSError):
        return f"{error.filename or tempfile.gettempdir()}: {reason}"
    place = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    return (
        f"Spark's temporary files: {reason}; they are in {place}, on a cluster in the folders of "
        "its workers; TMPDIR and SPARK_LOCAL_DIRS name other folders"
    )


def broken_off(error: Exception) -> str | None:
    """That Spark, or a process that worked for it, has ended before its time; None if not so."""
    if "pyspark" not in sys.modules:
        return None
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException

    if isinstance(error, Py4JJavaError | PySparkException):
        text = str(error)
        why = (words for pattern, words in BROKEN_OFF.items() if pattern.search(text))
        return next((f"Spark could not go on: {words}" for words in why), None)
    if type(error) is not Py4JError and not isinstance(error, ConnectionError | Py4JNetworkError):
        return None
    java = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - nobody else knows it
    try:
        status = None if java is None else java.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        return None
    how = f" (killed by {Signals(-status).name})" if status is not None and status < 0 else ""
    return f"Spark's Java process has ended before its time{how}"


def _log() -> str:
    """Where Spark's log is, if it has something to tell."""
    log = sys.modules.get("fairlead.pipeline.spark.log")
    file = None if log is None else log.SPARK_LOG.keep()
    return "" if file is None else f"; Spark's log: {file}"


def _say(line: str, status: int) -> int:
    typer.echo("fairlead: " + " ".join(line.split("\n")), err=True)
    return status
