"""On PostgreSQL what is done in a dialog is one statement: a function of the schema does it.

It does what `sqlite_engine.py` does on SQLite. What it refuses leaves the caller's transaction as
it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from fairlead.balance.times import Time
from fairlead.errors import ConversationError, MessageError
from fairlead.store.arguments import duration
from fairlead.store.database.clock import set_clock
from fairlead.store.database.port import Database, Row
from fairlead.store.database.postgresql import refusal
from fairlead.store.dialogs.declared import Declared, DialogContext
from fairlead.store.dialogs.replies import Beginning, no_end, no_such_type
from fairlead.store.dialogs.validation import fault
from fairlead.store.queues.bodies import encoded
from fairlead.store.queues.endpoints import HANDLE, Endpoint, endpoint_of


class PostgresqlDialogs:
    """What is said in one transaction."""

    def __init__(self, database: Database, context: DialogContext) -> None:
        """The transaction's connection, and what it has from its store."""
        self._database = database
        self._context = context

    def undone_if_refused(self) -> AbstractContextManager[None]:
        """What a function refuses has done nothing."""
        return nullcontext()

    def begin(self, beginning: Beginning) -> Endpoint:
        """As `DialogEngine` says."""
        lifetime = None
        if beginning.lifetime is not None:
            lifetime = duration("lifetime", beginning.lifetime, 0.001)
        self._check_names(beginning)
        (end,) = self._call(
            "try_begin_dialog",
            service=beginning.service,
            far_service=beginning.far_service,
            contract=beginning.contract,
            related=beginning.related.handle if beginning.related else None,
            group=beginning.group,
            lifetime=lifetime,
            actor=self._context.actor,
        )
        return endpoint_of(end)

    def send(self, end: Endpoint, type_: str, body: object) -> str:
        """Send a message from an end; its id. Raises ConversationError, MessageError."""
        format_, raw = encoded(body)
        declared = self._context.declared.known(self._database)
        while True:
            if not _is_text(type_):
                allowed = declared.contract(end.contract).types(end.side)
                raise MessageError(no_such_type(type_, end, allowed))
            kind = declared.message_type(type_)
            key, revision = self._call(
                "try_say",
                handle=end.handle,
                type=type_,
                format=format_,
                body=raw,
                fault=fault(kind.validation, kind.schema, format_, raw),
                revision=self._context.declared.revision,
                actor=self._context.actor,
            )
            if key is not None:
                return str(key)
            declared = self._context.declared.get(self._database, revision)

    def end(
        self,
        end: Endpoint,
        error: tuple[int, str] | None = None,
        *,
        cleanup: bool = False,
        given: Sequence[int] = (),
    ) -> None:
        """As `DialogEngine` says."""
        code, description = error or (None, None)
        self._call(
            "try_end_dialog",
            handle=end.handle,
            code=code,
            description=description,
            cleanup=cleanup,
            given=list(given),
            actor=self._context.actor,
        )

    def set_timer(self, end: Endpoint, seconds: Time | None) -> None:
        """As `DialogEngine` says."""
        after = None if seconds is None else duration("timer", seconds)
        self._call("try_set_timer", handle=end.handle, after=after, actor=self._context.actor)

    def prioritise(self, end: Endpoint, priority: int | None) -> bool:
        """As `DialogEngine` says."""
        (raised,) = self._call(
            *("try_prioritise_dialog",),
            handle=end.handle,
            priority=priority,
            actor=self._context.actor,
        )
        return bool(raised)

    def bind(self, one: Endpoint, other: Endpoint) -> None:
        """As `DialogEngine` says."""
        self._call("try_bind", one=one.handle, other=other.handle)

    def bound(self, end: Endpoint) -> Endpoint | None:
        """As `DialogEngine` says."""
        ((row,),) = self._database.run("bound_end", handle=end.handle)
        return None if row is None else endpoint_of(row)

    def state(self, end: Endpoint) -> str:
        """How an end stands."""
        set_clock(self._database, self._context.clock())
        ((status,),) = self._database.run("state_of_end", handle=end.handle)
        return status or "ended"

    def found(self, handle: object) -> Endpoint:
        """The end with a handle. Raises ConversationError."""
        row = None
        if isinstance(handle, str) and HANDLE.fullmatch(handle):
            ((row,),) = self._database.run("find_end", handle=handle)
        if row is None:
            raise ConversationError(no_end(handle))
        return endpoint_of(row)

    def _call(self, name: str, **values: object) -> Row:
        """Call a function; what it gives. Raises MessageError."""
        set_clock(self._database, self._context.clock())
        ((*columns, state, line),) = self._database.run(name, **values)
        if state is not None:
            raise refusal(state, line)
        return tuple(columns)

    def _check_names(self, beginning: Beginning) -> None:
        """Raises MessageError for names that no database can look for."""
        declared: Declared | None = None
        for what, name in (
            ("from service", beginning.service),
            ("to service", beginning.far_service),
        ):
            if not _is_text(name):
                declared = declared or self._context.declared.get(self._database)
                declared.service(name, what)
        if beginning.contract is not None and not _is_text(beginning.contract):
            self._context.declared.get(self._database).contract(beginning.contract)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()
