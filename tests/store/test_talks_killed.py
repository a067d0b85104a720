"""Senders and takers of dialogs that are killed, in Python and in SQL: nothing is lost.

Some processes begin dialogs and send in them, and write down what they send in the same
transaction. Others take that, write down that they did, answer and settle, in one transaction. On
PostgreSQL half of each speak SQL alone, and both kinds are in the same dialogs. However often they
are killed: what was sent comes once, in the order of its dialog, and has one answer. What a taker
does outside of its transaction may be done again, but then the work is marked: its attempt is not
the first.
"""

import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any, Final

import pytest

from fairlead import Store
from tests.store.test_dialogs_killed import nothing_is_left
from tests.stores import made_url

DECLARED: Final = """
[[message_type]]
name = "Ask"
[[message_type]]
name = "Answer"
[[contract]]
name = "Talk"
initiator = ["Ask"]
target = ["Answer"]
[[queue]]
name = "asked"
max_failures = 0
[[queue]]
name = "asking"
max_failures = 0
[[service]]
name = "Asked"
queue = "asked"
contracts = ["Talk"]
[[service]]
name = "Asking"
queue = "asking"
"""

COMMON: Final = """
import json, random, sys, time, uuid
from fairlead import Store
from fairlead.errors import StoreError

url, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
mark = "?" if url.startswith("sqlite") else "%s"
talks = {}


def row(table, *values):
    return f"INSERT INTO {table} VALUES ({', '.join([mark] * len(values))})", list(values)


def again(what):
    while True:
        try:
            what()
        except StoreError:  # a database is locked, or another was killed while it wrote
            time.sleep(0.02)
"""

SENDER: Final = """
def send():
    with Store.open(url) as store:
        while True:
            with store.transaction() as tx:
                if len(talks) < 3 or chance.random() < 0.2:
                    name, n = uuid.uuid4().hex, 0
                    dialog = tx.begin_dialog("Asking", "Asked")
                    tx.execute(*row("talks", name, dialog.id))
                else:
                    name = chance.choice(sorted(talks))
                    handle, n = talks[name]
                    dialog = tx.conversation(store.conversation(handle))
                for _ in range(chance.randrange(1, 4)):
                    dialog.send("Ask", {"talk": name, "n": n})
                    tx.execute(*row("sent", name, n))
                    n += 1
            talks[name] = dialog.id, n
            time.sleep(chance.random() * 0.03)


again(send)
"""

TAKER: Final = """
def take():
    with Store.open(url) as store:
        while True:
            work = store.take("asked", wait=1, lease=3600)
            if work is None:
                continue
            every = list(work)
            with store.transaction() as tx:
                for each in every:
                    said = row("effects", each.body["talk"], each.body["n"], work.attempt)
                    tx.execute(*said)
            with work.transaction() as tx:
                for each in every:
                    tx.execute(*row("got", each.body["talk"], each.body["n"]))
                    tx.conversation(each.conversation).send("Answer", each.body)
                tx.accept()


again(take)
"""

SQL_SENDER: Final = """
import psycopg


def send():
    with psycopg.connect(url) as connection:
        while True:
            with connection.transaction():
                if len(talks) < 3 or chance.random() < 0.2:
                    name, n = uuid.uuid4().hex, 0
                    begin = "SELECT fairlead.begin_dialog('Asking', 'Asked')"
                    (handle,) = connection.execute(begin).fetchone()
                    connection.execute(*row("talks", name, handle))
                else:
                    name = chance.choice(sorted(talks))
                    handle, n = talks[name]
                for _ in range(chance.randrange(1, 4)):
                    body = json.dumps({"talk": name, "n": n})
                    connection.execute(
                        "SELECT fairlead.send_on(%s, 'Ask', %s::jsonb)", [handle, body]
                    )
                    connection.execute(*row("sent", name, n))
                    n += 1
            talks[name] = handle, n
            time.sleep(chance.random() * 0.03)


send()
"""

SQL_TAKER: Final = """
import psycopg


def take():
    with psycopg.connect(url) as connection:
        while True:
            with connection.transaction():
                found = connection.execute(
                    "SELECT token, number, conversation, body_text "
                    "FROM fairlead.receive('asked', most => 5)"
                ).fetchall()
                for _, _, conversation, text in found:
                    body = json.loads(text)
                    connection.execute(*row("got", body["talk"], body["n"]))
                    connection.execute(
                        "SELECT fairlead.send_on(%s, 'Answer', %s::jsonb)", [conversation, text]
                    )
                if found:
                    connection.execute(
                        "SELECT fairlead.settle(%s, 'accepted', %s)",
                        [found[0][0], [number for _, number, _, _ in found]],
                    )
            time.sleep(0 if found else 0.02)


take()
"""
PROGRAMS: Final = {"sqlite": (SENDER, TAKER), "postgresql": (SENDER, TAKER, SQL_SENDER, SQL_TAKER)}
TABLES: Final = {
    "talks": "name TEXT, handle TEXT",
    "sent": "talk TEXT, n BIGINT",
    "got": "talk TEXT, n BIGINT",
    "effects": "talk TEXT, n BIGINT, attempt BIGINT",
}


class Talkers:
    """Two processes of each program, each of which may die at any moment."""

    def __init__(self, url: str, dialect: str) -> None:
        self.url = url
        self.begun = 0
        self.each = [(text, self.begin(text)) for text in PROGRAMS[dialect] * 2]

    def begin(self, text: str) -> "subprocess.Popen[bytes]":
        self.begun += 1
        program = [sys.executable, "-c", COMMON + text, self.url, str(self.begun)]
        return subprocess.Popen(program)

    def kill(self, chance: random.Random) -> None:
        place = chance.randrange(len(self.each))
        text, process = self.each[place]
        assert process.poll() is None, "it ended by itself"
        process.kill()
        process.wait()
        self.each[place] = text, self.begin(text)

    def end(self) -> None:
        for _, process in self.each:
            process.kill()
            process.wait()


@contextmanager
def talking(url: str, dialect: str) -> Iterator[Talkers]:
    found = Talkers(url, dialect)
    try:
        yield found
    finally:
        found.end()


def told(store: Store, query: str) -> list[Any]:
    with store.transaction() as tx:
        return list(tx.execute(query).fetchall())


def by_talk(rows: list[Any]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for talk, n in rows:
        found[talk].append(n)
    return found


def answer_what_is_left(store: Store) -> None:
    while (work := store.take("asked", wait=2)) is not None:
        with work.transaction() as tx:
            for each in work:
                body: Any = each.body
                values = f"('{body['talk']}', {body['n']})"
                tx.execute(f"INSERT INTO got VALUES {values}")  # noqa: S608 - names of its own
                assert each.conversation is not None
                tx.conversation(each.conversation).send("Answer", body)
            tx.accept()


def answers(store: Store) -> dict[str, list[int]]:
    """What came back, in the order in which it came."""
    found: dict[str, list[int]] = defaultdict(list)
    while (work := store.take("asking", wait=0.2)) is not None:
        with work:
            for each in work:
                body: Any = each.body
                found[body["talk"]].append(body["n"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_what_is_said_comes_once_in_its_order_though_everybody_is_killed(
    dialect: str, tmp_path: Path
) -> None:
    url, chance = made_url(dialect), random.Random(7)  # noqa: S311
    declared = tmp_path / "talks.toml"
    declared.write_text(DECLARED)
    order = "ORDER BY rowid" if dialect == "sqlite" else "ORDER BY place"
    place = "" if dialect == "sqlite" else ", place BIGSERIAL"
    with Store.open(url) as store:
        store.declare(declared)
        with store.transaction() as tx:
            for table, columns in TABLES.items():
                tx.execute(f"CREATE TABLE {table} ({columns}{place})")
        with talking(url, dialect) as talkers:
            sleep(2)
            for _ in range(200):
                sleep(chance.random() * 0.4)
                talkers.kill(chance)
        answer_what_is_left(store)
        sent = by_talk(told(store, f"SELECT talk, n FROM sent {order}"))  # noqa: S608
        assert len(sent) > 100
        assert all(ns == [*range(len(ns))] for ns in sent.values())
        assert by_talk(told(store, f"SELECT talk, n FROM got {order}")) == sent  # noqa: S608
        assert answers(store) == sent
        twice = defaultdict(list)
        for talk, n, attempt in told(store, f"SELECT talk, n, attempt FROM effects {order}"):  # noqa: S608
            twice[talk, n].append(attempt)
        again = [attempts[1:] for attempts in twice.values() if attempts[1:]]
        assert all(attempt > 1 for attempts in again for attempt in attempts)
        for (handle,) in told(store, "SELECT handle FROM talks"):
            store.conversation(handle).end()
        while (work := store.take("asked")) is not None:
            with work.transaction() as tx:
                for each in work:
                    assert (each.type, each.conversation is None) == ("EndDialog", False)
                    tx.conversation(each.conversation).end()  # type: ignore[arg-type]
                tx.accept()
        assert nothing_is_left(store, dialect)
        assert store.dead("asked") == store.dead("asking") == []
        assert store.check() == []
