"""Places of files: which of them are on this machine, and how Spark is given them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from fairlead.errors import UserError

URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
TABLE: Final = "table:"
"""How the name of a table of the session's catalog begins."""
SPECIAL: Final = re.compile(r"[][{}*?\\:]")
"""What Spark and Hadoop read otherwise in a path."""
SUMMARY: Final = "summary.json"
COMPARISON: Final = "comparison.json"
RECOMMENDATION: Final = "recommendation.json"
"""What a run found; a folder has one of them where one of ours wrote it, and all of it."""
CLAIM: Final = "_writing.json"
"""In a folder elsewhere that is not whole yet: which run writes there."""
OF_PATTERNS: Final = re.compile(r"([][{}*?\\])")


def refuse_of_files(table: str, options: Mapping[str, object]) -> None:
    """Refuse for a table of a catalog what only files have. Raises UserError.

    `options`: name → value; those that are None or empty were not given.
    """
    for name in (name for name, value in options.items() if value):
        raise UserError(f"{name}: found with {table}, allowed: with files")


def local(place: str) -> Path | None:
    """The path of a plain path or a file: URL; None for a place elsewhere.

    >>> local("file:///data/a%20b.csv"), local("s3a://bucket/a.csv"), local("at-12:30.csv")
    (PosixPath('/data/a b.csv'), None, PosixPath('at-12:30.csv'))
    """
    if place.startswith(TABLE):
        return None
    if not URL.match(place):
        return Path(place)
    url = urlparse(place)
    return Path(unquote(url.path)) if url.scheme == "file" else None


def is_elsewhere(place: str) -> bool:
    """Whether it is on no file system of this machine."""
    return local(place) is None


def inside(place: str, name: str) -> str:
    """What has this name in a folder, here or elsewhere; beside a table.

    >>> inside("s3a://bucket/out/", "report.html"), inside("out/", "report.html")
    ('s3a://bucket/out/report.html', 'out/report.html')
    """
    if place.startswith(TABLE):
        return f"{place}_{name}"
    return f"{place.rstrip('/')}/{name}" if URL.match(place) else str(Path(place) / name)


def on_this_machine(place: Path) -> str:
    """A place of this machine as Spark takes it, whatever the session's default file system is.

    >>> on_this_machine(Path("/data/a b"))
    'file:///data/a b'
    """
    return f"file://{place.absolute()}"


def for_spark(place: str) -> str:
    """A path as Spark takes it: where there is such a file or folder, it is no pattern.

    A plain path is one of this machine, whatever the session's default file system is.

    >>> for_spark("/data/*.csv"), for_spark("s3a://calls/2026-11")
    ('file:///data/*.csv', 's3a://calls/2026-11')
    """
    path = local(place)
    if path is None:
        return place
    if SPECIAL.search(str(path)) and path.exists():
        path = Path(OF_PATTERNS.sub(r"\\\1", str(path.absolute())))
    return on_this_machine(path)
