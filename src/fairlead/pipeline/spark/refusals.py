"""Refusals of Spark's and Hadoop's, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

JAVA = re.compile(r"^(?:[a-z][\w]*\.)+[\w$]+: ")
"""The class of an error from Java."""
TWICE = "COLUMN_ALREADY_EXISTS"
UNRESOLVED = "UNRESOLVED_COLUMN"
NOT_REACHED: Final[Mapping[re.Pattern[str], str]] = {
    re.compile(r"PATH_NOT_FOUND\] (.*)"): "no such file or folder",
    re.compile(r"UnknownHostException: ([^\s:;]+)"): "there is no host {0!r}",
    re.compile(r"(?:Connect|NoRouteToHost|SocketTimeout)Exception: (?!Call From)([^;\n]+)"): (
        "nobody answers there: {0}"
    ),
    re.compile(r'(?:No FileSystem for scheme "?|Class org\.apache\.hadoop\.fs\.)(\w+)'): (
        "this Spark lacks a package with the file system {0}"
    ),
    re.compile(r"UNSUPPORTED_FILE_SYSTEM\].*The file system (\S+)"): (
        "Spark cannot read tables from there: {0} does not list files"
    ),
    re.compile(r"AccessControlException: ([^\n]+)"): "cannot be read: {0}",
}
"""What Hadoop says of places that it does not reach: in words."""


def why(error: Exception) -> str:
    """Why Spark refuses, in one line: what is at the bottom of it, without names of Java's."""
    if isinstance(error, PySparkException) and error.getCondition() == TWICE:
        name = (error.getMessageParameters() or {}).get("columnName", "")
        return f"column {name}: found twice, allowed: once (upper and lower case are alike)"
    lines = [line for line in str(error).strip().splitlines() if not line.startswith("\tat ")]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    # Of an error from Java the first line only says where Python called it.
    first = lines[1] if isinstance(error, Py4JJavaError) and len(lines) > 1 else lines[0]
    line = causes[-1].removeprefix("Caused by: ") if causes else first.removeprefix(": ")
    line = JAVA.sub("", line)
    return line.split("] ", 1)[-1].split(" SQLSTATE")[0].rstrip(". ")


def of_client(error: PySparkException, first: re.Pattern[str]) -> str | None:
    """What a client of Java's says that Spark calls, and what is at the bottom of that.

    `first`: finds the client's error among all those that led to this one. None: there is none.
    """
    # PySpark keeps them to itself, and may leave them out of the text.
    lines = str(getattr(error, "_stackTrace", error)).splitlines()
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    for place, cause in enumerate(causes):
        match = first.match(cause)
        if match:
            last = JAVA.sub("", causes[-1])
            return match[1] if place == len(causes) - 1 else f"{match[1]}: {last}"
    return None


def unknown_column(error: PySparkException) -> str | None:
    """The column that an expression names and the table has not; None for other refusals."""
    if not (error.getCondition() or "").startswith(UNRESOLVED):
        return None
    return (error.getMessageParameters() or {}).get("objectName", "").replace("`", "")


def not_reached(error: Exception) -> str | None:
    """That nobody has looked at the files, and why; None where somebody has."""
    matches = ((pattern.search(str(error)), words) for pattern, words in NOT_REACHED.items())
    return next((words.format(match[1]) for match, words in matches if match), None)
