"""Supervisors that are killed, again and again: their workers end, and what was done is done once.

Each message writes a row into a ledger and sends the next one of its group, in one transaction.
"""

import os
import signal
from collections import defaultdict
from pathlib import Path
from random import Random
from time import sleep

import pytest

from fairlead import Store
from tests.cli.commands import Command, runs
from tests.store.sql import holders, until_gone
from tests.store.test_worker import needs_proc, until
from tests.stores import made_url

GROUPS = [f"g{k}" for k in range(6)]
HANDLERS = """
def step(message, tx):
    tx.execute(f"INSERT INTO ledger (name, step) VALUES ('{message.group}', {message.body})")
    following = message.body + 1
    tx.send("q", following, group=message.group, id=f"{message.group} {following}")

handlers = {"q": step}
"""


def prepare(store: Store, dialect: str) -> None:
    kind = "INTEGER PRIMARY KEY" if dialect == "sqlite" else "BIGSERIAL PRIMARY KEY"
    with store.transaction() as tx:
        tx.execute(f"CREATE TABLE ledger (id {kind}, name TEXT, step BIGINT)")
        for group in GROUPS:
            tx.send("q", 1, group=group, id=f"{group} 1")


def ledger(store: Store) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    with store.transaction() as tx:
        for name, step in tx.execute("SELECT name, step FROM ledger ORDER BY id").fetchall():
            found[name].append(step)
    return found


def steps(store: Store) -> int:
    return sum(map(len, ledger(store).values()))


def kill_a_supervisor(folder: Path, url: str, store: Store, chance: Random) -> None:
    """Let it work for a while, kill it, and see that nothing of it runs on."""
    (folder / "shop.py").write_text(HANDLERS)
    before = steps(store)
    options = ["--processes", "2", "--threads", "2"]
    with Command(folder, "work", "shop:handlers", *options, FAIRLEAD_STORE=url) as command:
        until(lambda: steps(store) > before)
        sleep(chance.random() * 0.5)
        command.look()
        workers = dict(command.seen)
        assert len(workers) >= 2
        os.kill(command.process.pid, signal.SIGKILL)
        command.process.wait()
        until(lambda: not any(map(runs, workers)))


def kill_supervisors(folder: Path, dialect: str, kills: int, seed: int) -> None:
    chance = Random(seed)  # noqa: S311
    url = made_url(dialect)
    with Store.open(url) as store:
        prepare(store, dialect)
        for _ in range(kills):
            kill_a_supervisor(folder, url, store, chance)
        (found,) = store.queues()
        assert (found.messages, found.working, found.failures) == (len(GROUPS), 0, 0)
        done = ledger(store)
        for group in GROUPS:
            assert done[group] == list(range(1, len(done[group]) + 1))
            (left,) = store.peek("q", group)
            assert left.body == len(done[group]) + 1
        until_gone(store, holders(url))
        held = store.take("q")  # who takes sweeps up after those that were killed
        assert held is not None
        held.release()
        assert store.check() == []


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("seed", range(3))
def test_supervisors_that_are_killed_leave_nothing_behind_and_do_nothing_twice(
    seed: int, dialect: str, tmp_path: Path
) -> None:
    kill_supervisors(tmp_path, dialect, 10, seed)
