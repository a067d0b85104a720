"""What an operator asks of a store, and sets in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Unpack

from fairlead.balance.times import seconds
from fairlead.config.services import load_declared
from fairlead.errors import DeniedError
from fairlead.order.outlook import Outlook
from fairlead.store.admin import checking
from fairlead.store.admin import queues as admin
from fairlead.store.admin.checking import Finding
from fairlead.store.admin.declaring import declare
from fairlead.store.admin.holding import HeldGroup, held_groups, take_back_with
from fairlead.store.admin.queues import Limiting, Metrics, Ordering, TenantMetrics
from fairlead.store.admin.switching import SwitchedOff, off, switch
from fairlead.store.admin.views import view_rows
from fairlead.store.admin.waiting import Later, Promotion, later, outlook, peek, promotion
from fairlead.store.arguments import (
    MAX_TAKEN,
    check_keys,
    check_priority,
    duration,
    name,
    queue_name,
    tenant_name,
    whole,
)
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Row
from fairlead.store.database.retrying import again
from fairlead.store.journal.events import Event, EventChoice, events, latest, these
from fairlead.store.journal.pages import EventPage, page_after, page_before
from fairlead.store.journal.parts import parts
from fairlead.store.journal.retention import journal_keep, set_journal_keep
from fairlead.store.message import Message, message_of
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.explain_order import OrderExplanation, explain_order
from fairlead.store.queues.limiting import Gate, LimitState
from fairlead.store.queues.maintenance import is_maintenance_due
from fairlead.store.queues.settings import BECOMES_FAIR, known_queue
from fairlead.store.verbs.store_verbs import StoreVerbs


class StoreOperations(StoreVerbs):
    """Each in a transaction of its own."""

    def waiting(self, queue: str, most: int = 5) -> Outlook:
        """The groups in the order in which they would be taken, at most so many, and why."""
        whole("most", most, 0)
        self._maintain(queue_name(queue))
        with self._connection() as database:
            row = known_queue(database, queue, self._clock())
            return outlook(database, row, most)

    def explain_order(self, queue: str, first: str, second: str) -> OrderExplanation:
        """Why one group was taken before another one, as the journal tells it.

        `first`, `second`: groups, or dialogs, such as `d-17`; where both ends of a dialog are of
        this queue, that of the target is meant, and `d-17/i` is the initiator's. It is about the
        latest take of the first one at which the second one waited, or else the other way round;
        the order is that of the queue as it is set now. It reads the journal from its first event
        on. Raises MessageError, PrunedError.
        """
        names = [name(what, group) or "" for what, group in (("first", first), ("second", second))]
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return explain_order(database, row, *names)

    def later(self, queue: str, most: int = 20) -> list[Later]:
        """What cannot be taken before its time: released or sent with a delay; the next first."""
        whole("most", most, 0)
        with self._connection() as database:
            return later(database, known_queue(database, queue_name(queue), self._clock()), most)

    def check_queue(self, queue: str) -> None:
        """Raises MessageError for a queue that is not there; it says which ones are."""
        with self._connection() as database:
            known_queue(database, queue_name(queue), self._clock())

    def peek(
        self,
        queue: str,
        group: str | None = None,
        most: int = 10,
        groups: int = 1,
        room: int | None = None,
    ) -> list[Message]:
        """The first messages of the group that would be taken next, or of the one that is named.

        They are only looked at: nobody takes them. `most`: so many of a group; `groups`: of so many
        groups, in the order in which they would go; with tenants, as if there were none. `room`:
        so many bytes of bodies, about, after which there are no more; None: any number.
        """
        whole("most", most, 1, MAX_TAKEN)
        whole("groups", groups, 1, MAX_TAKEN)
        whole("room", 1 if room is None else room, 1)
        self._maintain(queue_name(queue))
        with self._connection() as database:
            row = known_queue(database, queue, self._clock())
            every = peek(database, row, name("group", group), most, groups, room)
            return [message_of(message) for message in every]

    def promotion(
        self, queue: str, group: str, priority: int | None = None, most: int = 20
    ) -> Promotion | None:
        """Whom raising a group would delay, at most so many of them; nothing is done.

        `group`: a group, or a dialog, such as `d-17`. None: there is no such group, or the order is
        first come, first served. Raises MessageError.
        """
        check_priority(priority)
        whole("most", most, 0)
        self._maintain(queue_name(queue))
        with self._connection() as database:
            row = known_queue(database, queue, self._clock())
            return promotion(database, row, name("group", group) or "", priority, most)

    def set_order(
        self, queue: str, discipline: str | None = None, **more: Unpack[Ordering]
    ) -> None:
        """Set how a queue is ordered, as `[order]` of a file says; it is created if need be.

        `discipline`: fifo or priority. `default_priority`: of a raise without a number. `ageing`:
        seconds of waiting that are worth one step of priority; 0: none are. `weights`: of tenants.
        What is not named stays as it is: at first priority, 100, 0, and no weights.

        Groups that wait get their places anew, in steps: until all have them the order is mixed.
        With other weights all tenants start anew. Raises ConfigError.
        """
        named: dict[str, object] = {**more}
        if discipline is not None:
            named["discipline"] = discipline
        self._set(queue_name(queue), named)

    def set_limits(self, queue: str, **more: Unpack[Limiting]) -> None:
        """Set what a queue may hold; it is created if need be. Raises MessageError.

        `max_waiting`: messages; None: any number. `max_failures`: failures of a group in a row,
        after which it is poison; None: it is tried for ever. `poison`: what then becomes of it:
        "dead-letters", what was given is that; "off", the queue is switched off, until `switch`.
        `max_seconds`: whole seconds for which a handler of `fairlead work`, or an AMQP client, may
        work on one message; more is a failure of it. None: any time. What is not named stays as it
        is: at first None, 5, "dead-letters" and None.
        """
        check_keys("set_limits", more, admin.LIMITS)
        admin.check_limits(more)
        self._set(queue_name(queue), more)

    @again
    def switch(self, queue: str, *, on: bool, reason: str = "", tenant: str | None = None) -> bool:
        """Switch a queue, or one tenant of it, on or off; whether it was the other way before.

        What is off is not given: of a queue that is, `take` returns None. What is sent to it waits,
        and what readers hold is settled as ever. A queue that is switched on again counts failures
        anew, but not of groups that a reader holds. A tenant that is has what waits of it, and no
        time that it did not use. `reason`: for the journal, and for who looks. Raises MessageError.
        """
        why, whose = name("reason", reason or None) or "", tenant_name(tenant)
        with self._writing() as database:
            wanted, now, actor = queue_name(queue), self._clock(), self._context.actor
            row = known_queue(database, wanted, now)
            if whose:
                engine = engine_of(database, now, actor)
                return engine.switch_tenant(wanted, whose, why, on=on)
            return switch(database, row, actor, why, on=on)

    def held(self, queue: str | None = None, most: int = 100) -> list[HeldGroup]:
        """What readers hold, the longest first: of a queue or of all. Raises MessageError."""
        whole("most", most, 0)
        with self._connection() as database:
            row = queue and known_queue(database, queue_name(queue), self._clock())
            return held_groups(database, self._leases, row or None, most)

    @again
    def take_back(self, token: int, reason: str = "", *, failed: bool = False) -> int:
        """Take work back from its reader, as `held` tells its token; returns how many groups.

        It can be taken at once. The reader learns of it when it settles, with StaleWorkError: what
        it does until then is done twice. `failed`: it counts as a failure of the group's first
        message, as nobody here knows what was given. `reason`: for the journal. 0: nobody holds
        work with this token any more. Raises MessageError.
        """
        whole("token", token, 0)
        why = name("reason", reason or None) or ""
        with self._writing() as database:
            now, actor = self._clock(), self._context.actor
            return take_back_with(database, now, token, actor, why, failed=failed)

    def retry(self, queue: str) -> dict[str, float] | None:
        """When a group that failed is tried again, as a file declares it; None: it does not.

        `base` and `limit` in seconds, `factor`, and `jitter` as a part. Raises MessageError.
        """
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return None if row.backoff is None else row.backoff.in_seconds

    def max_seconds(self, queue: str) -> int | None:
        """For how many seconds a handler may work on one message of a queue; None: any time.

        Raises MessageError.
        """
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return row.columns.max_seconds

    def limits(self, queue: str) -> list[LimitState]:
        """How it stands with the limits of a queue, as a file declares them. Raises MessageError.

        Of a limit for each tenant, those that have something in work, or have used their rate.
        """
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return Gate(database, row.id, row.limits, row.now).states()

    def off(self, queue: str, tenant: str | None = None) -> SwitchedOff | None:
        """When and why a queue, or one tenant of it, was switched off; None: it is on.

        Raises MessageError.
        """
        whose = tenant_name(tenant)
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return off(database, row, whose)

    def off_tenants(self, queue: str) -> list[str]:
        """The tenants of a queue that are switched off. Raises MessageError."""
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            return sorted(row.off_tenants)

    @again
    def set_retention(self, journal_keep: float | None = 30) -> None:
        """Set for how many days events are kept: then readers forget them; 0 or None: for ever.

        Raises MessageError.
        """
        with self._writing() as database:
            set_journal_keep(database, journal_keep)

    def retention(self) -> float | None:
        """For how many days events are kept; None: for ever."""
        with self._connection() as database:
            return journal_keep(database)

    @again
    def declare(self, path: str | Path) -> list[str]:
        """Set queues, and declare what a file says: all of it or nothing; the names of all.

        The file has `[[queue]]`, `[[message_type]]`, `[[contract]]`, `[[service]]` and
        `[[schedule]]`. What it does not say of one gets its default; what it does not name stays as
        it is. Raises ConfigError.
        """
        file = load_declared(path)
        with self._writing() as database:
            declare(database, file, self._clock(), str(path))
        for queue in file.queues:
            self._place_anew(queue.name)
        return file.names

    @again
    def _set(self, queue: str, named: Mapping[str, object]) -> None:
        with self._writing() as database:
            admin.set_queue(database, queue, self._clock(), named)
        if named.keys() & set(admin.ORDER):
            self._place_anew(queue)

    def _place_anew(self, queue: str) -> None:
        after: int | None = 0
        while after is not None:
            with self._writing() as database:
                after = admin.place_anew(database, queue, after, self._clock())

    def queues(self) -> list[Metrics]:
        """What each queue holds."""
        with self._connection() as database:
            return admin.metrics(database, self._clock())

    def queues_by_tenant(self) -> list[TenantMetrics]:
        """What each queue holds of each tenant; of a queue, the most messages first."""
        with self._connection() as database:
            return admin.by_tenant(database, self._clock())

    def journal(
        self, since: str | None = None, *, until: str | None = None, **wanted: Unpack[EventChoice]
    ) -> Iterator[Event]:
        """The events after a cursor, in their order; None: from the first that is kept.

        `until`: up to the event with this cursor. `queue`, `cluster`, `group`, `id`, `kind` (or
        several): only those of this one. `actor`: only those of which the actor begins so.
        `start`, `end`: only those from this time on, or before it, in seconds. Those that come
        while they are read are left for the next time. Raises PrunedError where some of them are
        kept no more, and MessageError.
        """
        with self._connection() as database:
            yield from events(database, since, these(wanted), until)

    def journal_back(
        self,
        before: str | None = None,
        most: int = 100,
        look: int = 10_000,
        **wanted: Unpack[EventChoice],
    ) -> EventPage:
        """At most so many of the events before a cursor, the latest first; None: of all.

        `look`: so many events are looked at, wanted or not: so a page takes as long in a long
        journal as in a short one. Its `cursor` says where the next one goes on. The others: as
        `journal` has them. With `start` or `end` what is outside is not looked at; an event that
        was written more than a minute after its time may be outside, too. Raises MessageError.
        """
        whole("most", most, 1)
        whole("look", look, 1)
        with self._connection() as database:
            return page_before(database, before, most, look, these(wanted))

    def journal_ahead(
        self,
        since: str | None = None,
        most: int = 100,
        look: int = 10_000,
        **wanted: Unpack[EventChoice],
    ) -> EventPage:
        """At most so many of the events after a cursor, in their order; else as `journal_back`."""
        whole("most", most, 1)
        whole("look", look, 1)
        with self._connection() as database:
            return page_after(database, since, most, look, these(wanted))

    def journal_parts(
        self, most: int, since: str | None = None, until: str | None = None
    ) -> list[tuple[str | None, str]]:
        """The journal in at most so many parts, which `journal` can read side by side.

        Each is the cursor after which it begins (None: with the first event that is kept) and that
        of its last event. Together they are what can be read now, whoever writes meanwhile, and
        one message's decisions are in one part. `since`, `until`: as `journal` has them. Raises
        MessageError.
        """
        whole("most", most, 1)
        with self._connection() as database:
            return parts(database, most, since, until)

    def sent_at(self, queue: str, id: str) -> float | None:  # noqa: A002 - as `send` has it
        """When a message was sent, by its id, in seconds since 1970, as long as ids are remembered.

        None: nobody remembers it. Raises MessageError.
        """
        key = name("id", id) or ""
        with self._connection() as database:
            row = known_queue(database, queue_name(queue), self._clock())
            remembered = database.run("message_ids", queue=row.id, keys=[key])
            return seconds(remembered[0][1]) if remembered else None

    def view_rows(self, view: str, queue: str | None = None) -> Sequence[Row]:
        """The rows of `waiting` or `dead_letters`, of one queue or of all, as of one moment.

        Their columns are those of `VIEW_COLUMNS`. Raises MessageError.
        """
        with self._connection() as database:
            if queue is not None:
                known_queue(database, queue_name(queue), self._clock())
            return view_rows(database, view, queue)

    def latest(self, back: int = 0, **wanted: Unpack[EventChoice]) -> str | None:
        """The cursor of the latest event that the journal gives now; None: there is none.

        `back`: of the one so many events before it, after which that many are left; None, too,
        where that is before a backup that was restored. The others: as `journal` has them.
        """
        with self._connection() as database:
            return latest(database, back, these(wanted))

    def outcome(self, token: int) -> str:
        """How the work with a token was settled: accepted, rejected, released, held or unknown.

        For a reader that lost its connection while it committed. On PostgreSQL a transaction that
        is just settling it is waited for, up to 5 seconds; after that the work is held.
        """
        whole("token", token, 0)
        with self._connection() as database:
            if database.run("held_token", token=token):
                return "held"
            rows = database.run("outcome", token=token)
            return str(rows[0][0]) if rows else "unknown"

    def prune(self, keep: float) -> int:
        """Forget the events that are older than so many seconds, and ids whose time is over.

        At once, whatever `set_retention` says; how many.
        """
        before = duration("keep", keep)

        @again
        def one() -> int:
            with self._writing() as database:
                return admin.prune(database, before, self._clock())

        done = 0
        while count := one():
            done += count
        return done

    @again
    def recover(self) -> int:
        """After a backup was restored: take back all work, as nobody holds any; how much.

        A new epoch of the journal begins: whoever reads on from a cursor of before gets all that
        happens from now on. Nobody may send or take meanwhile.
        """
        with self._writing() as database:
            count = admin.recover(database, self._clock(), self._context.actor)
        self._leases.forget_others()
        return count

    def check(self, *, repair: bool = False) -> list[Finding]:
        """What should not be in the store: what nobody would get, or what would last for ever.

        It reads all there is. `repair`: put right what was found. Raises StoreError.
        """
        gone = self._leases.gone()
        with self._connection() as database:
            findings = checking.find(database, time_of(database, self._clock()))
        if gone:
            findings.append(
                Finding("processes that take work, and are gone", "", len(gone), gone[0])
            )
        if repair and findings:
            self._repair()
        return findings

    def _repair(self) -> None:
        self._leases.take_back_all()
        actor, more = self._context.actor, True
        while more:
            with self._writing() as database:
                more = checking.mend_lost_messages(database, self._clock(), actor)
        with self._writing() as database:
            checking.mend(database, time_of(database, self._clock()), actor)
            queues = [name for (name,) in database.run("queue_names")]
        for queue in queues:
            self._place_anew(queue)

    def make_roles(self) -> None:
        """Make fairlead_sender, _chooser, _worker, _operator and _viewer on a PostgreSQL server.

        Where they are there, they get the rights of this version, and no others. Raises StoreError.
        """
        with self._writing() as database:
            database.make_roles()

    def stopping(self) -> None:
        """This process was told to stop: what it still holds has not failed."""
        self._leases.stopping()

    def _maintain(self, queue: str) -> None:
        """Bring a queue up to date; who has no right to do what is due sees it undone."""
        self._refuse_nested()
        with suppress(DeniedError):
            self._bring_up_to_date(queue)

    def _bring_up_to_date(self, queue: str) -> None:
        """Where there is nothing to do, nothing is written."""
        self._leases.take_back_from_dead(queue)
        with self._connection() as database:
            row = known_queue(database, queue, self._clock())
            if row.fair != BECOMES_FAIR and not is_maintenance_due(database, row):
                return
        with self._writing() as database:
            engine_of(database, self._clock(), self._context.actor).bring_up_to_date(queue)
