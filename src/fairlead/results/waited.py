"""Why a replayed message waited."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Beside:
    """Another message at the same destination; times in seconds, as the messages' times count."""

    id: str
    group: str
    """"" where it has none."""
    reader: int
    came: float
    """When it began to wait."""
    start: float
    finish: float | None
    """None: it is still in work at the end."""


@dataclass(frozen=True)
class WaitedAlternative:
    """What would have changed the start of a message, by a replay of all messages."""

    what: str
    start: float | None
    """None: it would not have started."""


@dataclass(frozen=True)
class Waited:
    """One attempt of a message at a destination, and what stood before it."""

    id: str
    group: str
    cluster: str
    destination: str | None
    """None: no destination was chosen for it."""
    outcome: str
    attempt: int
    """The attempt that is told of: the last one."""
    reader: int | None
    came: float | None
    """When it was sent, or came back; None where the replay ended before that can be told."""
    start: float | None
    finish: float | None
    holding: list[Beside] = field(default_factory=list)
    """Who was in work there when it came, by reader."""
    earlier: list[Beside] = field(default_factory=list)
    """Who had come before it and was started while it waited, in the order of starts."""
    overtook: list[Beside] = field(default_factory=list)
    """Who came after it and was started before it."""
    until: Beside | None = None
    """Who had its reader until it started."""
    otherwise: list[WaitedAlternative] = field(default_factory=list)
    """What would have made it go earlier, or not; empty if it did not wait."""

    @property
    def wait(self) -> float | None:
        """How long it waited, in seconds."""
        until = self.finish if self.start is None else self.start
        return None if until is None or self.came is None else until - self.came
