"""What the pages of one queue have in common: its numbers, its tabs, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from fairlead.console.addresses import url
from fairlead.console.pages.overview import queue_texts, store_overview
from fairlead.console.rates import NOTHING, QueueRates
from fairlead.console.rendering import iso
from fairlead.console.state import ConsoleState
from fairlead.console.visit import Visit
from fairlead.errors import UserError
from fairlead.store.admin.queues import Metrics
from fairlead.store.admin.switching import SwitchedOff

TABS: Final = (
    ("groups", "Order", "/queue"),
    ("held", "In work", "/queue/held"),
    ("dead", "Dead letters", "/queue/dead"),
    ("later", "Not yet", "/queue/later"),
    ("tenants", "Tenants and limits", "/queue/tenants"),
)
"""Key, title and path of each page of a queue."""
PATIENCE: Final = 0.5
"""Seconds for which a page waits for counts that it can do without."""


class QueueHead(NamedTuple):
    """What stands above each of its pages."""

    name: str
    off: SwitchedOff | None
    """When and why it was switched off; None: it is on."""
    counted: Metrics | None
    """What it holds, as it was counted last; None: it was not yet."""
    at: float | None
    """When that was."""
    rates: QueueRates

    @property
    def texts(self) -> dict[str, str]:
        """Its numbers."""
        return {} if self.counted is None else queue_texts(self.counted)

    @property
    def tabs(self) -> list[tuple[str, str, str]]:
        """Key, title and address of its pages."""
        return [(key, title, url(path, name=self.name)) for key, title, path in TABS]


async def queue_head(visit: Visit) -> QueueHead:
    """Of the queue that is asked about. Raises MessageError where there is none of this name."""
    name = visit.asked("name")
    off = await visit.look(visit.store.off, name)
    metrics, at, rates = await visit.wait_for(_counted, visit.state, name)
    return QueueHead(name, off, metrics, at, rates)


def _counted(
    state: ConsoleState, name: str, patience: float = PATIENCE
) -> tuple[Metrics | None, float | None, QueueRates]:
    try:
        overview = store_overview(state, patience)
    except UserError:  # the page says that the database is lost
        overview = None
    if overview is None:
        return None, None, NOTHING
    rates = overview.value.rates.get(name, NOTHING)
    of_queue = (queue for queue in overview.value.queues if queue.queue == name)
    return next(of_queue, None), overview.at, rates


async def queue_numbers(visit: Visit) -> Mapping[str, str]:
    """Of the pages of a queue that stay open: as they were counted, which costs nothing."""
    metrics, at, _ = _counted(visit.state, visit.asked("name"), 0)
    if metrics is None or at is None:
        return {}
    return {**queue_texts(metrics), "at": iso(at), "list": "on" if metrics.enabled else "off"}
