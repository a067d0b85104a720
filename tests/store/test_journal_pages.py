"""Pages of the journal: together they are what is wanted, and each looks at so many events."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from fairlead import Event, Store
from fairlead.errors import MessageError
from fairlead.store.journal import pages
from tests.stores import Clock

WANTED: list[dict[str, Any]] = [
    {},
    {"group": "a"},
    {"id": "7", "queue": "q"},
    {"kind": ("sent", "taken")},
    {"actor": "no such"},
    {"start": 20.0},
    {"end": 20.0},
    {"start": 10, "end": 30.5, "queue": "q"},
    {"start": 1000.0},
    {"end": -5.0},
]


@pytest.fixture
def filled(
    url: str, opened: Callable[..., Store], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Store:
    clock.now = 0.0
    store = opened(url, clock=clock)
    monkeypatch.setattr(pages, "LATE", 2_000_000)
    for k in range(40):
        clock.now = float(k)
        store.send("q" if k % 3 else "other", k, group="ab"[k % 2], id=str(k))
        if k % 4 == 0 and (work := store.take("q")) is not None:
            with work:
                assert [*work]
        if k == 25:
            store.recover()
    return store


def back(store: Store, most: int, look: int, **wanted: Any) -> list[Event]:
    found, before = [], None
    while True:
        page = store.journal_back(before, most, look, **wanted)
        found += page.events
        if page.cursor is None:
            return found[::-1]
        before = page.cursor


def ahead(store: Store, most: int, look: int, **wanted: Any) -> list[Event]:
    found, since = [], None
    while True:
        page = store.journal_ahead(since, most, look, **wanted)
        found += page.events
        if page.cursor is None:
            return found
        since = page.cursor


@pytest.mark.costly
def test_pages_together_are_what_is_wanted_either_way(filled: Store) -> None:
    for wanted, most, look in product(WANTED, (1, 7, 1000), (3, 10_000)):
        every = [*filled.journal(**wanted)]
        assert back(filled, most, look, **wanted) == every
        assert ahead(filled, most, look, **wanted) == every


def test_of_an_actor_how_it_begins(filled: Store) -> None:
    actor = filled.journal_back(most=1).events[0].actor
    every = [*filled.journal()]
    assert [*filled.journal(actor=actor[:3])] == every == back(filled, 100, 100, actor=actor[:3])
    assert filled.latest(actor=actor) == every[-1].cursor
    assert filled.latest(actor=actor[1:]) is None


def test_a_page_looks_at_so_many_events_and_says_how_far(filled: Store) -> None:
    every = [*filled.journal()]
    page = filled.journal_back(look=10, id="no such")
    assert page == ([], every[-10].cursor, every[-10].time)
    page = filled.journal_ahead(look=10, id="no such")
    assert page == ([], every[9].cursor, every[9].time)


def test_a_time_is_found_without_looking_at_what_is_between(filled: Store) -> None:
    (found,) = filled.journal_back(look=12, end=12.0, id="11").events
    assert found.time == 11
    (found,) = filled.journal_ahead(look=12, start=33.0, id="33").events
    assert found.time == 33
    assert filled.journal_back(look=12, start=38.0, id="no such").cursor is None
    assert filled.journal_ahead(look=12, end=2.0, id="no such").cursor is None


def test_an_empty_journal_has_an_empty_page(store: Store) -> None:
    for page in (store.journal_back(end=5), store.journal_ahead(start=5), store.journal_back()):
        assert page == ([], None, None)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"before": "x"}, "before: found 'x', allowed: the cursor of an event, or None"),
        ({"most": 0}, "most: found 0, allowed: "),
        ({"look": 0}, "look: found 0, allowed: "),
        ({"kind": "dead"}, "kind: found 'dead', allowed: accepted, "),
    ],
)
def test_what_there_is_not_is_refused(asked: dict[str, Any], line: str, store: Store) -> None:
    with pytest.raises(MessageError) as refused:
        store.journal_back(**asked)
    assert line in str(refused.value)
    with pytest.raises(MessageError):
        store.journal_ahead(**{"since" if key == "before" else key: v for key, v in asked.items()})


def test_when_a_message_was_sent_is_remembered_by_its_id(filled: Store) -> None:
    assert (filled.sent_at("q", "7"), filled.sent_at("other", "9")) == (7.0, 9.0)
    assert filled.sent_at("other", "7") is None
    with pytest.raises(MessageError, match="queue: found 'none'"):
        filled.sent_at("none", "7")
