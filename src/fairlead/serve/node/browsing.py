"""Browsing: what waits in a queue, as it was when the link was attached; nobody takes it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from fairlead.serve import message as messages
from fairlead.serve.message import DeliveryFacts
from fairlead.serve.node.port import Wire
from fairlead.serve.wire.events import Disposed, Link, Outcome
from fairlead.store.message import Message

MOST: Final = 1000
"""So many groups are shown, and so many messages of each."""
ROOM: Final = 16 * 1024 * 1024
"""Bytes, about, after which no more are shown."""


class BrowserLink:
    """A link on which the peer only looks."""

    def __init__(self, wire: Wire, link: Link, found: Iterable[Message]) -> None:
        """`found`: the messages, in the order in which their groups would go."""
        self.wire, self.link = wire, link
        self._left = deque(found)
        self._hold(sum(map(_size, self._left)))
        self.credit = 0
        self._drains = False

    def flow(self, credit: int, *, drain: bool, now: float) -> None:
        """The peer wants so many; or the rest of its credit back."""
        self.credit, self._drains = credit, drain
        self.serve(now)

    def serve(self, now: float) -> None:
        """Show what is left, as far as the peer wants it and takes it in."""
        while self.credit > 0 and self._left and not self.wire.full:
            message = self._left.popleft()
            self._hold(-_size(message))
            facts = DeliveryFacts(message.id, message.group, message.type, message.sent, 1, now)
            sections = messages.outgoing(message.envelope, message.body, facts)
            self.wire.send(self.link, sections, settled=self.link.settled)
            self.credit -= 1
        if self._drains and self.credit > 0 and not self._left:
            self.wire.drained(self.link)
            self.credit = 0

    def end(self) -> None:
        """The link has ended."""
        self._hold(-sum(map(_size, self._left)))
        self._left.clear()

    def _hold(self, more: int) -> None:
        """The server holds so many bytes more for this peer."""
        self.wire.held += more

    def disposed(self, event: Disposed) -> None:
        """Whatever the peer says of a message, it stays where it is."""
        self.wire.settle(event.delivery, Outcome(0))


def _size(message: Message) -> int:
    """Bytes, about; what Python knows as data is small beside what comes in an envelope."""
    content = message.body if message.envelope is None else message.envelope
    return len(content) if isinstance(content, bytes | str) else 0
