"""Random days of services that talk, beside the plainest model: each receive gives what it says.

On PostgreSQL plain SQL and the library talk to each other; everywhere threads and an event loop do.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from fairlead import Store
from fairlead.errors import ConversationError, MessageError, StaleWorkError
from fairlead.store.database.postgresql import refusal
from fairlead.store.leasing import StoreWork
from fairlead.store.message import Message
from fairlead.store.queues.bodies import BYTES, JSON, TEXT, encoded
from tests.store.mixed import OnLoop
from tests.store.plain_dialogs import End, Hold, PlainDialogs, PlainQueue, Refused, Row
from tests.stores import lent, made_url, scratch

PLAINS = count(1)
SECOND = 1_000_000
MAX_FAILURES = 2
QUEUE_OF = {"Client": "clients", "Near": "shops", "Shop": "shops"}
SIDES = {"initiator": "i", "target": "t"}
DECLARED = """
[[queue]]
name = "clients"
max_failures = 2
poison = "{poison}"

[[queue]]
name = "shops"
discipline = "{discipline}"
max_failures = 2
poison = "{poison}"

[[message_type]]
name = "Order"
validation = "json"

[[message_type]]
name = "Blank"
validation = "empty"

[[message_type]]
name = "Reply"

[[message_type]]
name = "Note"

[[contract]]
name = "Orders"
initiator = ["Order", "Blank"]
target = ["Reply"]
any = ["Note"]

[[contract]]
name = "Unspoken"
any = ["Note"]

[[service]]
name = "Client"
queue = "clients"

[[service]]
name = "Near"
queue = "shops"

[[service]]
name = "Shop"
queue = "shops"
contracts = ["Orders"]
"""
ALLOWED = {"i": {"Order", "Blank", "Note"}, "t": {"Reply", "Note"}}
PLACES = st.integers(0, 11)
HOWS = st.sampled_from(
    [*["alone"] * 4, "in a transaction", "joined", "rolled back", "joined and rolled back"]
)
QUEUES = st.sampled_from(["clients", "shops", "shops"])
TYPES = st.sampled_from(["Order", "Order", "Reply", "Reply", "Note", "Blank", "Nothing", "Error"])
BODIES = st.sampled_from([{"n": 1}, {"n": 2}, "[]", "", b"", "{"])
PRIORITIES = st.sampled_from([0, 1, 100, 255])


class Clock:
    """The time of all stores of these tests; microseconds."""

    now = 1000 * SECOND


class Opened(NamedTuple):
    """A store, and a connection of the user's own to its database."""

    store: Store
    connection: Any
    sql: Sql | None
    """Plain SQL, where there is any."""
    loop: OnLoop
    """The same store on an event loop."""


@cache
def opened(dialect: str) -> Opened:
    """One for all days of a process, unless a day went wrong."""
    with lent.to_all():
        url = made_url(dialect)

    def clock() -> Fraction:
        return Fraction(Clock.now, SECOND)

    store, loop = Store.open(url, clock=clock), OnLoop(url, clock=clock)
    if dialect == "sqlite":
        return Opened(store, sqlite3.connect(url.removeprefix("sqlite:///")), None, loop)
    return Opened(store, psycopg.connect(url), Sql(store, url), loop)


@cache
def declared(discipline: str, poison: str) -> Path:
    path = scratch() / f"dialogs-{discipline}-{poison}.toml"
    path.write_text(DECLARED.format(discipline=discipline, poison=poison))
    return path


@pytest.fixture(scope="module", autouse=True)
def closed() -> Any:
    yield
    for dialect in ("sqlite", "postgresql"):
        found = opened(dialect)
        found.connection.close()
        found.store.close()
        found.loop.close()
        if found.sql is not None:
            found.sql.connection.close()
    opened.cache_clear()


class SqlEnd:
    """One end of a dialog, which speaks in plain SQL."""

    def __init__(self, sql: Sql, handle: str) -> None:
        self.sql = sql
        self.id = handle

    @property
    def dialog(self) -> str:
        return str(
            self.sql("SELECT 'd-' || dialog FROM fairlead.endpoints WHERE handle = %s", self.id)
        )

    @property
    def group(self) -> str:
        return str(self.sql("SELECT group_name FROM fairlead.endpoints WHERE handle = %s", self.id))

    def send(self, type_: str, body: Any) -> Any:
        format_, raw = encoded(body)
        kind = {BYTES: "bytea", TEXT: "text", JSON: "jsonb"}[format_]
        value = raw if format_ == BYTES else raw.decode()
        return self.sql(f"SELECT fairlead.send_on(%s, %s, %s::{kind})", self.id, type_, value)

    def end(self, error: tuple[int, str] | None = None, *, cleanup: bool = False) -> None:
        code, why = error or (None, None)
        self.sql("SELECT fairlead.end_dialog(%s, %s, %s, %s)", self.id, code, why, cleanup)

    def prioritise(self, priority: int) -> Any:
        return self.sql("SELECT fairlead.prioritise_dialog(%s, %s)", self.id, priority)

    def timer(self, seconds: int | None) -> None:
        """There is no function for it."""
        with suppress(ConversationError):
            self.sql.store.conversation(self.id).timer(seconds)
            return
        raise MessageError("timer")


class Sql:
    """Calls functions in plain SQL, each in a transaction of its own or all in one."""

    def __init__(self, store: Store, url: str) -> None:
        self.store = store
        self.connection = psycopg.connect(url, autocommit=True)

    def __call__(self, text: str, *values: object) -> Any:
        found = self.rows(text, *values)
        return found[0][0] if found else None

    def rows(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            self.connection.execute(
                "SELECT set_config('fairlead.clock', %s, false)", [str(Clock.now)]
            )
            with self.connection.transaction():
                return self.connection.execute(text.encode(), values or None).fetchall()
        except psycopg.Error as error:
            raise refusal(error.sqlstate or "", str(error.diag.message_primary)) from None

    def begin(self, service: str, far: str, contract: str | None, **more: Any) -> SqlEnd:
        seconds = more.get("lifetime")
        handle = self(
            "SELECT fairlead.begin_dialog(%s, %s, %s, %s, %s, %s * interval '1 second')",
            *(service, far, contract, more.get("related"), more.get("group"), seconds),
        )
        return SqlEnd(self, str(handle))

    def end_of(self, handle: str) -> SqlEnd:
        return SqlEnd(self, handle)


class Verbs(NamedTuple):
    """Through what something is said: the store, or a transaction."""

    begin: Callable[..., Any]
    end: Callable[[str], Any]
    """The end with a handle."""


class Talks(RuleBasedStateMachine):
    """What may happen to some dialogs."""

    dialect = "sqlite"

    @initialize(
        discipline=st.sampled_from(["fifo", "priority", "priority"]),
        poison=st.sampled_from(["off", "dead-letters"]),
    )
    def begins(self, discipline: str, poison: str) -> None:
        self.store, self.connection, self.sql, self.loop = opened(self.dialect)
        self.turns = count()
        self.store.declare(declared(discipline, poison))
        queues = [
            PlainQueue("clients", "priority", MAX_FAILURES, poison),
            PlainQueue("shops", discipline, MAX_FAILURES, poison),
        ]
        self.plain = PlainDialogs(queues, Clock.now)
        self.handles: dict[End, str] = {}
        """Of the ends that somebody knows: the initiators', and those that have read something."""
        self.works: list[tuple[StoreWork, PlainQueue, Hold]] = []
        self.given: list[tuple[str, str]] = []
        self.leases = count(5 * SECOND)

    # who speaks, and how

    def session(self, number: int) -> End | None:
        known = list(self.handles)
        return known[number % len(known)] if known else None

    def does(
        self, how: str, said: Callable[[Verbs], Any], so: Callable[[], Any]
    ) -> tuple[Any, Any]:
        """Do something in a way; what the store gives, and what the model does, if it is kept.

        What is refused leaves the transaction in which it was tried as it was.
        """
        found: Any = None

        def tried(verbs: Verbs) -> None:
            nonlocal found
            try:
                found = said(verbs)
            except MessageError as error:
                found = error

        self.speaks(how, tried)
        if "back" in how:
            return None, None
        if isinstance(found, MessageError):
            with pytest.raises(Refused):
                so()
            return None, None
        return found, so()

    def speaks(self, how: str, tried: Callable[[Verbs], None]) -> None:
        """Through the store, on a loop or in plain SQL, in turns."""
        store = self.store
        turn = next(self.turns) % 3
        if how == "alone" and self.sql is not None and turn == 1:
            tried(Verbs(self.sql.begin, self.sql.end_of))
        elif how == "alone" and turn == 2:
            tried(Verbs(self.loop.begin, self.loop.end_of))
        elif how == "alone":
            tried(Verbs(store.begin_dialog, store.conversation))
        elif how.startswith("joined"):
            with store.join(self.connection) as tx:
                tried(Verbs(tx.begin_dialog, tx.conversation))
            (self.connection.rollback if "back" in how else self.connection.commit)()
        elif turn == 2:
            with suppress(ZeroDivisionError), self.loop.transaction() as on_loop:
                tried(Verbs(on_loop.begin, on_loop.end_of))
                if how == "rolled back":
                    raise ZeroDivisionError
        else:
            with suppress(ZeroDivisionError), store.transaction() as tx:
                tried(Verbs(tx.begin_dialog, tx.conversation))
                if how == "rolled back":
                    raise ZeroDivisionError

    # senders

    @rule(
        services=st.sampled_from([("Client", "Shop"), ("Client", "Shop"), ("Near", "Shop")]),
        contract=st.sampled_from([None, "Orders", "Orders", "Unspoken"]),
        where=st.sampled_from(["", "", "group", "related"]),
        lifetime=st.sampled_from([None, None, None, 4, 9]),
        number=PLACES,
        how=HOWS,
    )
    def begin(
        self,
        services: tuple[str, str],
        contract: str | None,
        where: str,
        lifetime: int | None,
        number: int,
        how: str,
    ) -> None:
        queues = QUEUE_OF[services[0]], QUEUE_OF[services[1]]
        more: dict[str, Any] = {}
        group = None
        near = self.session(number)
        if where == "group":
            group = more["group"] = f"g{number % 2}"
        elif where == "related" and near is not None and self.plain.state(near) != "ended":
            if near.queue.name == queues[0]:
                group = near.group
            more["related"] = self.handles[near]

        def said(verbs: Verbs) -> Any:
            return verbs.begin(*services, contract, lifetime=lifetime, **more)

        dialog = ""

        def so() -> End:
            micros = None if lifetime is None else lifetime * SECOND
            return self.plain.begin(dialog, queues, group, micros, contract != "Unspoken")

        def refused() -> None:
            if "related" in more and group is None:  # it is one of another queue
                raise Refused

        found, _ = self.does(how, said, refused)
        if found is not None:
            dialog = found.dialog
            end = so()
            self.handles[end] = found.id
            assert found.group == end.group
        self.check()

    @rule(number=PLACES, type_=TYPES, body=BODIES, how=HOWS)
    def send(self, number: int, type_: str, body: Any, how: str) -> None:
        if (end := self.session(number)) is not None:
            found, key = self.does(
                how,
                lambda verbs: verbs.end(self.handles[end]).send(type_, body),
                lambda: self.sends(end, type_, body),
            )
            assert found == key
            self.check()

    def sends(self, end: End, type_: str, body: Any) -> str:
        allowed = ALLOWED[end.side] if end.accepted else {"Note"}
        valid = not (
            (type_ == "Order" and body in ("", b"", "{")) or (type_ == "Blank" and len(body) > 0)
        )
        return self.plain.send(end, type_, body, allowed=type_ in allowed, valid=valid)

    @rule(
        number=PLACES,
        error=st.sampled_from([None, None, 17]),
        cleanup=st.sampled_from([False, False, False, True]),
        how=HOWS,
    )
    def end(self, number: int, error: int | None, cleanup: bool, how: str) -> None:
        if (end := self.session(number)) is not None:
            with_error = None if error is None or cleanup else (error, "no such item")
            self.does(
                how,
                lambda verbs: verbs.end(self.handles[end]).end(with_error, cleanup=cleanup),
                lambda: self.plain.end(
                    end, with_error and with_error[0], cleanup=cleanup, given=[]
                ),
            )
            self.check()

    @rule(number=PLACES, seconds=st.sampled_from([None, 1, 3, 8]), how=HOWS)
    def timer(self, number: int, seconds: int | None, how: str) -> None:
        if (end := self.session(number)) is not None:
            micros = None if seconds is None else seconds * SECOND
            self.does(
                how,
                lambda verbs: verbs.end(self.handles[end]).timer(seconds),
                lambda: self.plain.timer(end, micros),
            )

    @rule(queue=QUEUES, group=st.sampled_from(["g0", "g1"]), number=PLACES, how=HOWS)
    def forge(self, queue: str, group: str, number: int, how: str) -> None:
        """A plain message to a group of a conversation, that says it is an Error."""
        if number % 3 == 0 and (end := self.session(number)) is not None:
            queue, group = end.queue.name, end.group
        key = f"{group} forged {next(PLAINS)}"  # one of each day, for ids are known for long
        if how == "alone":
            self.store.send(queue, key, group=group, type="Error", id=key)
            self.plain.plain(queue, group, "Error", key)
            self.check()

    # operators

    @rule(number=PLACES, priority=PRIORITIES, how=HOWS)
    def raise_far_end(self, number: int, priority: int, how: str) -> None:
        if (end := self.session(number)) is not None and self.plain.state(end) != "ended":
            raised, so = self.does(
                how,
                lambda verbs: verbs.end(self.handles[end]).prioritise(priority),
                lambda: self.plain.prioritise_far(end, priority),
            )
            assert raised == so

    @rule(queue=QUEUES, number=PLACES, priority=PRIORITIES)
    def raise_group(self, queue: str, number: int, priority: int) -> None:
        names = sorted(self.plain.queues[queue].groups)
        name = names[number % len(names)] if names else "g0"
        raised = self.store.prioritise(queue, name, priority)
        assert raised == self.plain.prioritise(self.plain.queues[queue], name, priority)

    @rule(queue=QUEUES, on=st.sampled_from([True, True, False]))
    def switch(self, queue: str, on: bool) -> None:
        changed = self.store.switch(queue, on=on)
        assert changed == self.plain.switch(self.plain.queues[queue], on=on)

    @rule(queue=QUEUES)
    def requeue(self, queue: str) -> None:
        assert self.store.requeue(queue) == self.plain.requeue(self.plain.queues[queue])

    @rule(seconds=st.sampled_from([1, 3, 6]))
    def tick(self, seconds: int) -> None:
        Clock.now += seconds * SECOND
        self.plain.now = Clock.now
        self.check()

    # readers

    @rule(queue=QUEUES, number=PLACES, what=st.sampled_from(["best", "best", "named"]))
    def take(self, queue: str, number: int, what: str) -> None:
        names = sorted(self.plain.queues[queue].groups)
        name = names[number % len(names)] if what == "named" and names else None
        lease = next(self.leases)
        work = self.store.take(queue, group=name, lease=Fraction(lease, SECOND))  # type: ignore[arg-type]
        plain = self.plain.queues[queue]
        self.took(work, plain, self.plain.take(plain, lease, name))

    @rule(number=PLACES)
    def take_of_conversation(self, number: int) -> None:
        if (end := self.session(number)) is not None and self.plain.state(end) != "ended":
            lease = next(self.leases)
            conversation = self.store.conversation(self.handles[end])
            work = conversation.take(lease=Fraction(lease, SECOND))  # type: ignore[arg-type]
            self.took(work, end.queue, self.plain.take(end.queue, lease, end.group, end))

    def took(self, work: StoreWork | None, queue: PlainQueue, hold: Hold | None) -> None:
        assert (work.group if work else None) == (hold.group.name if hold else None)
        if work is not None and hold is not None:
            assert work.attempt == hold.group.releases + 1
            assert work.priority == (hold.was[0] if hold.was else None)
            self.works.append((work, queue, hold))

    def one(self, number: int) -> tuple[StoreWork, PlainQueue, Hold] | None:
        """Work of somebody who still holds it; of others it is made sure that they cannot."""
        while self.works:
            found = self.works[number % len(self.works)]
            if found[2].alive:
                return found
            self.works.remove(found)
            work, _, hold = found
            rejects = work.reject if hold.asked else work.accept
            with pytest.raises(StaleWorkError):
                [work.accept, rejects, work.release][number % 3]()
        return None

    def reads(self, work: StoreWork, hold: Hold) -> Message | None:
        message, row = next(work, None), self.plain.gives(hold)
        assert (message is None) == (row is None), (message, row)
        if message is not None and row is not None:
            body = message.body
            if isinstance(row.body, dict) and "code" in row.body:
                body = {"code": body["code"]}
            assert (message.id, message.type, body) == (row.key, row.type, row.body)
            self.comes_to(message, row)
        return message

    def comes_to(self, message: Message, row: Row) -> None:
        found = message.conversation
        assert (found is None) == (row.end is None)
        if found is not None and row.end is not None:
            assert (found.dialog, SIDES[found.side]) == (row.end.dialog, row.end.side)
            assert found.group == message.group == row.end.group
            assert self.handles.setdefault(row.end, found.id) == found.id
            if row.type != "Error":  # which comes before what was sent before it
                self.given.append((row.end.name, row.key))

    @rule(number=PLACES, most=st.integers(1, 3))
    def read(self, number: int, most: int) -> None:
        if found := self.one(number):
            for _ in range(most):
                self.reads(found[0], found[2])

    @rule(number=PLACES, how=st.sampled_from(["accept", "accept all", "reject"]))
    def settle(self, number: int, how: str) -> None:
        if found := self.one(number):
            work, queue, hold = found
            if how == "accept all":
                while self.reads(work, hold) is not None:
                    pass
            if how == "reject":
                if not hold.asked:
                    with pytest.raises(MessageError):
                        work.reject("because")
                    return
                work.reject("because")
                self.plain.reject(queue, hold)
            else:
                work.accept()
                self.plain.accept(queue, hold)
            self.works.remove(found)
            self.check()

    @rule(
        number=PLACES,
        delay=st.sampled_from([0, 0, 4]),
        error=st.sampled_from(["", "failed"]),
        most=st.sampled_from([0, 0, 1, 2]),
    )
    def release(self, number: int, delay: int, error: str, most: int) -> None:
        if found := self.one(number):
            work, queue, hold = found
            done = min(most, max(len(hold.given) - 1, 0))
            work.release(delay, error, done)
            self.plain.release(queue, hold, delay * SECOND, failed=bool(error), done=done)
            self.works.remove(found)
            self.check()

    @rule(
        number=PLACES,
        acts=st.lists(
            st.sampled_from(["read", "read", "Reply", "Order", "end", "fail", "timer"]), max_size=6
        ),
        how=st.sampled_from(["accept", "accept", "accept", "release", "reject"]),
    )
    def handle(self, number: int, acts: list[str], how: str) -> None:
        """A reader answers in its transaction, and settles its work there."""
        if not (found := self.one(number)):
            return
        work, queue, hold = found
        with work.transaction() as tx:
            for act in acts:
                message = self.latest(work)
                if act == "read" or message is None:
                    self.reads(work, hold)
                else:
                    self.acts(act, tx.conversation(message.conversation), hold)
            if how == "reject" and not hold.asked:
                with pytest.raises(MessageError):
                    tx.reject()
                how = "release"
            getattr(tx, how)()
        ways = {
            "accept": lambda: self.plain.accept(queue, hold),
            "reject": lambda: self.plain.reject(queue, hold),
            "release": lambda: self.plain.release(queue, hold, failed=False),
        }
        ways[how]()
        self.works.remove(found)
        self.check()

    def latest(self, work: StoreWork) -> Any:
        """The latest message that a reader was given in a conversation."""
        given = [each for each in work._given if each.conversation is not None]
        return given[-1] if given else None

    @rule(
        queue=QUEUES,
        most=st.integers(1, 3),
        acts=st.lists(
            st.sampled_from(["read", "read", "Reply", "Order", "end", "fail"]), max_size=6
        ),
    )
    def receive(self, queue: str, most: int, acts: list[str]) -> None:
        """A reader in plain SQL: it receives, answers and settles in one transaction."""
        if self.sql is None:
            return
        plain, sql = self.plain.queues[queue], self.sql
        with sql.connection.transaction():
            rows = sql.rows("SELECT * FROM fairlead.receive(%s, most => %s::integer)", queue, most)
            hold = self.plain.take(plain, 60 * SECOND)
            assert (rows[0][0] if rows else None) == (hold.group.name if hold else None)
            if hold is None:
                return
            assert rows[0][-1] == hold.group.releases + 1
            assert rows[0][-2] == (hold.was[0] if hold.was else None)
            hold.page = hold.page[:most]
            token = rows[0][5]
            unread = [(row[6], row[7], row[1]) for row in rows]
            given: list[tuple[int, str, str | None]] = []
            for act in ["read", *acts]:
                latest = [each[2] for each in given if each[2] is not None]
                if act != "read" and latest:
                    self.acts(act, SqlEnd(sql, latest[-1]), hold)
                    continue
                ended = {self.handles[end] for end in self.handles if end.state == "ended"}
                unread = [each for each in unread if each[2] not in ended]
                if not unread:
                    numbers = [each[0] for each in given]
                    unread = [
                        (row[0], row[1], row[5])
                        for row in sql.rows(
                            "SELECT * FROM fairlead.more(%s, %s, 1000)", token, numbers
                        )
                    ]
                row = self.plain.gives(hold)
                assert (row.key if row else None) == (unread[0][1] if unread else None)
                if row is not None:
                    given.append(unread.pop(0))
                    if row.end is not None:
                        assert self.handles.setdefault(row.end, str(given[-1][2])) == given[-1][2]
                        if row.type != "Error":
                            self.given.append((row.end.name, row.key))
            sql("SELECT fairlead.settle(%s, given => %s)", token, [each[0] for each in given])
            self.plain.accept(plain, hold)
        self.check()

    def end_of(self, conversation: Any) -> End:
        return next(end for end, handle in self.handles.items() if handle == conversation.id)

    def acts(self, act: str, conversation: Any, hold: Hold) -> None:
        end = self.end_of(conversation)
        given = [row for row in hold.given if row.end is end]
        so: Callable[[], Any]
        said: Callable[[], Any]
        if act == "end":
            said, so = (
                conversation.end,
                lambda: self.plain.end(end, None, cleanup=False, given=given),
            )
        elif act == "fail":
            said = lambda: conversation.end((17, "no"))  # noqa: E731
            so = lambda: self.plain.end(end, 17, cleanup=False, given=given)  # noqa: E731
        elif act == "timer":
            said = lambda: conversation.timer(3)  # noqa: E731
            so = lambda: self.plain.timer(end, 3 * SECOND)  # noqa: E731
        else:
            said = lambda: conversation.send(act, {"n": 3})  # noqa: E731
            so = lambda: self.sends(end, act, {"n": 3})  # noqa: E731
        try:
            said()
        except MessageError:
            with pytest.raises(Refused):
                so()
        else:
            so()

    @rule(number=PLACES)
    def undo(self, number: int) -> None:
        """A reader ends a conversation, reads on, and fails: then nothing was ended."""
        if not (found := self.one(number)) or (message := self.latest(found[0])) is None:
            return
        work, _, hold = found
        end = self.end_of(message.conversation)
        if end.state == "ended":
            return
        was, end.state = end.state, "ended"
        with suppress(ZeroDivisionError), work.transaction() as tx:
            tx.conversation(message.conversation).end()
            self.reads(work, hold)
            raise ZeroDivisionError
        end.state = was
        self.check()

    @rule(number=PLACES, error=st.sampled_from([None, 17]))
    def end_in_hand(self, number: int, error: int | None) -> None:
        """A reader ends the conversation of a message that it was given, in a step of its own."""
        if not (found := self.one(number)) or (message := self.latest(found[0])) is None:
            return
        end = self.end_of(message.conversation)
        given = [row for row in found[2].given if row.end is end]
        if end.state == "ended":
            with pytest.raises(ConversationError):
                message.conversation.end()
        else:
            message.conversation.end(None if error is None else (error, "no"))
            self.plain.end(end, error, cleanup=False, given=given)
        self.check()

    # what must be so

    def check(self) -> None:
        """All ends stand as they do in the model."""
        with self.store._connection() as database:
            for end, handle in self.handles.items():
                rows = database.run("endpoint", handle=handle)
                assert bool(rows) == self.is_there(end), end.name
        for end, handle in list(self.handles.items())[-3:]:
            if self.is_there(end):
                assert self.store.conversation(handle).state == self.plain.state(end)
        for work, _, hold in self.works:
            assert self.store.holds(work.held) == hold.alive or not hold.alive

    def is_there(self, end: End) -> bool:
        """Whether its row is: until both ends have ended."""
        return end.state != "ended" or (end.far is not None and end.far.state != "ended")

    def teardown(self) -> None:
        if not hasattr(self, "works"):
            return
        done = False
        try:
            self.drain()
            done = True
        finally:
            Clock.now += 1000 * SECOND
            if not done:  # another day begins with another database
                self.connection.close()
                self.store.close()
                self.loop.close()
                opened.cache_clear()

    def drain(self) -> None:
        """In the end all is read and all is ended; nothing is lost, and nothing is there twice."""
        while found := self.one(0):
            found[0].release()
            self.plain.release(found[1], found[2], failed=False)
            self.works.remove(found)
        for last in (False, True):
            for queue in self.plain.queues.values():
                self.switch(queue.name, True)
                dead = [each.id for each in self.store.dead(queue.name)]
                assert Counter(dead) == Counter(row.key for row in queue.dead)
                self.requeue(queue.name)
            self.tick(20)
            self.reads_all()
            for end in list(self.handles):
                if end.state != "ended" and (last or end.far is None or end.side == "i"):
                    self.end(list(self.handles).index(end), None, False, "alone")
            self.reads_all()
        assert all(end.state == "ended" for end in self.handles)
        self.plain_rows()
        self.in_order()

    def reads_all(self) -> None:
        for queue in self.plain.queues.values():
            while True:
                self.take(queue.name, 0, "best")
                if not self.works:
                    break
                self.settle(0, "accept all")

    def plain_rows(self) -> None:
        """No row of a dialog is left."""
        with self.store._connection() as database:
            dot = "_" if self.dialect == "sqlite" else "."
            for table in ("endpoints", "groups", "messages", "delayed", "pending_updates", "dead"):
                found = database.execute(f"SELECT * FROM fairlead{dot}{table}").fetchall()  # noqa: S608
                assert found == [], table
            database.rollback()

    def in_order(self) -> None:
        """Each that was sent is done once or was dropped with its end; none is missing between."""
        done = [row.key for row in self.plain.accepted]
        said = [key for key in done if not key.endswith("/timer")]  # all timers of an end have one
        assert len(said) == len(set(said))
        dropped = {row.key for row in self.plain.dropped}
        assert set(self.plain.said) <= {*done, *dropped}
        assert all(row.end is None or row.end.state == "ended" for row in self.plain.dropped)
        places: dict[str, list[int]] = {}
        for name, key in dict.fromkeys(self.given):
            sender, _, place = key.rpartition("/")
            if place.isdigit():
                places.setdefault(f"{sender} to {name}", []).append(int(place))
        for name, each in places.items():
            keys = {f"{name.partition(' ')[0]}/{place}" for place in range(max(each))}
            assert keys - {key for _, key in self.given} <= set(self.plain.refused), name


class OnPostgreSQL(Talks):
    """The same on PostgreSQL."""

    dialect = "postgresql"


HEALTH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def machine(talks: type[Talks], examples: int) -> Any:
    """As a test case, of so many days."""
    found = type(talks.__name__, (talks,), {}).TestCase
    found.settings = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=HEALTH,
        report_multiple_bugs=False,
    )
    return found


TestSQLite = machine(Talks, 25)
TestPostgreSQL = machine(OnPostgreSQL, 8)
TestManyDaysOnSQLite = pytest.mark.slow(pytest.mark.timeout(1800)(machine(Talks, 2500)))
TestManyDaysOnPostgreSQL = pytest.mark.slow(pytest.mark.timeout(1800)(machine(OnPostgreSQL, 2500)))
