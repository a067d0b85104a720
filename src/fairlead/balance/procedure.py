"""What decides who gets a message: the order in which an engine asks, the same in all of them.

A message goes where its key is bound. Else it goes to the member that was preselected. Else the
choice rule is asked, if there is anybody to choose among. Whoever is found, the key is bound to.

The live balancer calls this as it stands; tables and replays call it compiled.
"""

from __future__ import annotations

from typing import Final

NONE: Final = -1
"""Instead of a member."""
BINDING: Final = 0
PRESELECTION: Final = 1
RULE: Final = 2
NO_CANDIDATE: Final = 3
"""Nobody is left: the outcome is what the eliminations say."""


def what_decides(bound: int, preselected: int, some: bool) -> int:
    """What decides about a message: BINDING, PRESELECTION, RULE or NO_CANDIDATE.

    Args:
        bound: the member that its key is bound to and that still takes what is bound, or NONE.
        preselected: the member that the eliminations have settled on, or NONE.
        some: whether they have left members to choose among.
    """
    if bound != NONE:
        return BINDING
    if preselected != NONE:
        return PRESELECTION
    return RULE if some else NO_CANDIDATE
