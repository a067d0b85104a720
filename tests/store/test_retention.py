"""Readers forget what is old, a little at a time, and whoever reads the journal is told."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import MessageError, PrunedError
from fairlead.store.journal import events, retention
from tests.stores import made_url

DAY = 86_400
Open = Callable[..., Store]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(url: str, clock: Clock, opened: Open) -> Store:
    """At the beginning of 1970."""
    return opened(url, clock=clock)


def take(store: Store) -> Any:
    """A minute after the last one."""
    store._retention._due.clear()
    return store.take("q")


def kinds(store: Store) -> list[str]:
    return [event.kind for event in store.journal()]


def test_events_of_more_than_thirty_days_are_forgotten_by_who_takes(
    store: Store, clock: Clock
) -> None:
    for day in range(3):
        clock.now = day * DAY
        store.send("q", day)
    assert store.retention() == 30
    clock.now = 30 * DAY
    take(store).accept()
    assert kinds(store) == ["sent", "sent", "sent", "taken", "accepted"]
    clock.now = 32 * DAY - 1
    take(store)
    assert kinds(store) == ["sent", "taken", "accepted", "taken"]


def test_a_reader_that_waits_forgets_too(store: Store, clock: Clock) -> None:
    store.send("q", 1)
    store.send("q", 2)
    works = store.take_many("q", 2)
    assert [message.body for work in works for message in work] == [1, 2]
    store.accept(works)
    clock.now = 31 * DAY
    store._retention._due.clear()
    assert store.take("q", wait=0.01) is None
    assert kinds(store) == ["accepted"], "the latest event stays: numbers go on from it"
    store.send("q", 3)
    numbers = [event.position for event in store.journal()]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("days", [None, 0, 0.5, 90])
def test_how_long_events_are_kept_can_be_set(
    days: float | None, store: Store, clock: Clock
) -> None:
    store.set_retention(days)
    assert store.retention() == (days or None)
    store.send("q", 1)
    clock.now = 80 * DAY
    store.send("q", 2)
    take(store)
    assert kinds(store) == ["sent", "taken"] if days == 0.5 else ["sent", "sent", "taken"]


@pytest.mark.parametrize("days", [-1, "30", 10**6, float("nan")])
def test_what_is_no_number_of_days_is_refused(days: Any, store: Store) -> None:
    with pytest.raises(MessageError, match="journal_keep: found"):
        store.set_retention(days)


def test_one_take_forgets_a_little(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST", 3)
    store.send_many("q", [{"body": k, "id": str(k)} for k in range(10)])
    clock.now = 31 * DAY
    take(store)
    assert kinds(store).count("sent") == 7
    with monkeypatch.context() as at_once:
        at_once.setattr(retention, "time", SimpleNamespace(monotonic=lambda: 0.0))
        store.take("q")
    assert kinds(store).count("sent") == 7, "it is not looked at each take"
    take(store)
    assert kinds(store).count("sent") == 4
    take(store)
    take(store)
    assert kinds(store) == ["taken"] * 5


def test_it_looks_each_minute_and_more_often_while_there_is_more(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST", 3)
    looked = retention.Retention(store._connections, store._context)
    store.send_many("q", [{"body": k} for k in range(10)])
    clock.now = 31 * DAY
    left = []
    for at in (100, 100.05, 100.1, 100.2, 100.3, 160, 160.3):
        monkeypatch.setattr(retention, "time", SimpleNamespace(monotonic=lambda at=at: at))
        looked.look()
        left.append(len(kinds(store)))
    assert left == [7, 7, 4, 1, 1, 1, 1]


def test_ids_are_forgotten_after_their_seven_days(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "MOST", 3)
    for day in range(5):
        clock.now = day * DAY
        store.send("q", 1, id=str(day))

    def known() -> int:
        table = "fairlead_message_ids" if "postgresql" not in store.place else None
        with store.transaction() as tx:
            (row,) = tx.execute(
                f"SELECT count(*) FROM {table or 'fairlead.message_ids'}"  # noqa: S608
            ).fetchall()
        return int(row[0])

    clock.now = 9 * DAY
    take(store)
    assert known() == 3, "those of the first two days are gone"
    clock.now = 20 * DAY
    assert store.prune(0) > 3
    assert known() == 0


# -------- who reads the journal


def test_a_reader_of_the_journal_is_told_what_it_would_miss(store: Store, clock: Clock) -> None:
    for day in range(4):
        clock.now = day * DAY
        store.send("q", day)
    cursors = [event.cursor for event in store.journal()]
    clock.now = 32 * DAY - 1
    take(store)
    with pytest.raises(PrunedError, match="after which events are kept no more") as refused:
        list(store.journal(since=cursors[0]))
    assert "\n" not in str(refused.value)
    assert cursors[1] in str(refused.value)
    assert [event.kind for event in store.journal(since=cursors[1])] == ["sent", "sent", "taken"]
    assert kinds(store) == ["sent", "sent", "taken"]


def test_a_reader_that_is_slower_than_what_is_forgotten_is_told(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "PAGE", 2)
    store.send_many("q", [{"body": k} for k in range(6)])
    reader = store.journal()
    assert [next(reader).position for _ in range(2)]
    clock.now = 1
    assert store.prune(0) == 5
    with pytest.raises(PrunedError):
        next(reader)


def test_what_was_deleted_by_hand_is_told_too(store: Store) -> None:
    for k in range(3):
        store.send("q", k)
    cursor = next(store.journal()).cursor
    table = "fairlead.journal" if "postgresql" in store.place else "fairlead_journal"
    with store.transaction() as tx:
        tx.execute(f"DELETE FROM {table} WHERE id = 2")  # noqa: S608
    with pytest.raises(PrunedError):
        list(store.journal(since=cursor))


def test_a_cursor_of_what_is_there_stays_good(store: Store, clock: Clock) -> None:
    store.send("q", 1)
    clock.now = 1
    cursor = store.latest()
    assert store.prune(0) == 0
    assert list(store.journal(since=cursor)) == []
    store.send("q", 2)
    clock.now = 2
    assert store.prune(0) == 1
    assert [event.kind for event in store.journal(since=cursor)] == ["sent"]


def test_two_processes_that_forget_do_not_wait_for_each_other(opened: Open) -> None:
    url = made_url("postgresql")
    store = opened(url)
    store.send("q", 1)
    with psycopg.connect(url) as other:
        other.execute("SELECT fairlead._forget_events(NULL, 10)")
        take(store).accept()
