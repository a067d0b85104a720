"""What the node asks of a connection of the wire."""

from __future__ import annotations

from typing import Any, Protocol

from fairlead.serve.wire.events import Condition, Link, Outcome


class Wire(Protocol):
    """A connection, as `serve.wire.connection` has it."""

    pending: int
    """Bytes of the peer's that wait for the store."""
    held: int
    """Bytes of messages that have come in part, or belong to transactions that have not ended."""

    @property
    def full(self) -> bool:
        """Whether the peer is to be sent no more messages for now."""

    @property
    def most_held(self) -> int:
        """So many bytes may be held for the peer to take, at one time."""

    def open(self) -> None:
        """Answer the peer's opening."""

    def close(self, condition: Condition | None = None) -> None:
        """Close the connection."""

    def attach(
        self,
        link: Link,
        *,
        properties: dict[Any, Any] | None = None,
        address: str = "",
        source: str = "",
        filters: dict[Any, Any] | None = None,
    ) -> None:
        """Answer a link as its peer wants it, but for what is not done here.

        `address`: of the queue that was made for it. `source`: its durable source, if the peer
        asks for what it was. `filters`: those of the peer's that are done.
        """

    def refuse(self, link: Link, condition: Condition) -> None:
        """Refuse a link."""

    def detach(self, link: Link, condition: Condition | None = None) -> None:
        """End a link."""

    def credit(self, link: Link, more: int) -> None:
        """Let the peer send so many more messages."""

    def drained(self, link: Link) -> None:
        """Give back the credit that is left."""

    def send(self, link: Link, sections: bytes, *, settled: bool) -> int:
        """Send a message; its number, 0 where it is settled or the link has ended."""

    def settle(self, delivery: int, outcome: Outcome) -> None:
        """Say what became of a message, and forget it."""

    def say(self, delivery: int, outcome: Outcome) -> None:
        """Say what became of a message for now."""
