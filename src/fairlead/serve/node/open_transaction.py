"""What happens in one transaction of AMQP, kept until its end."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from fairlead.serve.node.calls import Send
from fairlead.serve.node.conditions import LIMIT
from fairlead.serve.node.group_delivery import GroupDelivery
from fairlead.serve.node.queue_consumers import QueueConsumers, ReceiverLink
from fairlead.serve.wire.events import Condition, Disposed

UNKNOWN: Final = "amqp:transaction:unknown-id"
MOST_BYTES: Final = 128 * 1024 * 1024
"""Of the messages that are sent in one."""
MOST_PARTS: Final = 100_000
"""Messages that are sent or settled in one."""


class Settled(Struct):
    """What a peer says in a transaction of a message that it was sent."""

    consumers: QueueConsumers
    receiver: ReceiverLink
    event: Disposed
    holding: GroupDelivery | None = None


class OpenTransaction(Struct, eq=False):
    """What happens in one transaction."""

    sends: list[Send]
    settled: dict[int, Settled]
    """By the numbers of their deliveries, which are those of one connection."""
    size: int = 0
    refused: Condition | None = None
    """Why it can only be rolled back."""

    def add(self, send: Send | Condition, size: int) -> Condition | None:
        """A message is sent in it; why not, if it is refused."""
        if isinstance(send, Condition):
            self.refused = self.refused or send
            return send
        self.size += size
        self._check()
        self.sends.append(send)
        return self.refused

    def settle(self, settled: Settled) -> None:
        """A message is settled in it; what is said last of one counts."""
        self._check()
        self.settled[settled.event.delivery] = settled

    @property
    def whole(self) -> bool:
        """Whether all that is settled in it is still under way."""
        return all(
            settlement.consumers.has(settlement.receiver, settlement.event.delivery)
            for settlement in self.settled.values()
        )

    def _check(self) -> None:
        if self.size > MOST_BYTES or len(self.sends) + len(self.settled) >= MOST_PARTS:
            self.refused = self.refused or Condition(LIMIT, "the transaction is too large")
