"""A store as tables: what Spark is given is what the store says, as of one moment."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.store.roles import store_with_roles
from tests.stores import Clock, made_url

from fairlead import Cluster, Store
from fairlead.errors import MessageError, PrunedError, StoreError, UserError
from fairlead.pipeline.store_tables.columns import COLUMNS, spark_schema
from fairlead.pipeline.store_tables.source import StoreTables
from fairlead.rows import EVENT, JOURNAL
from fairlead.store.journal import parts as cut
from fairlead.store.journal.export import decisions

AB = [{"name": "a", "queue": "qa"}, {"name": "b", "queue": "qb"}]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(cut, "SMALLEST", 1)
    return made_url(request.param)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url, clock=Clock(time.time() // 1 - 3600)) as found:
        found.keep_clusters(
            [
                Cluster.of("weighted", name="pool", destination=AB),
                Cluster.of("broadcast", name="all", destination=[*AB, {"name": "c"}]),
            ]
        )
        for k in range(40):
            found.publish("pool", {"n": k}, id=f"m{k}", group=f"g{k % 3}")
            found.next_destination("all", group="x", priority=k)
            if k == 20:
                found.change("pool", "a", "enabled", False)
        yield found


def rows(url: str, table: str, **options: object) -> list[dict[str, Any]]:
    """All rows that tasks read, one task after another."""
    texts = {name.rstrip("_"): str(value) for name, value in options.items()}
    reader = StoreTables({"path": table, "store": url} | texts).reader(spark_schema(table))
    return [row for part in reader.partitions() for row in of_part(reader, part)]


def of_part(reader: Any, part: Any) -> list[dict[str, Any]]:
    return [row for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.costly
def test_the_journal_is_what_the_store_says(store: Store, url: str) -> None:
    events = [event.to_dict() for event in store.journal()]
    assert [*events[0]] == [*EVENT] == [*COLUMNS["journal"]]
    for partitions in (1, 2, 7, 1000):
        assert rows(url, "journal", partitions=partitions) == events
    assert rows(url, "journal", cluster="all") == [
        event for event in events if event["cluster"] == "all"
    ]
    middle = events[len(events) // 2]["time"]
    assert rows(url, "journal", from_=middle, until=middle) == []
    whole = rows(url, "journal", until=middle) + rows(url, "journal", from_=middle)
    assert sorted(row["position"] for row in whole) == sorted(row["position"] for row in events)


def test_the_parts_are_as_many_as_asked_for_at_most(store: Store) -> None:
    for most in range(1, 30):
        found = store.journal_parts(most)
        assert 1 <= len(found) <= most
        assert len(found) > 1 or most < 4
        assert [since for since, _ in found] == [None, *(until for _, until in found[:-1])]
        assert found[-1][1] == store.latest()


@pytest.mark.costly
def test_decisions_are_those_of_the_export(store: Store, url: str) -> None:
    for cluster in ("pool", "all"):
        expected = [*decisions(store.journal(), cluster)]
        assert len({row["position"] for row in expected}) == 40
        for partitions in (1, 3, 11, 1000):
            found = rows(url, "decisions", cluster=cluster, partitions=partitions)
            for name in {*JOURNAL} - {"position"}:
                assert [row[name] for row in found] == [row[name] for row in expected], name
            assert [row["group"] for row in found] == [row["group"] for row in expected]
            places = dict(
                zip(
                    (row["position"] for row in found),
                    (row["position"] for row in expected),
                    strict=True,
                )
            )
            assert sorted(places.values()) == [*range(40)]
            assert [*places] == sorted(places)
    assert rows(url, "decisions", cluster="pool")[5]["priority"] is None
    assert found[5]["priority"] == "1"
    assert json.loads(found[5]["said"]) == {"group": "x", "priority": 1}


def test_what_is_written_meanwhile_is_for_the_next_time(store: Store, url: str) -> None:
    events = [event.to_dict() for event in store.journal()]
    reader = StoreTables({"path": "journal", "store": url}).reader(spark_schema("journal"))
    found = []
    for part in reader.partitions():
        found += of_part(reader, part)
        store.publish("pool", {})
        store.next_destination("all")
    assert found == events


def test_what_waits_and_what_has_died(store: Store, url: str) -> None:
    store.set_order("bad", "priority")
    store.send("bad", b"\x00\xff", id="bytes", group="g")
    store.send("bad", {"n": 1}, id="data", tenant="t")
    for _ in range(2):
        work = store.take("bad")
        assert work is not None
        assert [*work]
        work.reject("broken")
    waiting = rows(url, "waiting")
    assert {row["queue"] for row in waiting} == {"qa", "qb"}
    assert [*waiting[0]] == [*COLUMNS["waiting"]]
    one = rows(url, "waiting", queue="qa")
    assert one == [row for row in waiting if row["queue"] == "qa"]
    assert sorted(row["place"] for row in one) == [*range(1, len(one) + 1)]
    assert sum(row["messages"] for row in one) == sum(
        queue.messages for queue in store.queues() if queue.queue == "qa"
    )
    dead = {row["id"]: row for row in rows(url, "dead_letters", queue="bad")}
    assert {*dead} == {"bytes", "data"}
    assert (dead["bytes"]["body"], dead["bytes"]["body_text"]) == (b"\x00\xff", None)
    assert json.loads(dead["data"]["body_text"]) == {"n": 1}
    assert dead["data"]["tenant"] == "t"
    assert all(abs(row["died"] - store.dead("bad")[0].died) < 1 for row in dead.values())


def test_a_stream_reads_each_event_once(store: Store, url: str) -> None:
    stream = StoreTables({"path": "journal", "store": url}).streamReader(spark_schema("journal"))
    offset, found = stream.initialOffset(), []
    for k in range(4):
        end = json.loads(json.dumps(stream.latestOffset(offset, None)))  # type: ignore[arg-type]
        found += [row for part in stream.partitions(offset, end) for row in of_part(stream, part)]
        assert stream.partitions(end, end) == []
        offset = end
        store.send("later", k)
    assert found == [event.to_dict() for event in store.journal()][:-1]


def test_what_commits_late_is_not_lost() -> None:
    url = made_url("postgresql")
    options = {"path": "journal", "store": url}
    reader = StoreTables(options).reader(spark_schema("journal"))
    stream = StoreTables(options).streamReader(spark_schema("journal"))

    def step(offset: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        end = stream.latestOffset(offset, None)  # type: ignore[arg-type]
        parts = stream.partitions(offset, end)
        return end, [row["id"] for part in parts for row in of_part(stream, part)]

    with Store.open(url) as store, ExitStack() as late:
        store.send("q", 0, id="first")
        offset, seen = step(stream.initialOffset())
        assert seen == ["first"]
        connection = late.enter_context(psycopg.connect(url))
        with store.join(connection) as tx:
            tx.send("q", 1, id="late")
        store.send("q", 2, id="early")
        offset, seen = step(offset)
        assert seen == []
        planned = reader.partitions()
        connection.commit()
        assert [row["id"] for part in planned for row in of_part(reader, part)] == ["first"]
        offset, seen = step(offset)
        assert sorted(seen) == ["early", "late"]


def test_events_that_were_forgotten_are_missed_aloud(store: Store, url: str) -> None:
    options = {"path": "journal", "store": url}
    stream = StoreTables(options).streamReader(spark_schema("journal"))
    start = {"cursor": [*store.journal()][3].cursor}
    with Store.open(url) as now:
        assert now.prune(0) > 3
    end = stream.latestOffset(start, None)  # type: ignore[arg-type]
    parts = stream.partitions(start, end)
    with pytest.raises(PrunedError, match="after which events are kept no more"):
        of_part(stream, parts[0])


def test_a_store_without_an_event_has_no_rows(url: str) -> None:
    for table in COLUMNS:
        assert rows(url, table) == []
    stream = StoreTables({"path": "journal", "store": url}).streamReader(spark_schema("journal"))
    start = stream.initialOffset()
    assert stream.latestOffset(start, None) == start  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"path": "journals"}, "found 'journals' as the table, allowed: .load() of journal, dec"),
        ({"path": "journal"}, "found no option store, allowed: sqlite:///FILE, or postgresql://"),
        ({"queue": "q"}, "option: found 'queue' with journal, allowed: store, cluster, from,"),
        ({"partitions": "0"}, "option partitions: found '0', allowed: an integer from 1 to 10,000"),
        ({"from": "yesterday"}, "option from: found 'yesterday', allowed: "),
        ({"cluster": "no"}, "cluster: found 'no', allowed: "),
        ({"path": "waiting", "queue": "no"}, "queue: found 'no', allowed: "),
        ({"store": "sqlite:///none.db"}, "none.db: found no file, allowed: one that is there"),
        ({"store": "mysql://x"}, "store: found 'mysql', allowed: sqlite:///FILE"),
    ],
)
def test_what_is_refused(
    options: dict[str, str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = {} if options == {"path": "journal"} else {"store": made_url("sqlite")}
    source = StoreTables({"path": "journal"} | url | options)

    def read() -> None:
        reader = source.reader(source.schema())
        assert [*reader.read(reader.partitions()[0])] == []

    with pytest.raises((UserError, MessageError, StoreError)) as refused:
        read()
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_only_what_grows_is_a_stream() -> None:
    source = StoreTables({"path": "waiting", "store": "sqlite:///x.db"})
    with pytest.raises(UserError, match="readStream: found waiting, allowed: journal or decisions"):
        source.streamReader(source.schema())


def test_a_viewer_reads_all_and_a_sender_is_told_who_may() -> None:
    url = store_with_roles()
    for table in COLUMNS:
        rows(url("viewer"), table)
        with pytest.raises(StoreError, match="user 'sender_user' may not do this, it takes the"):
            rows(url("sender"), table)


def test_a_request_does_not_show_its_url() -> None:
    source = StoreTables({"path": "journal", "store": "postgresql://kim:s3cret@host/db"})
    assert "s3cret" not in repr(source.reader(source.schema()).request)  # type: ignore[attr-defined]
