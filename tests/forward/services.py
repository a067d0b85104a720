"""A real service over HTTP for tests: uvicorn in a thread, which does what a path asks for."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn

from tests.ports import free_port

Scope = dict[str, Any]


class Asked(NamedTuple):
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float


class Reply(NamedTuple):
    """What is answered."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}
    seconds: float = 0
    """Before the answer."""
    cut: bool = False
    """Whether the connection is closed in the middle of the body."""


class Service:
    """Answers as `says` says; remembers what came, and how many were there at one time."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.says: Callable[[Asked], Reply] = lambda asked: Reply()
        self.at_once = 0
        self.most_at_once = 0
        self.port = free_port()
        self.scheme = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def bodies(self) -> list[str]:
        return [asked.body.decode() for asked in self.asked if asked.method == "POST"]

    def keys(self) -> list[str]:
        return [asked.headers["idempotency-key"] for asked in self.asked if asked.method == "POST"]

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":  # whoever asked has died
                return
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        query = scope["query_string"].decode()
        asked = Asked(
            scope["method"],
            scope["path"] + (f"?{query}" if query else ""),
            {name.decode(): value.decode() for name, value in scope["headers"]},
            body,
            time.monotonic(),
        )
        self.asked.append(asked)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self._reply(self.says(asked), send)
        finally:
            self.at_once -= 1

    async def _reply(self, reply: Reply, send: Any) -> None:
        await asyncio.sleep(reply.seconds)
        length = len(reply.body) + (100 if reply.cut else 0)
        said = {"content-length": str(length), **reply.headers}
        named = [(name.encode(), value.encode()) for name, value in said.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": named})
        await send({"type": "http.response.body", "body": reply.body, "more_body": reply.cut})


@contextmanager
def serving(service: Service, **tls: Any) -> Iterator[Service]:
    """Serve until the block ends. `tls`: as uvicorn takes it."""
    service.scheme = "https" if tls else "http"
    config = uvicorn.Config(
        service,
        port=service.port,
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
        **tls,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield service
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)


def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come to hold"
        time.sleep(0.01)


@contextmanager
def hanging() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]
