"""A tenant at one queue: its groups that wait, and what it was charged."""

from __future__ import annotations

from typing import Final

from fairlead.replay.layout import links

QUEUE: Final = links.SIZE
NUMBER: Final = links.SIZE + 1
TAG: Final = links.SIZE + 2
TURN: Final = links.SIZE + 3
"""Its place among the queue's tenants: what it was charged, then whose turn it is."""
SHARE: Final = links.SIZE + 4
"""By how much one unit of cost moves its tag."""
GROUPS: Final = links.SIZE + 5
"""The root of the heap of its groups."""
BUSY_PERIOD: Final = links.SIZE + 6
"""The busy period of the queue in which it was charged; in a later one that does not count."""
NEXT: Final = links.SIZE + 7
"""The row of the same tenant at another queue; in a free row the next free one."""
SIZE: Final = links.SIZE + 8
