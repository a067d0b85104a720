"""After how long a group that failed is tried again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final, NamedTuple, Self

from fairlead.balance.times import seconds

WHOLE: Final = 100
"""Hundredths of a factor or of a share."""
DRAWS: Final = 2**32


class Backoff(NamedTuple):
    """After how long a group that failed is tried again, all in whole numbers.

    The delay is `base` after the first failure in a row, times `factor` for each further one, and
    at most `limit`. Then a part of it is taken off, of `jitter` at most: which part, the id of the
    message says and how often it failed, so the same failures have the same delays again.
    """

    base: int
    """Microseconds."""
    factor: int
    """Hundredths."""
    limit: int
    """Microseconds."""
    jitter: int
    """Hundredths of the delay."""

    @classmethod
    def of(cls, kept: str | None) -> Self | None:
        """As a queue's row has it; None: its readers say when."""
        return None if kept is None else cls(**json.loads(kept))

    @property
    def in_seconds(self) -> dict[str, float]:
        """As a user says it."""
        return {
            "base": seconds(self.base),
            "factor": self.factor / WHOLE,
            "limit": seconds(self.limit),
            "jitter": self.jitter / WHOLE,
        }

    def delay(self, failures: int, key: str) -> int:
        """Microseconds, after so many failures in a row, of the message with this id."""
        pause = min(self.base, self.limit)
        for _ in range(failures - 1 if self.factor > WHOLE else 0):
            if pause >= self.limit:
                break
            pause = min(pause * self.factor // WHOLE, self.limit)
        return pause - pause * self.jitter * drawn(f"{key}:{failures}") // (WHOLE * DRAWS)


def drawn(text: str) -> int:
    """A number below 2**32 that looks drawn, and is the same for the same text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


def kept_backoff(found: Mapping[str, int] | None) -> str | None:
    """The same, as a queue's row keeps it."""
    return None if found is None else json.dumps(dict(found), sort_keys=True)
