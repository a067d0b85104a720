"""The first cells of a row that can stand in a heap of `heap.py`: a group's, and a tenant's."""

from __future__ import annotations

from typing import Final

FIRST: Final = 0
SECOND: Final = 1
"""Its key, the lowest first; keys of one heap are unique."""
CHILD: Final = 2
SIBLING: Final = 3
BEFORE: Final = 4
"""The row whose first child this is, or the sibling on its left."""
PLACED: Final = 5
"""1 while it is in a heap."""
SIZE: Final = 6
