"""What is known of the messages of a connection that are not settled yet."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.serve.wire.engine_links import EngineLinks
from fairlead.serve.wire.proton import address


class UnsettledDelivery(NamedTuple):
    """One of them."""

    pointer: Any
    """The engine's delivery."""
    known: EngineLinks
    """Its link."""
    sent: int | None
    """How many bytes were sent; None: it came."""


class Unsettled:
    """All of one connection, by the numbers that they have here."""

    def __init__(self) -> None:
        """There are none yet."""
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
        """That of a number; None as `number_of` has it."""
        return self._deliveries.get(number)

    def forget(self, number: int) -> UnsettledDelivery | None:
        """It is settled, or nobody can settle it any more; it, if it was known."""
        entry = self._deliveries.pop(number, None)
        if entry is None:
            return None
        entry.known.deliveries.discard(number)
        if entry.sent is not None:
            self._numbers.pop(address(entry.pointer), None)
            self.given -= entry.sent
        return entry

    def forget_all(self, known: EngineLinks) -> None:
        """Those of a link that has ended."""
        for number in [*known.deliveries]:
            self.forget(number)
