"""What happened to a message, a group, a dialog; the journal, and what is taken away of it."""

import csv
import html
import io
import json
import re
import time
from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from fairlead import Cluster, Store
from fairlead.console import history
from fairlead.console.pages import dialog, journal
from tests.console.running import Browser, RunningConsole, seen

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
MARKUP = "\"'><script>alert(1)</script>&amp;"


def settle(store: Store, queue: str, reason: str = "") -> None:
    work = store.take(queue)
    assert work is not None
    assert [*work]
    if reason:
        work.reject(reason)
    else:
        work.accept()


def link(page: str, words: str) -> dict[str, str]:
    """The query of the link that has these words."""
    found = re.search(rf'href="([^"]+)">{words}<', page)
    assert found is not None, seen(page)
    query = urlsplit(found[1].replace("&amp;", "&")).query
    return {key: values[-1] for key, values in parse_qs(query).items()}


def test_a_message_from_sent_to_dead(console: RunningConsole, store: Store) -> None:
    store.send("orders", "a book", group="kim", id="o-1")
    victor = console.as_("victor")
    page = seen(victor.get("/message", queue="orders", id="o-1"))
    assert "Now it waits ; since " in page
    store.prioritise("orders", "kim", 200)
    settle(store, "orders", "no paper")
    dead = victor.get("/message", queue="orders", id="o-1")
    page = seen(dead)
    assert "Now it is a dead letter ; since " in page
    assert "given priority 200 (its group)" in page
    assert 'href="/queue/dead?name=orders">dead letters of orders' in dead
    assert "rejected; it became a dead letter: no paper" in page
    page = seen(victor.get("/message", queue="orders", id="o-2"))
    assert "Now it is not in the journal" in page
    assert "found 'nothing'" in victor.get("/message", 400, queue="nothing", id="o").replace(
        "&#39;", "'"
    )
    assert "id: found nothing" in victor.get("/message", 400, queue="orders")


def test_a_long_history_goes_on_page_by_page(
    console: RunningConsole, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LOOK", 2)
    monkeypatch.setattr(history, "SECONDS", 0.0)
    store.send("orders", 1, group="kim", id="o-1")
    for _ in range(3):
        store.send("elsewhere", 1)
    settle(store, "orders")
    browser = console.as_("dora")
    found, page = "", browser.get("/message", queue="orders", id="o-1")
    while "Look further on" in page:
        found += seen(page)
        page = browser.get("/message", **link(page, "Look further on"))
    found += seen(page)
    assert "sent" in found
    assert found.count("accepted") == 1


def test_a_group_says_where_it_stands_and_what_happened(
    console: RunningConsole, store: Store
) -> None:
    for group in ("kim", "mia"):
        store.send("orders", "a book", group=group, type="Order", id=f"{group}-1")
    browser = console.as_("victor")
    page = seen(browser.get("/group", queue="orders", group="mia"))
    assert "Place 2" in page
    assert "mia-1 Order" in page
    store.prioritise("orders", "mia", 200)
    page = seen(browser.get("/group", queue="orders", group="mia"))
    assert "Place 1 : it would be taken next" in page
    settle(store, "orders")
    page = seen(browser.get("/group", queue="orders", group="mia"))
    assert "State nothing of it waits, and nobody works on it" in page
    assert page.index("accepted") < page.index("taken, attempt 1") < page.index("given priority")
    page = seen(browser.get("/order", queue="orders", first="mia", second="kim"))
    assert "mia before kim: mia was raised, kim was not" in page
    page = seen(browser.get("/order", queue="orders", first="kim", second="mia"))
    assert "It was not kim that was taken before mia, as asked." in page
    page = seen(browser.get("/order", 400, queue="orders", first="kim", second="nobody"))
    assert "found 'nobody', allowed: a group of queue 'orders'" in page


def test_a_group_that_is_held_or_first_come_says_so(console: RunningConsole, store: Store) -> None:
    store.send("orders", 1, group="kim")
    work = store.take("orders")
    assert work is not None
    browser = console.as_("victor")
    page = seen(browser.get("/group", queue="orders", group="kim"))
    assert "State a reader holds it, until " in page
    assert "Place none Priority it was not raised Messages 1" in page
    held = console.as_("dora").get("/group", queue="orders", group="kim")
    assert f'href="/take-back?name=orders&amp;token={work.token}">take it back' in held
    work.release(delay=60, error="no paper")
    page = seen(browser.get("/group", queue="orders", group="kim"))
    assert "State it was released with a delay, until " in page
    assert "Failures 1 in a row" in page
    store.switch("orders", on=False)
    page = seen(browser.get("/group", queue="orders", group="kim"))
    assert "nothing is taken, as its queue is switched off" in page
    store.set_order("orders", "fifo")
    page = browser.get("/group", queue="orders", group="kim")
    assert "the queue is first come, first served" in page


def test_both_ends_of_a_dialog_stand_side_by_side(console: RunningConsole, store: Store) -> None:
    store.declare(SNIPPETS / "dialogs.toml")
    order = store.begin_dialog("Client", "Shop")
    browser = console.as_("victor")
    page = seen(browser.get("/dialog", name=order.dialog))
    assert "Target: Shop Nothing was sent to it yet." in page
    order.send("Order", {"item": "lamp"})
    page = seen(browser.get("/dialog", name=order.dialog))
    assert "Initiator: Client State" in page
    assert "Target: Shop State" in page
    assert f"{order.dialog}/i/0 Order" in page
    assert "no group goes before it" in page
    assert page.index("dialog begun: Client to Shop") < page.rindex(f"{order.dialog}/i/0")
    order.end()
    with store.take("shop") as work:
        for message in work:
            if message.type == "EndDialog":
                store.ends(order.dialog)[1].end()
    page = seen(browser.get("/dialog", name=order.dialog))
    assert "It has ended on both sides." in page
    assert page.index("dialog begun: Client to Shop") < page.index("this end of the dialog has")
    assert "found 'd-99999'" in seen(browser.get("/dialog", 400, name="d-99999"))


def test_open_dialogs_are_listed_page_by_page(
    console: RunningConsole, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialog, "PAGE", 2)
    browser = console.as_("victor")
    assert "None is open." in browser.get("/dialogs")
    store.declare(SNIPPETS / "dialogs.toml")
    for k in range(3):
        order = store.begin_dialog("Client", "Shop")
        if k:
            order.send("Order", {"item": k})
    page = browser.get("/dialogs")
    assert "Client" in page
    assert "1" in seen(page)
    assert "nothing was sent to it yet" not in page
    earlier = browser.get("/dialogs", **link(page, "Those before"))
    assert "nothing was sent to it yet" in earlier
    assert "Those before" not in earlier
    assert seen(browser.get("/dialogs", service="Shop")).count("conversing") == 4
    assert "service: found 'none'" in html.unescape(browser.get("/dialogs", 400, service="none"))
    assert "allowed: a name such as d-17" in browser.get("/dialogs", 400, before="x")


def test_the_journal_by_what_is_asked(console: RunningConsole, store: Store) -> None:
    store.send("orders", 1, group="kim", id="o-1")
    store.send("bills", 1, group="mia", id="b-1")
    settle(store, "orders")
    browser = console.as_("victor")

    def rows(**asked: str) -> list[str]:
        page = browser.get("/journal", **asked)
        table = page[page.index("<tbody>") : page.index("</tbody>")]
        return [seen(row) for row in table.split("<tr>")[1:]]

    assert [row.split(" UTC ")[1].split()[0] for row in rows()] == [
        *("accepted", "taken,", "sent", "sent")
    ]
    assert len(rows(queue="orders")) == len(rows(group="kim")) == 3
    assert len(rows(id="b-1")) == 1
    assert len(rows(kind="taken")) == 1
    assert len(rows(actor=store.journal_back(most=1).events[0].actor[:2])) == 4
    assert rows(end="2020-01-01 00:00") == rows(actor="x") == ["There is nothing of that."]
    assert len(rows(start="2020-01-01T00:00:00Z")) == 4
    for asked in ({"kind": "dead"}, {"start": "noon"}, {"before": "x"}):
        assert "allowed: " in browser.get("/journal", 400, **asked)


def test_the_journal_of_the_last_hours(console: RunningConsole, store: Store) -> None:
    store.send("orders", 1, group="kim", id="o-1")
    store.prioritise("orders", "kim", 9)
    browser = console.as_("victor")
    assert "o-1" in browser.get("/journal", start="2h", queue="orders")
    before = time.time()
    page = browser.get("/journal", end="1h", queue="orders")
    after = time.time()
    assert "There is nothing of that." in page
    file = re.search(r'href="/journal.csv\?([^"]+)"', page)
    assert file is not None
    asked = dict(parse_qsl(html.unescape(file[1])))
    assert asked["queue"] == "orders"
    assert before <= datetime.fromisoformat(asked["end"]).timestamp() + 3600 <= after
    changes = re.search(r'href="/journal\?([^"]+)">Only what somebody has changed', page)
    assert changes is not None
    page = browser.get(f"/journal?{html.unescape(changes[1]).replace('end=', 'was=')}")
    assert "given priority 9" in page
    assert "o-1" not in page


def test_the_journal_goes_on_further_back(
    console: RunningConsole, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LOOK", 2)
    monkeypatch.setattr(history, "MOST", 2)
    monkeypatch.setattr(history, "SECONDS", 0.0)
    store.send("orders", 1, id="wanted")
    for k in range(4):
        store.send("bills", 1, id=f"b-{k}")
    browser = console.as_("victor")
    page = browser.get("/journal", queue="orders", kind="sent")
    assert "Nothing of that was found so far." in page
    while "Look further back" in page:
        page = browser.get("/journal", **link(page, "Look further back"))
    assert "wanted" in page
    assert "Looked through up to" not in page


def download(browser: Browser, path: str, **asked: str) -> tuple[str, str]:
    answer = browser.client.get(path, params=asked)
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    return answer.headers["content-type"], answer.content.decode()


def test_the_journal_is_taken_away_as_it_is(
    console: RunningConsole, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "PAGE", 2)
    monkeypatch.setattr(history, "LOOK", 3)
    for k in range(5):
        store.send("orders", 1, id=f"={k}", group=MARKUP)
        store.send("bills", 1)
    events = [each.to_dict() for each in store.journal(queue="orders")]
    browser = console.as_("victor")
    kind, text = download(browser, "/journal.jsonl", queue="orders")
    assert kind.startswith("application/jsonl")
    assert [json.loads(line) for line in text.splitlines()] == events
    kind, text = download(browser, "/journal.csv", queue="orders")
    assert kind.startswith("text/csv")
    rows = [*csv.DictReader(io.StringIO(text, newline=""))]
    assert [row["id"] for row in rows] == [f"'={k}" for k in range(5)]
    assert {row["group"] for row in rows} == {MARKUP}
    assert "allowed: " in browser.get("/journal.csv", 400, kind="dead")
    assert browser.client.head("/journal.csv").content == b""


def test_only_so_many_take_it_away_at_one_time(
    console: RunningConsole, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.send("orders", 1)
    browser = console.as_("victor")
    for _ in range(journal.DOWNLOADS + 1):
        download(browser, "/journal.csv")
    monkeypatch.setattr(journal, "DOWNLOADS", 0)
    assert "too many" in browser.get("/journal.csv", 503)


def test_a_decision_says_why(console: RunningConsole, store: Store) -> None:
    machines = [{"name": "a", "weight": 1}, {"name": "b", "weight": 2}]
    store.keep_clusters([Cluster.of("msmq", name="pool", destination=machines)])
    store.publish("pool", 1, id="o-1")
    browser = console.as_("victor")
    page = browser.get("/journal", kind="decided")
    by_number = browser.get("/decision", **link(page, "why"))
    assert "Why it went to b" in seen(by_number)
    assert "b: 0 served / weight 2 = 0" in seen(by_number)
    assert (
        seen(browser.get("/decision", cluster="pool", id="o-1")).partition("Store")[0]
        == seen(by_number).partition("Store")[0]
    )
    assert "found 7" in seen(browser.get("/decision", 400, number="7"))
    assert "number: found" in seen(browser.get("/decision", 400, number="x"))


def test_what_others_wrote_is_never_markup(console: RunningConsole, store: Store) -> None:
    for queue in (MARKUP, "orders"):
        store.send(queue, MARKUP, group=MARKUP, id=MARKUP, type=MARKUP)
        store.send(queue, 1, group="other")
    store.prioritise("orders", MARKUP, 9)
    settle(store, "orders", MARKUP)
    settle(store, "orders")
    browser = console.as_("victor")
    pages = [
        browser.get("/journal"),
        browser.get("/journal", queue=MARKUP, group=MARKUP, actor=MARKUP),
        browser.get("/message", queue=MARKUP, id=MARKUP),
        browser.get("/message", queue="orders", id=MARKUP),
        browser.get("/group", queue=MARKUP, group=MARKUP),
        browser.get("/order", queue="orders", first=MARKUP, second="other"),
        browser.get("/order", 400, queue="orders", first=MARKUP, second=MARKUP),
        browser.get("/dialog", 400, name=MARKUP),
        browser.get("/decision", 400, cluster=MARKUP, id=MARKUP),
    ]
    for page in pages:
        assert "<script>alert" not in page
        assert "alert(1)" in page
        assert "'&gt;" not in page.replace("&#39;&gt;", "")


def test_no_page_is_for_who_is_not_logged_in(console: RunningConsole) -> None:
    client = console.client()
    for path in ("/journal", "/journal.csv", "/journal.jsonl", "/message", "/group", "/dialog"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["location"][:7]) == (303, "/login?")
