"""A reader: what it works on, or, where nothing overtakes, until when it works."""

from __future__ import annotations

from typing import Final

QUEUE: Final = 0
"""The row of its queue. All readers of a queue stand together, also those that it has not yet."""
GROUP: Final = 1
"""The row of the group that it has, or NONE."""
JOB: Final = 2
"""The job that it works on."""
FREE_AT: Final = 1
"""Where nothing overtakes: until when it works."""
FREE_TURN: Final = 2
"""Where nothing overtakes: in which turn of that instant it looks for work."""
SIZE: Final = 3
