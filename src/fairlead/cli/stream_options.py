"""Options that only a stream has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairlead.errors import UserError


@dataclass(frozen=True)
class FollowOptions:
    """Options that only a stream has. Times in seconds."""

    horizon: float
    every: float
    files: int | None
    available_now: bool
    kafka: str | None
    """`HOST:PORT` of a broker, or several."""


def refuse_without_follow(given: Mapping[str, object]) -> None:
    """Refuse options of a stream where there is none. Raises UserError."""
    for name in (name for name, value in given.items() if value):
        raise UserError(f"{name}: found without --follow, allowed: with it")
