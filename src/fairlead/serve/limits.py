"""How much there may be: each limit a plain decision, asked where something more is wanted."""

from __future__ import annotations

from collections import Counter

from fairlead.config.serving import Limits
from fairlead.serve.wire.records import Condition

LIMIT = "amqp:resource-limit-exceeded"


class Counts:
    """Connections that there are, held to the limits. A condition says why there is no more."""

    def __init__(self, limits: Limits | None = None) -> None:
        """None yet."""
        self.limits = limits or Limits()
        self.unknown = 0
        """Connections whose peer has not said who it is."""
        self.known: Counter[str] = Counter()
        """Connections by user."""
        self.refused: Counter[str] = Counter()
        """Connections that were refused, by condition; never less."""

    @property
    def all(self) -> int:
        """Connections."""
        return self.unknown + self.known.total()

    def came(self) -> Condition | None:
        """Somebody has connected; counted where that is allowed."""
        most = self.limits
        if self.all >= most.connections:
            return _exceeded("connections", most.connections)
        if self.unknown >= most.unknown:
            return _exceeded("connections that have not said whose they are", most.unknown)
        self.unknown += 1
        return None

    def entered(self, user: str) -> Condition | None:
        """One of the unknown has said who it is; it stays unknown where that is too many."""
        most = self.limits.connections_each
        if self.known[user] >= most:
            return _exceeded(f"connections of {user!r}", most)
        self.unknown -= 1
        self.known[user] += 1
        return None

    def left(self, user: str | None) -> None:
        """A connection that was counted has ended; None: it had not said whose it is."""
        if user is None:
            self.unknown -= 1
            return
        self.known[user] -= 1
        if not self.known[user]:
            del self.known[user]

    def memory(self, held: int) -> Condition | None:
        """Whether a connection may make the server hold so many bytes."""
        most = self.limits.memory
        return _exceeded("bytes held for a connection", most) if held > most else None


def _exceeded(what: str, most: int) -> Condition:
    return Condition(LIMIT, f"{what}: found more than {most}, allowed: {most}")
