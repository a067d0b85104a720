"""A group at one queue: its jobs that wait, those that its reader was given, and its entry.

A message without a group is a group of its own.
"""

from __future__ import annotations

from typing import Final

from fairlead.replay.layout import links

QUEUE: Final = links.SIZE
"""The row of the queue where it waits."""
NUMBER: Final = links.SIZE + 1
"""Its number, or NONE."""
TENANT: Final = links.SIZE + 2
"""The row of its tenant there."""
HEAD: Final = links.SIZE + 3
TAIL: Final = links.SIZE + 4
"""The first and the last job that waits."""
QUEUED_COST: Final = links.SIZE + 5
"""What they cost together."""
RAISED: Final = links.SIZE + 6
ENTERED: Final = links.SIZE + 7
ENTRY: Final = links.SIZE + 8
"""The entry: priority (NONE: there is none), when it was entered, its running number."""
LOCKED: Final = links.SIZE + 9
"""1 while a reader has it."""
FIRST_GIVEN: Final = links.SIZE + 10
LAST_GIVEN: Final = links.SIZE + 11
"""The first and the last job that the reader was given."""
GIVEN_COST: Final = links.SIZE + 12
"""What these cost together."""
WAS_RAISED: Final = links.SIZE + 13
WAS_ENTERED: Final = links.SIZE + 14
WAS_ENTRY: Final = links.SIZE + 15
"""The entry with which it was taken."""
WAS_TURN: Final = links.SIZE + 16
"""Its tenant's turn before it was taken."""
NEXT: Final = links.SIZE + 17
"""The row of the same group at another queue; in a free row the next free one."""
SIZE: Final = links.SIZE + 18
