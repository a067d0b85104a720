"""Places of files: which of them are on this machine."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse


def local(place: str) -> Path | None:
    """The path of a plain path or a file: URL; None for a place elsewhere.

    >>> local("file:///data/a%20b.csv"), local("s3a://bucket/a.csv")
    (PosixPath('/data/a b.csv'), None)
    """
    url = urlparse(place)
    if url.scheme == "file":
        return Path(unquote(url.path))
    return None if url.scheme else Path(place)
