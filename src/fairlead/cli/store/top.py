"""What queues do, again and again."""

from __future__ import annotations

import signal
import time
from collections import Counter
from typing import Any, Final

from rich.live import Live
from rich.table import Table

from fairlead.cli.show import console, filled, print_table, printable
from fairlead.cli.store.printing import print_json
from fairlead.cli.store.queues import FIGURES, is_users, queue_row
from fairlead.store.store import Store
from fairlead.store.workers.threads import listen, next_of

RATES: Final = {"sent/s": "sent", "accepted/s": "accepted"}


class QueuesLook:
    """What the queues hold, and what happened to them since the last look."""

    def __init__(self, store: Store, *, internal: bool) -> None:
        self._store, self._internal = store, internal
        self._cursor = store.latest()
        self._at = time.monotonic()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each queue; the rates are those since the last look."""
        happened: Counter[tuple[str, str]] = Counter()
        for event in self._store.journal(self._cursor):
            happened[event.queue, event.kind] += 1
            self._cursor = event.cursor
        now = time.monotonic()
        seconds, self._at = max(now - self._at, 1e-9), now
        return [
            {"found": row}
            | {name: happened[row.queue, kind] / seconds for name, kind in RATES.items()}
            for row in self._store.queues()
            if self._internal or is_users(row)
        ]


def top(store: Store, interval: float, *, once: bool, internal: bool, as_json: bool) -> None:
    """Show the queues until somebody says stop."""
    signals = listen(signal.SIGINT, signal.SIGTERM)
    look = QueuesLook(store, internal=internal or as_json)
    if once:
        next_of(signals, interval)
        _print(look.rows(), as_json=as_json)
        return
    if as_json or not console().is_terminal:
        while next_of(signals, interval) is None:
            _print(look.rows(), as_json=as_json)
        return
    with Live(console=console(), auto_refresh=False, screen=True) as live:
        live.update(_table(look.rows()), refresh=True)
        while next_of(signals, interval) is None:
            live.update(_table(look.rows()), refresh=True)


def _print(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(row.pop("found")._asdict() | row for row in rows)
    elif rows:
        print_table(console(), _table(rows))


def _table(rows: list[dict[str, Any]]) -> Table:
    texts = [
        {name: printable(str(value)) for name, value in queue_row(row["found"]).items()}
        | {name: f"{row[name]:.1f}" for name in RATES}
        for row in rows
    ]
    return filled(texts, right=(*FIGURES, *RATES)) if texts else Table(title="no queues yet")
