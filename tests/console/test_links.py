"""Every link of every page leads somewhere, and from what is wrong to where it is mended."""

from __future__ import annotations

import html
import re
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from fairlead import Cluster, Store
from fairlead.console.night import overview_of, trouble_in
from fairlead.console.rates import Rates
from tests.console.running import Browser, RunningConsole, running, seen
from tests.stores import Clock, made_url

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
HREF = re.compile(r'<a [^>]*href="([^"]*)"')
OF_EACH = 3
"""Links of one kind that are followed."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Store]:
    """A store in which there is something of all."""
    with Store.open(made_url(request.param), clock=clock) as store:
        store.declare(SNIPPETS / "dialogs.toml")
        store.declare(SNIPPETS / "schedules.toml")
        store.begin_dialog("Client", "Shop").send("Order", {"item": "lamp"})
        machines = [{"name": "a", "weight": 1}, {"name": "b", "weight": 2}]
        store.keep_clusters([Cluster.of("msmq", name="pool", destination=machines)])
        for k in range(4):
            store.publish("pool", k, id=f"job-{k}", group=f"g{k}")
        for group in ("held", "poison", "parked", "dead", "waits"):
            store.send("orders", "o", group=group, id=f"{group}-1", tenant="gold")
        store.send("orders", "o", group="late", delay=600, id="late-1")
        for group, delay, error in (("poison", 0, "no paper"), ("parked", 900, "")):
            work = store.take("orders", group=group)
            assert work is not None
            list(work)
            work.release(delay=delay, error=error or None)
        dead = store.take("orders", group="dead")
        assert dead is not None
        list(dead)
        dead.reject("no such book")
        store.prioritise("orders", "waits", 9)
        yield store


@pytest.fixture
def console(store: Store, tmp_path: Path) -> Iterator[RunningConsole]:
    held = store.take("orders", group="held")
    assert held is not None
    with running(store, tmp_path) as console:
        yield console


def links(page: str) -> list[str]:
    return [html.unescape(address) for address in HREF.findall(page)]


def kind_of(address: str) -> tuple[str, ...]:
    """Its path, and the keys of its query."""
    parts = urlsplit(address)
    return (parts.path, *sorted(key for key, _ in parse_qsl(parts.query)))


def test_each_link_leads_to_a_page(console: RunningConsole) -> None:
    dora = console.as_("dora")
    kinds: Counter[tuple[str, ...]] = Counter()
    seen_already, waits = {"/"}, deque([("/", "/")])
    while waits:
        address, where = waits.popleft()
        answer = dora.client.get(address)
        assert answer.status_code == 200, (address, "on", where, seen(answer.text))
        for link in links(answer.text) if "html" in answer.headers["content-type"] else ():
            kind = kind_of(link)
            if link.startswith("/") and link not in seen_already and kinds[kind] < OF_EACH:
                kinds[kind] += 1
                seen_already.add(link)
                waits.append((link, address))
    paths = {kind[0] for kind in kinds}
    assert paths >= {
        *("/clusters", "/cluster", "/cluster/changes", "/decision", "/dialogs", "/dialog"),
        *("/journal", "/journal.csv", "/journal.jsonl", "/jobs", "/queue", "/queue/held"),
        *("/queue/dead", "/queue/later", "/queue/tenants", "/group", "/message", "/promote"),
        *("/take-back", "/dead-letter", "/dead-letters/all", "/purge"),
    }


@pytest.mark.parametrize(
    ("path", "group"),
    [
        ("/queue?name=orders", "waits"),
        ("/queue?name=orders&begins=po", "poison"),
        ("/queue/held?name=orders", "held"),
        ("/queue/dead?name=orders", "dead"),
        ("/queue/later?name=orders", "parked"),
        ("/find?name=wai", "waits"),
        ("/promote?name=orders&group=poison", "poison"),
    ],
)
def test_a_group_leads_to_its_page(console: RunningConsole, path: str, group: str) -> None:
    dora = console.as_("dora")
    address = f"/group?queue=orders&group={group}"
    assert address in links(dora.get(path))
    assert f"Group {group}" in seen(dora.get(address))


@pytest.mark.parametrize("path", ["/queue/held", "/purge", "/promote", "/dead-letters/all"])
def test_each_page_of_a_queue_leads_to_the_others(console: RunningConsole, path: str) -> None:
    addresses = links(console.as_("dora").get(path, name="orders", group="waits"))
    assert "/queue?name=orders" in addresses
    assert "/queue/held?name=orders" in addresses
    assert "/journal?queue=orders" in addresses


def wrong(dora: Browser) -> dict[str, str]:
    """What is wrong: text → address."""
    page = dora.get("/")
    return {
        html.unescape(text): html.unescape(to)
        for to, text in re.findall(r'<a href="([^"]+)" data-n="trouble:\d+">([^<]+)<', page)
    }


def test_what_is_wrong_leads_to_where_it_is_mended(
    console: RunningConsole, store: Store, clock: Clock
) -> None:
    store.switch("orders", on=False, tenant="gold")
    clock.now += 3600
    dora = console.as_("dora")
    trouble = wrong(dora)
    assert trouble["groups of orders have failed 1 time, and wait again"] == (
        "/journal?queue=orders&kind=released"
    )
    failed = seen(dora.get("/journal?queue=orders&kind=released"))
    assert "given back: no paper" in failed
    assert trouble["tenants of orders are switched off: gold"] == "/queue/tenants?name=orders"
    assert trouble["1 lease of orders is over"] == "/queue/held?name=orders"
    overdue = [to for text, to in trouble.items() if text.startswith("schedule heartbeat is due")]
    assert overdue == ["/#schedules"]
    assert 'id="schedules"' in dora.get("/")
    assert "/queue/held?name=orders" in links(dora.get("/"))


def test_a_schedule_is_paused_and_goes_on(console: RunningConsole, store: Store) -> None:
    dora = console.as_("dora")
    page = dora.post("/schedule", name="heartbeat", paused="1")
    assert "Schedule heartbeat is paused: it sends nothing." in seen(page)
    assert "Resume heartbeat" in seen(page)
    page = dora.post("/schedule", 409, name="heartbeat", paused="1")
    assert "Schedule heartbeat is paused already. Nothing was done" in seen(page)
    assert "Pause heartbeat" in seen(dora.post("/schedule", name="heartbeat", paused="0"))
    events = [*store.journal(kind=["schedule-paused", "schedule-resumed"])]
    assert [event.actor for event in events] == ["dora", "dora"]


def test_what_a_dead_process_holds_is_where_it_is_taken_back(store: Store) -> None:
    assert store.take("orders", group="held") is not None
    overview = overview_of(store, Rates(store))()
    (process,) = overview.processes
    after = overview._replace(processes=[process._replace(gone=True)])
    trouble = {one.text: one.to for one in trouble_in(after)}
    assert trouble[f"{process.name} is gone and holds 1 group"] == "/queue/held?name=orders"
