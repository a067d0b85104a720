"""The first page: what there is, and what is wrong with it."""

from __future__ import annotations

import json
import time

import pytest

from fairlead import Store
from fairlead.console import counted
from fairlead.console.counted import Counts
from fairlead.console.health import DatabaseHealth
from fairlead.console.rates import MINUTES, QueueRates, Rates, points
from fairlead.errors import StoreError
from tests.console.running import RunningConsole, seen


def reject_one(store: Store, queue: str, reason: str) -> None:
    work = store.take(queue)
    assert work is not None
    list(work)
    work.reject(reason)


@pytest.mark.costly
def test_the_page_has_each_queue_and_what_is_wrong(console: RunningConsole, store: Store) -> None:
    assert "None yet" in seen(console.as_("victor").get("/"))
    for k in range(3):
        store.send("orders", "o", id=f"o{k}")
    reject_one(store, "orders", "broken")
    store.send("mails", "m")
    store.switch("mails", on=False, reason="the printer burns")
    page = wait_for(console, "orders")
    text = seen(page)
    assert "mails is switched off: the printer burns, by" in text
    assert "1 message of orders died in the last 15 minutes" in text
    assert 'data-n="messages:orders">2<' in page
    assert 'data-n="dead:orders"' in page
    assert 'data-n="line-in:orders" points="1.0,' in page


def wait_for(console: RunningConsole, text: str) -> str:
    """The overview, once it shows a text: it is counted again within seconds."""
    browser = console.as_("victor")
    for _ in range(100):
        page = browser.get("/")
        if text in page:
            return page
        time.sleep(0.2)
    raise AssertionError(seen(page))


def test_a_process_that_takes_is_shown_with_what_it_holds(
    console: RunningConsole, store: Store
) -> None:
    store.send("orders", "o")
    work = store.take("orders")
    assert work is not None
    (process,) = store.processes()
    text = seen(wait_for(console, process.name))
    assert f"{process.name} " in text
    work.release()


@pytest.mark.costly
def test_the_numbers_go_on_while_a_page_is_open(console: RunningConsole, store: Store) -> None:
    store.send("orders", "o")
    wait_for(console, "orders")
    client = console.as_("victor").client
    with client.stream("GET", "/live/overview") as answer:
        lines = (json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data:"))
        assert next(lines)["set"]["messages:orders"] == "1"
        store.send("orders", "o")
        ends = time.monotonic() + 30
        for news in lines:
            if news["set"].get("messages:orders") == "2":
                break
            assert time.monotonic() < ends


def test_the_last_hour_is_counted_minute_by_minute(store: Store) -> None:
    for k in range(5):
        store.send("orders", "o", id=f"o{k}")
    reject_one(store, "orders", "broken")
    work = store.take("orders")
    assert work is not None
    with work:
        list(work)
    rates = Rates(store)
    rates.look()
    found = rates.of("orders")
    assert rates.complete
    assert (sum(found.came), sum(found.went), sum(found.died)) == (5, 1, 1)
    assert len(found.came) == MINUTES
    store.send("orders", "o")
    rates.look()
    assert sum(rates.of("orders").came) == 6
    assert sum(rates.of("others").came) == 0


@pytest.mark.parametrize(
    ("came", "went", "grows"),
    [
        ([10] * 60, [10] * 60, False),
        ([10] * 60, [5] * 60, True),
        ([10] * 60, [5] * 57 + [20, 20, 0], False),
        ([1] * 60, [0] * 60, False),
    ],
)
def test_a_queue_grows_where_more_comes_than_goes(
    came: list[int], went: list[int], *, grows: bool
) -> None:
    assert QueueRates(came, went, [0] * 60).grows is grows


def test_a_line_has_a_point_for_each_minute() -> None:
    assert points([0, 5, 10], 10, width=20, height=10) == "1.0,11.0 11.0,6.0 21.0,1.0"
    assert points([0, 0], 0, width=20, height=10) == "1.0,11.0 21.0,11.0"


def test_what_costs_much_is_counted_for_one_part_in_a_hundred_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counted, "PAUSE", 0.01)
    counts, calls = Counts(DatabaseHealth()), []

    def slow() -> int:
        calls.append(time.monotonic())
        time.sleep(0.02)
        return len(calls)

    first = counts.get("slow", slow, 5)
    assert first is not None
    assert first.value == 1
    ends = time.monotonic() + 3
    while time.monotonic() < ends:
        last = counts.get("slow", slow, 0)
        time.sleep(0.01)
    assert last is not None
    assert 2 <= last.value <= 4
    counts.close()


def test_what_is_not_counted_in_time_is_told_later() -> None:
    counts = Counts(DatabaseHealth())

    def slow() -> str:
        time.sleep(0.3)
        return "done"

    assert counts.get("slow", slow, 0.01) is None
    found = counts.get("slow", slow, 5)
    assert found is not None
    assert found.value == "done"
    counts.close()


def test_a_count_that_fails_says_so_and_is_tried_again() -> None:
    health = DatabaseHealth()
    counts, fails = Counts(health), [True]

    def count() -> str:
        if fails:
            fails.pop()
            raise StoreError("the server is gone")
        return "back"

    with pytest.raises(StoreError, match="the server is gone"):
        counts.get("it", count, 5)
    assert health.lost_since is not None
    ends = time.monotonic() + 10
    found = None
    while found is None and time.monotonic() < ends:
        try:
            found = counts.get("it", count, 0.1)
        except StoreError:
            time.sleep(0.1)
    assert found is not None
    assert found.value == "back"
    assert health.lost_since is None
    counts.close()
