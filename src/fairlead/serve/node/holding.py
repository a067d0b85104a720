"""A group that one receiver's link holds, from its first message to its last outcome."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from fairlead.serve.node.calls import Ending
from fairlead.serve.wire.records import ACCEPTED, MODIFIED, REJECTED, Outcome
from fairlead.store.queues.failing import ERROR
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import (
    ACCEPTED as DONE,
)
from fairlead.store.queues.settlement import (
    RELEASE,
    Given,
    Settlement,
)
from fairlead.store.queues.taking import Held

DELAY: Final = "x-opt-delivery-delay"
"""Milliseconds, in the annotations of a modified message, until it comes again."""
ELSEWHERE: Final = "its receiver says that it cannot be delivered there"
LOST: Final = "its receiver is gone"


class Holding:
    """What is held of a group, what is under way of it, and what became of it so far.

    Of a message that is done the store hears at once, while the group stays. One that comes back
    does so with the whole group: until that, nothing more of it is given.
    """

    def __init__(self, queue: str, held: Held) -> None:
        """As it was taken."""
        self.queue, self.held = queue, held
        self.waiting = deque(held.messages)
        """Read, and not given yet."""
        self.seen = [each.number for each in held.messages]
        held.messages = []
        self.open = 0
        """Messages under way."""
        self.asked = False
        """Whether the store is asked what came meanwhile."""
        self.idle_since: float | None = None
        """Since when nothing of it is under way, and its link wants nothing."""
        self.lost = False
        self.over = False
        self._given = False
        self._returned_whole = False
        self._done: list[Given] = []
        self._dead: dict[int, str] = {}
        self._back: list[Given] = []
        self._failed = ""
        self._reason = ""
        self._delay: int | None = None

    @property
    def returns(self) -> bool:
        """Whether something of it comes back, so that nothing more is given."""
        return bool(self._back)

    @property
    def next(self) -> bool:
        """Whether there is a message to be given."""
        return bool(self.waiting) and not self._back and not self.over

    def give(self) -> Received:
        """The next message; it is under way from now on."""
        self.open += 1
        self._given = True
        return self.waiting.popleft()

    def more(self, found: Iterable[Received]) -> None:
        """What came meanwhile."""
        for each in found:
            self.waiting.append(each)
            self.seen.append(each.number)

    def ended(self, given: Given, outcome: Outcome) -> None:
        """A message is under way no more."""
        self.open -= 1
        if outcome.kind == ACCEPTED:
            self._done.append(given)
        elif outcome.kind == REJECTED:
            condition = outcome.condition
            why = "" if condition is None else condition.description or condition.name
            self._bury(given, why)
        elif outcome.kind == MODIFIED and outcome.elsewhere:
            self._bury(given, ELSEWHERE)
        else:
            self._back.append(given)
            self._returned(outcome)

    def _bury(self, given: Given, why: str) -> None:
        self._done.append(given)
        self._dead[given.number] = why[:1000]

    def _returned(self, outcome: Outcome) -> None:
        if outcome.kind != MODIFIED:
            return
        if outcome.failed:
            self._failed, self._reason = ERROR, "its receiver says that the delivery failed"
        annotations: Any = outcome.annotations
        delay = annotations.get(DELAY) if isinstance(annotations, dict) else None
        if isinstance(delay, int) and 0 <= delay < 10**12:
            self._delay = max(self._delay or 0, int(delay) * 1000)

    def gone(self, messages: Iterable[Given], failed: str) -> None:
        """The link has ended; these were under way."""
        for each in messages:
            self.open -= 1
            self._back.append(each)
            if failed:
                self._failed, self._reason = failed, LOST
        self.waiting.clear()

    def part(self) -> Ending | None:
        """What is done so far, for the store; the group stays."""
        if not self._done or self.over:
            return None
        done, dead = self._done, self._dead
        self._done, self._dead = [], {}
        return Ending(self.queue, self._end(DONE, done, dead, keep=True))

    def last(self) -> list[Ending]:
        """The end of it; nothing is under way any more."""
        self.over = True
        if not self._back and (self._done or (self._given and self.held.group)):
            return [Ending(self.queue, self._end(DONE, self._done, self._dead))]
        ends = []
        if self._done:
            ends.append(Ending(self.queue, self._end(DONE, self._done, self._dead, keep=True)))
        back = self._end(RELEASE, self._back if self._failed else [], {})
        back.reason, back.failed, back.delay = self._reason, self._failed, self._delay
        ends.append(Ending(self.queue, back))
        return ends

    def back(self) -> list[Ending]:
        """All of it goes back, whatever was said of it in a transaction that was rolled back."""
        if self._returned_whole:
            return []
        self.over = self._returned_whole = True
        end = self._end(RELEASE, [], {})
        end.reason = "its receiver's transaction was rolled back"
        return [Ending(self.queue, end)]

    def _end(
        self, kind: str, given: list[Given], dead: dict[int, str], *, keep: bool = False
    ) -> Settlement:
        held = self.held
        return Settlement(
            *(kind, held.id, held.token, held.group, given),
            dead=dead,
            keep=keep,
            redelivers=held.attempt > 1,
        )
