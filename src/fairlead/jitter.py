"""Pauses of random length, so that many who wait do not come back at one moment."""

from __future__ import annotations

from random import Random
from typing import Final

_RANDOM: Final = Random()  # noqa: S311 - no secret
"""Our own: a program that seeds its random numbers gets the same ones with us as without."""


def between(least: float, most: float) -> float:
    """A number from one to another, in their unit; all are as likely."""
    return _RANDOM.uniform(least, most)
