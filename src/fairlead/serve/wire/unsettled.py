"""What is known of the messages of a connection that are not settled yet."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.serve.wire.engine_links import EngineLinks
from fairlead.serve.wire.proton import address


class UnsettledDelivery(NamedTuple):
    """A message that was sent or came, and is not settled."""

    pointer: Any
    """The engine's delivery."""
    known: EngineLinks
    """Its link."""
    sent: int | None
    """How many bytes were sent; None: it came."""


class Unsettled:
    """The messages of one connection that are not settled, by their numbers on this connection."""

    def __init__(self) -> None:
        """Nothing was sent yet, and nothing came."""
        self.given = 0
        """Bytes of messages that the peer has and has not settled."""
        self._deliveries: dict[int, UnsettledDelivery] = {}
        self._numbers: dict[int, int] = {}
        """Address of the engine's delivery → the number of a message that was sent."""

    def came(self, known: EngineLinks, number: int, pointer: Any) -> None:  # noqa: ANN401
        """A message has come, and is to be answered."""
        self._deliveries[number] = UnsettledDelivery(pointer, known, None)
        known.deliveries.add(number)

    def sent(self, known: EngineLinks, number: int, pointer: Any, size: int) -> None:  # noqa: ANN401
        """A message of so many bytes was sent; the peer is to say what became of it."""
        self._deliveries[number] = UnsettledDelivery(pointer, known, size)
        known.deliveries.add(number)
        self._numbers[address(pointer)] = number
        self.given += size

    def number_of(self, pointer: Any) -> int | None:  # noqa: ANN401
        """The number of a message that was sent; None: it is not known, or not any more."""
        return self._numbers.get(address(pointer))

    def get(self, number: int) -> UnsettledDelivery | None:
        """The message of a number; None: it is not known, or not any more."""
        return self._deliveries.get(number)

    def forget(self, number: int) -> UnsettledDelivery | None:
        """Forget a message that is settled, or can be no more; returns it if it was known."""
        entry = self._deliveries.pop(number, None)
        if entry is None:
            return None
        entry.known.deliveries.discard(number)
        if entry.sent is not None:
            self._numbers.pop(address(entry.pointer), None)
            self.given -= entry.sent
        return entry

    def forget_all(self, known: EngineLinks) -> None:
        """Forget all messages of a link that has ended."""
        for number in [*known.deliveries]:
            self.forget(number)
