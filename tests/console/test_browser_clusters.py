"""In a real browser: who drains a machine looks first, and what happened is fit to be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import Cluster, Store
from tests import peers
from tests.console.running import RunningConsole, running
from tests.console.test_browser import PROGRAM, RUNS_OFF, Page, all_quiet, logged_in
from tests.report.browser import Tab, browser
from tests.stores import made_url

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="not here: chromium")
SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
MACHINES = [{"name": f"DEV{k}", "weight": k, "address": f"10.0.0.{k}:8080"} for k in (1, 2, 3)]
LONG = "a-name-that-is-as-long-as-names-of-groups-may-well-be-" * 3


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """A store in which a cluster has sent work, and some of it was done."""
    with Store.open(made_url("sqlite")) as store:
        store.keep_clusters([Cluster.of("msmq", name="pool", destination=MACHINES)])
        store.declare(SNIPPETS / "dialogs.toml")
        order = store.begin_dialog("Client", "Shop")
        order.send("Order", {"item": "lamp"})
        for k in range(60):
            decision = store.publish("pool", k, id=f"job-{k}", group=f"g{k % 7}")
            if k % 3 and (work := store.take(str(decision.destination))) is not None:
                with work:
                    assert [*work]
        store.send("orders", 1, group=LONG, id=LONG)
        store.prioritise("orders", LONG, 9)
        yield store


@pytest.fixture(scope="module")
def console(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningConsole]:
    with running(store, tmp_path_factory.mktemp("console")) as console:
        yield console


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    assert PROGRAM is not None
    with browser(PROGRAM, tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def page(tab: Tab, console: RunningConsole) -> Page:
    return logged_in(tab, console)


def test_a_machine_is_drained_after_a_look_at_the_last_hour(page: Page, store: Store) -> None:
    page.open("/clusters")
    page.click("pool")
    page.tab.run("document.querySelector('[name=draining][value=DEV3]').click()")
    page.click("Look at what that changes")
    assert "draining of DEV3: false becomes true" in page.text()
    page.click("Preview")
    page.until("document.body?.innerText?.includes('60 messages, decided again')")
    rows = page.tab.run(
        "[...document.querySelectorAll('table.list tbody tr')].map(r => r.innerText.split('\\t'))"
    )
    assert [row[2:] for row in rows] == [
        ["10", "20", "+10"],
        ["20", "40", "+20"],
        ["30", "0", "-30"],
    ]
    assert store.pool("pool").version == 0
    page.click("Change it now")
    assert "Done; it counts from the next choice on." in page.text()
    assert "draining is true" in page.text()
    assert [event.actor for event in store.journal(kind="changed")] == ["dora"]
    all_quiet(page)


@pytest.mark.slow
def test_an_open_page_of_a_cluster_counts_on(page: Page, store: Store) -> None:
    page.open("/cluster?name=pool")
    sent = store.pool("pool").machines[0].sent
    number = "document.querySelector('[data-n=\"sent:DEV1\"]').innerText"
    assert page.tab.run(number) == str(sent)
    while store.pool("pool").machines[0].sent == sent:
        store.next_destination("pool")
    page.until(f"{number} === '{sent + 1}'")
    store.change("pool", "DEV1", "weight", 4)
    page.until("!document.getElementById('changed').hidden")
    all_quiet(page)


@pytest.mark.costly
@pytest.mark.parametrize("width", [1366, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_each_page_is_fit_to_use(page: Page, store: Store, width: int, *, dark: bool) -> None:
    program = peers.axe()
    (dialog,) = store.conversations()
    page.tab.call("Page.setBypassCSP", enabled=True)
    page.tab.screen(width, dark=dark)
    paths = [
        *("/clusters", "/cluster?name=pool", "/cluster/changes?name=pool", "/journal", "/dialogs"),
        *("/journal?kind=decided&queue=a", "/decision?cluster=pool&id=job-7"),
        *("/message?queue=DEV3&id=job-5", f"/message?queue=orders&id={LONG}"),
        *("/group?queue=DEV2&group=g2", f"/group?queue=orders&group={LONG}"),
        *(f"/dialog?name={dialog.dialog}", "/order?queue=DEV3&first=g5&second=g2"),
    ]
    try:
        for path in paths:
            page.open(path)
            assert "Not now" not in page.text()
            wide = page.tab.run("document.documentElement.scrollWidth")
            assert wide <= width, path
            if width < 620:
                assert page.tab.run(RUNS_OFF) == [], path
            page.tab.run(f"{program}; 0")
            violations: list[dict[str, Any]] = page.tab.run(
                "axe.run().then(r => r.violations.map(v => "
                "({id: v.id, nodes: v.nodes.map(n => n.html)})))"
            )
            assert violations == [], path
    finally:
        page.tab.call("Page.setBypassCSP", enabled=False)
