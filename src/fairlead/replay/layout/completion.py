"""A completion to come. They stand in a heap of their own, `completions.py`."""

from __future__ import annotations

from typing import Final

AT: Final = 0
ORDER: Final = 1
"""Which start it belongs to, counted from 1."""
WHO: Final = 2
"""The row of the reader; where nothing overtakes, the member of the rule."""
SIZE: Final = 3
