"""Counters of a device, as Prometheus reads them over HTTP."""

from __future__ import annotations

from typing import Any, Final

from fairlead.errors import SocketError
from fairlead.prometheus import Exposition, MetricsServer
from fairlead.sockets.device import Device
from fairlead.sockets.status import look

GAUGES: Final = ("waiting", "held")
NOT_COUNTED: Final = ("side", "name", "address", "state", "trouble", *GAUGES)


def text(rows: list[dict[str, Any]]) -> str:
    """What `look` has found, in the text format of Prometheus."""
    exposition = Exposition()
    for row in rows:
        labels = {"side": row["side"], "name": row["name"]}
        exposition.add("fairlead_endpoint_state", "gauge", {**labels, "state": row["state"]}, 1)
        for name in GAUGES:
            exposition.add(f"fairlead_endpoint_{name}", "gauge", labels, row[name])
        for name in sorted(row.keys() - {*NOT_COUNTED}):
            exposition.add(f"fairlead_endpoint_{name}_total", "counter", labels, row[name])
    return str(exposition)


class SocketMetrics(MetricsServer):
    """Answers GET /metrics, as long as it is open."""

    def __init__(self, device: Device, address: str) -> None:
        """`address`: HOST:PORT, or PORT on loopback; port 0: a free one. Raises SocketError."""
        super().__init__(lambda: text(look(device)), address, SocketError)
