"""The text format of Prometheus, and who answers those that read it over HTTP."""

from __future__ import annotations

import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from fairlead.errors import FairleadError

LOGGER: Final = logging.getLogger("fairlead")
PATH: Final = "/metrics"
KIND: Final = "text/plain; version=0.0.4; charset=utf-8"
SECONDS: Final = 10.0
"""In which a request has to be asked and answered."""
MOST: Final = 32
"""Requests at one time."""
Labels = Mapping[str, str]


class Exposition:
    """Values, with their names, kinds and labels, to be written as text."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._lines: dict[str, list[str]] = {}

    def add(
        self, name: str, kind: str, labels: Labels, value: float, *, meaning: str = "", of: str = ""
    ) -> None:
        """Add a value. `kind`: gauge | counter | histogram. `of`: the histogram it is a part of."""
        family = of or name
        lines = self._lines.get(family)
        if lines is None:
            header = [f"# HELP {family} {meaning}"] if meaning else []
            lines = self._lines[family] = [*header, f"# TYPE {family} {kind}"]
        shown = ",".join(f"{key}={_quoted(value)}" for key, value in labels.items())
        braces = f"{{{shown}}}" if shown else ""
        number = int(value) if value == int(value) else value
        lines.append(f"{name}{braces} {number}")

    def __str__(self) -> str:
        return "".join(f"{line}\n" for lines in self._lines.values() for line in lines)


def _quoted(label: str) -> str:
    return json.dumps(label, ensure_ascii=False)


class _Answering(ThreadingHTTPServer):
    """Answers each request in a thread; who takes long, or is the oldest of many, is cut off."""

    daemon_threads = True

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 - as above
        self._lock = threading.Lock()
        self._open: dict[socket.socket, float] = {}
        """Until when, in the order in which they came."""
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as above
        with self._lock:
            if len(self._open) >= MOST:
                oldest = next(iter(self._open))
                del self._open[oldest]
                _cut_off(oldest)
            self._open[request] = time.monotonic() + SECONDS
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:  # twice a second
        now = time.monotonic()
        with self._lock:
            for sock, until in self._open.items():
                if until < now:
                    _cut_off(sock)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        error = sys.exception()
        if not isinstance(error, OSError):  # else the one who asked has gone
            LOGGER.error("event=failed what=metrics", exc_info=error)


def _cut_off(request: socket.socket) -> None:
    """Its thread finds that nothing more comes or goes."""
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class MetricsServer:
    """Answers GET /metrics, as long as it is open: each within ten seconds, 32 at one time."""

    def __init__(self, text: Callable[[], str], address: str, refused: type[FairleadError]) -> None:
        """`text`: what is answered. `address`: HOST:PORT, or PORT on loopback; port 0: a free one.

        Raises `refused` for what is no such address, and where nobody can be answered there.
        """
        host, colon, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65535 or (colon and not host):
            raise refused(f"metrics: found {address!r}, allowed: PORT or HOST:PORT")

        class Handler(BaseHTTPRequestHandler):
            """Answers one request."""

            def do_GET(self) -> None:
                """Answer."""
                if self.path != PATH:
                    self.send_error(404)
                    return
                try:
                    status, body = 200, text().encode()
                except FairleadError as error:
                    status, body = 503, f"{error}\n".encode()
                self.send_response(status)
                self.send_header("Content-Type", KIND)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing of who asks."""

        try:
            self._server = _Answering((host or "127.0.0.1", int(port)), Handler)
        except OSError as error:
            raise refused(f"metrics: {address}: {error.strerror or error}") from None
        found_host, found_port = self._server.server_address[:2]
        self.url: Final = f"http://{found_host!s}:{found_port}{PATH}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
