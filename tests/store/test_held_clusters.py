"""A run that keeps clusters from everybody else: whoever would choose there is told its name."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from fairlead import Change, Cluster, Store
from fairlead.errors import ClusterHeldError, MessageError, StoreError
from fairlead.runs.store_delivery import DeliveredRun, TableRow, deliver_rows, refuse_others
from fairlead.store.database import sqlite
from fairlead.store.database.run_file import PublishingRun, RunFile
from tests.sockets.waiting import until
from tests.stores import made_url

BOTH = pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
CLUSTERS = [
    Cluster.of("fewest-pending", name="busy", destination=[{"name": "A"}, {"name": "B"}]),
    Cluster.of("round-robin", name="pool", destination=[{"name": "C"}, {"name": "D"}]),
    Cluster.of("round-robin", name="free", destination=[{"name": "E"}]),
    Cluster.of(
        "round-robin", name="drawn", store={"allocation": "ticket"}, destination=[{"name": "F"}]
    ),
]
HELD = ["busy", "pool"]
NAMED = r"bulk run 'night' is publishing since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"
REFUSED = rf"cluster '(busy|pool)': found that {NAMED}, allowed: again when it has ended$"
PATIENCE = 60.0


def url_of(dialect: str) -> str:
    url = made_url(dialect)
    with Store.open(url, create=True) as store:
        store.keep_clusters(CLUSTERS[: 4 if dialect == "postgresql" else 3])
    return url


def opened(url: str) -> Store:
    """Where nobody waits for long."""
    if url.startswith("sqlite"):
        return Store.open(url)
    return Store.open(url + ("&" if "?" in url else "?") + "options=-c%20lock_timeout%3D700ms")


@contextmanager
def publishing(url: str, others: str, clusters: list[str] = HELD) -> Iterator[threading.Event]:
    """A run that has published one of its messages, and goes on when the event is set."""
    go, begun = threading.Event(), threading.Event()

    def rows() -> Iterator[TableRow]:
        for place in range(1001):
            yield TableRow(clusters[0], f"m{place}", {"body": place, "id": f"m{place}"})
        begun.set()
        assert go.wait(PATIENCE)
        yield TableRow(clusters[0], "last", {"body": "", "id": "last"})

    def bring() -> None:
        with Store.open(url) as store:
            deliver_rows(
                store, DeliveredRun("night"), rows, lambda *_: None, 1002, clusters, others
            )

    thread = threading.Thread(target=bring)
    thread.start()
    try:
        assert begun.wait(PATIENCE)
        yield go
    finally:
        go.set()
        thread.join(PATIENCE)
    with Store.open(url) as store:
        run = store.bulk_run("night")
        assert run is not None
        assert run.messages == 1002


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT", 0.7)


@BOTH
def test_who_is_refused_is_told_by_which_run(dialect: str) -> None:
    url = url_of(dialect)
    with publishing(url, "refuse"), Store.open(url) as store:
        for cluster in HELD:
            with pytest.raises(ClusterHeldError, match=REFUSED):
                store.publish(cluster, "x")
            with pytest.raises(ClusterHeldError, match=REFUSED):
                store.publish_many(cluster, [{"body": "x"}])
            with pytest.raises(ClusterHeldError, match=REFUSED):
                store.next_destination(cluster)
        if dialect == "postgresql":
            with pytest.raises(ClusterHeldError, match=REFUSED):
                store.change("busy", "A", "enabled", False)
            assert store.publish("free", "x").destination == "E"
            store.send("other", "x")
    with Store.open(url) as store:
        assert store.publish("busy", "x").destination in "AB"
        assert store.check() == []


@pytest.mark.costly
@BOTH
def test_who_waits_in_vain_is_told_by_which_run(dialect: str) -> None:
    url = url_of(dialect)
    with publishing(url, "wait"), opened(url) as store:
        for verb in (store.publish, store.next_destination):
            with pytest.raises(ClusterHeldError, match=NAMED):
                verb("busy", **({"body": "x"} if verb == store.publish else {}))
        with pytest.raises(StoreError, match=NAMED):
            store.apply("pool", [Change("C", "enabled", False)])


@pytest.mark.costly
@BOTH
def test_who_waits_goes_on_when_the_run_has_ended(dialect: str) -> None:
    url = url_of(dialect)
    with publishing(url, "wait") as go, Store.open(url) as store:
        threading.Timer(0.2, go.set).start()
        assert store.publish("busy", "x").sequence == 1002


def test_plain_sql_is_told_it_too() -> None:
    url = url_of("postgresql")
    publish = "SELECT destination FROM fairlead.publish('pool', 'x')"
    with publishing(url, "refuse"), psycopg.connect(url, autocommit=True) as connection:
        with pytest.raises(psycopg.DatabaseError, match=NAMED) as refused:
            connection.execute(publish)
        assert refused.value.sqlstate == "FL010"
        with pytest.raises(psycopg.DatabaseError, match=NAMED):
            connection.execute("UPDATE fairlead.machines SET weight = 2 WHERE name = 'C'")
        assert connection.execute("SELECT * FROM fairlead.publish('free', 'x')").fetchall()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(publish)


def test_plain_sql_waits_as_long_as_it_says() -> None:
    url = url_of("postgresql")
    with publishing(url, "wait"), psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET lock_timeout = '300ms'")
        with pytest.raises(psycopg.DatabaseError, match=NAMED):
            connection.execute("SELECT * FROM fairlead.publish('pool', 'x')")
        assert connection.execute("SHOW lock_timeout").fetchone() == ("300ms",)


def test_plain_sql_that_waits_without_a_bound_keeps_its_setting() -> None:
    url = url_of("postgresql")
    with publishing(url, "wait") as go, psycopg.connect(url) as connection:
        threading.Timer(0.2, go.set).start()
        assert connection.execute("SELECT * FROM fairlead.publish('pool', 'x')").fetchall()
        assert connection.execute("SHOW lock_timeout").fetchone() == ("0",)


def test_where_tickets_are_drawn_nobody_waits() -> None:
    url = url_of("postgresql")
    with Store.open(url) as store:
        store.send("F", "the queue is there")
    with publishing(url, "refuse", ["drawn", "busy"]), opened(url) as store:
        assert store.publish("drawn", "x").destination == "F"
        with pytest.raises(ClusterHeldError):
            store.change("drawn", "F", "enabled", False)


KILLED = """
import sys, time
from fairlead import Store
with Store.open(sys.argv[1]) as store, store.held_clusters("night", ["busy"], "refuse") as hold:
    with store.transaction() as tx:
        tx.hold_clusters(hold)
        print("held", flush=True)
        time.sleep(600)
"""


@BOTH
def test_a_run_that_was_killed_keeps_nobody_off(dialect: str) -> None:
    url = url_of(dialect)
    command = [sys.executable, "-c", KILLED, url]
    with (
        Store.open(url) as store,
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(ClusterHeldError):
            store.publish("busy", "x")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)

        def free() -> bool:
            try:
                return store.publish("busy", "x").destination is not None
            except ClusterHeldError:
                return False

        until(free)
        found = [each.what for each in store.check()]
        assert found == (
            ["runs of many messages that a process was bringing, which is gone"]
            * (dialect == "postgresql")
        )
        store.check(repair=True)
        assert store.check() == []


def test_a_run_arrives_though_its_session_is_lost() -> None:
    url = url_of("postgresql")
    end_others = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE classid = 1181641070"
    with publishing(url, "refuse"), psycopg.connect(url, autocommit=True) as connection:
        connection.execute(end_others)
    with Store.open(url) as store:
        until(lambda: not store.check(repair=True))


def test_a_second_run_of_the_name_is_told_at_once() -> None:
    url = url_of("postgresql")
    with (
        publishing(url, "wait"),
        opened(url) as store,
        pytest.raises(MessageError, match="run 'night': found that another process is bringing"),
        store.held_clusters("night", ["busy"], "wait"),
    ):
        pass


@BOTH
def test_only_two_words_are_known(dialect: str) -> None:
    with Store.open(url_of(dialect)) as store:
        with (
            pytest.raises(MessageError, match=r"^others: found 'queue', allowed: wait, or refuse$"),
            store.held_clusters("night", ["busy"], "queue"),
        ):
            pass
        refuse_others(store, HELD, None)
        refuse_others(store, HELD, "wait")
        if dialect == "postgresql":
            with pytest.raises(MessageError, match="allowed: nothing, as nobody waits for this"):
                refuse_others(store, ["pool", "free"], "refuse")
            assert store.check() == []


def test_a_file_says_which_run_is_writing(tmp_path: Path) -> None:
    database = tmp_path / "work.db"
    database.touch()
    first, second = RunFile(database), RunFile(database)
    run = PublishingRun("ü", ["pool"], "wait", 0)
    assert first.look() is None
    first.hold(run)
    assert second.look() == run
    assert re.fullmatch("bulk run 'ü' is publishing since 1970-01-01T00:00:00.00:00", run.doing)
    releasing = threading.Timer(0.1, first.end)
    releasing.start()
    second.hold(run._replace(name="next"))
    assert RunFile(database).look() == run._replace(name="next")
    second.end()
    assert first.look() is None
    assert [file.name for file in tmp_path.iterdir()] == ["work.db"]
    (tmp_path / "work.db-run").write_text("left by a run that was killed")
    assert first.look() is None
