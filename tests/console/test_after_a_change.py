"""Where an operator has just changed something, pages show what is so now."""

import threading

from fairlead import Store
from fairlead.console.counted import Counts
from fairlead.console.health import DatabaseHealth
from tests.console.running import RunningConsole, seen


def test_the_counts_after_something_was_taken_back(console: RunningConsole, store: Store) -> None:
    store.send("orders", "o", group="kim")
    work = store.take("orders")
    assert work is not None
    dora = console.as_("dora")
    assert 'data-n="working">1<' in dora.get("/queue/held", name="orders")
    page = dora.post("/take-back", name="orders", held=str(work.token), sure="1")
    assert 'data-n="working">0<' in page
    assert 'data-n="ready">1<' in page
    assert "before the last change" not in page


def test_the_counts_after_dead_letters_went_back(console: RunningConsole, store: Store) -> None:
    store.send_many("orders", [{"body": k, "id": f"m{k}"} for k in range(3)])
    for work in store.take_many("orders", 3):
        list(work)
        work.reject("broken")
    dora = console.as_("dora")
    page = dora.get("/queue/dead", name="orders")
    assert 'data-n="dead">3<' in page
    assert "3 in all, of 1 reason" in seen(page)
    page = dora.post("/dead-letters/chosen", name="orders", id=["m0", "m2"], do="requeue")
    assert 'data-n="dead">1<' in page
    assert 'data-n="messages">2<' in page
    assert "1 in all, of 1 reason" in seen(page)


def test_the_state_after_a_tenant_was_switched_off(console: RunningConsole, store: Store) -> None:
    for tenant in ("gold", "iron"):
        store.send("orders", "o", tenant=tenant)
    dora = console.as_("dora")
    page = seen(dora.get("/queue/tenants", name="orders"))
    assert page.count("Switch off") == 3  # the queue's, too
    off = {"name": "orders", "tenant": "iron", "on": "0", "reason": "too many"}
    page = seen(dora.post("/switch", **off))
    assert "off since 2" in page
    assert "UTC : too many, by dora Switch on iron" in page
    assert "gold 1 100.0%" in page
    page = seen(dora.post("/switch", name="orders", tenant="iron", on="1"))
    assert "iron 1 50.0%" in page


def test_what_was_changed_is_counted_at_once_however_long_counts_take() -> None:
    counts, calls = Counts(DatabaseHealth()), []

    def slow() -> int:
        threading.Event().wait(0.3)  # then nothing is counted for half a minute
        calls.append(1)
        return len(calls)

    first = counts.get("it", slow, 20)
    assert first is not None
    assert (first.value, first.is_old) == (1, False)
    counts.again("it")
    second = counts.get("it", slow, 20)
    assert second is not None
    assert (second.value, second.is_old) == (2, False)
    counts.close()


def test_a_count_from_before_a_change_is_told() -> None:
    counts, goes_on = Counts(DatabaseHealth()), threading.Event()
    goes_on.set()

    def count() -> int:
        assert goes_on.wait(30)
        return 1

    assert counts.get("it", count, 20) is not None
    goes_on.clear()
    counts.again("it")
    old = counts.get("it", count, 0)
    assert old is not None
    assert old.is_old
    goes_on.set()
    new = counts.get("it", count, 20)
    assert new is not None
    assert not new.is_old
    counts.close()
