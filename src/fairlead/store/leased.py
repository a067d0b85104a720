"""Work that a store has given out, with a lease."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from fairlead.store.conversation import Conversation, Speaker
from fairlead.store.queues.received import Received
from fairlead.store.queues.settling import End
from fairlead.store.queues.taking import Held
from fairlead.store.transaction import Transaction
from fairlead.store.work import HeldWork


class Lessor(Speaker, Protocol):
    """What leased work asks of its store."""

    def more(self, held: Held, given: list[int]) -> list[Received]:
        """Messages of the group that were not given yet."""

    def holds(self, held: Held) -> bool:
        """Whether the group is still this reader's."""

    def has_ended(self, conversation: Conversation) -> bool:
        """Whether the receiver's end of a conversation has ended."""

    def settle(self, queue: str, end: End) -> None:
        """Settle work in a transaction of its own."""

    def extend(self, held: Held, lease: float) -> int:
        """A longer lease; its new end in microseconds."""

    def transaction(self, work: HeldWork | None = None) -> AbstractContextManager[Transaction]:
        """A transaction in which the work is settled."""


class StoreWork(HeldWork):
    """A group that a reader holds: an iterator over its messages, and the verbs that settle it.

    `with work:` accepts what was given at the end of the block; where the block raises, it
    releases the group, and that counts as a failure.
    """

    def __init__(self, store: Lessor, queue: str, held: Held) -> None:
        """Made by `Store.take`."""
        super().__init__(store, queue, held)
        self._store = store

    def _more(self, given: list[int]) -> list[Received]:
        return self._store.more(self.held, given)

    def _holds(self) -> bool:
        return self._store.holds(self.held)

    def _has_ended(self, conversation: Conversation) -> bool:
        return self._store.has_ended(conversation)

    def _settle_as(self, end: End) -> None:
        self._store.settle(self.queue, end)

    def extend(self, lease: float = 60) -> None:
        """The lease ends so many seconds from now. Raises StaleWorkError."""
        self.check_open()
        self.held.deadline = self._store.extend(self.held, lease)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction for the user's own rows, further sends, and settling this work.

        Before its block ends, one of `accept`, `reject` or `release` is to be said.
        """
        return self._store.transaction(self)
