"""Changes: an attribute of the cluster changes at a time."""

from __future__ import annotations

from typing import NamedTuple

RESET = "reset"
PRESENT = "present"
STATE = "state"
FAILED = "failed"
UP = ("up",)
EVERYBODY = "*"


class Change(NamedTuple):
    """`attribute` of `target` takes `value` at `time`; it holds for messages from then on."""

    target: str
    """A name, or `kind:name@owner` where a name alone is ambiguous; with `reset` the cluster's
    name or `*`."""
    attribute: str
    """Any key of the target's table, `present`, `state` or `reset`."""
    value: object = None
    """What the table would allow, or the same as text."""
    time: int = 0
    """Whole microseconds, since the epoch or whatever the messages' times count from."""
    where: str = "change"
    """What error lines call it: file and row."""
