"""A disk that is full: what cannot be written is one error and is not there; then all goes on.

The limit is real: of a small disk, of files that may not be large, or of SQLite's pages.
"""

import re
import resource
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, Protocol

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import StoreError
from tests.disks import disk
from tests.stores import copied_url, made_url, scratch, server

BODY = 20_000
"""Bytes of a body; they cannot be compressed."""
MANY = 2000
"""So many of these have room nowhere here."""


class Room(Protocol):
    """A store's disk, most of which is taken."""

    store: Store

    def make(self) -> None:
        """From now on there is room."""


class Pages:
    """SQLite may use a few pages more than it does, on every connection."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.most = 150
        connections = store._connections
        connect = connections._connect

        def limited() -> Any:
            database = connect()
            database.execute(f"PRAGMA max_page_count = {self.most}").fetchall()
            return database

        connections._connect = limited
        self._renew()

    def make(self) -> None:
        self.most = 100_000
        self._renew()

    def _renew(self) -> None:
        """Let no connection know the old limit."""
        while self.store._connections._idle:
            self.store._connections._idle.pop().close()


class Disk:
    """SQLite on a disk, a file on which takes most of the room."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.filler = folder / "filler"
        self.filler.write_bytes(bytes(5_000_000))

    def make(self) -> None:
        self.filler.unlink()


class SmallFiles:
    """SQLite in a process whose files may not be large."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, self._before[1]))

    def make(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


class Tablespace:
    """PostgreSQL with a tablespace on a small disk, most of which another table takes."""

    def __init__(self, store: Store, url: str) -> None:
        self.store = store
        self.url = url
        self.connection = psycopg.connect(url, autocommit=True)
        for name in (b"a_little", b"filler"):
            self.connection.execute(b"CREATE TABLE %b (body bytea STORAGE EXTERNAL)" % name)
        add = "INSERT INTO {} SELECT convert_to(repeat('x', 500000), 'UTF8')"
        self.connection.execute(add.format("a_little").encode())
        with suppress(psycopg.errors.DiskFull):
            while True:
                self.connection.execute(add.format("filler").encode())
        self.connection.execute("DROP TABLE a_little")

    def make(self) -> None:
        self.connection.execute("DROP TABLE filler")


@contextmanager
def few_pages() -> Iterator[Room]:
    with Store.open(made_url("sqlite")) as store:
        yield Pages(store)


@contextmanager
def small_files() -> Iterator[Room]:
    with Store.open(made_url("sqlite")) as store:
        room = SmallFiles(store)
        try:
            yield room
        finally:
            room.make()


@contextmanager
def small_disk() -> Iterator[Room]:
    with (
        disk(scratch() / "small", "6m") as folder,
        Store.open(f"sqlite:///{folder}/work.db") as store,
    ):
        yield Disk(store, folder)


@contextmanager
def small_tablespace() -> Iterator[Room]:
    uri: str = server().get_uri()
    with (
        disk(scratch() / "tablespace", "30m") as folder,
        psycopg.connect(uri, autocommit=True) as connection,
    ):
        shutil.chown(folder, (scratch() / "pg").stat().st_uid)
        connection.execute(f"CREATE TABLESPACE small LOCATION '{folder}'".encode())
        try:
            url = copied_url(" TABLESPACE small")
            with Store.open(url) as store:
                room = Tablespace(store, url)
                yield room
                room.connection.close()
            name = url.partition("?")[0].rpartition("/")[2]
            connection.execute(f"DROP DATABASE {name}".encode())
        finally:
            connection.execute("DROP TABLESPACE small")


ROOMS = [few_pages, small_files, small_disk, small_tablespace]


@pytest.fixture(params=ROOMS, ids=lambda each: each.__name__)
def room(request: pytest.FixtureRequest) -> Iterator[Room]:
    with request.param() as found:
        yield found


def bodies() -> Iterator[bytes]:
    random = Random(1)  # noqa: S311
    while True:
        yield random.randbytes(BODY)


def refused(call: Callable[[], object]) -> bool:
    """Whether there is no room for it; that is one line which says so."""
    said = ""
    try:
        call()
    except StoreError as error:
        said = str(error)
    assert re.fullmatch(r"|.+ (full|\(disk I/O error\)); nothing of this was written.*", said)
    return bool(said)


def filled(store: Store, queue: str = "q") -> list[bytes]:
    """The bodies that were sent before there was no room any more."""
    done: list[bytes] = []
    for body in bodies():
        assert len(done) < MANY
        if refused(lambda each=body: store.send(queue, each, id=f"m{len(done)}")):  # type: ignore[misc]
            return done
        done.append(body)
    raise AssertionError


def drained(store: Store) -> list[Any]:
    found: list[Any] = []
    while (work := store.take("q")) is not None:
        found += [message.body for message in work]
        work.accept()
    return found


def sent(store: Store) -> list[str]:
    return [event.id for event in store.journal() if event.kind == "sent"]


def test_what_has_no_room_is_not_sent_and_can_be_sent_later(room: Room) -> None:
    store = room.store
    done = filled(store)
    ids = [f"m{k}" for k in range(len(done))]
    assert sent(store) == ids
    room.make()
    assert store.queues()[0].messages == len(done)
    last = f"m{len(done)}"
    assert store.send("q", b"last", id=last) == last, "its id is not known"
    assert sent(store) == [*ids, last]
    assert drained(store) == [*done, b"last"]


def test_of_many_messages_that_have_no_room_none_is_sent(room: Room) -> None:
    store = room.store
    store.send("q", "first", group="g")
    every = [{"body": body, "group": "g"} for body, _ in zip(bodies(), range(MANY), strict=False)]
    assert refused(lambda: store.send_many("q", every))
    assert len(sent(store)) == 1
    room.make()
    assert store.send_many("q", every[:3])
    assert drained(store) == ["first", *(each["body"] for each in every[:3])]


def test_a_transaction_that_goes_on_after_there_was_no_room_does_nothing(room: Room) -> None:
    """SQLite undoes it at once: what follows would be done alone."""
    store = room.store
    with store.transaction() as tx:
        tx.execute("CREATE TABLE mine (value INTEGER)")

    def go_on() -> None:
        with store.transaction() as tx:
            tx.execute("INSERT INTO mine VALUES (1)")
            with suppress(StoreError):
                for body in bodies():
                    tx.send("q", body)
            with suppress(psycopg.Error):  # PostgreSQL refuses it itself
                tx.execute("INSERT INTO mine VALUES (2)")

    with pytest.raises(StoreError):
        go_on()
    room.make()
    with store.transaction() as tx:
        assert tx.execute("SELECT value FROM mine").fetchall() == []
        tx.send("q", "after")
    assert drained(store) == ["after"]


def test_a_transaction_in_which_there_was_no_room_does_not_look_committed(room: Room) -> None:
    store = room.store

    def send() -> None:
        with store.transaction() as tx, suppress(StoreError):
            for body in bodies():
                tx.send("q", body)

    with pytest.raises(StoreError, match="nothing of it was"):
        send()
    assert sent(store) == []


def test_readers_without_room_lose_nothing_and_do_nothing_twice(room: Room) -> None:
    store = room.store
    every = filled(store)
    done: list[bytes] = []
    tokens: dict[int, bytes] = {}
    for _ in range(3):
        works: list[Any] = []
        if refused(lambda into=works: into.append(store.take("q"))):  # type: ignore[misc]
            continue
        (work,) = works
        (message,) = work
        tokens[work.token] = message.body
        if not refused(work.accept):
            done.append(message.body)
    room.make()
    for token, body in tokens.items():
        assert store.outcome(token) == ("accepted" if body in done else "held")
    for work in store.working("q"):
        work.release()
    assert sorted(done + drained(store)) == sorted(every)


@pytest.mark.parametrize("room", [small_disk, small_tablespace], indirect=True)
def test_a_joined_transaction_without_room_is_the_users_to_roll_back(room: Any) -> None:
    store = room.store
    connection: Any = (
        psycopg.connect(room.url) if isinstance(room, Tablespace) else sqlite3.connect(store.place)
    )
    connection.execute("CREATE TABLE mine (value INTEGER)")
    connection.commit()
    connection.execute("INSERT INTO mine VALUES (1)")

    def send() -> None:
        with store.join(connection) as tx:
            for body in bodies():
                tx.send("q", body)

    with pytest.raises((sqlite3.OperationalError, psycopg.errors.DiskFull)):
        send()
    connection.rollback()
    assert connection.execute("SELECT value FROM mine").fetchall() == []
    connection.close()
    room.make()
    store.send("q", "after")
    assert drained(store) == ["after"]


# -------- a full disk is drained


@pytest.fixture
def full_disk() -> Iterator[Path]:
    with disk(scratch() / "full", "32m") as folder:
        yield folder


def fill(folder: Path) -> None:
    """Leave not a byte on the disk."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


def test_a_full_disk_can_be_drained(full_disk: Path) -> None:
    url = f"sqlite:///{full_disk}/work.db"
    every = [random for _, random in zip(range(200), bodies(), strict=False)]
    with Store.open(url) as store:
        for number, body in enumerate(every):
            store.send("q", body, group=f"g{number % 7}")
        work = store.take("q")  # from now on some room is kept
        assert work is not None
        work.release()
    fill(full_disk)
    with Store.open(url) as store:
        assert refused(lambda: store.send_many("q", [{"body": b} for b in every]))
        got = []
        while (work := store.take("q")) is not None:
            with work.transaction() as tx:
                got += [message.body for message in work]
                tx.accept()
        assert sorted(got) == sorted(every)
        assert refused(lambda: store.send("q", "not yet"))
        (full_disk / "filler").unlink()
        store.send("q", "now")
        assert drained(store) == ["now"]
        assert (full_disk / "work.db-reserve").stat().st_size == 8 << 20


def test_a_process_that_comes_to_a_full_disk_can_drain_it(full_disk: Path) -> None:
    url = f"sqlite:///{full_disk}/work.db"
    with Store.open(url) as store:
        for number in range(20):
            store.send("q", number)
        assert store.take("q") is not None
    fill(full_disk)
    with Store.open(url) as store:
        assert len(drained(store)) == 20


@pytest.mark.costly
@pytest.mark.parametrize("how", ["accept", "reject"])
def test_large_groups_are_settled_on_a_full_disk(full_disk: Path, how: str) -> None:
    """In as many transactions as it takes, and what was free before is kept for the next one."""
    url = f"sqlite:///{full_disk}/work.db"
    with Store.open(url) as store:
        assert store.take("q") is None  # from now on some room is kept
        sent = 0
        with suppress(StoreError):
            for body in bodies():
                store.send("q", body, group=f"g{sent % 3}", id=str(sent))
                sent += 1
        assert sent > 300
    fill(full_disk)
    with Store.open(url) as store:
        done: list[str] = []
        while (work := store.take("q")) is not None:
            done += [message.id for message in work]
            if how == "accept":
                work.accept()
            else:
                work.reject("why")
        assert sorted(done, key=int) == [str(each) for each in range(sent)]
        assert [(each.messages, each.working) for each in store.queues()] == [(0, 0)]
        assert store.queues()[0].dead == (0 if how == "accept" else sent)
        assert not store.check()
        if how == "accept":  # nothing has grown, so the room is kept again
            assert (full_disk / "work.db-reserve").stat().st_size == 8 << 20
        settled = {"accept": "accepted", "reject": "rejected"}[how]
        assert [e.id for e in store.journal() if e.kind == settled] == done
