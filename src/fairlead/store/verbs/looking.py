"""What somebody sees who looks at a store page by page."""

from __future__ import annotations

from fairlead.balance.times import Time, moment
from fairlead.errors import MessageError
from fairlead.store.admin import dead_pages, looking
from fairlead.store.admin.dead_pages import BodyPart, DeadHead
from fairlead.store.admin.looking import GroupNow, GroupsPage, StoreProcess
from fairlead.store.arguments import MAX_TAKEN, check_priority, name, queue_name, tenant_name, whole
from fairlead.store.database.retrying import again
from fairlead.store.journal.counting import EventCounts, count_events, cursor_at
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.settings import known_queue
from fairlead.store.verbs.dead_letters import beginning_of_reasons
from fairlead.store.verbs.store_verbs import StoreVerbs


class StoreLooking(StoreVerbs):
    """Each in a transaction of its own; each reads a page, however much there is."""

    def groups(
        self, queue: str, most: int = 50, after: str = "", *, tenant: str | None = None
    ) -> GroupsPage:
        """The groups that can be taken, in their order and with why, at most so many.

        `after`: what the page before has given. `tenant`: of this one alone. Where tenants share
        the queue they take turns, which are told for the first page; those behind it are of one
        tenant. The places of a page behind the first one are counted. Raises MessageError.
        """
        whole("most", most, 1, MAX_TAKEN)
        self._maintain(queue_name(queue))
        with self._connection() as database:
            row = known_queue(database, queue, self._clock())
            whose = None if tenant is None else tenant and tenant_name(tenant)
            return looking.groups_page(database, row, most, after, whose)

    def group(self, queue: str, group: str) -> GroupNow | None:
        """A group as it is now; None: nothing of it waits. Raises MessageError."""
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return looking.group_now(database, row, name("group", group) or "")

    def groups_named(
        self, queue: str, beginning: str, most: int = 50, after: str = ""
    ) -> list[GroupNow]:
        """The groups whose names begin so, by their names, behind one of them; at most so many.

        Raises MessageError.
        """
        whole("most", most, 1, MAX_TAKEN)
        begins, behind = name("beginning", beginning) or "", name("after", after) or ""
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return looking.named_groups(database, row, begins, behind, most)

    @again
    def prioritise_seen(self, queue: str, group: str, priority: int | None, seen: str) -> bool:
        """Raise a group, as `prioritise` does, that is still as `GroupNow.seen` says.

        So nobody raises what another one has raised meanwhile, or a reader has taken. Raises
        StaleViewError, which says what has changed, and MessageError.
        """
        check_priority(priority)
        wanted = name("group", group) or ""
        with self._writing() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            looking.check_seen(database, row, wanted, seen)
            engine = engine_of(database, self._clock(), self._context.actor)
            return engine.raise_group(row.name, wanted, priority)

    def dead_heads(
        self, queue: str, most: int = 50, after: int = 0, *, reason: str | None = None
    ) -> list[DeadHead]:
        """The dead letters behind a place, as `dead` has them, without their bodies.

        `reason`: only those whose reason begins with this text. Raises MessageError.
        """
        whole("most", most, 1, MAX_TAKEN)
        whole("after", after, 0)
        begins = beginning_of_reasons(reason)
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return dead_pages.dead_heads(database, row, most, after, begins)

    def dead_body(self, queue: str, number: int, most: int = 65_536) -> BodyPart:
        """The first bytes, at most so many, of the body of a dead letter. Raises MessageError."""
        whole("number", number, 0)
        whole("most", most, 1)
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return dead_pages.dead_body(database, row, number, most)

    def processes(self) -> list[StoreProcess]:
        """The processes that take work, or have said so and are gone; who holds most is first."""
        with self._connection() as database:
            return looking.processes(database, self._leases)

    def count_events(self, since: str | None = None, most: int = 20_000) -> EventCounts:
        """The events after a cursor, at most so many, counted by queue, kind and minute.

        None: from the first that is kept since the latest backup was restored. Raises MessageError.
        """
        whole("most", most, 1)
        with self._connection() as database:
            return count_events(database, since, most)

    def cursor_at(self, time: Time) -> str | None:
        """A cursor after which are the events from about a time on; None: all that are kept.

        Seconds since 1970, or a timestamp. Raises MessageError.
        """
        start = moment(time, "time", MessageError)
        with self._connection() as database:
            return cursor_at(database, start)
