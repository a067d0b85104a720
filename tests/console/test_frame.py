"""What all pages of the console share."""

import httpx
import pytest

from fairlead import Store
from tests.console.running import RunningConsole, seen


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
