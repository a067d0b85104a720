"""On SQLite, speak: begin a dialog, send in it, end it, in a transaction.

Whoever sends for an end locks that end's row and nobody else's: so what one end says has an order
without gaps, and the two ends never wait for each other. That the other end has ended meanwhile is
found where the message is read: there it is dropped.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from fairlead.balance.times import Time
from fairlead.config.services import DIALOG_TIMER, END_DIALOG, ERROR, RESERVED
from fairlead.errors import ConversationError, MessageError
from fairlead.store.arguments import duration
from fairlead.store.database.port import Database
from fairlead.store.database.savepoint import undone_if_refused
from fairlead.store.dialogs.declared import Declared, DialogContext
from fairlead.store.dialogs.replies import (
    Beginning,
    agreed_contract,
    ended_error,
    error_message,
    key_of,
    no_end,
    no_such_type,
    system_message,
)
from fairlead.store.dialogs.validation import fault
from fairlead.store.journal.log import Log
from fairlead.store.queues.bodies import encoded
from fairlead.store.queues.endpoints import (
    ENDED,
    FAILED,
    HANDLE,
    INITIATOR,
    OPEN,
    TARGET,
    Endpoint,
    by_handle,
    by_ids,
    end_name,
    far_end,
    is_past,
    state_of,
)
from fairlead.store.queues.engine import engine_of
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.pending import RAISED, PendingUpdate, add_pending
from fairlead.store.queues.sending import arrive, check_limit
from fairlead.store.queues.settings import Queue, known_queue

REFUSED_BODY: Final = -9615
REFUSED_CONTRACT: Final = -8408
LIFETIME_OVER: Final = -8489
"""Codes of the errors that come of themselves are below 0; these are Service Broker's."""
GIVEN_GROUP: Final = re.compile(r"d-\d+/[it]", re.ASCII)
"""A group that nobody named: who joins it has to know an end in it."""


class SqliteDialogs:
    """What is said in one transaction."""

    def __init__(self, database: Database, context: DialogContext, *, shared: bool) -> None:
        """The transaction's connection, and what it has from its store.

        `shared`: whether the transaction goes on after a refusal: then what was refused is undone
        alone.
        """
        self._database = database
        self._context = context
        self._shared = shared
        self._now = context.clock()

    def undone_if_refused(self) -> AbstractContextManager[None]:
        """As `DialogEngine` says."""
        return undone_if_refused(self._database) if self._shared else nullcontext()

    def begin(self, beginning: Beginning) -> Endpoint:
        """As `DialogEngine` says."""
        declared = self._context.declared.get(self._database)
        service = declared.service(beginning.service, "from service")
        far = declared.service(beginning.far_service, "to service")
        contract = agreed_contract(declared, beginning.contract, far.contracts, far.name)
        queue = self._queue(service.queue)
        lifetime = None
        if beginning.lifetime is not None:
            lifetime = queue.now + duration("lifetime", beginning.lifetime, 0.001)
        if beginning.related is not None and beginning.related.queue != queue.name:
            raise MessageError(
                f"related: found a conversation of queue {beginning.related.queue!r}, "
                f"allowed: one of {queue.name!r}, the queue of service {service.name!r}"
            )
        if beginning.group is not None and GIVEN_GROUP.fullmatch(beginning.group):
            raise MessageError(
                f"group: found {beginning.group!r}, which is a dialog's own, "
                "allowed: another name, or related and the conversation"
            )
        log = self._log(queue)
        (number,) = log.draw()
        group = beginning.related.group if beginning.related else beginning.group
        end = Endpoint(
            id=number,
            handle=secrets.token_hex(16),
            dialog=number,
            side=INITIATOR,
            service=service.name,
            far_service=far.name,
            contract=contract,
            queue=queue.name,
            group=group or end_name(number, INITIATOR),
            state=OPEN,
            sent=0,
            began=queue.now,
            lifetime=lifetime,
            bound=None,
        )
        self._add(end)
        log.add(
            *("begun",),
            id=number,
            group=end.group,
            key=end.end,
            detail=f"{service.name} to {far.name}, contract {contract}",
        )
        log.flush()
        self._limit(end, queue)
        return end

    def send(self, end: Endpoint, type_: str, body: object) -> str:
        """Send a message from an end; its id. Raises ConversationError, MessageError."""
        format_, raw = encoded(body)
        end, declared = self._counted(end)
        allowed = declared.contract(end.contract).types(end.side)
        if type_ not in allowed:
            raise MessageError(no_such_type(type_, end, allowed))
        peer = far_end(self._database, end)
        if peer is not None and peer.state == ENDED:
            raise ended_error(end, "the other side has ended it")
        key = key_of(end, end.sent - 1)
        if peer is None and end.contract not in declared.service(end.far_service).contracts:
            why = f"service {end.far_service!r} does not accept contract {end.contract!r}"
            self._fail(end, REFUSED_CONTRACT, why, key)
            return key
        kind = declared.message_type(type_)
        refusal = fault(kind.validation, kind.schema, format_, raw)
        if refusal is not None:
            why = f"a message of type {type_!r} was refused: {refusal}"
            self._fail(end, REFUSED_BODY, why, key)
            return key
        outgoing = OutgoingMessage(None, None, key, type_, "", 1, None, None, format_, raw)
        if peer is None:
            self._deliver_first(end, declared, outgoing)
        else:
            self._deliver(peer, outgoing)
        return key

    def end(
        self,
        end: Endpoint,
        error: tuple[int, str] | None = None,
        *,
        cleanup: bool = False,
        given: Sequence[int] = (),
    ) -> None:
        """As `DialogEngine` says."""
        rows = self._database.run("end_endpoint", id=end.id)
        if not rows:
            raise ended_error(end, "it has ended")
        ((sent,),) = rows
        peer = far_end(self._database, end)
        queue = self._queue(end.queue)
        log = self._log(queue)
        how = "with cleanup" if cleanup else f"with error {error[0]}: {error[1]}" if error else None
        (number,) = log.draw()
        log.add("ended", id=number, group=end.group, key=end.end, detail=how)
        log.flush()
        if peer is not None and peer.state != ENDED and not cleanup:
            key = key_of(end, sent - 1)
            self._forget_timers(peer, [ERROR], after=queue.now)
            self._deliver(
                peer, error_message(key, *error) if error else system_message(key, END_DIALOG)
            )
        self._forget_timers(end, [ERROR, DIALOG_TIMER])
        self._database.run("drop_unread", conversation=end.id, given=list(given))
        self._put_in_order(end, queue, number)
        if peer is None or peer.state == ENDED:
            self._database.run("drop_endpoints", dialog=end.dialog)

    def set_timer(self, end: Endpoint, seconds: Time | None) -> None:
        """As `DialogEngine` says."""
        queue = self._queue(end.queue)
        if not self._database.run("lock_open", id=end.id) or is_past(end, queue.now):
            raise ended_error(end, "it has ended or failed")
        self._forget_timers(end, [DIALOG_TIMER])
        if seconds is not None:
            outgoing = system_message(f"{end.end}/timer", DIALOG_TIMER)
            self._later(end, queue, queue.now + duration("timer", seconds), outgoing)

    def prioritise(self, end: Endpoint, priority: int | None) -> bool:
        """As `DialogEngine` says."""
        peer = far_end(self._database, end)
        if peer is None:
            return False
        engine = engine_of(self._database, self._now, self._context.actor)
        return engine.raise_group(peer.queue, peer.group, priority)

    def bind(self, one: Endpoint, other: Endpoint) -> None:
        """As `DialogEngine` says."""
        for end, bound in sorted([(one, other), (other, one)]):  # so nobody waits for each other
            if not self._database.run("bind_endpoint", id=end.id, bound=bound.id):
                raise ended_error(end, "it has ended")

    def bound(self, end: Endpoint) -> Endpoint | None:
        """As `DialogEngine` says."""
        current = self.current(end)
        other = None if current is None else current.bound
        peer = by_ids(self._database, [other]).get(other) if other is not None else None
        return None if peer is None or peer.state == ENDED else peer

    def current(self, end: Endpoint) -> Endpoint | None:
        """An end as it is now; None: both ends have ended."""
        return by_ids(self._database, [end.id]).get(end.id)

    def state(self, end: Endpoint) -> str:
        """How an end stands."""
        current = self.current(end)
        if current is None or current.state == ENDED:
            return "ended"
        peer = far_end(self._database, end)
        return state_of(current, peer, self._queue(end.queue).now)

    def found(self, handle: object) -> Endpoint:
        """The end with a handle. Raises MessageError."""
        end = None
        if isinstance(handle, str) and HANDLE.fullmatch(handle):
            end = by_handle(self._database, handle)
        if end is None:
            raise ConversationError(no_end(handle))
        return end

    def _counted(self, end: Endpoint) -> tuple[Endpoint, Declared]:
        """The end with one more message, locked; and what is declared."""
        rows = self._database.run("say", id=end.id)
        if not rows:
            current = self.current(end)
            failed = current is not None and current.state == FAILED
            raise ended_error(
                end, "an error has broken it off: end it" if failed else "it has ended"
            )
        ((sent, revision),) = rows
        if end.lifetime is not None and is_past(end, self._queue(end.queue).now):
            raise ended_error(end, "its lifetime is over: end it")
        declared = self._context.declared.get(self._database, revision)
        return end._replace(sent=sent), declared

    def _deliver_first(self, end: Endpoint, declared: Declared, outgoing: OutgoingMessage) -> None:
        """The first message: with it the target's end begins."""
        queue = self._queue(declared.service(end.far_service).queue)
        log = self._log(queue)
        (number,) = log.draw()
        peer = end._replace(
            id=number,
            handle=secrets.token_hex(16),
            side=TARGET,
            service=end.far_service,
            far_service=end.service,
            queue=queue.name,
            group=end_name(end.dialog, TARGET),
            sent=0,
            began=queue.now,
            bound=None,
        )
        self._add(peer)
        self._arrive(peer, queue, number, outgoing, log)
        self._limit(peer, queue)

    def _deliver(self, end: Endpoint, outgoing: OutgoingMessage) -> None:
        """A message comes to an end."""
        queue = self._queue(end.queue)
        log = self._log(queue)
        (number,) = log.draw()
        self._arrive(end, queue, number, outgoing, log)

    def _arrive(
        self, end: Endpoint, queue: Queue, number: int, outgoing: OutgoingMessage, log: Log
    ) -> None:
        if outgoing.type not in RESERVED:
            check_limit(self._database, queue, 1)
        outgoing.group, outgoing.conversation = end.group, end.id
        arrive(self._database, queue, [(number, outgoing)])
        log.add(
            *("sent",),
            id=number,
            group=end.group,
            key=outgoing.key or "",
            cost=outgoing.cost,
            type=outgoing.type,
        )
        log.flush()

    def _fail(self, end: Endpoint, code: int, description: str, key: str) -> None:
        """Break off an end that has sent what it may not: it gets an Error."""
        self._database.run("fail_endpoint", id=end.id)
        log = self._log(self._queue(end.queue))
        log.add("refused", group=end.group, key=key, detail=f"error {code}: {description}")
        log.flush()
        self._deliver(end, error_message(f"{end.end}/error", code, description))

    def _limit(self, end: Endpoint, queue: Queue) -> None:
        """What an end gets when its lifetime is over."""
        if end.lifetime is not None:
            outgoing = error_message(
                f"{end.end}/lifetime", LIFETIME_OVER, "the dialog's lifetime is over"
            )
            self._later(end, queue, end.lifetime, outgoing)

    def _later(self, end: Endpoint, queue: Queue, due: int, outgoing: OutgoingMessage) -> None:
        """A message comes to an end at a time."""
        log = self._log(queue)
        (number,) = log.draw()
        self._database.many(
            "add_delayed",
            [
                (
                    *(
                        number,
                        due,
                        end.group,
                        "",
                        None,
                        outgoing.key,
                        None,
                        1,
                        outgoing.type,
                        end.id,
                    ),
                    *(outgoing.format, outgoing.body),
                )
            ],
            queue=queue.id,
        )
        log.add("timed", id=number, group=end.group, key=outgoing.key or "", detail=f"due {due}")
        log.flush()

    def _forget_timers(self, end: Endpoint, types: list[str], after: int = 0) -> None:
        """Nothing comes of itself after a time. What somebody has locked is about to come or go."""
        self._database.run("drop_delayed", conversation=end.id, types=types, after=after)

    def _put_in_order(self, end: Endpoint, queue: Queue, number: int) -> None:
        """The next reader gives the group of an end that has ended its place, or ends it if empty.

        It is not done here: who sends to the group would wait for this transaction.
        """
        rows = self._database.run("group", queue=queue.id, name=end.group)
        if rows and not queue.fair:  # where tenants share, whoever takes it finds that it is empty
            ((id_, tenant),) = rows
            add_pending(self._database, queue, [PendingUpdate(RAISED, number, id_, tenant)])

    def _add(self, end: Endpoint) -> None:
        row: dict[str, Any] = end._asdict()
        for key in ("state", "sent", "bound"):
            del row[key]
        self._database.run("add_endpoint", **row)

    def _queue(self, name: str) -> Queue:
        return known_queue(self._database, name, self._now)

    def _log(self, queue: Queue) -> Log:
        return Log(self._database, queue.name, queue.moment, self._context.actor)
