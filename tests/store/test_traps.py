"""What goes wrong in queues of others: each trap, with real transactions that are open at a time.

What is said to wait for nobody is called while the other transaction is open: were it to wait, it
would wait for ever.
"""

import os
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import (
    MessageError,
    QueueFullError,
    StaleWorkError,
    StoreError,
)
from fairlead.store.leasing import StoreWork
from tests.stores import fresh_url, made_url, scratch, server

Open = Callable[..., Store]


@pytest.fixture
def pg() -> str:
    return made_url("postgresql")


@pytest.fixture
def connected() -> Iterator[Callable[..., Any]]:
    """Connections of the user's own."""
    with ExitStack() as stack:

        def connect(url: str, **more: Any) -> Any:
            if url.startswith("sqlite"):
                made: Any = sqlite3.connect(url.removeprefix("sqlite:///"), **more)
            else:
                made = psycopg.connect(url, **more)
            stack.callback(made.close)
            return made

        yield connect


def taken(store: Store, **more: Any) -> StoreWork:
    work = store.take("q", **more)
    assert work is not None
    return work


def bodies(work: StoreWork) -> list[Any]:
    return [message.body for message in work]


def drained(store: Store) -> list[Any]:
    found: list[Any] = []
    while (work := store.take("q")) is not None:
        found += bodies(work)
        work.accept()
    return found


def kinds(store: Store) -> list[str]:
    return [event.kind for event in store.journal()]


# -------- senders whose transaction is open


def test_a_message_is_found_whose_sender_was_open_while_its_group_ended(
    pg: str, opened: Open, connected: Any
) -> None:
    """The lost wake-up: neither sees what the other does, and nobody looks again."""
    now = 0.0
    store = opened(pg, clock=lambda: now)
    store.send("q", 1, group="g")
    sender = connected(pg)
    with store.join(sender) as tx:
        tx.send("q", 2, group="g")
    work = taken(store)
    assert bodies(work) == [1]
    work.accept()
    assert store.take("q") is None
    sender.commit()
    now = 1.0
    assert bodies(taken(store)) == [2]


def test_a_group_that_ended_while_somebody_sent_to_it_overtakes_nobody(
    pg: str, opened: Open, connected: Any
) -> None:
    now = 0.0
    store = opened(pg, clock=lambda: now)
    store.send("q", "g1", group="g")
    store.send("q", "before", group="h")
    sender = connected(pg)
    with store.join(sender) as tx:
        tx.send("q", "g2", group="g")
    work = taken(store)
    assert bodies(work) == ["g1"]
    work.accept()
    sender.commit()
    now = 1.0
    assert drained(store) == ["before", "g2"]


def test_a_group_can_be_taken_while_somebody_sends_to_it(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", 1, group="g")
    sender = connected(pg)
    with store.join(sender) as tx:
        tx.send("q", 2, group="g")
    work = taken(store)
    assert bodies(work) == [1]
    sender.commit()
    assert bodies(work) == [2]
    work.accept()
    assert store.take("q") is None


def test_a_send_does_not_wait_for_who_settles_the_group(
    pg: str, opened: Open, connected: Any
) -> None:
    """The settling transaction is open; the fence is held. Only where the group ended, and that
    is not committed, a sender has to know whether it did."""
    store = opened(pg)
    store.send_many("q", [{"body": 1, "group": "g"}, {"body": 2, "group": "g"}])
    work = taken(store)
    next(work)
    settler = connected(pg)
    with store.join(settler) as tx:
        tx.accept(work)
    store.send("q", 3, group="g")
    settler.commit()
    assert drained(store) == [2, 3]


def test_a_send_to_a_group_that_is_just_ending_begins_it_anew(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", 1, group="g")
    work = taken(store)
    assert bodies(work) == [1]
    settler = connected(pg)
    with store.join(settler) as tx:
        tx.accept(work)
    sender = threading.Thread(target=store.send, args=("q", 2), kwargs={"group": "g"})
    sender.start()
    until_somebody_waits(settler)
    settler.commit()
    sender.join()
    assert drained(store) == [2]


def until_somebody_waits(connection: Any) -> None:
    """Until a session waits for the transaction of this one."""
    pid = connection.info.backend_pid
    asked = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
    with psycopg.connect(server().get_uri(), autocommit=True) as other:
        while not other.execute(asked, [pid]).fetchall():
            pass


def test_two_senders_begin_one_group(pg: str, opened: Open, connected: Any) -> None:
    store = opened(pg)
    store.send("q", 0)
    first = connected(pg)
    with store.join(first) as tx:
        tx.send("q", 1, group="g")
    second = threading.Thread(target=store.send, args=("q", 2), kwargs={"group": "g"})
    second.start()
    until_somebody_waits(first)
    first.commit()
    second.join()
    assert drained(store) == [0, 1, 2]


def test_accept_settles_what_was_given_and_not_a_late_one_with_a_lower_number(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", 1, group="g")
    late = connected(pg)
    with store.join(late) as tx:
        tx.send("q", "late", group="g")
    store.send("q", 3, group="g")
    work = taken(store)
    assert bodies(work) == [1, 3]
    late.commit()
    work.accept()
    assert drained(store) == ["late"]


def test_a_reader_is_given_a_late_one_with_a_lower_number(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", 1, group="g")
    late = connected(pg)
    with store.join(late) as tx:
        tx.send("q", "late", group="g")
    store.send("q", 3, group="g")
    work = taken(store)
    assert bodies(work) == [1, 3]
    late.commit()
    assert bodies(work) == ["late"]
    work.accept()
    assert drained(store) == []


def test_who_began_to_send_before_there_were_tenants_is_served(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", "first")
    early = connected(pg)
    with store.join(early) as tx:
        tx.send("q", "early", group="g")
    store.send("q", "x", tenant="x")
    assert drained(store) == ["first", "x"]
    early.commit()
    assert drained(store) == ["early"]


# -------- raises


def test_a_raise_waits_for_no_reader_and_no_settler(pg: str, opened: Open, connected: Any) -> None:
    store = opened(pg)
    store.send_many("q", [{"body": 1, "group": "g"}, {"body": 2, "group": "g"}])
    work = taken(store, group="g")
    next(work)
    settler = connected(pg)
    with store.join(settler) as tx:
        tx.accept(work)
    assert store.prioritise("q", "g", 9)
    settler.commit()
    assert [rank.priority for rank in store.waiting("q").ranks] == [9]


def test_a_raise_does_not_wait_where_the_group_is_just_ending(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", 1, group="g")
    work = taken(store)
    next(work)
    settler = connected(pg)
    with store.join(settler) as tx:
        tx.accept(work)
    assert store.prioritise("q", "g", 9)
    settler.rollback()
    store.recover()
    assert [rank.priority for rank in store.waiting("q").ranks] == [9]


def test_a_raise_that_was_granted_keeps_its_group(pg: str, opened: Open, connected: Any) -> None:
    """The settler cannot see it yet, and yet the group does not end."""
    now = 0.0
    store = opened(pg, clock=lambda: now)
    store.send("q", 1, group="g")
    work = taken(store)
    next(work)
    operator = connected(pg)
    with store.join(operator) as tx:
        assert tx.prioritise("q", "g", 9)
    work.accept()
    operator.commit()
    store.send("q", "h", group="h")
    store.send("q", 2, group="g")
    now = 1.0
    assert drained(store) == [2, "h"]


# -------- readers


def test_a_pick_passes_over_what_an_open_transaction_has_locked(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    for group in "abc":
        store.send("q", group, group=group)
    other = connected(pg)
    other.execute("SELECT 1 FROM fairlead.groups WHERE name = 'a' FOR UPDATE")
    assert taken(store).group == "b"
    assert store.take("q", group="a") is None
    other.rollback()
    assert taken(store).group == "a"


def test_readers_that_pick_at_one_time_pick_different_groups(url: str, opened: Open) -> None:
    stores = [opened(url) for _ in range(4)]
    stores[0].send_many("q", [{"body": k} for k in range(40)])
    ready = threading.Barrier(4)
    found: list[Any] = []

    def read(store: Store) -> None:
        ready.wait()
        while (work := store.take("q")) is not None:
            found.extend(bodies(work))
            work.accept()

    threads = [threading.Thread(target=read, args=(store,)) for store in stores]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(found) == list(range(40))


def test_threads_share_one_store(store: Store) -> None:
    ready = threading.Barrier(4)
    found: list[Any] = []

    def work(name: int) -> None:
        ready.wait()
        for k in range(5):
            store.send("q", (name * 10) + k, group=str(name))
            mine = store.take("q")
            if mine is not None:
                found.extend(bodies(mine))
                mine.accept()

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    while store.queues()[0].messages:  # those of a group that is parked for a moment, too
        last = taken(store, wait=1)
        found += bodies(last)
        last.accept()
    assert sorted(found) == [name * 10 + k for name in range(4) for k in range(5)]
    for name in range(4):
        mine = [each for each in found if each // 10 == name]
        assert mine == sorted(mine)


# -------- transactions


def test_a_refused_call_leaves_a_joined_transaction_as_it_was(
    url: str, opened: Open, connected: Any
) -> None:
    store = opened(url)
    store.set_limits("q", max_waiting=2)
    store.send("q", 1, group="g", id="known")
    mine = connected(url)
    mine.execute("CREATE TABLE mine (value INTEGER)")
    mine.commit()
    mine.execute("INSERT INTO mine VALUES (1)")
    with store.join(mine) as tx:
        with pytest.raises(QueueFullError):
            tx.send_many("q", [{"body": 1}] * 9)
        with pytest.raises(MessageError, match="tenant"):
            tx.send("q", 2, group="g", tenant="other", id="new")
        with pytest.raises(MessageError, match="id: found 'known'"):
            tx.send("q", "other", id="known")
        with pytest.raises(MessageError, match="queue"):
            tx.prioritise("nowhere", "g")
        tx.send("q", "sent", id="new")
    mine.commit()
    assert mine.execute("SELECT value FROM mine").fetchall() == [(1,)]
    assert drained(store) == [1, "sent"]


def test_a_refused_call_in_a_transaction_of_the_store_has_done_nothing(store: Store) -> None:
    """Not even remembered the id: else the message would never be sent."""
    store.send("q", 1, group="g")
    with store.transaction() as tx, suppress(MessageError):
        tx.send_many("q", [{"body": 2, "id": "m"}, {"body": 3, "group": "g", "tenant": "other"}])
    store.send("q", 2, id="m")
    assert drained(store) == [1, 2]
    assert kinds(store).count("sent") == 2


def test_a_transaction_in_which_a_statement_failed_does_not_look_committed(
    pg: str, opened: Open
) -> None:
    store = opened(pg)

    def send_and_fail() -> None:
        with store.transaction() as tx:
            tx.send("q", 1)
            with suppress(psycopg.Error):
                tx.execute("SELECT 1 / 0")

    with pytest.raises(StoreError, match="a statement had failed"):
        send_and_fail()
    assert kinds(store) == []


def test_stale_work_dooms_a_joined_transaction_even_if_the_error_is_caught(
    url: str, opened: Open, connected: Any
) -> None:
    now = 0.0
    store = opened(url, clock=lambda: now)
    store.send("q", 1, group="g")
    work = taken(store, lease=1)
    next(work)
    mine = connected(url)
    mine.execute("CREATE TABLE mine (value INTEGER)")
    mine.commit()
    now = 2.0
    other = taken(store)
    mine.execute("INSERT INTO mine VALUES (1)")
    with suppress(StaleWorkError), store.join(mine) as tx:
        tx.accept(work)
    mine.commit()
    assert mine.execute("SELECT value FROM mine").fetchall() == []
    assert bodies(other) == [1]
    other.accept()


def test_stale_work_has_no_transaction(store: Store) -> None:
    store.send("q", 1, group="g")
    work = taken(store, lease=0.001)
    next(work)
    other = taken(store, wait=30)
    store.send("q", 2)
    third = taken(store)
    with pytest.raises(StaleWorkError), work.transaction():
        pytest.fail("it has begun")
    for settle in (work.accept, work.reject, work.release, work.extend):
        with pytest.raises(StaleWorkError):
            settle()  # type: ignore[operator]
    with pytest.raises(StaleWorkError):
        store.accept([third, work])
    assert bodies(other) == [1]
    other.accept()


def test_where_some_of_several_messages_are_stale_none_is_accepted(store: Store) -> None:
    for body in (1, 2, 3):
        store.send("q", body)
    first, stale = taken(store), taken(store, lease=0.001)
    time.sleep(0.01)  # the lease is over
    again = taken(store)
    assert [bodies(work) for work in (first, stale, again)] == [[1], [2], [2]]
    with pytest.raises(StaleWorkError, match=f"token {stale.token}:"):
        store.accept([first, stale])
    store.accept([first, again])
    with pytest.raises(StaleWorkError, match=f"token {stale.token}:"):
        stale.accept()
    assert drained(store) == [3]
    assert kinds(store).count("accepted") == 3


def test_a_transaction_of_work_needs_a_word_of_how_it_ends(store: Store) -> None:
    store.send("q", 1)
    work = taken(store)
    with pytest.raises(MessageError, match="accept, reject or release"), work.transaction() as tx:
        tx.send("q", 2)
    work.accept()
    assert drained(store) == [1], "it was not given"


def test_the_outcome_is_known_of_a_commit_whose_answer_was_lost(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    for k in range(4):
        store.send("q", k)
    for end in ("accepted", "rejected", "released", "held"):
        work = taken(store)
        next(work)
        if end == "held":
            mine = connected(pg)
            with store.join(mine) as tx:
                tx.accept(work)
            pid = mine.info.backend_pid
            other = connected(pg, autocommit=True)
            other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
            with pytest.raises(psycopg.OperationalError):
                mine.commit()
        else:
            {"accepted": work.accept, "rejected": work.reject, "released": work.release}[end]()
        assert store.outcome(work.token) == end
        if end == "released":
            taken(store).accept()
    assert store.outcome(10**9) == "unknown"


def test_a_serialization_failure_is_the_drivers_own_error(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", 1, group="g")
    mine = connected(pg)
    mine.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    mine.execute("SELECT 1 FROM fairlead.groups").fetchall()
    with taken(store) as work:
        assert [message.body for message in work] == [1]
    with pytest.raises(psycopg.errors.SerializationFailure), store.join(mine) as tx:
        tx.send("q", 2, group="g")


def test_a_deferred_transaction_that_has_read_is_told_to_begin_at_once(
    opened: Open, connected: Any
) -> None:
    url = made_url("sqlite")
    store = opened(url)
    mine = connected(url, isolation_level=None)
    mine.execute("BEGIN")
    mine.execute("SELECT * FROM fairlead_queues").fetchall()
    store.send("q", 1)
    with pytest.raises(sqlite3.OperationalError) as refused, store.join(mine) as tx:
        tx.send("q", 2)
    assert "BEGIN IMMEDIATE" in refused.value.__notes__[0]
    mine.execute("ROLLBACK")
    with pytest.raises(StoreError, match="found no transaction"), store.join(mine):
        pass


def test_a_deferred_transaction_that_has_read_nothing_waits_for_its_turn(
    opened: Open, connected: Any
) -> None:
    url = made_url("sqlite")
    store = opened(url)
    writer = connected(url, isolation_level=None, check_same_thread=False)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("CREATE TABLE mine (value INTEGER)")
    mine = connected(url, isolation_level=None)
    mine.execute("BEGIN")
    done = threading.Timer(0.2, writer.execute, ["COMMIT"])
    done.start()
    with store.join(mine) as tx:
        tx.send("q", 1)
    mine.execute("COMMIT")
    done.join()
    assert drained(store) == [1]


# -------- the journal


def test_a_reader_of_the_journal_misses_nothing_of_who_commits_late(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", "first", id="first")
    late = connected(pg)
    with store.join(late) as tx:
        tx.send("q", "late", id="late")
    store.send("q", "last", id="last")
    seen = list(store.journal())
    assert [event.id for event in seen] == ["first"]
    late.commit()
    seen += store.journal(since=seen[-1].cursor)
    assert sorted(event.id for event in seen) == ["first", "last", "late"]
    assert list(store.journal(since=seen[-1].cursor)) == []


# -------- opening


def test_many_open_a_new_database_at_one_time(dialect: str) -> None:
    url = fresh_url(dialect)
    ready = threading.Barrier(4)
    errors: list[Exception] = []

    def open_it() -> None:
        ready.wait()
        try:
            with Store.open(url, create=True) as store:
                store.send("q", 1)
        except Exception as error:  # noqa: BLE001 - whatever it is, it fails the test
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []
    with Store.open(url) as store:
        assert drained(store) == [1, 1, 1, 1]


def test_a_newer_schema_is_refused(url: str, connected: Any) -> None:
    table = "fairlead_schema" if url.startswith("sqlite") else "fairlead.schema"
    mine = connected(url)
    mine.execute(f"UPDATE {table} SET version = 99")  # noqa: S608
    mine.commit()
    for create in (None, True, False):
        with pytest.raises(StoreError, match="version 99 of the schema") as refused:
            Store.open(url, create=create)
        assert "\n" not in str(refused.value)


def test_a_server_without_the_schema_is_told_how_to_make_it() -> None:
    with pytest.raises(StoreError, match="fairlead store init"):
        Store.open(fresh_url("postgresql"))


def test_a_file_that_is_no_database_is_refused() -> None:
    path = scratch() / "no-database.db"
    path.write_text("this is no database, and long enough to be read as the header of one" * 9)
    with pytest.raises(StoreError, match="no SQLite database") as refused:
        Store.open(f"sqlite:///{path}")
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write whatever it likes")
def test_a_file_that_cannot_be_written_is_refused() -> None:
    url = made_url("sqlite")
    path = Path(url.removeprefix("sqlite:///"))
    path.chmod(0o444)
    with pytest.raises(StoreError, match=r"cannot be opened|read-only"), Store.open(url) as store:
        store.send("q", 1)


def test_a_folder_that_is_not_there_is_refused() -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(f"sqlite:///{scratch()}/nowhere/work.db")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret-word@127.0.0.1:1/nowhere",
        "postgresql://me:s3cret-word@127.0.0.1:1/nowhere?connect_timeout=x",
        "postgresql://me@127.0.0.1:1/nowhere?password=s3cret-word",
        "postgresql://me:s3cret-word@127.0.0.1:1/nowhere?nonsense=s3cret-word",
        "postgresql://me:s3cret-word@127.0.0.1:port/nowhere",
        "postgresql://me:s3cret-word@[/nowhere",
    ],
)
def test_a_password_is_never_printed(url: str) -> None:
    with pytest.raises(StoreError) as refused:
        Store.open(url)
    printed = "".join(traceback.format_exception(refused.value))
    assert "s3cret-word" not in printed
    assert "\n" not in str(refused.value)


# -------- names and bodies


NAMES = [
    "'; DROP TABLE groups; --",
    '"quoted"',
    "%s %(name)s :name $1 ?",
    "back\\slash",
    "\N{PILE OF POO}\N{ZERO WIDTH JOINER}".strip("\N{ZERO WIDTH JOINER}"),
    "x" * 500,
    "\N{GRINNING FACE}" * 500,
    "ümläut",
    " ",
    "[1, 2]",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_every_name_is_only_a_name(store: Store, name: str) -> None:
    store.send(name, "body", group=name, id=name, type=name, tenant=name, priority=1)
    assert store.send(name, "body", id=name) == name, "it is known"
    assert store.prioritise(name, name, 3)
    assert store.waiting(name).ranks[0].group == name
    assert [each.queue for each in store.queues()] == [name]
    work = store.take(name, group=name)
    assert work is not None
    (message,) = work
    assert (message.id, message.type, message.group, message.tenant) == (name, name, name, name)
    work.reject(name)
    (dead,) = store.dead(name)
    assert (dead.id, dead.group, dead.tenant, dead.reason) == (name, name, name, name)
    assert store.requeue(name, [name]) == 1
    assert {event.queue for event in store.journal()} == {name}


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\ud800", "x" * 501, 7, b"b"], ids=repr)
def test_a_name_that_cannot_be_kept_is_refused(store: Store, name: Any) -> None:
    for key in ("group", "id", "type", "tenant"):
        with pytest.raises(MessageError, match=f"{key}: found") as refused:
            store.send("q", 1, **{key: name})
        assert "\n" not in str(refused.value)
    with pytest.raises(MessageError, match="queue: found"):
        store.send(name, 1)
    assert kinds(store) == []


def test_bodies_come_back_as_they_were_sent(store: Store) -> None:
    sent = [b"", b"\0\xff", "", "a\0b", "\N{GRINNING FACE}", {"a": [1, None, 2.5]}, [], 0, None]
    for each in sent:
        store.send("q", each)
    assert drained(store) == sent


@pytest.mark.parametrize("error", ["a\0b", "\udc80", "x" * 100_000, "\n"], ids=["0", "s", "x", "n"])
def test_an_error_of_any_text_can_be_the_reason(store: Store, error: str) -> None:
    store.set_limits("q", max_failures=2)
    store.send("q", 1)
    for _ in range(2):
        with suppress(ValueError), taken(store) as work:
            next(work)
            raise ValueError(error)
    (dead,) = store.dead("q")
    assert dead.reason.startswith("ValueError: ")


@pytest.mark.parametrize("found", [1e18, 10**13, -1, float("nan"), float("inf"), "1"])
def test_a_duration_that_no_clock_can_add_is_refused(store: Store, found: Any) -> None:
    store.send("q", 1)
    with pytest.raises(MessageError, match="lease: found"):
        store.take("q", lease=found)
    with taken(store) as work:
        next(work)
        with pytest.raises(MessageError, match="lease: found"):
            work.extend(found)


# -------- dead letters


def test_a_dead_letter_that_is_named_twice_is_sent_once(store: Store) -> None:
    store.send("q", 1, id="m")
    work = taken(store)
    next(work)
    work.reject()
    assert store.requeue("q", ["m", "m"]) == 1
    assert drained(store) == [1]


def test_dead_letters_that_two_send_again_are_sent_once(
    pg: str, opened: Open, connected: Any
) -> None:
    store = opened(pg)
    store.send("q", 1, id="m")
    work = taken(store)
    next(work)
    work.reject()
    other = connected(pg)
    other.execute("SELECT 1 FROM fairlead.dead FOR UPDATE")
    ready = [threading.Thread(target=store.requeue, args=("q",)) for _ in range(2)]
    for each in ready:
        each.start()
    waiting = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with psycopg.connect(pg, autocommit=True) as watcher:
        while watcher.execute(waiting).fetchall() != [(2,)]:
            pass
    other.rollback()
    for each in ready:
        each.join()
    assert drained(store) == [1]


# -------- places


def test_a_group_that_is_settled_while_the_order_is_set_keeps_its_own_place(
    pg: str, opened: Open, connected: Any
) -> None:
    """Places that are given anew are those of what waits at that moment."""
    store = opened(pg)
    store.send("q", "g1", group="g", priority=9)
    store.send("q", "g2", group="g")
    store.send("q", "h", group="h", priority=5)
    other = connected(pg)
    work = taken(store)
    with store.join(other) as tx:
        next(work)
        tx.accept(work)
    store.set_order("q")
    other.commit()
    assert drained(store) == ["h", "g2"]


# -------- processes


FORKED = """
import os, sys, threading
from fairlead import Store
from fairlead.errors import StoreError

store = Store.open(sys.argv[1])
store.send("q", 1, group="g")
work = store.take("q")
child = os.fork()
if child == 0:
    try:
        store.take("q")
    except StoreError as error:
        print(error, flush=True)
    store.close()
    sys.stdin.readline()
    os._exit(0)
print("child", child, flush=True)
threading.Event().wait()
"""


def test_a_forked_child_neither_uses_the_store_nor_keeps_its_parents_work(
    url: str, store: Store
) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", FORKED, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    try:
        lines = sorted(parent.stdout.readline() for _ in range(2))
        assert "another process opened" in lines[0] + lines[1]
        assert [work.group for work in store.working("q")] == ["g"]
        parent.kill()
        parent.wait()
        work = store.take("q", wait=10)
        assert work is not None, "the child lives, and it is not the holder"
        assert (work.group, work.attempt) == ("g", 2)
    finally:
        parent.kill()
        parent.stdin.close()
        parent.stdout.close()


def test_a_session_that_was_lost_is_renewed(pg: str, opened: Open, connected: Any) -> None:
    """Else others would take the work of a process that lives."""
    store, other = opened(pg), opened(pg)
    for k in range(2):
        store.send("q", k)
    first = taken(store)
    killer = connected(pg, autocommit=True)
    killer.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    store._leases._looked.clear()
    assert taken(store).token > first.token
    other._leases._looked.clear()
    assert other.take("q") is None
    first.accept()


# -------- the clock


def test_a_clock_that_goes_back_an_hour_changes_no_order(url: str, opened: Open) -> None:
    now = 10_000.0
    store = opened(url, clock=lambda: now)
    store.send("q", "a", group="a")
    store.send("q", "late", delay=60)
    store.send("q", "raised", group="r", priority=5)
    held = taken(store, lease=30)
    now -= 3600
    store.send("q", "b", group="b")
    store.send("q", "raised too", group="s", priority=5)
    assert held.group == "r"
    assert [rank.group for rank in store.waiting("q").ranks] == ["s", "a", "b"]
    held.release()
    assert [rank.group for rank in store.waiting("q").ranks] == ["r", "s", "a", "b"]
    assert drained(store) == ["raised", "raised too", "a", "b"]
    now += 3700
    assert drained(store) == ["late"]
    times = [event.time for event in store.journal()]
    assert times == sorted(times)
