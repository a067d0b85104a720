"""The port: what a database does in dialogs, in the transaction that runs.

On SQLite Python does it, statement by statement (`sqlite_engine.py`); on PostgreSQL functions of
the schema do, in one call each (`postgresql_engine.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fairlead.balance.times import Time
from fairlead.store.dialogs.replies import Beginning
from fairlead.store.queues.endpoints import Endpoint


class DialogEngine(Protocol):
    """What is said in one transaction. The verbs raise ConversationError and MessageError."""

    def undone_if_refused(self) -> AbstractContextManager[None]:
        """What is refused in the block has done nothing, and leaves the transaction as it was."""

    def begin(self, beginning: Beginning) -> Endpoint:
        """Begin a dialog; the initiator's end. Nobody hears of it before something is sent."""

    def send(self, end: Endpoint, type_: str, body: object) -> str:
        """Send a message from an end; its id."""

    def end(
        self,
        end: Endpoint,
        error: tuple[int, str] | None = None,
        *,
        cleanup: bool = False,
        given: Sequence[int] = (),
    ) -> None:
        """End an end. `given`: numbers of messages that its reader has, and will settle."""

    def set_timer(self, end: Endpoint, seconds: Time | None) -> None:
        """Set, or with None take away, the timer of an end."""

    def prioritise(self, end: Endpoint, priority: int | None) -> bool:
        """Raise the group of the other end; whether there was anything to raise."""

    def bind(self, one: Endpoint, other: Endpoint) -> None:
        """Bind two ends, each to the other."""

    def bound(self, end: Endpoint) -> Endpoint | None:
        """The end that an end is bound to; None where that has ended."""

    def state(self, end: Endpoint) -> str:
        """How an end stands."""

    def found(self, handle: object) -> Endpoint:
        """The end with a handle."""
