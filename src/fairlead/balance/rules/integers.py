"""Sequences of integers: lists in the live balancer, int64 arrays in the compiled engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

Ints: TypeAlias = Any
"""A list of int, or a NumPy array of int64; rules use only indexing and len() on it."""


INT64_END = 1 << 63


def copied(fields: Iterable[Ints]) -> list[list[int]]:
    """Each sequence as a list of its own, of Python integers."""
    return [[int(value) for value in field] for field in fields]
