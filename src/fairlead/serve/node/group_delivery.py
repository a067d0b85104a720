"""A group that one receiver's link holds, from its first message to its last outcome."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final

from fairlead.serve.node.calls import Ending
from fairlead.serve.node.delivery_counts import DeliveryCounts
from fairlead.serve.wire.events import ACCEPTED, MODIFIED, REJECTED, Outcome
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
from fairlead.store.queues.taken_group import TakenGroup

DELAY: Final = "x-opt-delivery-delay"
"""Milliseconds, in the annotations of a modified message, until it comes again."""
ELSEWHERE: Final = "its receiver says that it cannot be delivered there"
LOST: Final = "its receiver is gone"
ROLLED_BACK: Final = "its receiver's transaction was rolled back"
OFTEN: Final = 20
"""Each time that a message was given back so often more, it counts as a failure."""
AT_ONCE: Final = 2
"""So often a message that was given back comes again at once; then it waits, longer each time."""
SHORTEST, LONGEST = 100_000, 10_000_000
"""Microseconds for which it waits: at first, and at most."""


class GroupDelivery:
    """What is held of a group, what is under way of it, and what became of it so far.

    Of a message that is done the store hears at once, while the group stays. One that comes back
    does so with the whole group: until that, nothing more of it is given.
    """

    def __init__(
        self, queue: str, held: TakenGroup, tries: DeliveryCounts, *, raises: bool
    ) -> None:
        """As it was taken. `tries`: those of its server. `raises`: as its queue has it."""
        self.queue, self.held = queue, held
        self._raises = raises and bool(held.group)
        self._tries = tries
        self._tried = tries.taken(held)
        self.waiting = deque(held.messages)
        """Read, and not given yet."""
        self.seen = [message.number for message in held.messages]
        self.is_read = self._was_read = not held.group or len(held.messages) < held.page
        """Whether all that there was of it was read, when it was last looked; when it was taken."""
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
        self._is_left = False
        """Whether its link has ended before all that was read was given."""
        self._returned_whole = False
        self._done: list[Given] = []
        self._dead: dict[int, str] = {}
        self._back: list[Given] = []
        self._suspect: int | None = None
        """The number of a message with which a transaction was rolled back."""
        self._blamed: list[Given] = []
        self._first_done: int | None = None
        """The lowest number of a message of it that is done."""
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

    def tries_of(self, message: Received) -> int:
        """So often a message was given in vain before."""
        is_new = message.sent * 1_000_000 > self.held.taken
        return self._tried.of(message.number, is_new=is_new) + message.redelivered

    def more(self, found: Sequence[Received]) -> None:
        """What came meanwhile, or was not read before."""
        self.is_read = len(found) < self.held.page
        for message in found:
            self.waiting.append(message)
            self.seen.append(message.number)

    def ended(self, given: Given, outcome: Outcome) -> None:
        """A message is under way no more."""
        self.open -= 1
        if outcome.kind == ACCEPTED:
            self._is_done(given)
        elif outcome.kind == REJECTED:
            condition = outcome.condition
            why = "" if condition is None else condition.description or condition.name
            self._bury(given, why)
        elif outcome.kind == MODIFIED and outcome.elsewhere:
            self._bury(given, ELSEWHERE)
        else:
            self._back.append(given)
            self._returned(given, outcome)

    def _is_done(self, given: Given) -> None:
        self._done.append(given)
        self._first_done = min(self._first_done or given.number, given.number)
        self._tried.counts.pop(given.number, None)

    def _bury(self, given: Given, why: str) -> None:
        self._is_done(given)
        self._dead[given.number] = why[:1000]

    def _returned(self, given: Given, outcome: Outcome) -> None:
        times = self._tried.failed(given.number)
        if given.number == self._suspect:
            self._blame(given, ERROR, ROLLED_BACK)
        elif outcome.kind == MODIFIED and outcome.failed:
            self._blame(given, ERROR, "its receiver says that the delivery failed")
        elif times % OFTEN == 0:
            self._blame(given, ERROR, f"its receivers have given it back {times} times")
        elif times > AT_ONCE:
            self._wait(min(SHORTEST << min(times - AT_ONCE - 1, OFTEN), LONGEST))
        annotations: Any = outcome.annotations
        delay = annotations.get(DELAY) if isinstance(annotations, dict) else None
        if isinstance(delay, int) and 0 <= delay < 10**12:
            self._wait(int(delay) * 1000)

    def _wait(self, delay: int) -> None:
        self._delay = max(self._delay or 0, delay)

    def _blame(self, given: Given, failed: str, why: str) -> None:
        self._blamed.append(given)
        self._failed, self._reason = failed, why

    def suspect(self, given: Given) -> None:
        """A transaction was rolled back with this: if it goes back, it is to blame for that."""
        self._suspect = given.number

    def gone(self, messages: Iterable[Given], blamed: Given | None, failed: str, why: str) -> None:
        """The link has ended; these were under way, and one of them may be to blame for that."""
        for message in messages:
            self.open -= 1
            self._back.append(message)
            if message is not blamed:  # nobody may have looked at it
                self._tried.delivered(message.number)
            else:
                self._tried.failed(message.number)
                self._blame(message, failed, why)
        self._is_left = bool(self.waiting)
        self.waiting.clear()

    def part(self) -> Ending | None:
        """What is done so far, for the store; the group stays."""
        if not self._done or self.over:
            return None
        done, dead = self._done, self._dead
        self._done, self._dead = [], {}
        return Ending(self.queue, self._end(DONE, done, dead, keep=True), self.held)

    def last(self) -> list[Ending]:
        """The end of it; nothing is under way any more."""
        self.over = True
        self._remember()
        if not self._back and (self._done or (self._given and self.held.group)):
            end = self._end(DONE, self._done, self._dead)
            return [Ending(self.queue, end, self.held, self._raises)]
        ends = []
        if self._done:
            end = self._end(DONE, self._done, self._dead, keep=True)
            ends.append(Ending(self.queue, end, self.held))
        back = self._end(RELEASE, self._blamed, {})
        back.reason, back.failed, back.delay = self._reason, self._failed, self._delay
        first = min((message.number for message in self._blamed), default=0)
        back.moved = self._first_done is not None and self._first_done < first
        ends.append(Ending(self.queue, back, self.held))
        return ends

    def back(self) -> list[Ending]:
        """All of it goes back, whatever was said of it in a transaction that was rolled back."""
        if self._returned_whole:
            return []
        self.over = self._returned_whole = True
        self._tried.others += 1
        self._tries.gave_back(self.held.id, self._tried)
        end = self._end(RELEASE, [], {})
        end.reason = ROLLED_BACK
        return [Ending(self.queue, end, self.held)]

    @property
    def _is_all_done(self) -> bool:
        """Whether nothing is left of it that may have been given before."""
        is_whole = self._was_read and not (self._is_left or self.waiting)
        return is_whole and self._given and not self._back

    def _remember(self) -> None:
        """What was given in vain by now."""
        is_accepted = self._given and not self._back and not self._tried.counts
        if self._is_all_done or (is_accepted and self.held.attempt == 1):
            return  # what is left of it, if anything is, was never given
        self._tries.gave_back(self.held.id, self._tried)

    def _end(
        self, kind: str, given: list[Given], dead: dict[int, str], *, keep: bool = False
    ) -> Settlement:
        held = self.held
        return Settlement(
            *(kind, held.id, held.token, held.group, given),
            dead=dead,
            keep=keep,
            redelivers=held.attempt > 1 and not self._is_all_done,
        )
