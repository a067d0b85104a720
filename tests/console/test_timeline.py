"""What happened to a message, in words, and where it is: the same that the store's verbs say."""

import csv
import io
import json
from collections.abc import Iterator

import pytest

from fairlead import Cluster, Event, Store
from fairlead.console import history
from fairlead.console.journal_export import csv_head, csv_lines, json_lines
from fairlead.console.timeline import SENTENCES, of_message, sentence, state_of, told, tone
from fairlead.rows import EVENT
from fairlead.store.journal.events import KINDS
from tests.stores import Clock, made_url


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Store]:
    with Store.open(made_url(request.param), clock=clock) as store:
        yield store


def words(store: Store, id_: str, queue: str = "q") -> list[str]:
    found = history.of_message(store, queue, id_)
    return [each.what for each in of_message(found.events, id_)]


def state(store: Store, id_: str, queue: str = "q") -> str:
    found = history.of_message(store, queue, id_)
    return state_of(of_message(found.events, id_)).state


def take(store: Store, queue: str = "q") -> object:
    work = store.take(queue)
    assert work is not None
    assert [*work]
    return work


def test_each_kind_of_event_has_its_words() -> None:
    assert {*SENTENCES} == KINDS


def test_from_sent_to_done(store: Store, clock: Clock) -> None:
    store.send("q", 1, group="g", id="before")
    store.send("q", 1, group="g", id="m", priority=5)
    store.send("q", 2, group="other", id="o")
    assert state(store, "m") == "waiting"
    clock.now += 10
    store.prioritise("q", "g", 9)
    work = take(store)
    assert state(store, "m") == "held"
    work.release(delay=3, error="busy")
    assert state(store, "m") == "waiting"
    clock.now += 5
    take(store).accept()
    store.send("q", 1, group="g", id="later")
    assert words(store, "m") == [
        "sent, and its group was given priority 5",
        "given priority 9",
        "taken, attempt 1, with priority 9",
        "given back: busy",
        "the delay of its release was over",
        "taken, attempt 2, with priority 9",
        "accepted",
    ]
    assert state(store, "m") == "done"


def test_a_dead_letter_and_back(store: Store) -> None:
    store.send("q", 1, id="m")
    take(store).reject("no paper")
    assert state(store, "m") == "dead"
    store.requeue("q")
    assert state(store, "m") == "waiting"
    take(store).accept()
    texts = words(store, "m")
    assert [text.partition(",")[0] for text in texts] == [
        "sent",
        "taken",
        "rejected; it became a dead letter: no paper",
        "put back; it was a dead letter: no paper",
        "taken",
        "accepted",
    ]


def test_what_is_to_arrive_later(store: Store, clock: Clock) -> None:
    store.send("q", 1, id="m", delay=60)
    assert words(store, "m") == ["sent, to arrive later"]
    (sent,) = told(store.journal())
    assert sent.until == clock.now + 60
    assert state(store, "m") == "delayed"
    clock.now += 61
    take(store).accept()
    assert words(store, "m")[1] == "arrived, as its delay was over"


def test_a_message_of_a_cluster(store: Store) -> None:
    store.keep_clusters([Cluster.of("round-robin", name="pool", destination=[{"name": "a"}])])
    store.publish("pool", 1, id="m", group="g")
    (decided,) = store.journal(kind="decided")
    assert sentence(decided) == "cluster pool chose a, number 0 of pool"
    store.change("pool", "a", "enabled", value=False)
    store.add_destination("pool", {"name": "new", "speed": 2})
    store.remove_destination("pool", "a")
    assert [sentence(each) for each in store.journal(kind="changed")] == [
        "enabled of a became false",
        'new was added with {"speed": 2}',
        "a was removed",
    ]
    assert words(store, "m", "a") == ["cluster pool chose a, number 0 of pool", "sent"]
    assert state(store, "m", "a") == "waiting"
    many = [{"body": k, "id": f"n-{k}"} for k in range(5)]
    store.change("pool", "new", "enabled", value=True)
    store.publish_many("pool", many)
    assert words(store, "n-3", "new") == ["cluster pool chose new, number 4 of pool", "sent"]


def test_a_message_that_is_not_remembered_is_found_from_the_latest_on(
    store: Store, clock: Clock
) -> None:
    store.send("q", 1, group="g", id="m")
    clock.now += 30 * 86_400
    take(store).accept()
    for _ in range(3):
        store.send("q", 1, group="g")
    store.prune(40 * 86_400)
    clock.now += 9
    before = words(store, "m")
    assert [each.partition(",")[0] for each in before] == ["sent", "taken", "accepted"]
    found = history.of_message(store, "q", "m")
    assert found.later is not None or found.earlier is None


def test_pages_of_a_long_history_are_the_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.send("q", 1, group="g", id="m")
    for _ in range(20):
        take(store).release()
        store.send("elsewhere", 1)
    take(store).accept()
    whole = history.of_message(store, "q", "m").events
    assert len(whole) == 1 + 2 * 20 + 2
    monkeypatch.setattr(history, "MOST", 5)
    monkeypatch.setattr(history, "LOOK", 3)
    monkeypatch.setattr(history, "SECONDS", 0.0)
    found = history.of_message(store, "q", "m")
    events = found.events
    while found.later is not None and events[-1].kind != "accepted":
        found = history.of_message(store, "q", "m", group=found.group, later=found.later)
        events += found.events
    assert events == whole
    events, before = [], None
    while True:
        found = history.of_group(store, "q", "g", before)
        events = found.events + events
        before = found.earlier
        if before is None:
            break
    assert events == whole


def test_what_failed_looks_so(store: Store) -> None:
    store.send("q", 1, group="g", id="m")
    take(store).release()
    take(store).release(error="no paper", delay=0)
    store.switch("q", on=False, reason="lunch")
    found = [(each.event.kind, each.tone) for each in told(store.journal())]
    assert [look for kind, look in found if kind == "released"] == ["", "bad"]
    assert found[-1] == ("switched-off", "bad")
    assert sentence([*store.journal()][-1]) == "the queue was switched off: lunch"


HOSTILE = ["=1+1", "+1", "-1", "@a", 'a "b", c', "'", "<script>", "\uff1d1"]


def test_the_export_is_what_there_is_and_no_formula(store: Store) -> None:
    for text in HOSTILE:
        store.send("q", 1, group=text, type="t")
    events = [*store.journal()]
    assert [Event(**json.loads(line)) for line in json_lines(events).splitlines()] == events
    rows = [*csv.DictReader(io.StringIO(csv_head() + csv_lines(events), newline=""))]
    assert [*rows[0]] == [*EVENT]
    groups = [row["group"] for row in rows]
    assert [group.removeprefix("'") or "'" for group in groups] == [
        text.removeprefix("'") or "'" for text in HOSTILE
    ]
    assert not any(group.startswith(tuple("=+-@\t\r\n\uff1d")) for group in groups)
    assert [row["position"] for row in rows] == [str(each.position) for each in events]
    assert csv_lines([events[0]._replace(detail="\t=1\n")]).count('"\'\t=1\n"') == 1
    assert all(tone(each) == "" for each in events)
