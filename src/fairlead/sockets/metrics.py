"""Counters of a device, as Prometheus reads them over HTTP."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from fairlead.errors import SocketError
from fairlead.sockets.closing import Closing
from fairlead.sockets.device import Device
from fairlead.sockets.status import look

PATH: Final = "/metrics"
KIND: Final = "text/plain; version=0.0.4; charset=utf-8"
GAUGES: Final = ("waiting", "held")
NOT_COUNTED: Final = ("side", "name", "address", "state", "trouble", *GAUGES)


def text(rows: list[dict[str, Any]]) -> str:
    """What `look` has found, in the text format of Prometheus."""
    lines: dict[str, list[str]] = {}
    for row in rows:
        labels = (
            f"side={json.dumps(row['side'])},name={json.dumps(row['name'], ensure_ascii=False)}"
        )
        state = f"{labels},state={json.dumps(row['state'])}"
        _add(lines, "fairlead_endpoint_state", "gauge", state, 1)
        for name in GAUGES:
            _add(lines, f"fairlead_endpoint_{name}", "gauge", labels, row[name])
        for name in sorted(row.keys() - {*NOT_COUNTED}):
            _add(lines, f"fairlead_endpoint_{name}_total", "counter", labels, row[name])
    return "".join(f"{line}\n" for each in lines.values() for line in each)


def _add(lines: dict[str, list[str]], name: str, kind: str, labels: str, value: int) -> None:
    lines.setdefault(name, [f"# TYPE {name} {kind}"]).append(f"{name}{{{labels}}} {value}")


class Metrics(Closing):
    """Answers GET /metrics, as long as it is open."""

    def __init__(self, device: Device, address: str) -> None:
        """`address`: HOST:PORT, or PORT on loopback; port 0: a free one. Raises SocketError."""
        host, colon, port = address.rpartition(":")
        if not port.isdecimal() or int(port) > 65535 or (colon and not host):
            raise SocketError(f"metrics: found {address!r}, allowed: PORT or HOST:PORT")

        class Handler(BaseHTTPRequestHandler):
            """Answers one request."""

            def do_GET(self) -> None:
                """Answer."""
                if self.path != PATH:
                    self.send_error(404)
                    return
                body = text(look(device)).encode()
                self.send_response(200)
                self.send_header("Content-Type", KIND)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing of who asks."""

        try:
            self._server = ThreadingHTTPServer((host or "127.0.0.1", int(port)), Handler)
        except OSError as error:
            raise SocketError(f"metrics: {address}: {error.strerror or error}") from None
        self._server.daemon_threads = True
        found_host, found_port = self._server.server_address[:2]
        self.url: Final = f"http://{found_host!s}:{found_port}{PATH}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
