"""Which peers hang: the evidence, and when one that does is tried again. No I/O, no clock here.

Times are seconds on the monotonic clock.
"""

from __future__ import annotations

import math
from typing import Final

from fairlead.jitter import between

LEAST: Final = 0.05
"""Seconds of silence below which no time-out of a caller says anything of a peer."""
FADING: Final = 0.9
"""What the longest time to a reply counts for after another, quicker one."""
LONGEST: Final = 32
"""Times the first pause between two trials: the pause does not grow beyond that."""


class Suspect:
    """Why a peer gets no work, and how it may show that it answers again."""

    __slots__ = ("admitted", "at", "since", "trials", "why")

    def __init__(self, since: float, why: str) -> None:
        """It has just become one."""
        self.since: Final = since
        self.why: Final = why
        self.trials = 0
        """How often it was tried."""
        self.at = math.inf
        """When it is tried next."""
        self.admitted = False
        """Whether the policy may choose it, for one request."""

    def pause(self, now: float, first: float) -> float:
        """Seconds until it is tried next: twice as many each time, and never the same as others."""
        seconds = first * min(1 << self.trials, LONGEST) * between(0.8, 1)
        self.trials += 1
        self.at = now + seconds
        return seconds


class Watch:
    """How quick a peer is, and since when it is silent."""

    __slots__ = ("copies", "heard", "suspect", "usual")

    def __init__(self) -> None:
        """Nothing came from it yet."""
        self.heard = 0.0
        """When something came from it."""
        self.usual = 0.0
        """The longest time to a reply; it fades with each quicker one."""
        self.suspect: Suspect | None = None
        self.copies: set[bytes] = set()
        """Keys of requests by whose copies it was tried: nobody waits for their replies."""

    def replied(self, took: float) -> None:
        """It has replied within so many seconds."""
        self.usual = max(took, FADING * self.usual)

    def hangs(self, asked: float, now: float) -> bool:
        """Whether it is silent for longer than it usually takes, when a caller gives up waiting.

        `asked`: when it got the oldest request that it left unanswered since it was heard.
        """
        return now - asked > max(self.usual, LEAST)
