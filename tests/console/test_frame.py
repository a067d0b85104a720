"""What all pages of the console share."""

from pathlib import Path

import httpx
import pytest

from fairlead import Store
from tests.console.running import RunningConsole, lost_database, running, seen
from tests.stores import made_url


def test_whoever_is_not_logged_in_is_asked_who_he_is(console: RunningConsole) -> None:
    client = console.client()
    answer = client.get("/jobs")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?to=%2Fjobs")
    assert "Password" in client.get("/login").text
    assert client.get("/live/overview").status_code == 401


def test_a_wrong_password_says_nothing_of_the_name(console: RunningConsole) -> None:
    client = console.client()
    for name in ("dora", "nobody"):
        answer = client.post("/login", data={"name": name, "password": "wrong"})
        assert answer.status_code == 401
        assert "Name and password do not belong together." in seen(answer.text)
        assert "fairlead-console" not in answer.cookies


def test_a_session_ends_when_its_user_logs_out(console: RunningConsole) -> None:
    browser = console.as_("dora")
    browser.get("/jobs")
    copied = dict(browser.client.cookies)
    browser.post("/logout")
    client = console.client(cookies=copied)
    assert client.get("/jobs").status_code == 303


def test_a_page_loads_nothing_from_elsewhere_and_has_no_script_inside(
    console: RunningConsole, store: Store
) -> None:
    store.send("orders", "a book")
    client = console.client()
    answer = client.get("/login")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    page = console.as_("dora").get("/")
    assert "http://" not in page.replace("http://127.0.0.1", "")
    assert "style=" not in page
    assert "onclick" not in page
    assert page.count("<script") == page.count("<script src=")


@pytest.mark.parametrize("path", ["/nowhere", "/../etc/passwd", "/static/console.py"])
def test_an_address_that_leads_nowhere_says_so(console: RunningConsole, path: str) -> None:
    assert "The address leads nowhere" in seen(console.as_("victor").get(path, 404))


def test_the_numbers_of_an_open_page_are_sent(console: RunningConsole, store: Store) -> None:
    store.send("orders", "a book")
    client = console.as_("victor").client
    with client.stream("GET", "/live/overview") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        first = next(line for line in answer.iter_lines() if line)
    assert first.startswith('data: {"set": {')


def test_a_client_without_an_answer_is_let_go(console: RunningConsole) -> None:
    with pytest.raises(httpx.HTTPError):
        httpx.get(console.url.replace("http", "https"), timeout=5)


def test_a_lost_database_is_told_and_recovered_from(tmp_path: Path) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store, running(store, tmp_path) as console:
        store.send("orders", "o", group="kim")
        victor = console.as_("victor")
        assert "orders" in victor.get("/")
        with lost_database(url):
            lost = victor.get("/queue", 503, name="orders")
            assert "Not now" in seen(lost)
            assert 'http-equiv="refresh"' in lost
            overview = seen(victor.get("/"))
            assert "The database does not answer since 2" in overview
            assert "orders" in overview
        assert "kim" in victor.get("/queue", name="orders")
        assert console.console.state.health.lost_since is None
