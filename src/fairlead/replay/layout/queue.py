"""A queue: where messages wait together for readers.

Each destination has one, or shares one. The last queue has no readers: messages that are not
assigned wait there for a destination to be ready.
"""

from __future__ import annotations

from typing import Final

TENANTS: Final = 0
"""The root of the heap of its tenants."""
CLOCK: Final = 1
"""The highest tag that was next so far."""
LOCKED: Final = 2
"""How many groups are with readers."""
BUSY_PERIOD: Final = 3
"""The number of its busy period; one ends when nothing waits and nobody works."""
READERS: Final = 4
IDLE: Final = 5
"""How many of them have nothing to do."""
FIRST_READER: Final = 6
"""The row of its first reader."""
SPEED: Final = 7
"""Thousandths of the nominal speed."""
TOUCHED: Final = 8
"""1: its readers are to look for work in this instant."""
WAITING: Final = 9
"""How many jobs wait."""
AREA: Final = 10
"""The sum of all times during which jobs waited, as seen by the clock."""
COUNTED: Final = 11
"""The time up to which AREA is counted."""
SIZE: Final = 12
