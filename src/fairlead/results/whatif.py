"""What raising a group would have done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shift:
    """A group's message that waited, or a group that waits longer: by how much its start moves."""

    name: str
    messages: int
    before: float
    """Seconds, as the messages' times count."""
    seconds: float
    """Later than before; negative: sooner."""


@dataclass(frozen=True)
class RaiseEffect:
    """What raising a group would have done."""

    group: str
    waiting: int
    """Messages of the group that would start sooner."""
    raised: list[Shift]
    """These, by their ids, the first first."""
    delayed: int
    """Messages of others that would start later."""
    longest: float
    total: float
    """Seconds: the longest delay, and all delays together."""
    hurt: list[Shift]
    """The groups (or messages without one) that wait longest, by their longest delay."""
    sooner: int
    """Messages of others that would start sooner."""
