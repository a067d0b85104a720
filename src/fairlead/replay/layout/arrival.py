"""A message that comes in.

It is given by columns, not by rows: its time, and what stands in its job from MESSAGE to SEQUENCE,
under the same numbers.
"""

from __future__ import annotations

from typing import Final

from fairlead.replay.layout import job

TIME: Final = 0
SIZE: Final = job.SEQUENCE + 1
"""How many columns that are."""

CONTROL: Final = -1
"""The class of a message that is no work and only raises its group."""
