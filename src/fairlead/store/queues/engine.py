"""The port: what a database does with queues, in the transaction that runs.

On SQLite Python does it, statement by statement (`sqlite_engine.py`); on PostgreSQL functions of
the schema do, in one call each (`postgresql_engine.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from fairlead.store.database.port import Database
from fairlead.store.queues.endpoints import Endpoint
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.postgresql_engine import PostgresqlEngine
from fairlead.store.queues.purging import PurgedMessages, PurgePortion
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import Settlement
from fairlead.store.queues.sqlite_engine import SqliteEngine
from fairlead.store.queues.taken_group import Claim, TakenGroup


class QueueEngine(Protocol):
    """The verbs of queues. They raise MessageError, StaleWorkError and StoreError."""

    def send(
        self,
        queue: str,
        messages: Callable[[int], Sequence[OutgoingMessage]],
        *,
        timed: bool = False,
    ) -> list[str]:
        """Send messages, all or none; their ids. The queue is created if need be.

        `messages`: they, as they are at a time; `timed`: whether that makes a difference.
        """

    def raise_group(self, queue: str, group: str, priority: int | None) -> bool:
        """Raise a group, behind its equals; whether it was raised."""

    def take(self, queue: str, claim: Claim, *, in_portions: bool) -> tuple[list[TakenGroup], bool]:
        """The best groups, best first; and whether to go on: nothing was taken, and more is there.

        `in_portions`: what nobody wants any more is put away in several transactions. Of a queue
        that is not there nothing is taken.
        """

    def check_take_within(self, queue: str) -> None:
        """Raises MessageError where nobody can take in a transaction of his own, and settle in it.

        While it is open, nobody else may have to wait for it.
        """

    def more(self, held: TakenGroup, given: Sequence[int]) -> list[Received]:
        """Messages of a group that were not given yet, if it is still the reader's."""

    def settle(self, queue: str, ends: Sequence[Settlement], actor: str) -> None:
        """Settle groups of a queue, all or none."""

    def take_back(
        self,
        queue: str,
        groups: Sequence[tuple[int, int]],
        reason: str,
        *,
        failed: str = "",
        blameless: frozenset[int] = frozenset(),
    ) -> None:
        """Release groups, by id and token, whose readers are gone.

        `failed`: as which failure it counts (error, lease, process), but for those that are
        `blameless`.
        """

    def bring_up_to_date(self, queue: str) -> None:
        """Do what is due, as a take does first."""

    def switch_tenant(self, queue: str, tenant: str, reason: str, *, on: bool) -> bool:
        """Switch a tenant on or off; whether it was the other way before."""

    def purge(
        self, queue: str, which: PurgedMessages, portion: PurgePortion, reason: str
    ) -> PurgePortion | None:
        """Delete the next messages that wait; None: there are no more.

        What readers hold stays, and so do messages of conversations: the other end counts on them.
        """

    def has_ended(self, end: Endpoint) -> bool:
        """Whether an end of a dialog has ended."""


ENGINES: Final[Mapping[str, type[PostgresqlEngine | SqliteEngine]]] = {
    "postgresql": PostgresqlEngine,
    "sqlite": SqliteEngine,
}


def engine_of(
    database: Database, clock: int | None, actor: str, *, shared: bool = False
) -> QueueEngine:
    """The verbs of queues on a connection.

    `clock`: microseconds, of a clock of the user's own; None: the database's. `actor`: who acts,
    for the journal. `shared`: whether the transaction goes on after a refusal: then what was
    refused is undone alone.
    """
    return ENGINES[database.dialect](database, clock, actor, shared=shared)
