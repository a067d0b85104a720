"""What a command's end means to the shell: 0 done, 1 a fault of ours, 2 the user's mistake."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable

import typer

from fairlead.cli.stopping import NOTHING, prevailing
from fairlead.errors import FairleadError, MessageError, RuleError, UserError

UNREADABLE = "FAILED_READ_FILE"
"""What Spark calls a file that is not what its name or its folder's other files promise."""
ON_EXECUTORS = "|".join(each.__name__ for each in (RuleError, MessageError))
OURS = re.compile(rf"{RuleError.__module__}\.({ON_EXECUTORS}): (?P<line>.*)")
"""What a rule of a user's own did wrong on an executor, or what messages say that cannot be."""
DONE, FAULT, MISTAKE, STOPPED = 0, 1, 2, 130


def guarded(command: Callable[[], object]) -> int:
    """Run a command; every error becomes one clear line on stderr."""
    try:
        with prevailing():
            status = command()
    except UserError as error:
        return _say(error.in_shell, MISTAKE)
    except FairleadError as error:
        return _say(f"a fault of ours: {error}", FAULT)
    except typer.Exit as stop:
        if stop.exit_code == STOPPED:  # what Typer makes of a KeyboardInterrupt
            return _say(f"stopped; {NOTHING}", STOPPED)
        return stop.exit_code
    except typer.TyperException as error:
        told = error.format_message()  # empty where the help has been printed instead
        return _say(told, MISTAKE) if told else MISTAKE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:  # noqa: BLE001 - the last line of defence
        line = sparks_line(error)
        if line is not None:
            return _say(line, MISTAKE)
        traceback.print_exc()
        return _say(f"a fault of ours: {type(error).__name__}: {error}", FAULT)
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
    own = OURS.search(str(error))
    if own:
        return own["line"]
    condition = error.getCondition() or ""
    ours = condition in {"", "INTERNAL_ERROR"} or "PYTHON" in condition
    first = str(error).strip().splitlines()[0]
    return None if ours else f"Spark: {first}"


def _say(line: str, status: int) -> int:
    typer.echo("fairlead: " + " ".join(line.split("\n")), err=True)
    return status
