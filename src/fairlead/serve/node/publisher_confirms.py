"""Guaranteed messages that were published here, and whose publishers are to be told of the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

from fairlead.serve.node.calls import Ask, Call
from fairlead.serve.node.conditions import LATE, RECEIVER_FAILED
from fairlead.serve.wire.events import ACCEPTED, REJECTED, Condition, Outcome
from fairlead.store.clusters.deliveries import TIMEOUT, Delivery

LOOK: Final = 0.25
"""Seconds between two looks at what is acknowledged elsewhere."""
MOST: Final = 2000
"""So many are asked for at once."""
Tell = Callable[[Outcome], None]


class Awaiting:
    """Deliveries of publishers that are open, by the numbers of what was decided about them."""

    def __init__(self, ask: Callable[[Call], None]) -> None:
        """`ask`: a call of the store."""
        self._ask = ask
        self._open: dict[int, list[tuple[object, Tell]]] = {}
        self._asking = False
        self._left = 0
        """So many are still to be asked for in this round."""
        self._due = 0.0
        """When the next round begins of itself."""

    def __len__(self) -> int:
        return len(self._open)

    def add(self, number: int, owner: object, tell: Tell) -> None:
        """One more; `owner`: its link."""
        self._open.setdefault(number, []).append((owner, tell))

    def forget(self, owner: object) -> None:
        """A link has ended: nobody is there to be told."""
        for number, every in [*self._open.items()]:
            left = [entry for entry in every if entry[0] is not owner]
            if left:
                self._open[number] = left
            else:
                del self._open[number]

    def moved(self) -> None:
        """Something was settled here."""
        self._left = len(self._open)

    def look(self, now: float) -> None:
        """Ask how it stands with them, if it is time to."""
        if now >= self._due:
            self._left, self._due = len(self._open), now + LOOK
        if self._asking or not self._left or not self._open:
            return
        numbers = [*islice(self._open, MOST)]
        self._asking, self._left = True, max(self._left - len(numbers), 0)
        self._ask(Ask(numbers))

    def told(self, call: Ask, found: Mapping[int, Delivery] | None) -> None:
        """What the store said; None: it could not."""
        self._asking = False
        for number in call.numbers if found is not None else ():
            delivery = (found or {}).get(number)
            every = self._open.pop(number, [])
            if every and delivery is not None and delivery.is_open:
                self._open[number] = every  # behind those that were not asked for yet
                continue
            for _, tell in every:
                tell(_outcome(delivery))


def _outcome(delivery: Delivery | None) -> Outcome:
    """Of one that is over; None: it was not guaranteed, or is over for long."""
    if delivery is None or delivery.has_succeeded:
        return Outcome(ACCEPTED)
    name = LATE if delivery.outcome == TIMEOUT else RECEIVER_FAILED
    return Outcome(REJECTED, condition=Condition(name, delivery.reason))
