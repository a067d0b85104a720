"""The views say of a store what the verbs of Python say of it, on both databases."""

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from fairlead import Cluster, Store
from tests.store.roles import SNIPPETS
from tests.stores import lent, made_url

Row = dict[str, Any]
Open = Callable[..., Store]
VIEWS: Final = (
    "queue_status",
    "waiting",
    "held",
    "dead_letters",
    "delayed_messages",
    "services",
    "conversations",
    "events",
)
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "store-views.md"
JSON: Final = ("weights", "contracts", "said", "retry", "count_as_failure", "off_tenants")


THIRD: Final = """
[[queue]]
name = "third"
count_as_failure = ["error"]
keep_dead = 1.5
[queue.retry]
base = 0.5
jitter = 0.25
"""


def plain(name: str, value: Any) -> Any:
    """A value as both databases have it: times in seconds, JSON as data."""
    if isinstance(value, datetime):
        return value.timestamp()
    if name in JSON and isinstance(value, str):
        return json.loads(value)
    return value


def asked(url: str, query: str) -> list[Row]:
    """What a query finds, in which tables are named as on PostgreSQL."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, row_factory=dict_row) as server:
            rows: list[Row] = server.execute(query.encode()).fetchall()
    else:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            file.row_factory = sqlite3.Row
            rows = [dict(row) for row in file.execute(query.replace("fairlead.", "fairlead_"))]
    return [{name: plain(name, value) for name, value in row.items()} for row in rows]


def of(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


class Clock:
    """A clock that a test sets."""

    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(url: str, opened: Open, clock: Clock) -> Store:
    return opened(url, clock=clock)


def busy(store: Store, clock: Clock) -> None:
    """A queue in which something of everything is: held, waiting, released, delayed, dead."""
    store.set_order("orders", "priority", ageing=2.5, default_priority=50)
    store.set_limits("orders", max_waiting=100, max_failures=3)
    for number in range(6):
        clock.now += 1
        store.send(
            "orders", {"n": number}, group=f"g{number % 4}", id=f"o-{number}", cost=number + 1
        )
    store.send("orders", b"\x00\xff", id="alone")
    store.send("orders", "later", group="g9", delay=60, priority=7, expires=600, id="later")
    store.prioritise("orders", "g3", 200)
    work = store.take("orders")
    assert work is not None
    next(work)
    work.reject("it is bad")
    work = store.take("orders")
    assert work is not None
    work.release(delay=30, error="the printer is out of paper")
    assert store.take("orders", lease=90) is not None
    store.send("other", 1)
    store.switch("other", on=False, reason="closed")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "third.toml"
        file.write_text(THIRD, "utf-8")
        store.declare(file)


def test_the_status_of_queues_is_what_queues_says(store: Store, url: str, clock: Clock) -> None:
    busy(store, clock)
    clock.now += 5
    found = asked(url, "SELECT * FROM fairlead.queue_status ORDER BY queue")
    assert len(found) == 3
    for row, metrics in zip(found, store.queues(), strict=True):
        since = row.pop("oldest_since")
        said = metrics._asdict()
        assert said.pop("oldest") == pytest.approx(0 if since is None else clock.now - since)
        since = row.pop("longest_held_since")
        held = said.pop("longest_held")
        assert held == pytest.approx(0 if since is None else clock.now - since)
        assert (held > 0) == (metrics.queue == "orders")
        said["off_why"] = said["off_why"] or None
        assert said.pop("limits") == [], "of those that hold the views tell"
        assert row == said


def test_held_is_what_working_says(store: Store, url: str, clock: Clock) -> None:
    busy(store, clock)
    (row,) = asked(url, "SELECT * FROM fairlead.held WHERE queue = 'orders'")
    (work,) = store.working("orders")
    assert of(row, "in_group", "tenant", "priority", "attempt", "token") == (
        *(work.group, work.tenant, work.priority, work.attempt, work.token),
    )
    assert of(row, "since", "until") == (clock.now, clock.now + 90)
    assert row["messages"] == len(list(work))
    (event,) = [each for each in store.journal() if each.token == work.token][:1]
    assert row["reader"] == event.actor


def test_dead_letters_are_what_dead_says(store: Store, url: str, clock: Clock) -> None:
    busy(store, clock)
    (row,) = asked(url, "SELECT * FROM fairlead.dead_letters WHERE queue = 'orders'")
    (dead,) = store.dead("orders")
    said = dead._asdict()
    assert json.loads(row.pop("body_text")) == said.pop("body")
    assert json.loads(row.pop("body")) == json.loads(json.dumps(dead.body))
    assert row.pop("queue") == "orders"
    row["group"] = row.pop("in_group")
    assert row == said


def test_delayed_messages_and_released_groups_are_what_later_says(
    store: Store, url: str, clock: Clock
) -> None:
    busy(store, clock)
    released, delayed = store.later("orders")
    (row,) = asked(url, "SELECT * FROM fairlead.delayed_messages WHERE queue = 'orders'")
    assert of(row, "due", "in_group", "id", "tenant", "priority") == (
        *(delayed.until, delayed.group, delayed.id, delayed.tenant, delayed.priority),
    )
    assert of(row, "expires", "body_text", "body") == (clock.now + 600, "later", b"later")
    (row,) = asked(url, "SELECT * FROM fairlead.waiting WHERE why = 'released'")
    assert of(row, "until", "in_group", "messages", "tenant", "priority", "place", "failures") == (
        *(released.until, released.group, released.messages, released.tenant),
        *(released.priority, None, 1),
    )


def test_what_a_queue_waits_with_that_is_off_is_said(store: Store, url: str, clock: Clock) -> None:
    busy(store, clock)
    (row,) = asked(url, "SELECT * FROM fairlead.waiting WHERE queue = 'other'")
    assert of(row, "place", "in_group", "id", "why", "until") == (
        *(1, None, "m-" + row["id"][2:], "switched-off", None),
    )


def test_a_raise_is_shown_until_the_next_take_gives_it_its_place(url: str, opened: Open) -> None:
    store = opened(url)
    for group in "abc":
        store.send("orders", 1, group=group)
    store.prioritise("orders", "c", 10)
    store.prioritise("orders", "c", 20)
    query = "SELECT in_group, priority, raised_to FROM fairlead.waiting ORDER BY place"
    before = [of(row, "in_group", "priority", "raised_to") for row in asked(url, query)]
    assert before == [("a", None, None), ("b", None, None), ("c", None, 20)]
    store.waiting("orders")
    after = [of(row, "in_group", "priority", "raised_to") for row in asked(url, query)]
    assert after == [("c", 20, None), ("a", None, None), ("b", None, None)]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "send", "send alone", "raise", "take", "release", "wait"]),
        st.integers(0, 5),
        st.integers(0, 255),
    ),
    max_size=25,
)
ORDERS: Final[list[Row]] = [
    {"discipline": "fifo"},
    {"discipline": "priority"},
    {"discipline": "priority", "ageing": 0.5},
    {"discipline": "priority", "weights": {"t0": 2, "t1": 1}},
]


@pytest.mark.costly
@pytest.mark.parametrize("order", ORDERS, ids=str)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_places_are_those_of_the_order_of_work(
    dialect: str, order: Row, steps: list[tuple[str, int, int]]
) -> None:
    url, clock = _url(dialect), Clock()
    with Store.open(url, clock=clock) as store:
        queue = f"q{len(store.queues())}"
        store.set_order(queue, **order)
        for verb, which, priority in steps:
            _do(store, clock, queue, bool(order.get("weights")), (verb, which, priority))
        outlook = store.waiting(queue, 1000)
        rows = asked(url, f"SELECT * FROM fairlead.waiting WHERE queue = '{queue}'")  # noqa: S608
    ready = [row for row in rows if row["place"] is not None]
    tenants = {row["tenant"] for row in ready}
    assert len(ready) == outlook.waiting == len(outlook.ranks)
    for tenant in tenants:
        mine = sorted(
            (row for row in ready if row["tenant"] == tenant), key=lambda row: row["place"]
        )
        assert [row["place"] for row in mine] == [*range(1, len(mine) + 1)]
        assert [of(row, "in_group", "messages", "priority") for row in mine] == [
            (each.group or None, each.items, each.priority)
            for each in outlook.ranks
            if each.tenant == tenant
        ]


@pytest.mark.costly
@pytest.mark.parametrize("order", ORDERS, ids=str)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, raises=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 255)), max_size=6))
def test_the_place_of_a_group_heeds_raises_at_once(
    order: Row, steps: list[tuple[str, int, int]], raises: list[tuple[int, int]]
) -> None:
    url, clock = _url("postgresql"), Clock()
    view = "SELECT in_group, place FROM fairlead.waiting WHERE in_group IS NOT NULL AND queue = "
    with Store.open(url, clock=clock) as store:
        queue = f"q{len(store.queues())}"
        store.set_order(queue, **order)
        for step in steps:
            _do(store, clock, queue, bool(order.get("weights")), step)
        store.waiting(queue)  # what is due is done
        for which, priority in raises:
            _do(store, clock, queue, bool(order.get("weights")), ("raise", which, priority))
        before = places_of(url, queue)
        store.waiting(queue)
        shown = {row["in_group"]: row["place"] for row in asked(url, f"{view}'{queue}'")}
    assert before == {name: place for name, place in shown.items() if place is not None}
    assert places_of(url, queue) == before


def places_of(url: str, queue: str) -> dict[str, int]:
    """The places of groups that can be taken, asked one by one."""
    query = (
        "SELECT g.name, p.place FROM fairlead.groups g CROSS JOIN LATERAL "  # noqa: S608 - of this test
        f"fairlead.place_of('{queue}', g.name) p "
        f"WHERE g.queue = (SELECT id FROM fairlead.queues WHERE name = '{queue}') "
        "AND p.place IS NOT NULL AND EXISTS (SELECT 1 FROM fairlead.messages m "
        "WHERE m.group_id = g.id)"
    )
    return {row["name"]: row["place"] for row in asked(url, query)}


@cache
def _url(dialect: str) -> str:
    """One database for all examples, each of which has a queue of its own."""
    with lent.to_all():
        return made_url(dialect)


def _do(store: Store, clock: Clock, queue: str, shared: bool, step: tuple[str, int, int]) -> None:
    verb, which, priority = step
    group = f"g{which}"
    tenant = f"t{which % 3}" if shared else ""
    if verb.startswith("send"):
        store.send(queue, which, group=group if verb == "send" else None, tenant=tenant)
    elif verb == "raise":
        store.prioritise(queue, group, priority)
    elif verb == "wait":
        clock.now += which
    elif (work := store.take(queue, lease=10**6)) and verb == "release":
        work.release(delay=which)


def test_events_are_those_of_the_journal(store: Store, url: str, clock: Clock) -> None:
    busy(store, clock)
    rows = asked(url, "SELECT * FROM fairlead.events ORDER BY position")
    events = [event.to_dict() for event in store.journal()]
    assert len(rows) == len(events) > 10
    for row, event in zip(rows, sorted(events, key=lambda event: event["position"]), strict=True):
        del event["cursor"]
        row["group"] = row.pop("in_group") or ""
        assert row["login"] == ("postgres" if url.startswith("postgres") else None)
        assert {**row, "login": row["login"] or ""} == event


def test_services_and_conversations_are_what_the_verbs_say(url: str, opened: Open) -> None:
    store = opened(url)
    store.declare(SNIPPETS / "dialogs.toml")
    dialogs = [store.begin_dialog("Client", "Shop", lifetime=3600) for _ in range(4)]
    for dialog in dialogs[1:]:
        dialog.send("Order", {"item": "lamp"})
    dialogs[2].timer(600)
    dialogs[3].end()
    work = store.take("shop")
    assert work is not None
    next(work)
    work.accept()
    rows = asked(url, "SELECT * FROM fairlead.services ORDER BY service")
    assert [of(row, "service", "queue", "contracts", "max_readers", "open") for row in rows] == [
        (
            each.service,
            each.queue,
            [contract.name for contract in each.contracts],
            each.max_readers,
            each.open,
        )
        for each in sorted(store.services(), key=lambda each: each.service)
    ]
    found = asked(url, "SELECT * FROM fairlead.conversations ORDER BY dialog, side")
    said = [
        {
            "dialog": each.dialog,
            "side": end.side,
            "service": end.service,
            "contract": each.contract,
            "state": end.state,
            "queue": end.queue,
            "in_group": end.group,
            "waiting": end.waiting,
            "sent": end.sent,
            "timer": end.timer,
        }
        for each in store.conversations()
        for end in (each.initiator, each.target)
        if end is not None
    ]
    assert len(said) == 7
    said.sort(key=lambda row: (row["dialog"], row["side"]))
    began = {each.dialog: each.began for each in store.conversations()}
    for row in found:
        assert row["far_service"] in {"Client", "Shop"} - {row["service"]}
        assert row["lifetime"] is not None
        assert row["side"] == "target" or row["began"] == began[row["dialog"]]
    left_out = {"far_service", "lifetime", "began"}
    assert [{name: row[name] for name in row.keys() - left_out} for row in found] == said


def listed(view: str) -> list[str]:
    """The columns of a view that the page lists."""
    text = PAGE.read_text("utf-8")
    text = text[text.index(f"## `{view}`") :].split("\n#", 1)[0]
    cells = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


@pytest.mark.parametrize("view", VIEWS)
def test_its_columns_are_those_that_are_listed(url: str, view: str) -> None:
    with (
        psycopg.connect(url)
        if url.startswith("postgresql")
        else closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection
    ):
        name = f"fairlead{'.' if url.startswith('postgresql') else '_'}{view}"
        cursor = connection.execute(f"SELECT * FROM {name}")  # type: ignore[arg-type]  # noqa: S608
        assert [column[0] for column in cursor.description or ()] == listed(view)


def test_machines_are_what_the_verb_says(store: Store, url: str) -> None:
    """Those that were added and removed again, and a rule that only the library knows, too."""
    store.load_clusters(SNIPPETS / "bangkok.toml")
    pending = [{"name": "DEV1"}, {"name": "DEV2", "queue": "second"}]
    store.keep_clusters([Cluster.of("fewest-pending", name="pending", destination=pending)])
    for _ in range(30):
        store.next_destination("Bangkok")
        store.publish("pending", "o")
    store.add_destination("Bangkok", {"name": "DEV4", "weight": 50})
    store.remove_destination("Bangkok", "DEV2")
    store.change("Bangkok", "DEV3", "enabled", False)
    for _ in range(7):
        store.next_destination("Bangkok")
    every = asked(url, "SELECT * FROM fairlead.machines ORDER BY name")
    for name in ("Bangkok", "pending"):
        rows = [row for row in every if row["cluster"] == name]
        machines = sorted(store.pool(name).machines, key=lambda each: each.name)
        assert len(rows) == len(machines)
        for row, machine in zip(rows, machines, strict=True):
            assert (row["name"], row["address"], row["sent"]) == machine[:3]
            assert row["share"] == pytest.approx(machine.share)
            for key, value in machine.attributes.items():
                if key in row:
                    assert row[key] == (None if value == "" else value), key


def test_the_views_say_why_it_waits(store: Store, url: str) -> None:
    store.send("q", 1, group="g", tenant="x")
    store.send("q", 1, group="h", tenant="y")
    store.switch("q", on=False, tenant="x")
    rows = asked(url, "SELECT in_group, why FROM fairlead.waiting ORDER BY in_group")
    assert [[*row.values()] for row in rows] == [["g", "switched-off"], ["h", "ready"]]
    (status,) = asked(url, "SELECT enabled, off_since, off_tenants FROM fairlead.queue_status")
    assert [*status.values()] == [1, None, ["x"]]
    if url.startswith("postgresql"):
        asks = "SELECT why FROM fairlead.place_of('q', 'g')"
        assert [row["why"] for row in asked(url, asks)] == ["switched-off"]


def test_plain_sql_says_that_a_limit_keeps_a_group_back(tmp_path: Path) -> None:
    url = made_url("postgresql")
    file = tmp_path / "queues.toml"
    file.write_text(
        '[[queue]]\nname = "q"\n[[queue.limit]]\nof = "group"\nmatch = "a*"\nin_work = 1\n',
        encoding="utf-8",
    )
    with Store.open(url) as store:
        store.declare(file)
        for group in ("a1", "a2", "b"):
            store.send("q", 1, group=group)

        def why() -> list[object]:
            asks = "SELECT g, (fairlead.place_of('q', g)).why FROM unnest(ARRAY['a1', 'a2', 'b']) g"
            return [row["why"] for row in asked(url, asks)]

        assert why() == ["ready"] * 3
        work = store.take("q")
        assert work is not None
        assert why() == ["working", "limited", "ready"]
        list(work)
        work.accept()
        assert why() == ["ready", "ready"]  # of the first nothing is left
