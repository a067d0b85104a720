"""Links on which another queue manager sends batches: one after the other, each answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from fairlead.errors import MessageError
from fairlead.serve import message as messages
from fairlead.serve.codec import CodecError
from fairlead.serve.node.calls import Call, ReceiveBatch
from fairlead.serve.node.conditions import DECODE, condition_of
from fairlead.serve.node.port import Wire
from fairlead.serve.wire.events import (
    ACCEPTED,
    REJECTED,
    RELEASED,
    Condition,
    Delivered,
    Link,
    Outcome,
)
from fairlead.store.queues.bodies import encoded, plain

WINDOW: Final = 4
"""Batches that may be under way on a link."""
NUMBER: Final = "number"
TOKEN: Final = "token"  # noqa: S105 - no secret


class ChannelLink:
    """A link on which batches come."""

    def __init__(self, wire: Wire, link: Link, end: Any, ask: Callable[[Call], None]) -> None:  # noqa: ANN401
        """`end`: of the channel, as the store knows it."""
        self.wire, self.link, self.end = wire, link, end
        self._ask = ask
        self._waiting: deque[Delivered] = deque()
        self._busy = False

    def begin(self) -> None:
        """Let the peer send."""
        self.wire.credit(self.link, WINDOW)

    def came(self, event: Delivered) -> None:
        """A batch has come."""
        self.wire.pending += len(event.sections)
        self._waiting.append(event)
        self._next()

    def _next(self) -> None:
        while self._waiting and not self._busy:
            event = self._waiting.popleft()
            call = self._call(event)
            if isinstance(call, Condition):
                self._answer(event, Outcome(REJECTED, condition=call))
                continue
            self._busy = True
            self._ask(call)

    def _call(self, event: Delivered) -> ReceiveBatch | Condition:
        try:
            message = messages.incoming(event.sections)
            properties = message.application_properties
            number, token = int(properties.get(NUMBER, 0)), str(properties.get(TOKEN, ""))
            content = plain(*encoded(message.body))
        except (CodecError, MessageError, RecursionError, TypeError, ValueError) as error:
            return Condition(DECODE, str(error))
        return ReceiveBatch(self.end, number, token, content, (self, event))

    def received(self, event: Delivered, error: Exception | None) -> None:
        """The store has a batch, or could not take it: then it is sent again."""
        self._busy = False
        if error is None:
            outcome = Outcome(ACCEPTED)
        elif isinstance(error, MessageError):
            outcome = Outcome(REJECTED, condition=condition_of(error))
        else:
            outcome = Outcome(RELEASED)
        self._answer(event, outcome)
        self._next()

    def _answer(self, event: Delivered, outcome: Outcome) -> None:
        self.wire.pending -= len(event.sections)
        self.wire.settle(event.delivery, outcome)
        self.wire.credit(self.link, 1)
