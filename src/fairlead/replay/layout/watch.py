"""A watch: the time in which a copy is to be acknowledged."""

from __future__ import annotations

from typing import Final

JOB: Final = 0
DEADLINE: Final = 1
EARLIER: Final = 2
LATER: Final = 3
"""Its neighbours in the list of all; in a free row LATER is the next free one."""
RING: Final = 4
"""The next of those that one acknowledgement ends together."""
SIZE: Final = 5
