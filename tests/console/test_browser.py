"""A night of an operator in a real browser; what it shows on a phone, in the dark, to a reader."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import Store
from tests import peers
from tests.console.running import PASSWORDS, RunningConsole, lost_database, running
from tests.report.browser import Tab, browser, program
from tests.stores import made_url

PROGRAM = program()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="not here: chromium")
PATIENCE = 30.0
DEAD = 5_000
RUNS_OFF = """
    [...document.querySelectorAll('.scroll')]
        .filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)
"""
"""Tables of which a part is only seen by who moves them."""


class Page:
    """What an operator sees and does in a tab."""

    def __init__(self, tab: Tab, url: str) -> None:
        self.tab, self.url = tab, url

    def open(self, path: str) -> None:
        """Go to a page, and wait until it is there."""
        self.tab.run("window.left = true")
        self.tab.call("Page.navigate", url=f"{self.url}{path}")
        self.loaded()

    def loaded(self) -> None:
        """Wait for the next page."""
        self.until("!window.left && document.readyState === 'complete'")

    def until(self, condition: str) -> None:
        """Wait until an expression holds in the page."""
        ends = time.monotonic() + PATIENCE
        while not self.tab.holds(condition):
            assert time.monotonic() < ends, (condition, self.text())
            time.sleep(0.05)

    def text(self) -> str:
        """What its reader reads."""
        return str(self.tab.run("document.body?.innerText ?? ''"))

    def click(self, name: str) -> None:
        """Press the link or button that is called so, and wait for where it leads."""
        named = f"e.innerText.trim().startsWith({json.dumps(name)})"
        chosen = f"[...document.querySelectorAll('main a, button')].find(e => {named})"
        self.until(f"!!{chosen}")
        self.tab.run(f"window.left = true; {chosen}.click()")
        self.loaded()

    def fill(self, **values: str) -> None:
        """Write into fields."""
        for id_, value in values.items():
            self.tab.run(f"document.getElementById({json.dumps(id_)}).value = {json.dumps(value)}")

    def key(self, *keys: str) -> None:
        """Press keys."""
        for key in keys:
            self.tab.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
            self.tab.call("Input.dispatchKeyEvent", type="keyUp", key=key)


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    assert PROGRAM is not None
    with browser(PROGRAM, tmp_path_factory.mktemp("profile")) as found:
        found.call("Emulation.setTimezoneOverride", timezoneId="Asia/Kolkata")
        yield found


@pytest.fixture(scope="module")
def night() -> Iterator[Store]:
    """A store in which something is wrong."""
    with Store.open(made_url("sqlite")) as store:
        store.send_many("orders", [{"body": {"item": k}, "group": f"g{k:02}"} for k in range(40)])
        store.send_many("mails", [{"body": "m", "id": f"mail-{k}"} for k in range(DEAD)])
        while store.ready("mails"):
            works = store.take_many("mails", 500)
            with store.transaction() as tx:
                for work in works:
                    list(work)
                    tx.reject("SMTP 550: no such mailbox", work)
        store.set_order("jobs", weights={"gold": 3})
        for k in range(9):
            store.send("jobs", "j", group=f"j{k}", tenant=("gold", "iron", "tin")[k % 3])
        yield store


@pytest.fixture(scope="module")
def console(night: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningConsole]:
    with running(night, tmp_path_factory.mktemp("console")) as console:
        yield console


@pytest.fixture
def page(tab: Tab, console: RunningConsole) -> Page:
    return logged_in(tab, console)


def logged_in(tab: Tab, console: RunningConsole) -> Page:
    """The page of an operator who has logged in there."""
    tab.call("Network.clearBrowserCookies")
    tab.screen(1366)
    page = Page(tab, console.url)
    page.open("/login")
    tab.events.clear()
    page.fill(name="dora", password=PASSWORDS["dora"])
    page.click("Log in")
    return page


def all_quiet(page: Page) -> None:
    """Nothing was said by scripts or by the browser about them, and no request has left."""
    assert page.tab.said() == []
    assert [each for each in page.tab.requests() if not each.startswith(page.url)] == []


def test_the_night(page: Page, night: Store) -> None:
    page.until("document.body?.innerText?.includes('died in the last 15 minutes')")
    page.click("5,000 messages of mails died")
    assert "SMTP 550: no such mailbox" in page.text()
    page.click("mail-0")
    assert "REASON" in page.text().upper()
    page.click("Leave it")
    page.click("Put all back")
    assert "Put back 5,000 dead letters" in page.text()
    page.click("Put back all 5,000")
    page.until("document.body?.innerText?.includes('5,000 dead letters sent again')")
    page.until("/Back to where it began\\s+Store/.test(document.body?.innerText ?? '')")
    assert night.dead_counts("mails").letters == 0
    page.open("/queue?name=orders")
    page.key("j", "j", "j", "p")
    page.until("location.pathname === '/promote' && document.readyState === 'complete'")
    page.fill(priority="200")
    page.click("Whom would that delay?")
    assert "before 2 groups" in page.text()
    page.click("Give it priority 200")
    assert "g02 has priority 200 now." in page.text()
    work = night.take("orders")
    assert work is not None
    assert work.group == "g02"
    page.open("/queue/held?name=orders")
    page.click("Take back")
    assert "done twice" in page.text()
    page.click("Take it back")
    assert "1 group taken back." in page.text()
    actors = {event.actor for event in night.journal(kind=("arrived", "raised", "released"))}
    assert actors == {"dora"}
    all_quiet(page)


def test_times_are_those_of_the_reader(page: Page) -> None:
    page.open("/queue?name=orders")
    times = page.tab.run("[...document.querySelectorAll('time')].map(t => t.innerText)")
    assert times
    assert [time for time in times if not time.endswith("+05:30")] == []


def test_numbers_change_where_they_stand(page: Page, night: Store) -> None:
    page.open("/")
    page.until("!!document.querySelector('[data-n=\"messages:orders\"]')")
    page.tab.screen(390)
    page.tab.run("scrollTo(0, 200)")
    number = "document.querySelector('[data-n=\"messages:orders\"]')"
    place = f"[{number}.getBoundingClientRect().top, document.querySelector('h1').innerText]"
    before = page.tab.run(place)
    night.send("orders", "one more", group="g39")
    page.until(f"{number}.innerText === '41'")
    assert page.tab.run(place) == before
    all_quiet(page)


@pytest.mark.slow
def test_a_page_that_lost_its_database_says_so(tab: Tab, tmp_path: Path) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, running(store, tmp_path) as console:
        store.send("orders", "o", group="kim")
        page = logged_in(tab, console)
        page.until("document.body?.innerText?.includes('orders')")
        hidden = "document.getElementById('lost').hidden"
        assert tab.run(hidden) is True
        with lost_database(url):
            page.until(f"{hidden} === false")
            assert "+05:30. What stands here is what was known before" in page.text()
            page.click("orders")
            assert "Not now" in page.text()
        page.until("document.body?.innerText?.includes('The order in which groups will go')")
        page.until(f"{hidden} === true")


def test_a_row_is_dragged_before_another_one(page: Page) -> None:
    page.open("/queue?name=orders")
    page.tab.run("""
        window.left = true;
        {
          const groups = [...document.querySelectorAll('tr[data-group]')];
          const dataTransfer = new DataTransfer();
          groups[7].dispatchEvent(new DragEvent('dragstart', {dataTransfer}));
          groups[3].dispatchEvent(new DragEvent('drop', {dataTransfer}));
        }
    """)
    page.loaded()
    assert "is the lowest priority that is above that of" in page.text()
    assert "to place" in page.text()


def test_keys_lead_to_pages(page: Page) -> None:
    page.open("/queue?name=orders")
    page.key("g", "j")
    page.until("location.pathname === '/jobs'")
    page.loaded()
    page.key("/")
    assert page.tab.run("document.activeElement.id") == "find"


@pytest.mark.costly
@pytest.mark.parametrize("width", [1366, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_each_page_is_fit_to_use(page: Page, night: Store, width: int, *, dark: bool) -> None:
    program = peers.axe()
    work = night.take("jobs")
    assert work is not None
    page.tab.call("Page.setBypassCSP", enabled=True)
    page.tab.screen(width, dark=dark)
    paths = ["/", "/jobs", "/queue?name=orders", "/queue?name=jobs", "/queue?name=orders&begins=g"]
    paths += [f"/queue/{tab}?name=jobs" for tab in ("held", "dead", "later", "tenants")]
    paths += ["/promote?name=orders&group=g05&priority=9", "/purge?name=orders", "/find?name=g0"]
    paths += [f"/take-back?name=jobs&token={work.token}", "/nowhere"]
    try:
        for path in paths:
            page.open(path)
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
        work.release()


def test_a_phone_shows_why_a_group_goes_next(page: Page) -> None:
    page.tab.screen(390)
    page.open("/queue?name=orders")
    cells = page.tab.run("""
        [...document.querySelectorAll('tbody tr:nth-child(2) td')].map(td => {
            const box = td.getBoundingClientRect();
            const label = getComputedStyle(td, '::before').content;
            return [label + td.innerText, box.left >= 0 && box.right <= 390 && box.width > 0];
        })
    """)
    texts = [text for text, is_seen in cells if is_seen]
    assert len(texts) == len(cells)
    assert any("Why before the next" in text and "it arrived earlier" in text for text in texts)
    page.tab.screen(1366)
    assert (
        page.tab.run("getComputedStyle(document.querySelector('tbody tr')).display") == "table-row"
    )


def test_a_page_without_scripts_still_works(page: Page) -> None:
    page.tab.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.tab.call("Page.navigate", url=f"{page.url}/queue?name=orders")
        ends = time.monotonic() + PATIENCE
        while "The order in which groups will go" not in page.text():
            assert time.monotonic() < ends
            time.sleep(0.05)
        assert " UTC" in page.text()
    finally:
        page.tab.call("Emulation.setScriptExecutionDisabled", value=False)
