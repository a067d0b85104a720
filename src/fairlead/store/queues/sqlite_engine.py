"""The verbs of queues on SQLite: Python does them, statement by statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from fairlead.errors import MessageError
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.database.savepoint import undone_if_refused
from fairlead.store.journal.log import Log
from fairlead.store.queues.endpoints import ENDED, Endpoint, by_ids
from fairlead.store.queues.maintenance import bring_up_to_date
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.purging import PurgedMessages, PurgePortion, purge
from fairlead.store.queues.raising import raise_group
from fairlead.store.queues.received import Received
from fairlead.store.queues.sending import send
from fairlead.store.queues.settings import known_queue, made_queue, read_queue
from fairlead.store.queues.settlement import Settlement, stale
from fairlead.store.queues.settling import settle, take_back
from fairlead.store.queues.switching import switch_tenant
from fairlead.store.queues.taken_group import Claim, TakenGroup
from fairlead.store.queues.taking import more_messages, take


class SqliteEngine:
    """The engine of a connection to SQLite, in a transaction that runs."""

    def __init__(
        self, database: Database, clock: int | None, actor: str, *, shared: bool = False
    ) -> None:
        """`engine_of` makes one."""
        self._database = database
        self._clock = clock
        self._actor = actor
        self._shared = shared

    def send(
        self,
        queue: str,
        messages: Callable[[int], Sequence[OutgoingMessage]],
        *,
        timed: bool = False,
    ) -> list[str]:
        """As `QueueEngine` says; the time is always known."""
        del timed
        row = read_queue(self._database, queue, self._clock)
        batch = messages(row.now if row else time_of(self._database, self._clock))
        with self._undone_if_refused():
            to = row or made_queue(self._database, queue, self._clock)
            return send(self._database, to, batch, self._actor) if batch else []

    def raise_group(self, queue: str, group: str, priority: int | None) -> bool:
        """As `QueueEngine` says."""
        row = known_queue(self._database, queue, self._clock)
        with self._undone_if_refused():
            return raise_group(self._database, row, group, priority, self._actor)

    def take(self, queue: str, claim: Claim, *, in_portions: bool) -> tuple[list[TakenGroup], bool]:
        """As `QueueEngine` says."""
        return take(self._database, queue, claim, self._clock, in_portions=in_portions)

    def check_take_within(self, queue: str) -> None:
        """As `QueueEngine` says."""
        raise MessageError(
            "take: found a transaction on SQLite, where one writes at a time and all others "
            "would wait for this work; allowed: Store.take"
        )

    def more(self, held: TakenGroup, given: Sequence[int]) -> list[Received]:
        """As `QueueEngine` says."""
        if not self._database.run("still_held", id=held.id, token=held.token):
            raise stale(held.token)
        return more_messages(self._database, held, given, time_of(self._database, self._clock))

    def settle(self, queue: str, ends: Sequence[Settlement], actor: str) -> None:
        """As `QueueEngine` says."""
        settle(self._database, known_queue(self._database, queue, self._clock), ends, actor)

    def take_back(
        self,
        queue: str,
        groups: Sequence[tuple[int, int]],
        reason: str,
        *,
        failed: str = "",
        blameless: frozenset[int] = frozenset(),
    ) -> None:
        """As `QueueEngine` says."""
        row = known_queue(self._database, queue, self._clock)
        log = Log(self._database, row.name, row.moment, self._actor)
        take_back(self._database, row, groups, log, reason, failed=failed, blameless=blameless)
        log.flush()

    def bring_up_to_date(self, queue: str) -> None:
        """As `QueueEngine` says."""
        row = known_queue(self._database, queue, self._clock)
        bring_up_to_date(self._database, row, self._actor)

    def switch_tenant(self, queue: str, tenant: str, reason: str, *, on: bool) -> bool:
        """As `QueueEngine` says."""
        row = known_queue(self._database, queue, self._clock)
        return switch_tenant(self._database, row, tenant, self._actor, reason, on=on)

    def purge(
        self, queue: str, which: PurgedMessages, portion: PurgePortion, reason: str
    ) -> PurgePortion | None:
        """As `QueueEngine` says."""
        row = known_queue(self._database, queue, self._clock)
        return purge(self._database, row, which, portion, self._actor, reason)

    def has_ended(self, end: Endpoint) -> bool:
        """As `QueueEngine` says."""
        current = by_ids(self._database, [end.id]).get(end.id)
        return current is None or current.state == ENDED

    def _undone_if_refused(self) -> AbstractContextManager[None]:
        return undone_if_refused(self._database) if self._shared else nullcontext()
