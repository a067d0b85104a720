"""Who is logged in: bounded in time and number, and only in memory."""

from __future__ import annotations

import secrets
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final, Literal

By = Literal["password", "proxy", "key"]
"""How somebody has shown who he is."""
OF_ONE: Final = 50
"""Sessions of one name; the oldest of them ends for the next."""


@dataclass
class BrowserSession:
    """A browser in which somebody is logged in."""

    id: str
    """What its cookie says."""
    name: str
    by: By
    token: str
    """What each of its forms says, so that no other site's form does anything."""
    until: float
    """When it ends, by `time.monotonic`."""
    notices: deque[str] = field(default_factory=lambda: deque(maxlen=5))
    """What its next page says."""
    streams: int = 0
    """Pages of it that are kept up to date now."""


class Sessions:
    """All that there are, the oldest first."""

    def __init__(self, most: int, seconds: float) -> None:
        """None yet; `seconds`: for which each lasts."""
        self._most, self._seconds = most, seconds
        self._all: dict[str, BrowserSession] = {}

    def begin(self, name: str, by: By) -> BrowserSession:
        """A new one. Where there are too many, the oldest of whoever has most of them ends."""
        now = time.monotonic()
        for old in [session for session in self._all.values() if session.until <= now]:
            self.end(old)
        counts = Counter(session.name for session in self._all.values())
        if counts[name] >= OF_ONE:
            self._end_oldest(name)
        elif len(self._all) >= self._most:
            self._end_oldest(counts.most_common(1)[0][0])
        session = BrowserSession(
            secrets.token_urlsafe(32), name, by, secrets.token_urlsafe(24), now + self._seconds
        )
        self._all[session.id] = session
        return session

    def _end_oldest(self, name: str) -> None:
        self.end(next(session for session in self._all.values() if session.name == name))

    def find(self, id_: str) -> BrowserSession | None:
        """The one that a cookie names, if it lasts still."""
        session = self._all.get(id_)
        if session is not None and session.until <= time.monotonic():
            self.end(session)
            return None
        return session

    def end(self, session: BrowserSession) -> None:
        """End a session: whoever has its cookie is logged out."""
        self._all.pop(session.id, None)
