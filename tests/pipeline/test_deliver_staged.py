"""Many processes bring the messages of a run, and the store publishes them as if one by one."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from random import Random
from typing import Any

import pytest
from psycopg import DatabaseError
from pyspark.sql import SparkSession
from tests.pipeline.test_deliver import frame, published, some_rows
from tests.sockets.waiting import until
from tests.store.roles import store_with_roles
from tests.store.test_publish_many import cluster_rows, events, work_some
from tests.stores import Clock, made_url

from fairlead import Balancer, Cluster, Store, deliver
from fairlead.errors import (
    DeliveredError,
    MessageError,
    NoDestinationError,
    QueueFullError,
    StoreError,
)
from fairlead.runs import staged_delivery
from fairlead.store.clusters.staging import Brought, StagedCount
from fairlead.store.database.postgresql import PostgreSQL

CLUSTERS = [
    Cluster.of(
        "msmq",
        name="pool",
        destination=[{"name": "A", "weight": 3}, {"name": "B", "weight": 2, "queue": "of-b"}],
    ),
    Cluster.of("round-robin", name="ring", destination=[{"name": name} for name in "CDE"]),
    Cluster.of("hot-standby", name="first", destination=[{"name": "F"}, {"name": "A"}]),
]
Opened = Callable[..., Store]


@pytest.fixture
def opened() -> Iterator[Opened]:
    with ExitStack() as stack:

        def open_store(url: str = "", clock: Clock | None = None) -> Store:
            store = stack.enter_context(Store.open(url or made_url("postgresql"), clock=clock))
            store.keep_clusters(CLUSTERS)
            return store

        yield open_store


def rows_for(random: Random, n: int) -> list[dict[str, Any]]:
    rows = some_rows(random, n)
    for row in rows:
        row["cluster"] = random.choice(CLUSTERS).name
        if random.random() < 0.05:
            row["type"] = "SetPriority"
    return rows


def in_pool(n: int) -> list[dict[str, Any]]:
    return [{"id": f"m{k:03}", "time": float(k), "cluster": "pool", "body": b""} for k in range(n)]


def sent_and_decided(store: Store) -> dict[str, Any]:
    """The events of each queue, and the decisions of each cluster, in their order."""
    found = events(store)
    decided = found.pop("decided ", [])
    for row in decided:
        found.setdefault(f"decided {row[10]}", []).append(row)
    return {
        kind: rows
        for kind, rows in found.items()
        if kind.startswith(("decided", "sent", "arrived", "joined"))
    }


def staged_tables(store: Store) -> int:
    with store._connection() as database:
        ((n,),) = database.execute(
            "SELECT count(*) FROM pg_class "
            "WHERE relkind = 'r' AND relname ~ '^(staged|ranked|chosen)_'"
        ).fetchall()
    return int(n)


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(3))
def test_it_is_as_many_calls_of_publish(seed: int, spark: SparkSession, opened: Opened) -> None:
    random = Random(seed)  # noqa: S311
    clock = Clock()
    stores = [opened(clock=clock) for _ in range(2)]
    rows = rows_for(random, 400)
    first, second = rows[:230], [*rows[230:], {**rows[3]}, {**rows[80], "id": "after"}]
    for store in stores:
        store.publish("ring", "before", group="g3")
        store.change("ring", "D", "enabled", value=False)
    for number, part in enumerate((first, second)):
        random.shuffle(part)
        published(stores[0], part)
        table = frame(spark, part).repartition(5)
        found = deliver(table, stores[1], run=f"night {number}")
        assert found.published + found.control == len(part) - number
        assert found.examples == ([("m0003", "known")] if number else [])
        assert cluster_rows(stores[0]) == cluster_rows(stores[1])
        clock.now += 1
        assert work_some(stores[0], 2) == work_some(stores[1], 2)
        for store in stores:
            store.change("pool", "A", "weight", 1)
            store.publish("pool", "between", id=f"between {number}")
    assert sent_and_decided(stores[0]) == sent_and_decided(stores[1])
    clock.now += 10
    assert work_some(stores[0], 1000) == work_some(stores[1], 1000)
    assert stores[1].check() == []
    assert staged_tables(stores[1]) == 0
    run_of = {row["id"]: "night 1" for row in second} | {row["id"]: "night 0" for row in first}
    for event in stores[1].journal():
        if event.kind == "decided" and event.outcome != "control":
            again = stores[1].decision(event.position)
            assert (again.destination, again.sequence) == (event.destination, event.sequence)
            assert again.run == run_of.get(event.id, "")
            notes = [note for note in again.explain().notes if note.startswith("it came in bulk")]
            assert bool(notes) == (event.id in run_of)


def test_live_callers_go_on_behind_what_was_reserved(
    spark: SparkSession, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    monkeypatch.setattr("fairlead.store.clusters.reserving.STRIDE", 50)
    rows = [
        {"id": f"m{k:03}", "time": float(k), "cluster": "pool", "body": b""} for k in range(120)
    ]
    plain = staged_delivery._publish_all

    def beside(*args: Any) -> Any:
        live.append(store.publish("pool", "live", id="live").sequence)
        store.change("pool", "B", "enabled", value=False)
        store.publish("pool", b"", id="m007")  # one of the run's own
        live.append(store.publish("pool", "live").sequence)
        return plain(*args)

    live: list[int | None] = []
    monkeypatch.setattr(staged_delivery, "_publish_all", beside)
    found = deliver(frame(spark, rows), store, run="night")
    assert live == [120, 122]
    assert (found.published, found.left_out) == (119, {"known": 1})
    assert found.destinations == {"pool": {"A": 71, "B": 48}}
    expected = [store.decision_about("pool", f"m{k:03}").destination for k in range(20, 25)]
    assert sorted(map(str, expected)) == ["A", "A", "A", "B", "B"]
    assert store.check() == []


@pytest.mark.slow
def test_what_is_refused_gives_its_turns_back(
    spark: SparkSession, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    before = cluster_rows(store)
    rows = in_pool(70)
    table = frame(spark, rows)
    store.set_limits("A", max_waiting=3)
    with pytest.raises(QueueFullError, match=r"^queue 'A': found more than 3 messages, with "):
        deliver(table, store, run="night")
    store.set_limits("A", max_waiting=None)
    store.send("A", "x", group="g", tenant="t1")
    theirs = [{**row, "group": "g", "tenant": "t2"} for row in rows]
    with pytest.raises(MessageError, match="tenant of group 'g': found 't2', allowed: 't1'"):
        deliver(frame(spark, theirs), store, run="night")
    bad = [{"id": "x", "time": 9.0, "cluster": "pool", "group": "a\nb", "body": b""}]
    with pytest.raises(MessageError, match=r"^message 'x': group: found 'a\\nb', allowed"):
        deliver(frame(spark, bad), store, run="night")

    def killed(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(staged_delivery, "_publish_all", killed)
        with pytest.raises(KeyboardInterrupt):
            deliver(table, store, run="night")
    assert cluster_rows(store) == before
    assert staged_tables(store) == 0
    assert store.bulk_run("night") is None
    assert deliver(table, store, run="night").published == 70
    with pytest.raises(DeliveredError):
        deliver(table, store, run="night")
    with pytest.raises(MessageError, match="found 'm003', which another message had before"):
        deliver(frame(spark, [{**rows[3], "body": b"other"}]), store, run="other")
    twice = [{"id": "m1", "time": 1.0, "cluster": "ring", "body": b""}] * 2
    with pytest.raises(MessageError, match="id: found 'm1' twice, allowed: an id of its own"):
        deliver(frame(spark, twice), store, run="other", trust_ids=True)


def test_nobody_is_an_outcome_and_nothing_is_counted(spark: SparkSession, opened: Opened) -> None:
    store = opened()
    for name in "CDE":
        store.change("ring", name, "enabled", value=False)
    rows = [
        {"id": f"m{k}", "time": float(k), "cluster": "ring" if k % 2 else "pool", "body": b""}
        for k in range(6)
    ]
    found = deliver(frame(spark, rows), store, run="night")
    assert (found.published, found.left_out) == (3, {"no-destination": 3})
    assert found.examples == [(f"m{k}", "no-destination") for k in (1, 3, 5)]
    assert store.pool("ring").choices == 0
    store.change("ring", "D", "enabled", value=True)
    found = deliver(frame(spark, rows), store, run="again")
    assert found.destinations == {"pool": {}, "ring": {"D": 3}}
    store.change("ring", "D", "enabled", value=False)
    with pytest.raises(NoDestinationError):
        store.publish("ring", b"")


KILLED = """
import os, sys
from fairlead import Store
store = Store.open(sys.argv[1])
with store.staged_run("night") as run, store._connection() as database:
    database.execute(f"INSERT INTO {run.table} (attempt, cluster, key, id, tenant, cost, delay, "
        "format, body) VALUES ('a', 'pool', 1, 'm', '', 1, 0, 0, '')")
    print(run.number, flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_is_swept(spark: SparkSession, opened: Opened) -> None:
    url = made_url("postgresql")
    store = opened(url)
    table = frame(spark, [{"id": "m", "time": 1.0, "cluster": "pool", "body": b""}])
    command = [sys.executable, "-c", KILLED, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"1"
        with pytest.raises(MessageError, match="found that another process is bringing it"):
            deliver(table, store, run="night")
        process.kill()
    assert staged_tables(store) == 1
    until(lambda: [each.example for each in store.check()] == ["night"])  # the server hears of it
    store.check(repair=True)
    assert staged_tables(store) == 0
    assert store.check() == []
    assert deliver(table, store, run="night").published == 1


def test_a_login_without_the_right_is_told_which(spark: SparkSession) -> None:
    url_of = store_with_roles()
    with Store.open(url_of("owner")) as owner:
        owner.keep_clusters(CLUSTERS)
    table = frame(spark, [{"id": "m", "time": 1.0, "cluster": "pool", "body": b""}])
    with pytest.raises(StoreError, match="it takes the role fairlead_chooser"):
        deliver(table, url_of("sender"), run="night")
    assert deliver(table, url_of("chooser"), run="night").published == 1
    plan = table._jdf.queryExecution().toString()
    assert url_of("chooser") not in plan


def test_what_a_restart_of_the_server_took_is_missed(
    spark: SparkSession, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table without a log is empty after a crash of the server."""
    store = opened()
    table = frame(spark, in_pool(20))
    plain = staged_delivery._publish_all

    def crashed(*args: Any) -> Any:
        with store._connection() as database:
            database.execute(f"TRUNCATE fairlead.ranked_{args[2]}, fairlead.staged_{args[2]}")
        return plain(*args)

    monkeypatch.setattr(staged_delivery, "_publish_all", crashed)
    with pytest.raises(StoreError, match=r"found 0 rows of 20.*; nothing of run 'night' has"):
        deliver(table, store, run="night")
    assert store.pool("pool").choices == 0
    assert store.queues() == []


@pytest.mark.costly
@pytest.mark.parametrize("staged", [True, False])
def test_a_connection_that_breaks_at_the_commit(
    staged: bool, spark: SparkSession, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    table = frame(spark, in_pool(20))
    monkeypatch.setattr(Store, "can_reserve", lambda *_: staged)
    commit = PostgreSQL.commit
    broken: list[str] = []

    def breaks(database: PostgreSQL) -> None:
        ours = database.execute("SELECT 1 FROM fairlead.bulk_runs WHERE name = 'night'").fetchall()
        if ours and not broken:
            broken.append(moment)
            if moment == "after":
                commit(database)
            database.connection.close()
            raise StoreError("the connection is lost")
        commit(database)

    monkeypatch.setattr(PostgreSQL, "commit", breaks)
    moment = "before"
    with pytest.raises(StoreError, match=r"^the connection is lost; nothing of run 'night' has"):
        deliver(table, store, run="night")
    assert store.pool("pool").choices == 0
    moment = "after"
    broken.clear()
    assert deliver(table, store, run="night").published == 20
    assert broken == ["after"]
    assert sum(each.messages for each in store.queues()) == 20
    assert store.check() == []


@pytest.mark.parametrize(
    "call",
    [
        "_run_begin_staging(NULL)",
        "_run_begin_staging(E'a\\nb')",
        "_run_begin_bulk_run('a', -1, 0, '')",
        "_run_rank_staged(NULL, NULL, NULL)",
        "_run_rank_staged(9223372036854775807, '{}', '{}')",
        "_run_decide_staged(1, 'pool', 0, NULL, NULL, NULL, NULL)",
        "_run_decide_staged(1, 'pool', 1, 0, 0, '{99}', 'x')",
        "_run_decide_staged(1, 'nobody', 1, 0, 0, '{1}', 'x')",
        "_run_end_staging(0)",
        "_run_give_back_turns(-1)",
    ],
)
def test_what_no_run_asks_for_is_refused(call: str, opened: Opened) -> None:
    store = opened()
    with store.staged_run("night") as run, store._connection() as database:
        database.execute(
            f"INSERT INTO {run.table} (attempt, cluster, key, id, tenant, cost, delay, format, "  # noqa: S608
            "body) VALUES ('a', 'pool', 1, 'm', '', 1, 0, 0, '')"
        )
        assert run.rank([Brought("a", 1)]) == [StagedCount("pool", 1, 0, 0)]
        with pytest.raises(DatabaseError, match=r"found .*allowed: "):
            database.execute(f"SELECT * FROM fairlead.{call.replace('(1,', f'({run.number},')}")  # noqa: S608


def test_two_runs_at_once_have_turns_of_their_own(spark: SparkSession, opened: Opened) -> None:
    url = made_url("postgresql")
    opened(url)
    tables = [
        frame(
            spark,
            [
                {"id": f"{run}{k}", "time": float(k), "cluster": "pool", "body": b""}
                for k in range(100)
            ],
        )
        for run in "ab"
    ]
    wrong: list[BaseException] = []

    def bring(place: int) -> None:
        try:
            deliver(tables[place], url, run=f"run {place}")
        except BaseException as error:  # noqa: BLE001 - the test shows it
            wrong.append(error)

    threads = [threading.Thread(target=bring, args=[place]) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with Store.open(url) as store:
        turns = [event.sequence for event in store.journal() if event.kind == "decided"]
        assert sorted(turns) == list(range(200))
        assert store.pool("pool").choices == 200
        assert store.check() == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("dialect", ["postgresql", "sqlite"])
def test_a_million_messages_go_where_the_live_balancer_sends_them(
    dialect: str, spark: SparkSession
) -> None:
    many = 1_000_000
    table = spark.range(many).selectExpr(
        "concat('m', id) AS id", "id AS time", "concat('g', id % 5000) AS `group`", "'x' AS body"
    )
    balancer = Balancer(CLUSTERS[0])
    with Store.open(made_url(dialect)) as store:
        store.keep_clusters([CLUSTERS[0]])
        found = deliver(table.repartition(6), store, run="million")
        assert (found.published, found.left_out) == (many, {})
        decided = (event for event in store.journal() if event.kind == "decided")
        for place, event in enumerate(decided):
            assert (event.id, event.sequence) == (f"m{place}", place)
            assert event.destination == balancer.choose().destination
        assert place == many - 1
        assert sum(each.messages for each in store.queues()) == many
        assert store.publish("pool", "next").destination == balancer.choose().destination
