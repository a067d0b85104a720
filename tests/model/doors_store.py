"""Doors to a store: `Store` and `AsyncStore` on both databases, on threads and on loops."""

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from fairlead import Change, Cluster, Store
from fairlead.errors import (
    ChangeError,
    MessageError,
    NoDestinationError,
    QueueFullError,
    StaleWorkError,
)
from tests.store.mixed import Mixed
from tests.stores import made_url

from .driver import Refused, Step
from .publishing import REFUSED
from .queues import SECOND, Row
from .store import FULL, NOBODY, OTHER, STALE, UNKNOWN

ALL = 1_000
ROUTING = ("subject", "mode", "delivery", "server")
GUARANTEED = ("some", "all")
OWN = ("loaded", "changed", "completed")
"""Events of clusters that a store writes when it next looks at one."""
_numbers = count(1)


class Undo(Exception):  # noqa: N818 - nobody sees it
    """Ends a transaction that is to be rolled back."""


class StoreDoor:
    """Two programs that have one database open; what an actor does goes through its own."""

    dialect = "sqlite"
    at_once = True
    """Whether a message is published in one call, where the database has functions for it."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.url = made_url(self.dialect)
        self.stores = [self.opened(), self.opened()]
        self.connection = _connected(self.url)
        self.works: dict[int, Any] = {}
        self.last: dict[int, Any] = {}
        """Of a work: the message that was read last."""
        self.taken = 0
        self.folder = tempfile.TemporaryDirectory()
        self.numbers: dict[int, bool] = {}
        """Of decisions about what was published: whether it is guaranteed."""
        self.declare([*world.settings.values()], world.schedules)
        for plain in world.clusters:
            self.stores[0].keep_clusters([Cluster.from_dict(plain, default_name="")])

    @property
    def name(self) -> str:
        return f"{type(self).__name__} on {self.dialect}"

    @property
    def watcher(self) -> Any:
        """Who looks at what can be looked at."""
        return self.stores[1]

    def clock(self) -> Fraction:
        return Fraction(self.world.clock.now, SECOND)

    def opened(self) -> Any:
        store = Store.open(self.url, clock=self.clock)
        if not self.at_once:
            store._calling = store._writing
        return store

    # operators

    def declare(self, queues: list[Row], schedules: list[Row]) -> Any:
        path = Path(self.folder.name) / "queues.toml"
        tables = [("queue", said) for said in queues] + [("schedule", said) for said in schedules]
        path.write_text("".join(f"[[{kind}]]\n{_toml(said)}\n" for kind, said in tables))
        self.stores[0].declare(path)

    def prioritise(self, queue: str, group: str, priority: int | None) -> Any:
        return self.stores[0].prioritise(queue, group, priority)

    def switch(self, queue: str, on: bool) -> Any:
        return self.stores[0].switch(queue, on=on)

    def switch_tenant(self, queue: str, tenant: str, on: bool) -> Any:
        return self.stores[0].switch(queue, on=on, tenant=tenant)

    def requeue(self, queue: str, ids: list[str] | None) -> Any:
        return _answer(UNKNOWN, lambda: self.stores[0].requeue(queue, ids))

    def discard(self, queue: str, ids: list[str] | None) -> Any:
        return _answer(UNKNOWN, lambda: self.stores[0].discard(queue, ids))

    def pause(self, schedule: str, paused: bool) -> Any:
        return self.stores[0].pause_schedule(schedule, paused=paused)

    def tick(self) -> Any:
        return self.stores[0].tick()

    # senders and readers

    def send(self, queue: str, messages: list[Row], actor: int = 0) -> Any:
        return self.send_in(self.stores[actor], queue, messages)

    def send_in(self, where: Any, queue: str, messages: list[Row]) -> Any:
        """In a store, or in a transaction."""

        def send() -> None:
            if len(messages) == 1:
                (said,) = messages
                where.send(queue, said["body"], **{k: v for k, v in said.items() if k != "body"})
            else:
                where.send_many(queue, messages)

        return _answer(OTHER, send)

    def take(self, queue: str, group: str | None, most: int, lease: int, actor: int = 0) -> Any:
        store, seconds = self.stores[actor], Fraction(lease, SECOND)
        if most == 1:
            work = store.take(queue, group=group, lease=seconds)
            works = [] if work is None else [work]
        elif group is None:
            works = store.take_many(queue, most, lease=seconds)
        else:  # one of that name, and then there is none
            work = store.take(queue, group=group, lease=seconds)
            works = [] if work is None else [work]
        for work in works:
            self.taken += 1
            self.works[self.taken] = work
        return [(each.group, each.tenant, each.priority, each.attempt) for each in works]

    def read(self, work: int, most: int) -> Any:
        def read() -> list[Any]:
            found = [next(self.works[work], None) for _ in range(most)]
            given = [each for each in found if each is not None]
            if given:
                self.last[work] = given[-1]
            return [each and each.body for each in found]

        return _answer(STALE, read)

    def reject_one(self, work: int) -> Any:
        return _answer(STALE, lambda: self.works[work].reject("this one", self.last[work]) and None)

    def accept(self, work: int) -> Any:
        return _answer(STALE, lambda: self.works[work].accept() and None)

    def reject(self, work: int) -> Any:
        return _answer(STALE, lambda: self.works[work].reject("because") and None)

    def release(self, work: int, delay: int | None, error: bool, done: int) -> Any:
        why = "it failed" if error else ""
        return _answer(STALE, lambda: self.works[work].release(delay, why, done) and None)

    def extend(self, work: int, lease: int) -> Any:
        return _answer(STALE, lambda: self.works[work].extend(Fraction(lease, SECOND)) and None)

    # clusters

    def publish(self, cluster: str, message: Row, actor: int = 0) -> Any:
        return self.publish_in(self.stores[actor], cluster, message)

    def publish_in(self, where: Any, cluster: str, message: Row) -> Any:
        """In a store, or in a transaction."""
        said = {key: value for key, value in message.items() if key in ROUTING}
        more = {key: value for key, value in message.items() if key not in (*ROUTING, "body")}

        def publish() -> Any:
            found = where.publish(cluster, message["body"], said, **more)
            self.numbers.setdefault(found.number, said.get("delivery") in GUARANTEED)
            copies = [name for name, _ in found.copies]
            return (found.outcome, found.destination, found.sequence, copies)

        return _answer(OTHER, publish)

    def change(self, cluster: str, changes: list[Row]) -> Any:
        every = [Change(each["target"], each["attribute"], each["value"]) for each in changes]
        return _answer(REFUSED, lambda: self.stores[0].apply(cluster, every))

    def subscribe(self, cluster: str, subject: str, name: str, balanced: bool, way: str) -> Any:
        def subscribe() -> Any:
            return self.stores[0].subscribe(
                cluster, subject, name, load_balanced=balanced, disconnect_mode=way
            )

        found = _answer(REFUSED, subscribe)
        return found if isinstance(found, Refused) else found.queue

    def unsubscribe(self, cluster: str, subject: str, name: str) -> Any:
        return _answer(REFUSED, lambda: self.stores[0].unsubscribe(cluster, subject, name))

    def reroute(self, cluster: str, subject: str, name: str) -> Any:
        return _answer(REFUSED, lambda: self.stores[0].reroute(cluster, subject, name))

    # transactions, time and people

    def together(self, steps: list[Step], joined: bool) -> Any:
        with self.transaction(joined) as tx:
            return [self.play_in(tx, step) for step in steps]

    def undone(self, steps: list[Step], joined: bool) -> Any:
        before = dict(self.numbers)
        with suppress(Undo), self.transaction(joined) as tx:
            for step in steps:
                self.play_in(tx, step)
            raise Undo
        self.numbers = before

    @contextmanager
    def transaction(self, joined: bool) -> Any:
        """One of the store's, or one of the user's own connection."""
        if not joined:
            with self.stores[0].transaction() as tx:
                yield tx
            return
        try:
            with self.stores[0].join(self.connection) as tx:
                yield tx
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.commit()

    def play_in(self, tx: Any, step: Step) -> Any:
        said = dict(step.said)
        if step.verb == "send":
            return self.send_in(tx, **said)
        if step.verb == "publish":
            return self.publish_in(tx, **said)
        if step.verb == "prioritise":
            return tx.prioritise(said["queue"], said["group"], said["priority"])
        work = self.works[said.pop("work")]
        if step.verb == "release":
            said["error"] = "it failed" if said["error"] else ""
            return tx.release(said["delay"], work, said["error"], said["done"]) and None
        if step.verb == "reject":
            return tx.reject("because", work) and None
        return tx.accept(work)

    def advance(self, by: int) -> Any:
        """The model has moved the clock."""

    def reopen(self, actor: int) -> Any:
        self.stores[actor].close()
        self.stores[actor] = self.opened()

    # what can be looked at

    def look(self) -> dict[str, Any]:
        store = self.watcher
        shown: dict[str, Any] = {}
        for name in self.world.names:
            ranks = store.waiting(name, ALL).ranks
            shown[f"waiting {name}"] = [(rank.group, rank.item, rank.items) for rank in ranks]
            shown[f"later {name}"] = sorted(
                (micros_of(each.until), each.why, each.group, each.messages)
                for each in store.later(name, ALL)
            )
            shown[f"working {name}"] = sorted(work.group for work in store.working(name))
            dead = store.dead(name, ALL)
            shown[f"dead {name}"] = sorted(((each.body, each.priority) for each in dead), key=repr)
        for each in store.queues():
            counts = (*each[1:7], each.failures)
            shown |= {f"metrics {each.queue}": counts, f"on {each.queue}": each.enabled}
            shown[f"off {each.queue}"] = each.off_tenants
        shown["journal"] = Counter(
            (event.queue or "", event.kind) for event in store.journal() if event.kind not in OWN
        )
        numbers = [number for number, guaranteed in self.numbers.items() if guaranteed]
        found = store.deliveries(numbers)
        outcomes = [found[number].outcome for number in numbers]
        shown["deliveries"] = [outcomes for _ in self.world.clusters]
        shown["schedules"] = [
            (each.name, micros_of(each.next), micros_of(each.last), each.paused, bool(each.failure))
            for each in store.schedules()
        ]
        return shown

    def close(self) -> None:
        self.connection.close()
        for store in self.stores:
            store.close()
        self.folder.cleanup()


class OnPostgreSQL(StoreDoor):
    """The same on PostgreSQL."""

    dialect = "postgresql"


class InSteps(OnPostgreSQL):
    """The same; what is published is decided statement by statement."""

    at_once = False


class OnLoops(StoreDoor):
    """Now a `Store`, now an `AsyncStore`, in turns drawn at random."""

    def opened(self) -> Any:
        return Mixed(Store.open(self.url, clock=self.clock), self.url, clock=self.clock)


class OnLoopsOnPostgreSQL(OnLoops):
    """The same on PostgreSQL."""

    dialect = "postgresql"


def _connected(url: str) -> Any:
    """A connection of the user's own."""
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///"))
    return psycopg.connect(url)


def _answer(refused: Refused, what: Callable[[], Any]) -> Any:
    """What it answers; `refused`: what it means that it is refused otherwise than these."""
    try:
        return what()
    except QueueFullError:
        return FULL
    except StaleWorkError:
        return STALE
    except NoDestinationError:
        return NOBODY
    except (MessageError, ChangeError):
        return refused


def micros_of(seconds: float | None) -> int | None:
    return None if seconds is None else round(Fraction(str(seconds)) * SECOND)


def _toml(said: Row) -> str:
    return "\n".join(f"{key} = {_value(value)}" for key, value in said.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    return json.dumps(value)
