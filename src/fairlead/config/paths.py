"""Paths as callers give them."""

from __future__ import annotations

from pathlib import Path

from fairlead.balance.objects import repr_of
from fairlead.errors import UserError


def path_of(value: object, refused: type[UserError]) -> Path:
    """A path that can be looked at; else raises `refused`."""
    if not isinstance(value, str | Path):
        raise refused(f"path: found {repr_of(value)}, allowed: a text, or a pathlib.Path")
    try:
        Path(value).stat()
    except FileNotFoundError:
        pass  # what should be there knows best how to say so
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise refused(f"{repr_of(str(value))}: cannot be looked at: {reason}") from None
    return Path(value)
