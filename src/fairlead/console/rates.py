"""How much came and went in each queue, minute by minute, in the last hour."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from fairlead.errors import MessageError
from fairlead.store.store import Store

MINUTES: Final = 60
PORTION: Final = 10_000
"""Events that are counted at once."""
SECONDS: Final = 1.0
"""Of counting, for one look: the hour before the first look is counted little by little."""
FIRST: Final = 0.1
"""The same of the first look, for which somebody waits."""
CAME: Final = "sent"
WENT: Final = "accepted"
DIED: Final = "rejected"
KINDS: Final = (CAME, WENT, DIED)


class QueueRates(NamedTuple):
    """Of a queue, minute by minute; the last one is that which is not over yet."""

    came: Sequence[int]
    """Messages that were sent."""
    went: Sequence[int]
    """Messages that were accepted."""
    died: Sequence[int]
    """Messages that were rejected, and so became dead letters."""

    def per_minute(self, counts: Sequence[int]) -> float:
        """In the last minute that is over, and the one before it."""
        return sum(counts[-3:-1]) / 2

    @property
    def grows(self) -> bool:
        """Whether more came than went in the last ten minutes, by a tenth, and in the last two."""
        came, went = sum(self.came[-11:-1]), sum(self.went[-11:-1])
        late_came, late_went = sum(self.came[-3:-1]), sum(self.went[-3:-1])
        return came >= 20 and came > 1.1 * went and late_came > late_went


NOTHING: Final = QueueRates(*[(0,) * MINUTES] * 3)


class Rates:
    """Counts the journal on and on; of one thread."""

    def __init__(self, store: Store) -> None:
        """Nothing was counted yet."""
        self._store = store
        self._began = False
        self._cursor: str | None = None
        self._counts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        self.complete = False
        """Whether the whole hour is counted."""

    def look(self) -> None:
        """Count what has happened since the last look, for a part of a second. Raises UserError."""
        ends = time.monotonic() + (SECONDS if self._began else FIRST)
        if not self._began:
            self._cursor = self._store.cursor_at(time.time() - MINUTES * 60)
            self._began = True
        more = True
        while more and time.monotonic() < ends:
            try:
                part = self._store.count_events(self._cursor, PORTION)
            except MessageError:  # a backup was restored
                self._began, self._cursor = False, None
                self._counts.clear()
                raise
            for count in part.counts:
                if count.kind in KINDS:
                    self._counts[count.queue, count.kind][count.minute] += count.events
            self._cursor, more = part.cursor, part.more
        self.complete = not more
        first = int(time.time() // 60) - MINUTES + 1
        for key, counts in list(self._counts.items()):
            for minute in [minute for minute in counts if minute < first]:
                del counts[minute]
            if not counts:
                del self._counts[key]

    def of(self, queue: str) -> QueueRates:
        """Those of a queue."""
        last = int(time.time() // 60)
        minutes = range(last - MINUTES + 1, last + 1)
        return QueueRates(
            *(
                tuple(self._counts[queue, kind][minute] for minute in minutes)
                if (queue, kind) in self._counts
                else NOTHING.came
                for kind in KINDS
            )
        )


def points(counts: Sequence[int], highest: int, width: int = 118, height: int = 20) -> str:
    """A line of the counts, as SVG has it, inside so many units; `highest`: that of the scale."""
    step = width / max(len(counts) - 1, 1)
    return " ".join(
        f"{1 + k * step:.1f},{1 + height - height * count / max(highest, 1):.1f}"
        for k, count in enumerate(counts)
    )
