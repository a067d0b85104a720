"""Paths of the console's own pages."""

from __future__ import annotations

from urllib.parse import urlencode


def url(path: str, /, **query: object) -> str:
    """A path of ours with its query; what is None or "" is left out."""
    pairs = {key: str(value) for key, value in query.items() if value is not None and value != ""}
    return f"{path}?{urlencode(pairs)}" if pairs else path


def our_path(path: str) -> str:
    """A path of ours that somebody names, to go on to; the first page where it is none."""
    is_ours = path.startswith("/") and path[1:2] not in {"/", "\\"} and path.isprintable()
    return path if is_ours else "/"
