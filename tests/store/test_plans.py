"""Every statement finds its rows by an index, however much there is of everything.

Each runs on a store in which all that can grow has grown, and what it has read is counted: by
PostgreSQL for each table and index, what its functions have read, too; on SQLite, the instructions
that it ran.
"""

import atexit
import json
import re
import sqlite3
from contextlib import closing
from functools import cache
from typing import Any, Final

import psycopg
import pytest

from fairlead.store.database.sqlite import as_json
from fairlead.store.database.statements import statements, statements_of
from fairlead.store.store import Store
from tests.store.large import LATER, fill
from tests.stores import lent, made_url, scratch

SIZE: Final = 20_000
LARGE: Final = 1_000_000
MOST_ROWS: Final = 1_000
"""So many rows of tables and entries of indexes may be read for one statement."""
MOST_BLOCKS: Final = 300
"""So many blocks of 8 kB."""
BLOCKS_OF_RAISES: Final = 500
"""So many more for who gives the groups that were raised their places, or counts them: twenty."""
BLOCKS_OF_ROW: Final = 10
"""So many more for each row of a page."""
MOST_STEPS: Final = 30_000
"""So many instructions of SQLite's."""
OF_EACH: Final = 25
"""What may read all, may read so many rows for each row of a table: all of it, and not again for
each."""
STEPS_OF_EACH: Final = 200
"""The same, in instructions of SQLite's."""
NOW: Final = LATER - 10**15

CHECKS: Final = [
    name
    for name in {*statements_of("admin", "postgresql"), *statements_of("admin", "sqlite")}
    if name.startswith(("find_", "mend_", "complete_", "acknowledge_")) or name == "lost_messages"
]
COUNTED = "an operator asks, and all there is of a queue is counted or searched"
SET = "an operator sets something anew, and all it concerns is written"
ALL_OF_ONE = "it reads what one cluster has, or one queue's tenants are"
IN_HANDS = "it reads what is in readers' hands: as much as there are readers"
ENDED = "once a minute, and it reads which ends of dialogs wait for the other one to end"
VIEWED: Final = "a program reads a view as a table"
READS_ALL: Final = {
    **dict.fromkeys(
        ("metrics", "by_tenant", "ready_count", "count_between", "count_of_tenant_between"), COUNTED
    ),
    **dict.fromkeys(("events_of_groups", "said_in", "decision_in_place"), COUNTED),
    **dict.fromkeys(("open_of_services", "costs_of", "sizes_of"), COUNTED),
    **dict.fromkeys(("mark_fair", "ready_tenants", "charges", "forgive", "count_length"), SET),
    **dict.fromkeys(("all_tenants", "drop_tenants", "unbind", "completions"), ALL_OF_ONE),
    **dict.fromkeys(
        ("lease_holders_of", "every_lease_holder", "held_groups", "held_with", "processes"),
        IN_HANDS,
    ),
    "forget_ended": ENDED,
    "schedules": COUNTED,
    **dict.fromkeys(("rows_waiting", "rows_dead_letters"), VIEWED),
    **dict.fromkeys(
        ("what_is_in", "what_stays", "who_needs", "schedules_to", "purge", "purge_delayed"), COUNTED
    ),
    **dict.fromkeys(("dead_of_reason", "dead_heads", "dead_counts", "what_goes"), COUNTED),
    "drop_queue": SET,
    **dict.fromkeys(CHECKS, "an operator checks the store, or mends it"),
}
"""Statements that may read more than a few rows, and why."""

OF_A_RUN: Final = {
    *("add_reserved", "decide_staged", "end_staging", "give_back_turns", "left_out_staged"),
    *("begin_staging", "rank_staged", "send_staged", "begin_holding", "hold_clusters"),
}
"""Statements about the messages that executors bring; they read all of one run."""

COMMON: Final[dict[str, Any]] = {
    "a1": 0,
    "a2": 0,
    "b1": 2,
    "b2": 20,
    "k1": 1,
    "k2": 1,
    "queue": 1,
    "queue_name": "q",
    "names": ["g1", "g2"],
    "name": "g1",
    "groups": ["g1", "g2"],
    "cluster": 1,
    "destination": 1,
    "guaranteed": 1,
    "shared": 0,
    "version": 1,
    "part": "[]",
    "stream": "pool",
    "sequence": 4,
    "after": 0,
    "until": 10**9,
    "cool_down": 10**7,
    "on_trial": 0,
    "before": 10,
    "since": 1,
    "first": 0,
    "last": 0,
    "over": False,
    "at": 1,
    "now": NOW,
    "time": NOW,
    "limit": LATER,
    "died": 1,
    "began": 1,
    "arrived": 1,
    "ids": [1, 2],
    "given": [3],
    "id": 10**12,
    "group_id": 1,
    "number": 4,
    "token": 4,
    "holder": 1,
    "how": 1,
    "holders": [1, 2],
    "taken": 1,
    "turn": 0,
    "deadline": NOW + 1,
    "lease": 10**6,
    "key": "m-1",
    "keys": ["m-1", "m-2"],
    "digests": ["x", "x"],
    "tenant": "",
    "besides": ["x"],
    "conversation": 2,
    "types": ["DialogTimer"],
    "dialog": 2,
    "dialogs": [2, 4],
    "side": 1,
    "handle": "h1",
    "service": "s1",
    "far_service": "s0",
    "contract": "c",
    "bound": 1,
    "kind": "sent",
    "reason": "broken",
    "attempt": 1,
    "priority": 1,
    "cost": 1,
    "type": "t",
    "detail": None,
    "said": None,
    "actor": "a",
    "address": None,
    "outcome": "routed",
    "group": "g1",
    "expires": None,
    "format": 1,
    "body": b"b",
    "due": None,
    "delay": 0,
    "failed": False,
    "failures": 0,
    "releases": 0,
    "not_before": None,
    "head": 1,
    "entered": 1,
    "discipline": "priority",
    "default_priority": 1,
    "step": 0,
    "weights": "{}",
    "fair": 0,
    "max_waiting": None,
    "max_failures": None,
    "max_seconds": None,
    "poison": "dead-letters",
    "retry": None,
    "count_as_failure": "[]",
    "keep_dead": None,
    "limits": None,
    "client": None,
    "off_tenants": None,
    "lane": "",
    "closed": ["1"],
    "wrong": LATER,
    "next": NOW,
    "looked": NOW,
    "failure": None,
    "paused": 1,
    "by_library": 0,
    "remembered": 10**12,
    "enabled": 0,
    "virtual_time": "",
    "backlogged": 0,
    "in_service": 0,
    "tag": "0",
    "placed": 0,
    "count": 2,
    "keep": None,
    "most": 10,
    "back": 10,
    "look": 100,
    "transaction": 5,
    "host": "far",
    "pid": 1,
    "allocation": "exact",
    "rule": "least-served",
    "reset_every": 0,
    "reset_due": None,
    "stamp": "s",
    "revision": 1,
    "state": 1,
    "definition": "{}",
    "choices": None,
    "loaded": "{}",
    "lifetime": None,
    "milliseconds": "1000",
    "partly": False,
    "fault": None,
    "code": None,
    "description": None,
    "cleanup": False,
    "related": None,
    "one": "h2",
    "other": "h6",
}
"""The values of parameters, by their names."""
NAMED_QUEUE: Final = {"queue": "q"}
NEW_MESSAGE: Final = {**NAMED_QUEUE, "key": "new"}
NOTHING_SETTLED: Final = {"plain": [], "tokens": [], "numbers": [], "ends": "[]"}
ONE_SETTLED: Final = {
    **dict.fromkeys(("keep", "moved", "redelivers"), False),
    "dead": None,
    "done": 0,
}
NAMED_CLUSTER: Final = {"cluster": "pool"}
POOL: Final = {"name": "pool"}
NEW: Final = {"ids": [10**12], "name": "new"}
ANY_EVENTS: Final = {
    **dict.fromkeys(("queue", "cluster", "group", "id", "actor", "kind", "start", "end")),
    "first": -(2**63),
    "until": 2**63 - 1,
}
CHANNEL: Final[dict[str, Any]] = {
    "direction": "out",
    "name": "c",
    "peer": "p",
    "channel": "c",
    "number": 1,
    "token": "t",
    "messages": 1,
    "wanted": "",
    "error": "",
    "since": 0,
    "formed": 0,
    "content": b"b",
}
"""Of statements about channels."""
OWN: Final[dict[str, dict[str, Any]]] = {
    "put_queue_manager": {"name": "QM1", "cluster": "c", "holder": 1},
    **dict.fromkeys(
        (
            *("add_batch", "add_channel", "channel_batches", "channel_locked", "count_batch"),
            *("drop_batch", "note_channel", "want_channel"),
        ),
        CHANNEL,
    ),
    **{key: {"queue": "q"} for key in ("rows_waiting", "rows_dead_letters")},
    "journal": {
        **ANY_EVENTS,
        "transaction": 10**12,
        "after": 10**12,
        "last_transaction": str(2**64 - 1),
        "last": 2**63 - 1,
    },
    "latest": ANY_EVENTS,
    "dead_heads": {"reason": None},
    "dead_body": {"start": 1},
    "count_events": {**ANY_EVENTS, "transaction": 0},
    "named_groups": {"beginning": "g1", "end": "g2", "behind": "g10"},
    "journal_before": {
        **ANY_EVENTS,
        "group": "no such",
        "transaction": str(2**64 - 1),
        "before": 2**63 - 1,
    },
    "look_before": {"transaction": str(2**64 - 1), "before": 2**63 - 1},
    **{name: {"name": "q"} for name in ("queue", "queue_locked")},
    "add_journal": {**NAMED_QUEUE, "id": None},
    **dict.fromkeys(("add_journal_taken", "add_journal_accepted"), NAMED_QUEUE),
    **dict.fromkeys(
        ("add_journal_sent", "said_in", "switched_off", "events_of_groups"), NAMED_QUEUE
    ),
    **dict.fromkeys(("cluster", "lock_cluster", "count_choice"), POOL),
    "lock_free_cluster": POOL,
    **dict.fromkeys(("decisions_about", "decision_in_place"), NAMED_CLUSTER),
    "events_of_cluster": {**NAMED_CLUSTER, "after": 1, "until": 10},
    "set_unwell": {"destination": "A"},
    "drop_unwell": {"destination": "A"},
    "add_event": {**NAMED_QUEUE, **NAMED_CLUSTER, "destination": "a", "id": None},
    "add_endpoint": {**NAMED_QUEUE, "handle": "new", "dialog": 10**12},
    "add_destination": {**NAMED_QUEUE, "id": 9},
    "add_guaranteed": {
        "id": -1,
        "at": 1,
        "delivery": "all",
        "copies": 1,
        "due": None,
        "said": "{}",
    },
    "add_acknowledgement": {"outcome": "acknowledged"},
    **dict.fromkeys(("add_group", "add_queue", "add_cluster", "add_lone"), NEW),
    **{name: {"state": "{}"} for name in ("add_choice_run", "set_cluster", "set_state")},
    "bind": {"destination": "a"},
    "put_schedule": NAMED_QUEUE,
    "drop_queue": {"queue": 10**12},
    "schedules_to": NAMED_QUEUE,
    "bury": {"ids": [10**12]},
    "add_journal_decided": {**NAMED_CLUSTER, "id": None, "run": 1},
    "begin_bulk_run": {"batch": 1},
    "end_bulk_run": {"messages": 1},
    "choose_one": NAMED_CLUSTER,
    "publish_one": {**NAMED_CLUSTER, "key": "new"},
    **dict.fromkeys(("send", "try_send", "send_many", "try_send_many"), NEW_MESSAGE),
    "take": {**NAMED_QUEUE, "group": None, "conversation": None, "groups": 1},
    "bring_up_to_date": NAMED_QUEUE,
    "switch_tenant": {**NAMED_QUEUE, "on": False, "tenant": "t7"},
    "add_delayed": {"due": LATER},
    "add_journal_accepted": {**NAMED_QUEUE, "first": 10**12},
    "lock_alive": {"key": 1},
    "say_alive": {"id": 1, "session": 1, "key": 1},
    "draw_ticket": {"cluster": 2},
    "set_clock": {"now": str(NOW)},
    **dict.fromkeys(("settle", "try_settle"), NOTHING_SETTLED),
    **dict.fromkeys(("settle_one", "try_settle_one"), ONE_SETTLED),
    "take_back": {"tokens": [4, 4], "blameless": [1], "failed": "lease"},
    "purge": {**NAMED_QUEUE, "group": "g7"},
    "unbind_from": {"destination": "a"},
    "try_say": {"handle": "h2"},
    "try_prioritise": NAMED_QUEUE,
    "try_end_dialog": {"handle": "h2"},
    "try_set_timer": {"handle": "h2"},
    "try_prioritise_dialog": {"handle": "h2"},
    "dialogs_of": {"before": 10**12},
    "dialogs": {"before": 10**12},
}
"""Those of some statements."""


CALLS: Final = {
    "send": "SELECT fairlead.send('q', 'body')",
    "send to a group": "SELECT fairlead.send('q', 'body', 'g7', 5, 'an id')",
    "send to a held group": "SELECT fairlead.send('q', 'body', 'h7', 5)",
    "send where max_waiting is set": "SELECT fairlead.send('m', 'body', 'g')",
    "send later": "SELECT fairlead.send('q', 'body', delay => '1 day')",
    "send for a tenant": "SELECT fairlead.send('f', 'body', 't7', tenant => 't7')",
    "prioritise": "SELECT fairlead.prioritise('q', 'g7', 5)",
    "prioritise a held group": "SELECT fairlead.prioritise('q', 'h1', 5)",
    "take": "SELECT fairlead.take('q')",
    "take several": "SELECT fairlead._take('q', NULL, 60000000, 1, 10, 'a', NULL, 10)",
    "take for a tenant": "SELECT fairlead.take('f')",
    "take within limits": "SELECT fairlead.take('m')",
    "take a group": "SELECT fairlead.take('q', 'g7')",
    "take a group, in other words": "SELECT fairlead.take('q', 'g7'::name)",
    "send, in other words": "SELECT fairlead.send('q', 'body', 'g7'::name, 5, 'an id'::name)",
    "prioritise, in other words": "SELECT fairlead.prioritise('q', 'g7'::name, 5)",
    "more": "SELECT fairlead.more(7, '{1,2}')",
    "settle": "SELECT fairlead.settle(7, given => ARRAY (SELECT m.id FROM fairlead.messages m "
    "WHERE m.group_id = (SELECT g.id FROM fairlead.groups g WHERE g.queue = 1 AND g.name = 'h7')))",
    "settle several": "SELECT fairlead._settle_all('{}', '{}', '{}', (SELECT jsonb_agg("
    "jsonb_build_object('id', g.id, 'token', g.token, 'kind', 'rejected', 'given', ARRAY ("
    "SELECT m.id FROM fairlead.messages m WHERE m.group_id = g.id))) "
    "FROM fairlead.groups g WHERE g.queue = 1 AND g.name IN ('h7', 'h8')), 'a')",
    "accept several": "SELECT fairlead._settle_all(array_agg(g.id), array_agg(g.token), "
    "ARRAY (SELECT m.id FROM fairlead.messages m JOIN fairlead.groups h ON h.id = m.group_id "
    "WHERE h.queue = 1 AND h.name IN ('h5', 'h6')), '[]', 'a') FROM fairlead.groups g "
    "WHERE g.queue = 1 AND g.name IN ('h5', 'h6')",
    "take back": "SELECT fairlead._take_back(array_agg(g.id), array_agg(g.token), 'why', 'error', "
    "'{}', 'a') FROM fairlead.groups g WHERE g.queue = 1 AND g.name IN ('h7', 'h8')",
    "next_destination": "SELECT fairlead.next_destination('pool')",
    "publish": "SELECT fairlead.publish('pool', 'body', id => 'one')",
    "begin_dialog": "SELECT fairlead.begin_dialog('s1', 's0', lifetime => '1 hour')",
    "begin a related dialog": "SELECT fairlead.begin_dialog('s1', 's0', \"group\" => 'g7')",
    "send_on": "SELECT fairlead.send_on('h2', 't', 'body')",
    "send_on, the first": "SELECT fairlead.send_on(fairlead.begin_dialog('s1', 's0'), 't', 'b')",
    "receive": "SELECT fairlead.receive('q', most => 10)",
    "receive of a group": "SELECT fairlead.receive('q', 'g7', most => 10)",
    "end_dialog": "SELECT fairlead.end_dialog('h2')",
    "end_dialog with an error": "SELECT fairlead.end_dialog('h2', 5, 'why')",
    "prioritise_dialog": "SELECT fairlead.prioritise_dialog('h2', 7)",
    "bind_dialogs": "SELECT fairlead.bind_dialogs('h2', 'h6')",
    "delayed_by": "SELECT fairlead.delayed_by('q', 'g7', 200)",
    "place_of the first groups": "SELECT fairlead.place_of('q', 'g7')",
    "place_of a held group": "SELECT fairlead.place_of('q', 'h7')",
    "bound_dialog": "SELECT fairlead.bound_dialog('h2')",
    "change": "SELECT fairlead.change('pool', 'a', 'enabled', 'false')",
    "reset": "SELECT fairlead.reset('pool')",
    "machines": "SELECT * FROM fairlead.machines WHERE cluster = 'pool'",
    "delayed_by_dialog": "SELECT fairlead.delayed_by_dialog('h2', 200)",
}
"""What plain SQL calls."""
VIEWS: Final = {
    "how a queue is set": "SELECT enabled, off_why FROM fairlead.queue_status WHERE queue = 'q'",
    "waiting": "SELECT * FROM fairlead.waiting WHERE queue = 'q' LIMIT 20",
    "held": "SELECT in_group, reader, until FROM fairlead.held WHERE queue = 'q'",
    "a group that is held": "SELECT in_group, token, reader, until FROM fairlead.held "
    "WHERE queue = 'q' AND in_group = 'h2'",
    "dead letters": "SELECT * FROM fairlead.dead_letters WHERE queue = 'q' LIMIT 20",
    "a dead letter": "SELECT * FROM fairlead.dead_letters WHERE queue = 'q' AND id = 'm-7'",
    "delayed": "SELECT * FROM fairlead.delayed_messages WHERE queue = 'q' LIMIT 20",
    "conversations": "SELECT * FROM fairlead.conversations LIMIT 20",
    "events": "SELECT * FROM fairlead.events WHERE position > 7 ORDER BY position LIMIT 20",
}
"""What is asked of views, for a page."""
READS_GROUPS: Final = {"sqlite": {"waiting"}, "postgresql": set[str]()}
"""Of these the documentation says that all groups are read."""
Filled = tuple[Any, str, int]
DIALECTS = ("sqlite", "postgresql")


@cache
def _filled(dialect: str, size: int) -> Filled:
    """Made once in a process: in whatever order tests run, each of them asks for one of few."""
    with lent.to_all():
        url = made_url(dialect)
    folder = scratch() / f"plans-{dialect}-{size}"
    folder.mkdir()
    with Store.open(url) as store:
        fill(store, folder, size)
    connection: Any
    if dialect == "sqlite":
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    else:
        connection = psycopg.connect(url, autocommit=True)
    atexit.register(connection.close)
    return connection, dialect, size


@pytest.fixture(
    params=[
        *((dialect, SIZE) for dialect in DIALECTS),
        *(pytest.param((dialect, LARGE), marks=pytest.mark.slow) for dialect in DIALECTS),
    ],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def filled(request: pytest.FixtureRequest) -> Filled:
    """A connection to a store in which all has grown, its dialect, and how much of each it has."""
    return _filled(*request.param)


@pytest.mark.parametrize("name", sorted({*statements("sqlite"), *statements("postgresql")}))
def test_a_statement_reads_few_rows(filled: Filled, name: str) -> None:
    connection, dialect, size = filled
    if not statements(dialect).get(name):
        pytest.skip(f"{dialect} has no such statement")
    if name in OF_A_RUN:
        pytest.skip("it reads the table of a run, which is there while that is brought")
    if statements(dialect)[name].startswith("LOCK TABLE"):
        pytest.skip("it reads nothing, and has no plan")
    text, values = statements(dialect)[name], {**COMMON, **OWN.get(name, {})}
    if name in {"settle_one", "try_settle_one"}:
        values["id"] = size + values["token"]  # as `large.sql` has it
    # Each row of a view has columns that are looked up for it.
    every = size * (2 if READS_ALL.get(name) == VIEWED else name in READS_ALL)
    if dialect == "sqlite":
        found = counted_by_sqlite(connection, text, values, every)
    else:
        blocks = MOST_BLOCKS + BLOCKS_OF_RAISES * (
            name in {"take", "bring_up_to_date", "switch_tenant"}
        )
        found = counted_by_postgresql(connection, text, values, every, blocks)
        # What it wrote and took back is not for the next one to read.
        if READS_ALL.get(name) == SET and size == LARGE:
            connection.execute("VACUUM fairlead.groups")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("call", CALLS)
def test_a_function_of_plain_sql_reads_few_rows(filled: Filled, call: str) -> None:
    connection, dialect, _ = filled
    if dialect == "sqlite":
        pytest.skip("sqlite has no functions")
    heed_raises = ("take", "receive", "delayed_by", "place_of")
    raises = BLOCKS_OF_RAISES if call.startswith(heed_raises) else 0
    found = counted_by_postgresql(connection, CALLS[call], {}, 0, MOST_BLOCKS + raises)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("asked", VIEWS)
def test_a_page_of_a_view_reads_few_rows(filled: Filled, asked: str) -> None:
    connection, dialect, size = filled
    text, every = VIEWS[asked], size * (asked in READS_GROUPS[dialect])
    if dialect == "sqlite":
        found = counted_by_sqlite(connection, text.replace("fairlead.", "fairlead_"), {}, every)
    else:
        page = re.search(r"LIMIT (\d+)", text)
        blocks = MOST_BLOCKS + BLOCKS_OF_ROW * int(page[1] if page else 0)
        found = counted_by_postgresql(connection, text, {}, every, blocks)
    assert not found, "\n".join(found)


def test_only_statements_that_there_are_may_read_all() -> None:
    assert set(READS_ALL) <= {*statements("sqlite"), *statements("postgresql")}


def counted_by_sqlite(connection: Any, text: str, values: dict[str, Any], every: int) -> list[str]:
    """What a statement does too much of, and how; `every`: so many rows of each it may read."""
    bound = {
        name: as_json(values[name]) if isinstance(values[name], list) else values[name]
        for name in re.findall(r"(?<!:):(\w+)", text)
    }
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 100
        return 0

    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.set_progress_handler(step, 100)
        connection.execute(text, bound).fetchall()
        connection.set_progress_handler(None, 0)
        plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", bound).fetchall()
    finally:
        connection.set_progress_handler(None, 0)
        connection.execute("ROLLBACK")
    return (
        [f"{steps} instructions", *(row[3] for row in plan)]
        if steps > MOST_STEPS + every * STEPS_OF_EACH
        else []
    )


READ = """
SELECT c.relname, pg_stat_get_xact_tuples_returned(c.oid),
       CASE c.relkind WHEN 'r' THEN pg_stat_get_xact_numscans(c.oid) ELSE 0 END
FROM pg_class c WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind IN ('r', 'i')
"""
KINDS = {int: "bigint", bool: "boolean", bytes: "bytea"}


def counted_by_postgresql(
    connection: psycopg.Connection[Any],
    text: str,
    values: dict[str, Any],
    every: int,
    most_blocks: int = MOST_BLOCKS,
) -> list[str]:
    """The same, with the values known to the planner and without."""
    arrays = set(re.findall(r"%\((\w+)(?:\.\w+)?\)s::\w+\[\]", text))
    given: list[Any] = []

    def numbered(found: re.Match[str]) -> str:
        part = found[1].partition(".")[2]
        value = 1 if part else values[found[1]]
        listed = (
            found[1].partition(".")[0] in arrays and "[]" in text[found.end() : found.end() + 12]
        )
        given.append([value] if listed and not isinstance(value, list) else value)
        return f"${len(given)}"

    prepared = re.sub(r"%\(([\w.]+)\)s", numbered, text)
    kinds = ", ".join(KINDS.get(type(value), "unknown") for value in given)
    found = []
    with closing(psycopg.ClientCursor(connection)) as cursor:
        for mode, times in (("force_custom_plan", 1), ("auto", 6)):
            cursor.execute("BEGIN")
            try:
                cursor.execute(f"SET LOCAL plan_cache_mode = {mode}".encode())
                cursor.execute(f"PREPARE p {f'({kinds})' * bool(given)} AS {prepared}".encode())
                run = f"EXECUTE p {'(' + ', '.join(['%s'] * len(given)) + ')' if given else ''}"
                for _ in range(times):  # after five times there may be a plan without the values
                    cursor.execute("SAVEPOINT once")
                    cursor.execute(run.encode(), given)
                    cursor.execute("ROLLBACK TO SAVEPOINT once")
                before = {name: row for name, *row in cursor.execute(READ).fetchall()}
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {run}".encode(), given)
                (((plan, *_),),) = cursor.fetchall()
                after = {name: row for name, *row in cursor.execute(READ).fetchall()}
            finally:
                cursor.execute("ROLLBACK")
                cursor.execute("DEALLOCATE ALL")  # it is there even after a rollback
            read = {name: rows - before[name][0] for name, (rows, _) in after.items()}
            blocks = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
            many = blocks > most_blocks and not every
            if many or sum(read.values()) > MOST_ROWS + every * OF_EACH:
                most = {name: rows for name, rows in read.items() if rows}
                found += [f"{mode}: {blocks} blocks, rows {most}", json.dumps(plan["Plan"])]
    return found
