"""What is delivered to a store is as if each message of the table had been published."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.store.test_publish_many import cluster_rows, events, work_some
from tests.stores import Clock, made_url

from fairlead import Cluster, Store, deliver
from fairlead.errors import (
    ConfigError,
    DeliveredError,
    MessageError,
    NoDestinationError,
    QueueFullError,
    StoreError,
)
from fairlead.runs import store_delivery

SCHEMA = (
    "id string, time double, cluster string, `group` string, tenant string, priority string, "
    "cost int, type string, delay double, expires string, queue string, size double, body binary"
)
CLUSTERS = [
    Cluster.of(
        "msmq",
        name="pool",
        destination=[{"name": "A", "weight": 3}, {"name": "B", "weight": 2, "queue": "of-b"}],
    ),
    Cluster.of("fewest-pending", name="busy", destination=[{"name": "C"}, {"name": "D"}]),
    Cluster.of("broadcast", name="all", destination=[{"name": "E"}, {"name": "F"}]),
    Cluster.of(
        "round-robin",
        name="groups",
        options={"affinity": "group"},
        destination=[{"name": "G"}, {"name": "H"}],
    ),
]
SHARED = [
    CLUSTERS[0],
    Cluster.of("fewest-pending", name="busy", destination=[{"name": "A"}, {"name": "D"}]),
    *CLUSTERS[2:],
]
"""Two of them have one queue."""
KEYS = ("group", "tenant", "priority", "cost", "type", "delay", "expires")


def some_rows(random: Random, n: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"m{place:04}",
            "time": float(place // 3),
            "cluster": random.choice(CLUSTERS).name,
            "group": (group := random.choice(["", None, "g1", "g2", "g3"])),
            "tenant": {"g1": "t1", "g2": "t2"}.get(group or ""),
            "priority": random.choice([None, "", "0", "7", "255"]),
            "cost": random.choice([None, 1, 5]),
            "type": random.choice([None, "", "order"]),
            "delay": random.choice([None, 0.0, 3.5]),
            "expires": random.choice([None, "", "60"]),
            "queue": "read by nobody",
            "size": 1.5,
            "body": random.choice([b"", b"\x00\xff", b"text"]),
        }
        for place in range(n)
    ]


def frame(spark: SparkSession, rows: list[dict[str, Any]], schema: str = SCHEMA) -> DataFrame:
    names = [field.split()[0].strip("`") for field in schema.split(", ")]
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema)


def published(store: Store, rows: list[dict[str, Any]]) -> None:
    """Publish rows one by one."""
    for row in sorted(rows, key=lambda each: (each["time"], each["id"])):
        more = {key: row[key] for key in KEYS if row.get(key) not in (None, "")}
        for key, kind in (("priority", int), ("expires", float)):
            if key in more:
                more[key] = kind(more[key])
        try:
            store.publish(row["cluster"], row["body"], id=row["id"], **more)
        except NoDestinationError:
            continue


@pytest.fixture
def opened() -> Iterator[Callable[..., Store]]:
    with ExitStack() as stack:

        def open_store(
            dialect: str, clock: Clock | None = None, clusters: Sequence[Cluster] = CLUSTERS
        ) -> Store:
            store = stack.enter_context(Store.open(made_url(dialect), clock=clock))
            store.keep_clusters(clusters)
            return store

        yield open_store


Opened = Callable[..., Store]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("dialect", "clusters"),
    [("sqlite", CLUSTERS), ("postgresql", CLUSTERS), ("sqlite", SHARED)],
    ids=["sqlite", "postgresql", "queues of two clusters"],
)
def test_it_is_as_many_calls_of_publish(
    dialect: str,
    clusters: list[Cluster],
    spark: SparkSession,
    opened: Opened,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_delivery, "STEP", 17)
    clock = Clock()
    stores = [opened(dialect, clock, clusters) for _ in range(2)]
    random = Random(dialect)  # noqa: S311
    rows = some_rows(random, 150)
    first, second = rows[:70], [*rows[70:], {**rows[3]}, {**rows[80], "id": "after"}]
    for store in stores:
        store.publish("groups", "before", group="g3")
        store.change("all", "E", "enabled", value=False)
    for number, part in enumerate((first, second)):
        random.shuffle(part)
        published(stores[0], part)
        found = deliver(frame(spark, part), stores[1], run="night", batch=number)
        assert found.read == len(part)
        assert found.published == len(part) - number
        assert found.left_out == ({"known": 1} if number else {})
        assert found.examples == ([("m0003", "known")] if number else [])
        clock.now += 1
        assert work_some(stores[0], 2) == work_some(stores[1], 2)
        assert cluster_rows(stores[0]) == cluster_rows(stores[1])
        for store in stores:
            store.change("pool", "A", "weight", 1)
    clock.now += 10
    assert work_some(stores[0], 1000) == work_some(stores[1], 1000)
    for kind in ("decided", "sent of-b", "sent E", "sent F"):
        assert events(stores[0]).get(kind) == events(stores[1]).get(kind)
    assert stores[1].check() == []
    run = stores[1].bulk_run("night")
    assert run is not None
    assert (run.batch, run.messages) == (1, 150 + 1)


@pytest.mark.costly
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_all_or_nothing_and_once(dialect: str, spark: SparkSession, opened: Opened) -> None:
    store = opened(dialect)
    table = frame(spark, some_rows(Random(1), 40))  # noqa: S311
    store.set_limits("A", max_waiting=1)
    with pytest.raises(QueueFullError, match=r"^queue 'A': found more than 1 messages"):
        deliver(table, store, run="one")
    odd = frame(spark, [*some_rows(Random(1), 40), {"id": "x", "time": 9.0, "cluster": "poool"}])  # noqa: S311
    with pytest.raises(MessageError, match="message 'x': cluster: found 'poool', allowed: all, b"):
        deliver(odd, store, run="one")
    bad = [{"id": "x", "time": 9.0, "cluster": "pool", "group": "a\nb"}]
    with pytest.raises(MessageError, match=r"^message 'x': group: found 'a\\nb', allowed"):
        deliver(frame(spark, bad), store, run="one")
    assert store.bulk_run("one") is None
    assert [each.messages for each in store.queues()] == [0]
    store.set_limits("A", max_waiting=None)
    assert deliver(table, store, run="one").published == 40
    with pytest.raises(DeliveredError, match="with 40 messages"):
        deliver(table, store, run="one")
    again = deliver(table, store, run="two")
    assert (again.published, again.left_out) == (0, {"known": 40})
    assert json.loads(json.dumps(again.to_dict()))["left_out"] == {"known": 40}


def test_a_row_that_is_no_message_is_counted_and_nobody_is_an_outcome(
    spark: SparkSession, opened: Opened
) -> None:
    store = opened("sqlite")
    for name in ("C", "D"):
        store.change("busy", name, "enabled", value=False)
    rows = [
        {"id": "a", "time": 1.0, "cluster": "pool", "priority": "256", "body": b""},
        {"id": "b", "time": 1.0, "cluster": "pool", "cost": 0, "body": b""},
        {"id": "c", "time": 1.0, "cluster": "pool", "expires": "soon", "body": b""},
        {"id": "", "time": 1.0, "cluster": "pool", "body": b""},
        {"id": "d", "time": 1.0, "cluster": "busy", "body": b""},
        {"id": "e", "time": 1.0, "cluster": "pool", "body": None},
        {"id": "e", "time": 2.0, "cluster": "pool", "body": None},
        {"id": "f", "time": 2.0, "cluster": "pool", "type": "SetPriority", "body": b""},
    ]
    found = deliver(frame(spark, rows), store, run="odd")
    assert (found.read, found.rejected, found.published, found.control) == (8, 5, 1, 1)
    assert found.left_out == {"no-destination": 1}
    assert found.destinations == {"busy": {}, "pool": {"A": 1}}
    assert store.pool("busy").choices == 0
    assert deliver(frame(spark, rows[4:5]), store, run="odd again").left_out


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("size", {"size": 1.5}),
        (["size", "tenant"], {"size": 1.5, "tenant": None}),
        ("tenant", ""),
        ("id", "m0000"),
    ],
)
def test_the_body_is_a_column_or_json_of_several(
    body: Any, expected: Any, spark: SparkSession, opened: Opened
) -> None:
    store = opened("sqlite")
    row = {**some_rows(Random(1), 1)[0], "cluster": "pool", "tenant": None, "delay": None}  # noqa: S311
    deliver(frame(spark, [row]), store, run="body", body=body)
    work = store.take("A")
    assert work is not None
    with work:
        assert [message.body for message in work] == [expected]


def test_what_is_wrong_is_said_before_work_is_done(spark: SparkSession, opened: Opened) -> None:
    store = opened("sqlite")
    table = frame(spark, some_rows(Random(1), 3))  # noqa: S311
    with pytest.raises(MessageError, match="body: found no column 'payload', allowed: one or sev"):
        deliver(table, store, run="x", body="payload")
    with pytest.raises(MessageError, match="body: found no column, allowed: one, or several"):
        deliver(table, store, run="x", body=[])
    other = Cluster.of("msmq", name="pool", destination=[{"name": "A", "weight": 4}])
    with pytest.raises(ConfigError, match=r"^cluster 'pool': found another destination than in "):
        deliver(table, store, other, run="x")
    with pytest.raises(ConfigError, match=r"^cluster 'none': found none in .*, allowed: all, bu"):
        deliver(
            table, store, Cluster.of("broadcast", name="none", destination=[{"name": "A"}]), run="x"
        )
    with pytest.raises(StoreError, match="found no file, allowed: one that is there"):
        deliver(table, "sqlite:////tmp/none/there.db", run="x")
    with pytest.raises(MessageError, match="run: found '', allowed: a name"):
        deliver(table, store, run="")
    with Store.open(made_url("sqlite")) as empty, pytest.raises(ConfigError, match="no cluster"):
        deliver(table, empty, run="x")
    assert store.queues() == []
