"""An operator empties queues, and deletes them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable

from fairlead.store.admin import deleting, purging
from fairlead.store.admin.purging import Deleted, Purged
from fairlead.store.arguments import name, queue_name
from fairlead.store.database.retrying import again
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.purging import PurgedMessages, PurgePortion
from fairlead.store.queues.settings import known_queue
from fairlead.store.verbs.store_verbs import StoreVerbs, nobody


class StorePurging(StoreVerbs):
    """In portions, each in a transaction of its own."""

    @abstractmethod
    def discard(
        self,
        queue: str,
        ids: Iterable[str] | None = None,
        *,
        reason: str | None = None,
        told: Callable[[int], None] = nobody,
    ) -> int:
        """Delete dead letters."""

    def purge(
        self,
        queue: str,
        group: str | None = None,
        reason: str = "",
        told: Callable[[int], None] = nobody,
        *,
        tenant: str | None = None,
    ) -> Purged:
        """Delete what waits in a queue now, or in one group, or of one tenant.

        What is to arrive there later goes, too. What readers hold stays, and what comes meanwhile;
        so do dead letters, which `discard` deletes, and messages of conversations, until these end:
        the other end counts on them. `reason`: for the journal, which says of each message that it
        was `discarded`. `told`: is called after each portion, with how many messages are gone so
        far. Raises MessageError for a queue that is not there, or is a server's own.
        """
        purging.check_is_users(queue_name(queue))
        only = PurgedMessages(name("group", group), name("tenant", tenant))
        why = name("reason", reason or None) or ""
        deleted, at = 0, self._begin_purge(queue)
        while (portion := self._purge(queue, only, at, why)) is not None:
            at, deleted = portion, deleted + portion.deleted
            told(deleted)
        with self._connection() as database:
            known = known_queue(database, queue, self._clock())
            return Purged(deleted, *purging.what_stays(database, known, only))

    def purgeable(self, queue: str, group: str | None = None, *, tenant: str | None = None) -> int:
        """How many messages `purge` would delete now. Raises MessageError."""
        only = PurgedMessages(name("group", group), name("tenant", tenant))
        with self._connection() as database:
            known = known_queue(database, queue_name(queue), self._clock())
            return purging.what_goes(database, known, only)

    def delete_queue(self, queue: str, reason: str = "", *, purge: bool = False) -> Deleted:
        """Delete a queue, how it was set, and the ids of messages that it remembers.

        Not one that something is declared for (a service, a schedule, a destination of a cluster),
        that has ends of dialogs, or that readers hold work of or wait for. Without `purge` it has
        to be empty; with it, what waits and dead letters are deleted before, each portion in a
        transaction of its own. `reason`: for the journal. Whoever sends to it afterwards makes a
        new one. Returns what was deleted before. Raises MessageError, StoreError.
        """
        gone = Deleted(0, 0)
        wanted, why = queue_name(queue), name("reason", reason or None) or ""
        if purge:
            with self._writing() as database:
                database.run("may_operate")
                deleting.check_unused(database, known_queue(database, wanted, self._clock()))
            gone = Deleted(self.purge(wanted, None, reason).deleted, self.discard(wanted))
        self._delete(wanted, why)
        return gone

    @again
    def _begin_purge(self, queue: str) -> PurgePortion:
        with self._writing() as database:
            database.run("may_operate")
            known_queue(database, queue, self._clock())
            return purging.begin(database)

    @again
    def _purge(
        self, queue: str, which: PurgedMessages, at: PurgePortion, why: str
    ) -> PurgePortion | None:
        with self._writing() as database:
            engine = engine_of(database, self._clock(), self._context.actor)
            return engine.purge(queue, which, at, f"{purging.WHY}: {why}" if why else purging.WHY)

    @again
    def _delete(self, queue: str, why: str) -> None:
        with self._writing() as database:
            database.run("may_operate")
            deleting.delete(database, queue, self._clock(), self._context.actor, why)
