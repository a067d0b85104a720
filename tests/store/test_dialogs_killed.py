"""Readers of a front end and a back end that are killed: in the end both sides agree.

Requests go through a `PriorityService`. The back end writes a row into a ledger and answers, in one
transaction. However often readers, and what starts them, are killed: each request has one row and
one answer, in its order, and when the clients have ended nothing is left of any dialog.
"""

import os
import signal
from collections import defaultdict
from pathlib import Path
from random import Random
from time import sleep

import pytest

from fairlead import Conversation, Store
from fairlead.errors import ConversationError, StoreError
from tests.cli.commands import Command, children
from tests.store.sql import holders, until_gone
from tests.store.test_worker import needs_proc, until
from tests.stores import made_url

DECLARED = """
[[message_type]]
name = "Request"
validation = "json"
[[message_type]]
name = "SetPriority"
[[message_type]]
name = "Response"
[[contract]]
name = "Prioritised"
initiator = ["Request", "SetPriority"]
target = ["Response"]
[[contract]]
name = "Internal"
initiator = ["Request"]
target = ["Response"]
[[queue]]
name = "front"
max_failures = 0
[[queue]]
name = "back"
max_failures = 0
[[service]]
name = "Front"
queue = "front"
contracts = ["Prioritised"]
max_readers = 2
[[service]]
name = "Back"
queue = "back"
contracts = ["Internal"]
max_readers = 2
[[service]]
name = "Client"
queue = "client"
"""
SERVICES = """
from fairlead import PriorityService, Service

front = PriorityService("Front", "Back")
back = Service("Back")

@back.on("Request")
def request(message, tx):
    name, n = message.body
    tx.execute(f"INSERT INTO ledger (name, n) VALUES ('{name}', {n})")
    here = tx.conversation(message.conversation)
    if n < 0:
        here.end(error=(7, "as was asked for"))
    else:
        here.send("Response", [name, n])

services = [front, back]
"""
OPTIONS = ["--processes", "4", "--check-interval", "0.2", "--retry-delay", "0.05"]
REQUESTS = 4
"""Of each dialog."""


class Clients:
    """Dialogs that were begun, and what came back in each."""

    def __init__(self, store: Store, chance: Random) -> None:
        self.store = store
        self.chance = chance
        self.open: dict[str, Conversation] = {}
        self.came: dict[str, list[object]] = defaultdict(list)
        self.failing: set[str] = set()
        self.left: set[str] = set()
        """Those that ended before they had their answers."""

    def begin(self) -> None:
        """A dialog with its requests, perhaps raised, perhaps with one that fails at its end."""
        with self.store.transaction() as tx:
            found = tx.begin_dialog("Client", "Front")
            name = found.dialog
            for n in range(REQUESTS):
                found.send("Request", [name, n])
                if self.chance.random() < 0.3:
                    found.send("SetPriority", self.chance.randrange(256))
            if self.chance.random() < 0.2:
                found.send("Request", [name, -1])
                self.failing.add(name)
        self.open[name] = self.store.conversation(found.id)
        if self.chance.random() < 0.1:
            self.open.pop(name).end()
            self.left.add(name)

    def read(self) -> None:
        """Take what has come back."""
        while (work := self.store.take("client", lease=3600)) is not None:
            with work.transaction() as tx:
                for message in work:
                    assert message.conversation is not None
                    name = message.conversation.dialog
                    assert name not in self.left, "nothing comes after an end"
                    said = message.body if message.type == "Response" else message.type
                    self.came[name].append(said)
                    if message.type == "Error":
                        assert message.body == {"code": 7, "description": "as was asked for"}
                        tx.conversation(message.conversation).end()
                        self.open.pop(name)
                tx.accept()

    @property
    def waiting(self) -> list[str]:
        """Dialogs that have not come to their end yet."""
        return [
            name for name in self.open if name in self.failing or len(self.came[name]) < REQUESTS
        ]

    def check(self, ledger: dict[str, list[int]]) -> None:
        """Both sides agree."""
        for name, found in self.came.items():
            answers = [each for each in found if each != "Error"]
            assert answers == [[name, n] for n in range(len(answers))]
            assert ledger[name] == [*range(REQUESTS), *([-1] if name in self.failing else [])]
            if name in self.failing:
                assert found.count("Error") == 1
            else:
                assert len(answers) == REQUESTS
        for name in self.left:
            assert ledger[name] in [
                [*range(k), *more] for k in range(REQUESTS + 1) for more in ([], [-1])
            ]


def ledger(store: Store) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    with store.transaction() as tx:
        for name, n in tx.execute("SELECT name, n FROM ledger ORDER BY id").fetchall():
            found[name].append(n)
    return found


def kill(command: Command, chance: Random) -> bool:
    """Kill a reader, or, one time in five, the process that starts readers; whether it was that."""
    readers = children(command.process.pid)
    if chance.random() < 0.2 or not readers:
        command.look()
        os.kill(command.process.pid, signal.SIGKILL)
        command.process.wait()
        return True
    os.kill(chance.choice(readers), signal.SIGKILL)
    return False


def kill_again_and_again(folder: Path, dialect: str, kills: int, seed: int) -> None:
    chance = Random(seed)  # noqa: S311
    url = made_url(dialect)
    (folder / "shop.py").write_text(SERVICES)
    (folder / "shop.toml").write_text(DECLARED)
    with Store.open(url) as store:
        store.declare(folder / "shop.toml")
        key = "INTEGER PRIMARY KEY" if dialect == "sqlite" else "BIGSERIAL PRIMARY KEY"
        with store.transaction() as tx:
            tx.execute(f"CREATE TABLE ledger (id {key}, name TEXT, n BIGINT)")
        clients = Clients(store, chance)
        done = 0
        while done < kills:
            with Command(folder, "work", "shop:services", *OPTIONS, FAIRLEAD_STORE=url) as command:
                while done < kills:
                    for _ in range(3):
                        clients.begin()
                    sleep(chance.random())
                    clients.read()
                    done += 1
                    if kill(command, chance):
                        break
        with Command(folder, "work", "shop:services", *OPTIONS, FAIRLEAD_STORE=url):
            until(lambda: clients.read() or not clients.waiting)
            clients.check(ledger(store))
            for each in clients.open.values():
                each.end()
            until(lambda: nothing_is_left(store, dialect))
        with Store.open(url) as other:  # who begins to take sweeps up after those that were killed
            until_gone(other, holders(url) - 1)  # the clients' own process lives
            assert other.take("front") is None
            assert other.check() == []


def nothing_is_left(store: Store, dialect: str) -> bool:
    """No end of a dialog, no group and no message."""
    prefix = "fairlead_" if dialect == "sqlite" else "fairlead."
    try:
        with store.transaction() as tx:
            return not any(
                tx.execute(f"SELECT count(*) FROM {prefix}{table}").fetchone()[0]  # noqa: S608
                for table in ("endpoints", "groups", "messages", "delayed")
            )
    except (StoreError, ConversationError):
        return False


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_both_sides_agree_though_readers_are_killed(dialect: str, tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, dialect, 4, 1)


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("seed", range(5))
def test_both_sides_agree_though_readers_are_killed_very_often(
    seed: int, dialect: str, tmp_path: Path
) -> None:
    kill_again_and_again(tmp_path, dialect, 20, seed)
