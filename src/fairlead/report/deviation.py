"""How far shares are from weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fairlead.results.summary import Phase, Share
from fairlead.text import ShortNames, percent, plural

SMALLEST_POINTS = 0.0001
NONE: Final = "No message has a destination."
A_MESSAGE = 1 - 1e-6
"""Shares are floating-point numbers here: they are only looked at."""


@dataclass(frozen=True)
class Deviation:
    """A share that is not what its weight says."""

    phase: Phase
    share: Share
    expected: float
    messages: float
    """More (or fewer) than by weight."""

    @property
    def points(self) -> float:
        """The difference of the two parts of 1."""
        return self.share.share - self.expected


def largest(phases: Iterable[Phase]) -> Deviation | None:
    """The largest deviation; None where each is less than a message: nothing is left to share."""
    deviations = [deviation for phase in phases if (deviation := _largest(phase)) is not None]
    return max(deviations, key=lambda each: abs(each.points), default=None)


def _largest(phase: Phase) -> Deviation | None:
    routed: dict[str, int] = {}
    for share in phase.shares:
        routed[share.cluster] = routed.get(share.cluster, 0) + share.messages
    most, outlier = 0.0, None
    for share in phase.shares:
        if share.expected is not None:
            points = abs(share.share - share.expected)
            if points > most and points * routed[share.cluster] >= A_MESSAGE:
                most, outlier = points, share
    if outlier is None or outlier.expected is None:
        return None
    more = outlier.messages - outlier.expected * routed[outlier.cluster]
    return Deviation(phase, outlier, outlier.expected, more)


def weighed(phases: Iterable[Phase]) -> bool:
    """Whether weights say what any share should be."""
    return any(share.expected is not None for phase in phases for share in phase.shares)


def text(phases: list[Phase], names: ShortNames) -> str:
    """The largest deviation in words."""
    some = [phase for phase in phases if phase.routed]
    if not some:
        return NONE
    if not weighed(some):
        return (
            "Shares are not compared with weights here: weights decide nothing, or messages "
            "follow their groups."
        )
    deviation = largest(some)
    if deviation is None:
        return "Every share is what the weights say, to within one message."
    share = deviation.share
    points = abs(deviation.points)
    by = "less than 0.01" if points < SMALLEST_POINTS else f"{points * 100:.2f}"
    more = "more" if deviation.points > 0 else "less"
    name = names(share.cluster, share.subject, share.destination)
    return (
        f"{name} got {percent(share.share)} where its weight says "
        f"{percent(deviation.expected)}: {by} points {more}, "
        f"{plural(round(abs(deviation.messages)), 'message')}."
    )
