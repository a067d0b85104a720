"""Handlers that work on one message for longer than its queue allows, in real processes."""

from pathlib import Path

import pytest

from fairlead import Store
from fairlead.errors import ConfigError, MessageError
from tests.store.test_worker import (
    both,
    empty,
    ledger,
    make_ledger,
    needs_proc,
    stop,
    store_url,
    until,
    working,
)
from tests.stores import made_url

HANGS = """
import time
from pathlib import Path

def job(message):
    if message.body == "hangs":
        Path("begun").touch()
        time.sleep(10**6)
    if message.body == "slow":
        until(lambda: Path("go").exists())

def until(what):
    while not what():
        time.sleep(0.01)

handlers = {"q": job, "other": job}
"""
IN_TRANSACTION = """
import time

def note(message, tx):
    tx.execute(f"INSERT INTO ledger (name, n) VALUES ('{message.group}', 0)")
    if message.body == "hangs":
        time.sleep(10**6)

handlers = {"q": note}
"""
AWAITED = """
import asyncio

async def job(message):
    if message.body == "hangs":
        await asyncio.sleep(10**6)

handlers = {"q": job}
"""
NO_THREAD_RUNS = """
import re

def job(message):
    if message.body == "hangs":
        re.match("(a+)+b", 40 * "a")

handlers = {"q": job}
"""


@pytest.mark.slow
@needs_proc
@both
@pytest.mark.parametrize("module", [HANGS, AWAITED], ids=["function", "coroutine"])
def test_a_message_on_which_handlers_hang_becomes_a_dead_letter_and_others_go_on(
    dialect: str, module: str, tmp_path: Path
) -> None:
    with Store.open(made_url(dialect)) as store:
        store.set_limits("q", max_seconds=1, max_failures=2)
        store.send_many("q", [{"body": body, "group": "kim"} for body in ("fine", "hangs", "last")])
        options = ("--processes", "1", "--grace", "0", "--retry-delay", "0")
        with working(tmp_path, store_url(store, dialect), module, *options) as command:
            until(lambda: empty(store))
            assert stop(command) == 0
        (dead,) = store.dead("q")
        assert dead.body == "hangs"
        assert dead.reason.startswith(f"message {dead.id!r}: worked on for ")
        assert dead.reason.endswith("allowed: max_seconds = 1")
        released = [each.detail for each in store.journal() if each.kind == "released"]
        assert len(released) == 1
        assert repr(dead.id) in str(released[0])
        lines = [line for line in command.said() if "event=too-long" in line]
        assert len(lines) == 2
        for said in ('queue="q"', 'group="kim"', f'message="{dead.id}"', "max_seconds=1"):
            assert all(said in line for line in lines)


@pytest.mark.costly
@needs_proc
@both
def test_the_transaction_of_a_handler_that_hangs_is_undone_and_its_message_blamed(
    dialect: str, tmp_path: Path
) -> None:
    with Store.open(made_url(dialect)) as store:
        make_ledger(store, dialect)
        store.set_limits("q", max_seconds=1, max_failures=1)
        store.send_many("q", [{"body": body, "group": "kim"} for body in ("fine", "hangs", "last")])
        options = ("--processes", "1", "--grace", "0", "--retry-delay", "0")
        with working(tmp_path, store_url(store, dialect), IN_TRANSACTION, *options) as command:
            until(lambda: empty(store))
            assert stop(command) == 0
        assert [each.body for each in store.dead("q")] == ["hangs"]
        assert ledger(store) == {"kim": [0, 0]}


@needs_proc
def test_a_process_that_hangs_ends_with_a_status_and_what_others_have_is_ended_before(
    tmp_path: Path,
) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.set_limits("q", max_seconds=1, max_failures=1)
        store.send("q", "hangs", group="kim")
        with working(tmp_path, url, HANGS, "--threads", "2") as command:
            until((tmp_path / "begun").exists)
            store.send("other", "slow")
            until(lambda: store.dead("q"))
            (tmp_path / "go").touch()
            assert command.ended() == 1
        assert [each.body for each in store.dead("q")] == ["hangs"]
        assert empty(store)


@pytest.mark.slow
@needs_proc
def test_a_process_in_which_no_thread_runs_any_more_is_ended(tmp_path: Path) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.set_limits("q", max_seconds=1, max_failures=1)
        store.send("q", "hangs", group="kim")
        with working(tmp_path, url, NO_THREAD_RUNS, "--processes", "1") as command:
            until(lambda: store.dead("q"))
            assert stop(command) == 0
        assert 'event=too-long queue="q" group="kim"' in "".join(command.said())


@both
def test_a_queue_says_for_how_long_a_message_may_be_worked_on(dialect: str, tmp_path: Path) -> None:
    file = tmp_path / "queues.toml"
    with Store.open(made_url(dialect)) as store:
        file.write_text('[[queue]]\nname = "q"\nmax_seconds = 90\n')
        store.declare(file)
        assert (store.max_seconds("q"), store.queues()[0].max_seconds) == (90, 90)
        store.set_order("q", ageing=1)
        assert store.max_seconds("q") == 90
        store.set_limits("q", max_seconds=None)
        assert store.max_seconds("q") is None
        with pytest.raises(MessageError, match="max_seconds: found 0, allowed: an integer from 1"):
            store.set_limits("q", max_seconds=0)
        file.write_text('[[queue]]\nname = "q"\nmax_seconds = 0.5\n')
        with pytest.raises(ConfigError, match="max_seconds"):
            store.declare(file)
