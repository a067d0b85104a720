"""The pages of a queue, and what an operator does there."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from fairlead import Store
from fairlead.console.bodies import shown_body
from fairlead.console.pages.tenants import tenant_shares
from fairlead.store.admin.dead_pages import BodyPart
from tests.console.running import Browser, RunningConsole, seen


@pytest.fixture
def dora(console: RunningConsole) -> Browser:
    """A browser of an operator."""
    return console.as_("dora")


def value(page: str, name: str) -> str:
    """What a hidden field of a page says."""
    match = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert match is not None, name
    return match[1]


def fill(store: Store, count: int) -> None:
    store.send_many(
        "orders", [{"body": "o", "group": f"g{k:03}", "id": f"m{k}"} for k in range(count)]
    )


def bury(store: Store, count: int, reason: str = "broken", body: object = "o") -> None:
    for _ in range(count):
        store.send("orders", body)
    for _ in range(count):
        work = store.take("orders")
        assert work is not None
        list(work)
        work.reject(reason)


def job_of(dora: Browser, page: str) -> str:
    """The page of a job, once it has ended."""
    path = re.search(r'data-live="/live/(job\?id=[^"]+)"', page)
    ends = time.monotonic() + 30
    while path is not None and "goes on" in seen(page):
        assert time.monotonic() < ends
        time.sleep(0.1)
        page = dora.get(f"/{path[1]}")
    return seen(page)


def events(store: Store, *kinds: str) -> list[Any]:
    return list(store.journal(kind=kinds))


def test_pages_lead_through_all_groups(dora: Browser, store: Store) -> None:
    fill(store, 120)
    store.send("orders", "o", id="alone")
    found: list[str] = []
    page = dora.get("/queue", name="orders")
    while True:
        found += re.findall(r'data-group="([^"]+)"', page)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        if following is None:
            break
        page = dora.get(following[1].replace("&amp;", "&"))
    assert found == [f"g{k:03}" for k in range(120)]
    assert "message alone" in seen(page)
    assert "121" in seen(page)


def test_groups_are_found_by_their_names(dora: Browser, store: Store) -> None:
    fill(store, 120)
    text = seen(dora.get("/queue", name="orders", begins="g11"))
    assert all(f"g11{k}" in text for k in range(10))
    assert "g109" not in text
    text = seen(dora.get("/find", name="g007"))
    assert "g007 orders ready 1" in text
    page = dora.get("/find", name="m7")
    assert 'href="/message?queue=orders&amp;id=m7">m7</a>, sent to orders' in page


def test_whom_a_raise_delays_is_said_before_it_is_done(dora: Browser, store: Store) -> None:
    fill(store, 10)
    asked = dora.get("/promote", name="orders", group="g007", priority="200")
    assert "from place 8 to place 1 , before 7 groups" in seen(asked)
    assert events(store, "raised") == []
    fields = {"name": "orders", "group": "g007", "priority": "200", "seen": value(asked, "seen")}
    done = seen(dora.post("/promote", **fields))
    assert "g007 has priority 200 now." in done
    (raised,) = events(store, "raised")
    assert (raised.actor, raised.group, raised.priority) == ("dora", "g007", 200)
    lowered = seen(dora.get("/promote", name="orders", group="g007", priority="1"))
    assert "It stays at place 1 . It delays nobody" in lowered
    store.prioritise("orders", "g003", 100)
    lowered = seen(dora.get("/promote", name="orders", group="g007", priority="1"))
    assert "from place 1 to place 2 . It delays nobody" in lowered
    assert "Itself it goes later: behind 1 group more." in lowered
    same = seen(dora.get("/promote", name="orders", group="g007", priority="200"))
    assert "It has this priority already. It stays at place 1" in same


def test_a_group_dragged_before_another_one_gets_the_lowest_priority_for_that(
    dora: Browser, store: Store
) -> None:
    fill(store, 5)
    store.prioritise("orders", "g003", 7)
    store.groups("orders")
    query = {"name": "orders", "group": "g004"}
    text = seen(dora.get("/promote", **query, before="g003"))
    assert "8 is the lowest priority that is above that of g003." in text
    assert "to place 1" in text
    text = seen(dora.get("/promote", **query, before="g001"))
    assert "0 is the lowest priority that is above that of g001." in text
    store.prioritise("orders", "g003", 255)
    text = seen(dora.get("/promote", **query, before="g003"))
    assert "g003 is at 255, the highest" in text


def test_what_another_operator_has_raised_meanwhile_is_not_raised(
    dora: Browser, store: Store
) -> None:
    fill(store, 3)
    asked = dora.get("/promote", name="orders", group="g002", priority="5")
    store.prioritise("orders", "g002", 9)
    fields = {"name": "orders", "group": "g002", "priority": "5", "seen": value(asked, "seen")}
    text = seen(dora.post("/promote", 409, **fields))
    assert "somebody has raised it to 9 (priority 9, ready). Nothing was done" in text
    assert [event.priority for event in events(store, "raised")] == [9]


def test_a_queue_is_switched_once(dora: Browser, store: Store) -> None:
    fill(store, 1)
    off = {"name": "orders", "on": "0", "reason": "it burns"}
    assert "orders is off now." in seen(dora.post("/switch", **off))
    assert "UTC : it burns, by dora." in seen(dora.get("/queue", name="orders"))
    text = seen(dora.post("/switch", 409, **off))
    assert "it burns, by dora already. Nothing was done" in text
    assert "orders is on now." in seen(dora.post("/switch", name="orders", on="1"))
    assert [event.actor for event in events(store, "switched-off", "switched-on")] == ["dora"] * 2


def test_a_tenant_has_a_share_and_a_switch(dora: Browser, store: Store) -> None:
    store.set_order("orders", weights={"gold": 3})
    for k in range(6):
        store.send("orders", "o", tenant="gold" if k % 2 else "iron")
    text = seen(dora.get("/queue/tenants", name="orders"))
    assert "gold 3 75.0%" in text
    assert "iron 1 25.0%" in text
    page = seen(dora.post("/switch", name="orders", tenant="iron", on="0"))
    assert "Tenant iron of orders is off now." in page
    assert store.off_tenants("orders") == ["iron"]
    turns = seen(dora.get("/queue", name="orders"))
    assert "Tenants share this queue" in turns
    assert "Nothing goes of tenants that are switched off : iron." in turns
    of_one = seen(dora.get("/queue", name="orders", tenant="iron"))
    assert "Tenant iron is switched off : nothing of it goes." in of_one


def test_shares_are_of_those_that_wait() -> None:
    assert tenant_shares([], None, []) == []


def test_what_a_reader_holds_is_taken_back_from_it(dora: Browser, store: Store) -> None:
    fill(store, 1)
    work = store.take("orders")
    assert work is not None
    page = dora.get("/queue/held", name="orders")
    assert "g000" in page
    token = str(work.token)
    asked = seen(dora.get("/take-back", name="orders", token=token))
    assert "what it does until then is done twice" in asked
    fields = {"name": "orders", "held": token, "reason": "it hangs", "sure": "1"}
    assert "1 group taken back." in seen(dora.post("/take-back", **fields))
    text = seen(dora.post("/take-back", 409, **fields))
    assert "Nobody holds this any more" in text
    (released,) = events(store, "released")
    assert released.actor == "dora"
    assert "it hangs" in str(released.detail)


def test_dead_letters_go_back_one_by_one_and_some(dora: Browser, store: Store) -> None:
    bury(store, 4)
    page = dora.get("/queue/dead", name="orders")
    ids = re.findall(r'name="id" value="([^"]+)"', page)
    assert len(ids) == 4
    done = dora.post("/dead-letters/chosen", name="orders", id=ids[:2], do="requeue")
    assert "2 dead letters sent again" in seen(done)
    again = dora.post("/dead-letters/chosen", 409, name="orders", id=ids[:1], do="requeue")
    assert "Nothing was done" in seen(again)
    asked = dora.post("/dead-letters/chosen", name="orders", id=ids[2:3], do="discard")
    assert "Delete 1 dead letter? It is gone then" in seen(asked)
    assert f"{ids[2]} Delete it Leave it" in seen(asked)
    assert len(store.dead("orders")) == 2
    sure = {"name": "orders", "id": ids[2:3], "do": "discard", "sure": value(asked, "sure")}
    assert "1 dead letter deleted." in seen(dora.post("/dead-letters/chosen", **sure))
    assert [letter.id for letter in store.dead("orders")] == ids[3:]
    assert {event.actor for event in events(store, "arrived", "discarded")} == {"dora"}
    dora.post("/dead-letters/chosen", 400, name="orders", do="requeue")


def test_all_of_a_reason_go_back_in_the_background(
    dora: Browser, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.store.admin.dead_letters.STEP", 10)
    bury(store, 25, "SMTP 550")
    bury(store, 2, "other")
    asked = dora.get("/dead-letters/all", name="orders", reason="SMTP")
    assert "Put back 25 dead letters" in seen(asked)
    fields = {"name": "orders", "reason": "SMTP", "seen": value(asked, "seen"), "do": "requeue"}
    text = job_of(dora, dora.post("/dead-letters/all", **fields))
    assert "25 of 25" in text
    assert "25 dead letters sent again" in text
    assert store.dead_counts("orders").by_reason == {"other": 2}
    assert {event.actor for event in events(store, "arrived")} == {"dora"}
    assert "dead letters of orders with the reason SMTP" in seen(dora.get("/jobs"))


def test_a_dead_letter_says_what_it_says(dora: Browser, store: Store) -> None:
    bury(store, 1, "<b>odd</b>", {"item": "<script>alert(1)</script>"})
    page = dora.get("/queue/dead", name="orders")
    path = re.search(r'href="(/dead-letter\?[^"]+)"', page)
    assert path is not None
    letter = dora.get(path[1].replace("&amp;", "&"))
    assert '"item": "<script>alert(1)</script>"' in seen(letter.replace("&#34;", '"'))
    assert "<script>alert" not in letter
    assert "<b>odd</b>" not in letter


def test_what_waits_for_its_time_is_shown(dora: Browser, store: Store) -> None:
    store.send("orders", "o", delay=3600, id="late")
    fill(store, 1)
    work = store.take("orders")
    assert work is not None
    work.release(600)
    text = seen(dora.get("/queue/later", name="orders"))
    assert text.index("released with a delay g000") < text.index("sent with a delay")
    assert "late" in text


def test_a_purge_says_first_how_much_it_deletes(dora: Browser, store: Store) -> None:
    fill(store, 5)
    asked = dora.get("/purge", name="orders")
    assert "5 messages would be deleted" in seen(asked)
    assert "1 message would be" in seen(dora.get("/purge", name="orders", group="g003"))
    fields = {"name": "orders", "seen": "5", "reason": "old"}
    dora.post("/purge", 400, **fields, sure="order")
    assert store.purgeable("orders") == 5
    text = job_of(dora, dora.post("/purge", **fields, sure="orders"))
    assert "5 messages deleted" in text
    assert {event.actor for event in events(store, "discarded")} == {"dora"}


def test_a_job_is_stopped_after_its_next_step(
    dora: Browser, store: Store, console: RunningConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.store.admin.dead_letters.STEP", 1)
    bury(store, 40)
    fields = {"name": "orders", "seen": "40", "do": "requeue"}
    page = dora.post("/dead-letters/all", **fields)
    path = re.search(r"/job/stop\?id=[^\"]+", page)
    if path is not None:  # else it has ended already
        dora.post(path[0])
    ends = time.monotonic() + 30
    (job,) = console.console.state.jobs.every()
    while job.ended is None:
        assert time.monotonic() < ends
        time.sleep(0.05)
    left = store.dead_counts("orders").letters
    assert left == 40 - job.done
    assert job.failed == (left > 0)
    dora.post("/job/stop?id=unknown", 404)


def test_a_store_is_checked_in_the_background(dora: Browser, store: Store) -> None:
    fill(store, 1)
    assert "nothing is in it that should not be" in job_of(dora, dora.post("/check"))


@pytest.mark.parametrize(
    ("path", "query", "line"),
    [
        ("/queue", {"name": "order"}, "queue: found 'order', allowed:"),
        ("/queue", {}, "name: found nothing"),
        ("/queue", {"name": "orders", "after": "x"}, "after: found 'x'"),
        ("/promote", {"name": "orders", "group": "g000", "priority": "256"}, "priority: found"),
        ("/promote", {"name": "orders", "group": "g000", "priority": "-1"}, "priority: found"),
        ("/promote", {"name": "orders", "group": "g000", "priority": "\u0663"}, "priority: found"),
        ("/queue/dead", {"name": "orders", "after": "9" * 30}, "after: found"),
        ("/take-back", {"name": "orders", "token": "0"}, "token: found"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(
    dora: Browser, store: Store, path: str, query: dict[str, str], line: str
) -> None:
    fill(store, 1)
    assert line in seen(dora.get(path, 400, **query))


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (BodyPart("text", b"a\x07b\nc", 5), "a\\x07b\nc"),
        (BodyPart("text", "\u00e9\u00e9".encode()[:3], 4), "\u00e9"),
        (BodyPart("json", b'{"a":1}', 7), '{\n  "a": 1\n}'),
        (BodyPart("json", b'{"a":', 7), '{"a":'),
        (BodyPart("json", b"[" * 9000, 9000), "[" * 9000),
        (BodyPart("bytes", b"\x00\xffA", 3), f"00000000  00 ff 41{' ' * 39}  ..A"),
    ],
)
def test_a_body_is_shown_as_what_it_is(part: BodyPart, text: str) -> None:
    assert shown_body(part).text == text
    assert shown_body(part).cut == (len(part.beginning) < part.size)
