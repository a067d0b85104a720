"""Through whom a task reads, answers and settles: a store, or a transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fairlead.store.conversation import Conversation

if TYPE_CHECKING:
    from fairlead.store.aio.work import AsyncWork

T = TypeVar("T")


class Acting(Protocol):
    """How the verbs of work and of conversations run."""

    async def read(self, verb: Callable[[], T]) -> T:
        """Run a verb that does not write."""

    async def write(self, verb: Callable[[], T]) -> T:
        """Run a verb that writes."""

    async def settle(self, verb: Callable[[], T]) -> T:
        """Run a verb that settles work, to its end: the task may be cancelled meanwhile."""

    async def receive(
        self, conversation: Conversation, wait: float, lease: float
    ) -> AsyncWork | None:
        """Take what waits in a conversation."""

    def transaction(self, work: AsyncWork) -> AbstractAsyncContextManager[Any]:
        """A transaction in which work is settled."""
