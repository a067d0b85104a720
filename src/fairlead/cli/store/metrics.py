"""Numbers of a store for Prometheus."""

from __future__ import annotations

import signal

from fairlead.cli.output import acted
from fairlead.errors import ConfigError
from fairlead.prometheus import MetricsServer
from fairlead.store.store import Store
from fairlead.store.workers.metrics import Page, page
from fairlead.store.workers.threads import listen as signals


def metrics(store: Store, listen: str | None) -> None:
    """Print them once, or answer who asks until a signal comes."""
    if listen is None:
        print(page(store), end="")
        return
    stops = signals(signal.SIGINT, signal.SIGTERM)
    with MetricsServer(Page(store), listen, ConfigError) as server:
        acted()
        print(f"metrics: {server.url}", flush=True)
        stops.get()
