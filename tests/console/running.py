"""A console that answers at a port of its own, and browsers that are logged in there."""

from __future__ import annotations

import asyncio
import html
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import psycopg
from psycopg import sql

from fairlead import Store
from fairlead.config.console import ConsoleAddress, ConsoleFile
from fairlead.config.roles import Role
from fairlead.console.console import Console
from fairlead.console.server import ConsoleServer, listening
from fairlead.serve.passwords import HashCost
from fairlead.serve.users import add

CHEAP: Final = HashCost(ln=4, r=1, p=1)
PASSWORDS: Final = {"dora": "o-secret", "victor": "v-secret"}
"""An operator and a viewer."""
TOKEN: Final = re.compile(r'name="token" value="([^"]+)"')


class RunningConsole:
    """Where it answers, and what it has."""

    def __init__(self, console: Console, url: str, stack: ExitStack) -> None:
        self.console = console
        self.url = url
        self._stack = stack

    def client(self, **more: Any) -> httpx.Client:
        """A browser of nobody."""
        client = httpx.Client(base_url=self.url, timeout=30, **more)
        return self._stack.enter_context(client)

    def as_(self, name: str) -> Browser:
        """A browser in which this user of `PASSWORDS` is logged in."""
        client = self.client()
        answer = client.post("/login", data={"name": name, "password": PASSWORDS[name]})
        assert answer.status_code == 303, answer.text
        return Browser(client)


class Browser:
    """A browser of somebody who is logged in; `post` says the token of the session."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def get(self, path: str, status: int = 200, **query: str) -> str:
        """A page."""
        answer = self.client.get(path, params=query or None)
        assert answer.status_code == status, (answer.status_code, seen(answer.text))
        return answer.text

    def token(self) -> str:
        """What forms of this session say."""
        match = TOKEN.search(self.get("/jobs"))
        assert match is not None
        return match[1]

    def post(self, path: str, status: int = 200, **fields: Any) -> str:
        """What stands on the page to which a form leads."""
        answer = self.client.post(
            path, data={"token": self.token(), **fields}, follow_redirects=True
        )
        assert answer.status_code == status, (answer.status_code, seen(answer.text))
        return answer.text


def seen(page: str) -> str:
    """A page as its reader sees it: its text in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


@contextmanager
def running(store: Store, folder: Path, **file: Any) -> Iterator[RunningConsole]:
    """A console of a store; `file`: keys of its settings."""
    users = folder / "users.toml"
    if not users.exists():
        add(users, "dora", PASSWORDS["dora"].encode(), CHEAP, Role.OPERATOR)
        add(users, "victor", PASSWORDS["victor"].encode(), CHEAP, Role.VIEWER)
    settings = ConsoleFile(**{"users": users.name, **file})
    console = Console(store, settings, folder)
    ours = listening(ConsoleAddress("127.0.0.1", 0))
    url = f"http://127.0.0.1:{ours.getsockname()[1]}"
    server = ConsoleServer(console, ours, None)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        with ExitStack() as stack:
            yield RunningConsole(console, url, stack)
    finally:
        server.stop()
        thread.join(30)
        console.state.close()
        assert not thread.is_alive()


@contextmanager
def lost_database(url: str) -> Iterator[None]:
    """A database of PostgreSQL's to which nobody is connected, or can connect, for a while."""
    name = urlsplit(url).path.removeprefix("/")
    with psycopg.connect(url.replace(f"/{name}", "/postgres", 1), autocommit=True) as other:
        allowed = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        other.execute(allowed.format(sql.Identifier(name), sql.Literal(False)))
        try:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            yield
        finally:
            other.execute(allowed.format(sql.Identifier(name), sql.Literal(True)))
