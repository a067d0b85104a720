"""Who is eligible: what a message of a class can meet, as the cluster is now."""

from __future__ import annotations

from typing import Final

MEMBERS_START: Final = 0
MEMBERS_STOP: Final = 1
"""Among whom the rule chooses: a piece of the list of members. Empty: none, or PRESELECTED."""
PRESELECTED: Final = 2
"""Who is chosen past the rule, or NONE."""
OUTCOME: Final = 3
"""How the message ends if no destination is left."""
RECIPIENTS_START: Final = 4
RECIPIENTS_STOP: Final = 5
"""Who else gets a copy: a piece of the same list."""
ACK_MODE: Final = 6
"""Whose acknowledgement is waited for: NO_ACK, ALL_ACKS, ANY_ACK."""
SIZE: Final = 7

NO_ACK: Final = 0
ALL_ACKS: Final = 1
ANY_ACK: Final = 2
