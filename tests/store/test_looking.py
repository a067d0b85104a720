"""A store is looked at page by page: groups in their order, one group, processes, events."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from fairlead import Store
from fairlead.errors import MessageError, StaleViewError
from fairlead.store.database.acting import acting
from tests.stores import Clock

Opened = Callable[..., Store]


@pytest.fixture
def store(opened: Opened, url: str) -> Store:
    return opened(url, clock=Clock())


def all_pages(store: Store, most: int, tenant: str | None = None) -> list[tuple[int, str]]:
    """Place and name of all groups, page by page."""
    places, after = [], ""
    while True:
        page = store.groups("orders", most, after, tenant=tenant)
        places += [(each.place, each.standing.name) for each in page.groups]
        if not page.after:
            return places
        assert len(page.groups) == most
        after = page.after


@pytest.mark.parametrize("most", [1, 2, 7, 30])
def test_pages_have_all_groups_in_the_order_in_which_they_are_taken(
    store: Store, most: int
) -> None:
    for k in range(12):
        store.send("orders", "o", group=f"g{k}" if k % 3 else None, id=f"m{k}")
    store.prioritise("orders", "g7", 9)
    store.prioritise("orders", "g10", 200)
    pages = all_pages(store, most)
    assert [place for place, _ in pages] == [*range(1, 13)]
    taken = []
    while work := store.take("orders"):
        with work:
            messages = list(work)
        taken.append(work.group or f"message {messages[0].id}")
    assert [name for _, name in pages] == taken


def test_each_group_says_why_it_goes_before_the_next(store: Store) -> None:
    for group in ("a", "b", "c"):
        store.send("orders", "o", group=group)
    store.prioritise("orders", "c", 5)
    first, second, third = store.groups("orders").groups
    assert first.why == "c before a: c was raised, a was not"
    assert second.why.startswith("a before b: neither was raised; it arrived earlier")
    assert third.why == ""
    assert store.groups("orders", 1).groups[0].why == first.why


def test_of_a_queue_that_tenants_share_the_groups_of_one_are_told(store: Store) -> None:
    store.set_order("orders", weights={"gold": 3})
    for k in range(5):
        store.send("orders", "o", group=f"g{k}", tenant="gold" if k % 2 else "iron")
    assert all_pages(store, 1, "gold") == [(1, "g1"), (2, "g3")]
    assert all_pages(store, 2, "iron") == [(1, "g0"), (2, "g2"), (3, "g4")]
    page = store.groups("orders", 4)
    assert (page.shared, page.after) == (True, "")
    assert [each.standing for each in page.groups] == store.waiting("orders", 4).ranks
    assert "tenant" in page.groups[0].why
    with pytest.raises(MessageError, match="tenant: found none"):
        store.groups("orders", 5, "1.1")


@pytest.mark.parametrize("after", ["x", "1", "1.2.3", "1.x", f"{2**63}.1", "9" * 60 + ".1"])
def test_what_no_page_has_given_is_refused(store: Store, after: str) -> None:
    store.send("orders", "o")
    with pytest.raises(MessageError, match="after: found"):
        store.groups("orders", 5, after)


def test_groups_are_found_by_how_their_names_begin(store: Store) -> None:
    names = ["ab", "ab-1", "ab-2", "abc", "ac", "Ab-3", "ab\u00e9", "b", "a", "%", "ab_", "ab%"]
    for name in names:
        store.send("orders", "o", group=name)
    found = [each.group for each in store.groups_named("orders", "ab")]
    assert found == sorted(name for name in names if name.startswith("ab"))
    assert [each.group for each in store.groups_named("orders", "ab", 2)] == found[:2]
    assert [each.group for each in store.groups_named("orders", "ab", 9, found[1])] == found[2:]
    assert [each.group for each in store.groups_named("orders", "")] == sorted(names)
    assert store.groups_named("orders", "z") == []


def test_a_group_is_told_as_it_is_now(store: Store) -> None:
    store.send("orders", "o", group="kim", tenant="acme")
    store.send("orders", "o", group="kim", tenant="acme")
    now = store.group("orders", "kim")
    assert now is not None
    assert (now.state, now.priority, now.messages, now.tenant) == ("ready", None, 2, "acme")
    assert (now.since, now.until, now.token) == (1_700_000_000.0, None, None)
    store.prioritise("orders", "kim", 7)
    raised = store.group("orders", "kim")
    assert raised is not None
    assert raised.priority == 7
    work = store.take("orders", lease=60)
    assert work is not None
    held = store.group("orders", "kim")
    assert held is not None
    assert (held.state, held.priority, held.until) == ("held", 7, 1_700_000_060.0)
    work.release(30)
    parked = store.group("orders", "kim")
    assert parked is not None
    assert (parked.state, parked.until) == ("parked", 1_700_000_030.0)
    assert len({now.seen, raised.seen, held.seen, parked.seen}) == 4
    assert store.group("orders", "mia") is None


def test_what_has_changed_since_it_was_seen_is_not_raised(store: Store) -> None:
    store.send("orders", "o", group="kim")
    first = store.group("orders", "kim")
    assert first is not None
    assert store.prioritise_seen("orders", "kim", 5, first.seen)
    with pytest.raises(StaleViewError, match="group 'kim': somebody has raised it to 5"):
        store.prioritise_seen("orders", "kim", 9, first.seen)
    second = store.group("orders", "kim")
    assert second is not None
    work = store.take("orders")
    assert work is not None
    with pytest.raises(StaleViewError, match="a reader has it now"):
        store.prioritise_seen("orders", "kim", 9, second.seen)
    held = store.group("orders", "kim")
    assert held is not None
    work.release()
    with pytest.raises(StaleViewError, match="it can be taken now"):
        store.prioritise_seen("orders", "kim", 9, held.seen)
    work = store.take("orders")
    assert work is not None
    with pytest.raises(StaleViewError, match="another reader has it now"):
        store.prioritise_seen("orders", "kim", 9, held.seen)
    with work:
        list(work)
    with pytest.raises(StaleViewError, match="all that waited in it is gone"):
        store.prioritise_seen("orders", "kim", 9, held.seen)
    raised = [event.priority for event in store.journal(kind="raised")]
    assert raised == [5]


def test_of_many_who_have_seen_the_same_one_raises_it(opened: Opened, url: str) -> None:
    store = opened(url)
    store.send("orders", "o", group="kim")
    now = store.group("orders", "kim")
    assert now is not None
    start, raised = threading.Barrier(8), []

    def raise_it(priority: int) -> None:
        start.wait(30)
        with suppress(StaleViewError):
            store.prioritise_seen("orders", "kim", priority, now.seen)
            raised.append(priority)

    threads = [threading.Thread(target=raise_it, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(raised) == 1
    assert [event.priority for event in store.journal(kind="raised")] == raised


def test_the_journal_names_for_whom_something_is_done(store: Store) -> None:
    store.send("orders", "o", group="kim")
    with acting("dora"):
        store.prioritise("orders", "kim", 5)
        store.switch("orders", on=False, reason="it floods us")
    store.switch("orders", on=True)
    actors = {event.kind: event.actor for event in store.journal()}
    assert actors["raised"] == actors["switched-off"] == "dora"
    assert actors["sent"] == actors["switched-on"] != "dora"


def test_processes_that_take_are_told_with_what_they_hold(store: Store) -> None:
    assert store.processes() == []
    for _ in range(3):
        store.send("orders", "o")
    works = [store.take("orders") for _ in range(2)]
    (process,) = store.processes()
    assert (process.holds, process.gone, process.stopping) == (2, False, False)
    assert process.oldest == 1_700_000_000.0
    assert process.name == f"{process.host}:{process.pid}"
    store.stopping()
    assert store.processes()[0].stopping
    for work in works:
        assert work is not None
        work.release()


def test_events_are_counted_by_minute(opened: Opened, url: str) -> None:
    clock = Clock(1_700_000_040.0)
    store = opened(url, clock=clock)
    expected: Counter[tuple[str, int]] = Counter()
    assert store.count_events().cursor is None
    for k in range(30):
        clock.now += 7
        store.send("orders" if k % 3 else "other", "o")
        expected["orders" if k % 3 else "other", int(clock.now // 60)] += 1
    counted: Counter[tuple[str, int]] = Counter()
    cursor, more = None, True
    while more:
        part = store.count_events(cursor, 4)
        for count in part.counts:
            assert count.kind == "sent"
            counted[count.queue, count.minute] += count.events
        cursor, more = part.cursor, part.more
    assert counted == expected
    assert store.count_events(cursor).counts == []
    every = [event.time for event in store.journal()]
    for time in (every[0] - 1, every[7], every[20] + 3):
        after = store.count_events(store.cursor_at(time), 1000)
        assert sum(count.events for count in after.counts) == sum(at >= time for at in every)
    assert store.cursor_at(clock.now + 100) == store.latest()


def test_dead_letters_are_told_without_their_bodies(store: Store) -> None:
    bodies = {"t": "a t\u00e9xt", "b": bytes(range(256)), "j": {"a": [1, None]}}
    for id_, body in bodies.items():
        store.send("orders", body, id=id_)
        work = store.take("orders")
        assert work is not None
        list(work)
        work.reject(f"broken {id_}")
    heads = store.dead_heads("orders")
    every = store.dead("orders")
    assert [(head.id, head.reason, head.died) for head in heads] == [
        (letter.id, letter.reason, letter.died) for letter in every
    ]
    assert [head.size for head in heads] == [7, 256, 14]
    assert [head.id for head in store.dead_heads("orders", 1, heads[0].number)] == ["b"]
    assert [head.id for head in store.dead_heads("orders", reason="broken j")] == ["j"]
    parts = [store.dead_body("orders", head.number) for head in heads]
    assert [(part.kind, part.beginning) for part in parts] == [
        ("text", "a t\u00e9xt".encode()),
        ("bytes", bytes(range(256))),
        ("json", b'{"a":[1,null]}'),
    ]
    short = store.dead_body("orders", heads[1].number, 5)
    assert (short.beginning, short.size) == (bytes(range(5)), 256)
    with pytest.raises(MessageError, match="number: found 99999"):
        store.dead_body("orders", 99999)


def test_whoever_puts_dead_letters_back_is_told_how_many(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.store.admin.dead_letters.STEP", 2)
    for _ in range(5):
        store.send("orders", "o")
        work = store.take("orders")
        assert work is not None
        list(work)
        work.reject("broken")
    told: list[int] = []
    assert store.requeue("orders", reason="broken", told=told.append) == 5
    assert told == [2, 4, 5]
