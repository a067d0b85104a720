"""Who is kept from doing what: viewers, other sites, forgers, and those who are slow or many."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from fairlead import Store
from fairlead.config.console import TrustedProxy
from fairlead.config.roles import Role
from fairlead.console import access
from fairlead.console.pages import ROUTES, STREAMS
from fairlead.console.sessions import OF_ONE, Sessions
from fairlead.serve.users import remove, set_role
from tests.console.running import PASSWORDS, TOKEN, RunningConsole, running, seen
from tests.store.roles import store_with_roles

HOSTILE: Final = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "../../etc/passwd",
    "a&b=c#d?e/f%00%2e",
    "x" * 500,
    "\u202eevil\u202c",
    "'; DROP TABLE groups; --",
    "%s%n",
    "\U0001f600 \u00e9\u0301",
)
GUARDED: Final = [route for route in ROUTES if route.role is not None]
CHANGES: Final = [route for route in ROUTES if route.role is Role.OPERATOR]


def is_name(text: str) -> bool:
    """Whether a store takes it as a name."""
    return text.isprintable()


@pytest.mark.parametrize("name", HOSTILE)
def test_other_peoples_text_is_never_markup(
    console: RunningConsole, store: Store, name: str
) -> None:
    if is_name(name):
        store.send(name, name, group=name, id=name, tenant=name, type=name)
        store.prioritise(name, name, 5)
        store.send("orders", name, group=name, id=name)
    else:
        store.send("orders", name)
    work = store.take("orders")
    assert work is not None
    list(work)
    work.reject(name)
    dora = console.as_("dora")
    queues = ["orders", name] if is_name(name) else ["orders"]
    pages = [dora.get("/"), dora.get("/find", 200 if is_name(name) else 400, name=name)]
    for queue in queues:
        tabs = ("/queue", "/queue/held", "/queue/dead", "/queue/later", "/queue/tenants")
        pages += [dora.get(path, name=queue) for path in tabs]
        pages.append(dora.get("/queue", name=queue, begins=name[:5]) if is_name(name) else "")
        pages.append(dora.get("/purge", name=queue))
        pages.append(dora.get("/dead-letters/all", name=queue, reason=name))
    if is_name(name):
        pages.append(dora.get("/promote", name=name, group=name, priority="9"))
    number = store.dead_heads("orders")[0].number
    pages.append(dora.get("/dead-letter", name="orders", number=str(number)))
    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "' onmouseover" not in page
        assert 'href="javascript:' not in page
        assert "\u202e" not in seen(page)
        assert "49{%" not in page


@pytest.mark.parametrize("value", HOSTILE)
def test_no_value_of_a_query_or_form_breaks_a_page(
    console: RunningConsole, store: Store, value: str
) -> None:
    store.send("orders", "o", group="kim")
    dora = console.as_("dora")
    keys = ("after", "tenant", "begins", "behind", "group", "priority", "before", "token")
    keys += ("reason", "number", "do", "id", "to", "key")
    token = dora.token()
    for route in ROUTES:
        if route.path.startswith("/static") or route.path == "/logout":
            continue
        query: dict[str, str] = {"name": "orders", **dict.fromkeys(keys, value)}
        if route.method == "GET":
            answer = dora.client.get(route.path, params=query)
        else:
            answer = dora.client.post(route.path, data={**query, "token": token})
        assert answer.status_code in {200, 303, 400, 401, 403, 404, 409}, route
        assert "<script>alert" not in answer.text
        assert "The log of the console" not in answer.text


def test_a_viewer_is_refused_by_each_address_of_an_operator(
    console: RunningConsole, store: Store
) -> None:
    store.send("orders", "o", group="kim")
    before = len(list(store.journal()))
    victor = console.as_("victor")
    data = {"token": victor.token(), "name": "orders", "group": "kim", "on": "0", "held": "1"}
    for route in CHANGES:
        if route.method == "GET":
            answer = victor.client.get(route.path, params={"name": "orders"})
        else:
            answer = victor.client.post(route.path, data=data)
        assert answer.status_code == 403, route.path
        assert "victor is a viewer" in seen(answer.text)
    assert len(list(store.journal())) == before


def test_nobody_gets_in_without_a_session(console: RunningConsole) -> None:
    client = console.client(cookies={"fairlead-console": "forged"})
    for route in GUARDED:
        answer = client.request(route.method, route.path)
        assert answer.status_code == (303 if route.method == "GET" else 401), route.path
    for stream in STREAMS:
        assert client.get(stream.path).status_code == 401


def test_a_form_without_the_sessions_token_does_nothing(
    console: RunningConsole, store: Store
) -> None:
    store.send("orders", "o")
    dora, other = console.as_("dora"), console.as_("dora")
    fields = {"name": "orders", "on": "0"}
    for token in ("", "forged", other.token()):
        answer = dora.client.post("/switch", data={**fields, "token": token})
        assert answer.status_code == 403
    assert dora.client.post("/switch", data=fields).status_code == 403
    assert store.off("orders") is None


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ],
)
def test_a_form_of_another_site_does_nothing(
    console: RunningConsole, store: Store, headers: dict[str, str]
) -> None:
    store.send("orders", "o")
    dora = console.as_("dora")
    data = {"name": "orders", "on": "0", "token": dora.token()}
    answer = dora.client.post("/switch", data=data, headers=headers)
    assert answer.status_code == 403
    assert store.off("orders") is None
    login = {"name": "dora", "password": PASSWORDS["dora"]}
    assert console.client().post("/login", data=login, headers=headers).status_code == 403


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"name": "orders"}', "application/json"),
        (b"name=orders", "text/plain"),
        (b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x"),
        (b"name=%ff%fe", "application/x-www-form-urlencoded"),
        (b"\xff\xfe", "application/x-www-form-urlencoded"),
    ],
)
def test_what_is_no_form_of_ours_is_refused(
    console: RunningConsole, content: bytes, kind: str
) -> None:
    dora = console.as_("dora")
    answer = dora.client.post("/switch", content=content, headers={"content-type": kind})
    assert answer.status_code == 400


def test_the_cookie_is_for_this_site_alone(console: RunningConsole) -> None:
    login = {"name": "dora", "password": PASSWORDS["dora"]}
    answer = console.client().post("/login", data=login)
    cookie = answer.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/"))
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil", "\t//x", ""])
def test_a_login_leads_nowhere_else(console: RunningConsole, to: str) -> None:
    login = {"name": "dora", "password": PASSWORDS["dora"], "to": to}
    assert console.client().post("/login", data=login).headers["location"] == "/"


def test_a_user_without_a_role_is_not_let_in(
    console: RunningConsole, tmp_path: Path, store: Store
) -> None:
    dora, victor = console.as_("dora"), console.as_("victor")
    set_role(tmp_path / "users.toml", "victor", None)
    assert victor.client.get("/jobs").status_code == 303
    login = {"name": "victor", "password": PASSWORDS["victor"]}
    answer = console.client().post("/login", data=login)
    assert answer.status_code == 401
    assert "victor has no role in the console" in seen(answer.text)
    set_role(tmp_path / "users.toml", "dora", Role.VIEWER)
    assert "dora viewer" in seen(dora.get("/jobs"))
    remove(tmp_path / "users.toml", "dora")
    assert dora.client.get("/jobs").status_code == 303


def test_wrong_passwords_are_slowed_down(
    console: RunningConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    console.as_("dora")
    client = console.client()
    wrong = {"name": "dora", "password": "guess"}
    statuses = [client.post("/login", data=wrong).status_code for _ in range(access.WRONG + 2)]
    assert statuses == [401] * access.WRONG + [429] * 2
    console.as_("dora")  # who has been let in before is not kept out by who tries
    new = {"name": "victor", "password": PASSWORDS["victor"]}
    assert client.post("/login", data=new).status_code == 429
    monkeypatch.setattr(access, "MINUTE", 0.0)
    assert client.post("/login", data=new).status_code == 303


def test_viewers_see_bodies_only_where_the_file_says_so(store: Store, tmp_path: Path) -> None:
    store.send("orders", "the secret")
    work = store.take("orders")
    assert work is not None
    list(work)
    work.reject("broken")
    number = str(store.dead_heads("orders")[0].number)
    for allowed in (False, True):
        with running(store, tmp_path, viewers_see_bodies=allowed) as console:
            page = console.as_("victor").get("/dead-letter", name="orders", number=number)
            assert ("the secret" in page) is allowed
            assert ("is for operators" in page) is not allowed
            assert "the secret" in console.as_("dora").get(
                "/dead-letter", name="orders", number=number
            )


def test_a_login_of_the_database_that_only_reads_is_enough_for_viewers(tmp_path: Path) -> None:
    url_of = store_with_roles()
    with Store.open(url_of("owner")) as owner:
        owner.send("orders", "o", group="kim")
        owner.send("orders", "o", id="dead")
        while work := owner.take("orders"):
            list(work)
            work.reject("broken")
        owner.send("orders", "o", group="kim")
        token = owner.take("orders", group="kim")
        owner.send("orders", "o", group="lee")
        assert token is not None
        number = str(owner.dead_heads("orders")[0].number)
    with Store.open(url_of("viewer")) as store, running(store, tmp_path) as console:
        victor = console.as_("victor")
        assert "orders" in seen(victor.get("/"))
        for path in ("/queue", "/queue/held", "/queue/dead", "/queue/later", "/queue/tenants"):
            victor.get(path, name="orders")
        victor.get("/promote", name="orders", group="lee", priority="9")
        victor.get("/queue", name="orders", begins="le")
        victor.get("/dead-letter", name="orders", number=number)
        victor.get("/find", name="lee")
        refused = console.as_("dora").post("/switch", 400, name="orders", on="0")
        assert "permission denied" in seen(refused)
        assert console.console.state.health.lost_since is None


def test_a_proxy_is_believed_only_where_it_is_trusted(store: Store, tmp_path: Path) -> None:
    proxy = TrustedProxy(header="X-User", peers=["127.0.0.1"], operators=["d*"], viewers=["v*"])
    with running(store, tmp_path, proxy=proxy, users=None) as console:
        client = console.client()
        assert client.get("/jobs").status_code == 303
        assert "dora operator" in seen(client.get("/jobs", headers={"X-User": "dora"}).text)
        assert "victor viewer" in seen(client.get("/jobs", headers={"X-User": "victor"}).text)
        assert client.get("/jobs").status_code == 303
        assert client.get("/jobs", headers={"X-User": "mallory"}).status_code == 403
        safe = {"X-User": "dora", "X-Forwarded-Proto": "https"}
        assert "__Host-" in client.get("/jobs", headers=safe).headers["set-cookie"]
        twice = [("X-User", "victor"), ("X-User", "dora")]
        assert client.get("/jobs", headers=twice).status_code == 400
        assert client.get("/jobs", headers={"X-User": "a\tb"}).status_code == 400
    far = TrustedProxy(header="X-User", peers=["10.0.0.7"], operators=["*"])
    with running(store, tmp_path, proxy=far) as console:
        answer = console.client().get("/jobs", headers={"X-User": "dora"})
        assert answer.status_code == 303


def test_a_key_lets_in_who_knows_it(store: Store, tmp_path: Path) -> None:
    with running(store, tmp_path, users=None) as console:
        client = console.client()
        assert client.get("/login", params={"key": "guess"}).status_code == 403
        key = console.console.state.access.key
        assert client.get("/login", params={"key": key}).status_code == 303
        assert "operator" in seen(client.get("/jobs").text)
        assert client.post("/login", data={"name": "a", "password": "b"}).status_code == 401


def test_sessions_are_bounded_in_time_and_number() -> None:
    sessions = Sessions(3, 3600)
    first = sessions.begin("dora", "password")
    others = [sessions.begin("victor", "password") for _ in range(3)]
    assert sessions.find(first.id) is first
    assert [sessions.find(each.id) is not None for each in others] == [False, True, True]
    many = Sessions(1000, 3600)
    all_of_one = [many.begin("dora", "password") for _ in range(OF_ONE + 1)]
    assert many.find(all_of_one[0].id) is None
    short = Sessions(3, 0.01)
    gone = short.begin("dora", "password")
    time.sleep(0.02)
    assert short.find(gone.id) is None


def test_a_body_of_128_megabytes_is_refused_and_not_kept(console: RunningConsole) -> None:
    dora = console.as_("dora")
    sent = 0

    def content() -> Any:
        nonlocal sent
        for _ in range(128):
            sent += 1 << 20
            yield b"x" * (1 << 20)

    try:
        answer = dora.client.post(
            "/switch",
            content=content(),
            headers={"content-type": "application/x-www-form-urlencoded"},
        )
    except httpx.TransportError:
        answer = None  # the connection was closed while it was sent
    assert answer is None or answer.status_code == 413
    assert sent < 64 << 20
    dora.get("/jobs")


def test_many_fields_are_refused(console: RunningConsole) -> None:
    dora = console.as_("dora")
    answer = dora.client.post("/switch", data={f"f{k}": "x" for k in range(3000)})
    assert answer.status_code == 413


def test_open_pages_are_bounded_and_others_are_answered(
    console: RunningConsole, store: Store
) -> None:
    store.send("orders", "o")
    dora = console.as_("dora")
    dora.get("/")
    host, port = console.url.removeprefix("http://").split(":")
    cookie = "; ".join(f"{name}={value}" for name, value in dora.client.cookies.items())
    request = f"GET /live/overview HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\n\r\n".encode()
    open_ones = []
    try:
        for _ in range(450):
            ours = socket.create_connection((host, int(port)), 10)
            ours.sendall(request)
            open_ones.append(ours)
        began = time.monotonic()
        dora.get("/jobs")
        assert time.monotonic() - began < 5
        assert console.console.state.streams <= 20
    finally:
        for ours in open_ones:
            ours.close()
    ends = time.monotonic() + 20
    while console.console.state.streams and time.monotonic() < ends:
        time.sleep(0.1)
    assert console.console.state.streams == 0


@pytest.mark.costly
def test_who_is_slow_is_let_go(console: RunningConsole, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.console.server.HEAD", 0.5)
    monkeypatch.setattr("fairlead.console.visit.FORM_SECONDS", 0.5)
    dora = console.as_("dora")
    host, port = console.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as ours:
        ours.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        assert ours.recv(1) == b""
    cookie = "; ".join(f"{name}={value}" for name, value in dora.client.cookies.items())
    head = f"POST /switch HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\nContent-Length: 99\r\n"
    kind = "Content-Type: application/x-www-form-urlencoded\r\n\r\nname="
    with socket.create_connection((host, int(port)), 10) as ours:
        ours.sendall((head + kind).encode())
        assert b"400 Bad Request" in ours.recv(4096)


def test_who_does_not_read_is_let_go(
    console: RunningConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.console.server.SLOW", 0.5)
    host, port = console.url.removeprefix("http://").split(":")
    with socket.socket() as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ours.settimeout(20)
        ours.connect((host, int(port)))
        request = b"GET /static/console.css HTTP/1.1\r\nHost: x\r\n\r\n"
        ends, was_let_go = time.monotonic() + 20, False
        while not was_let_go and time.monotonic() < ends:
            try:
                ours.sendall(request * 10)
            except ConnectionError:
                was_let_go = True
    assert was_let_go


@pytest.mark.costly
def test_many_at_once_are_answered(console: RunningConsole, store: Store) -> None:
    store.send("orders", "o")
    dora = console.as_("dora")
    statuses: list[int] = []

    def ask() -> None:
        url, cookies = f"{console.url}/queue?name=orders", dict(dora.client.cookies)
        statuses.append(httpx.get(url, cookies=cookies, timeout=60).status_code)

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == [200] * 40
    assert TOKEN.search(dora.get("/jobs"))
