"""How a message, or an attempt of it, ends in a replay."""

from __future__ import annotations

from typing import Final

from fairlead.balance.message import (
    ACKNOWLEDGED,
    CONTROL,
    NACK,
    NO_DESTINATION,
    OUTCOMES,
    RELEASED,
    ROLLED_BACK,
    ROUTED,
)

TIMEOUT: Final = "timeout"
"""It was not acknowledged in time, and is reported to the publisher as failed."""
CODED_WORDS: Final = (*OUTCOMES, ROLLED_BACK, RELEASED, ACKNOWLEDGED, NACK, TIMEOUT)

ROUTED_CODE: Final = CODED_WORDS.index(ROUTED)
NOBODY_CODE: Final = CODED_WORDS.index(NO_DESTINATION)
CONTROL_CODE: Final = CODED_WORDS.index(CONTROL)
ROLLED_BACK_CODE: Final = CODED_WORDS.index(ROLLED_BACK)
RELEASED_CODE: Final = CODED_WORDS.index(RELEASED)
ACKNOWLEDGED_CODE: Final = CODED_WORDS.index(ACKNOWLEDGED)
TIMEOUT_CODE: Final = CODED_WORDS.index(TIMEOUT)

AGAIN: Final = (ROLLED_BACK, RELEASED)
"""Outcomes after which the message goes on, in another row."""
AGAIN_CODES: Final = (ROLLED_BACK_CODE, RELEASED_CODE)
