"""A destination as the cluster is now; they stand in the order of the rule's members.

There is no capacity here: only the choice rule knows it. See `who.chosen`.
"""

from __future__ import annotations

from typing import Final

KEEPS_BOUND: Final = 0
"""1 where what is bound to it may stay."""
QUEUE: Final = 1
"""The row of its queue."""
OUTCOME: Final = 2
"""The outcome of a message for which it is chosen."""
LABEL: Final = 3
"""The code of its name and address."""
SIZE: Final = 4
