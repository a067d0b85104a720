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
    """`attribute` of `target` takes `value` at `time`; it holds for messages from then on.

    `time` is in whole microseconds. `target` is a name, `kind:name@owner` where a name alone is
    ambiguous, or the cluster's name or `*` with the attribute `reset`. `where` names file and row
    for error messages.
    """

    target: str
    attribute: str
    value: object = None
    time: int = 0
    where: str = "change"
