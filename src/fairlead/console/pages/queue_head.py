"""What the pages of one queue have in common: its numbers, its tabs, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from fairlead.console.addresses import url
from fairlead.console.counted import Counted
from fairlead.console.night import StoreOverview, failures_url
from fairlead.console.pages.overview import queue_texts, store_overview
from fairlead.console.rates import NOTHING, QueueRates
from fairlead.console.rendering import iso
from fairlead.console.state import ConsoleState
from fairlead.console.visit import Visit
from fairlead.errors import UserError
from fairlead.store.admin.queues import Metrics
from fairlead.store.admin.switching import SwitchedOff
from fairlead.store.store import Store

TABS: Final = (
    ("groups", "Order", "/queue"),
    ("held", "In work", "/queue/held"),
    ("dead", "Dead letters", "/queue/dead"),
    ("later", "Not yet", "/queue/later"),
    ("tenants", "Tenants and limits", "/queue/tenants"),
)
"""Key, title and path of each page of a queue."""
OLD: Final = ", before the last change: it is being counted again"
"""What is said of numbers that are."""
PATIENCE: Final = 0.5
"""Seconds for which a page waits for counts that it can do without."""


class QueueHead(NamedTuple):
    """What stands above each of its pages."""

    name: str
    off: SwitchedOff | None
    """When and why it was switched off; None: it is on."""
    off_tenants: list[str]
    """Tenants of it that are switched off."""
    counted: Metrics | None
    """What it holds, as it was counted last; None: it was not yet."""
    at: float | None
    """When that was."""
    is_old: bool
    """Whether an operator has changed something since."""
    rates: QueueRates

    @property
    def texts(self) -> dict[str, str]:
        """Its numbers."""
        return {} if self.counted is None else queue_texts(self.counted)

    @property
    def old(self) -> str:
        """What is said of them where something has changed since."""
        return OLD if self.is_old else ""

    @property
    def tabs(self) -> list[tuple[str, str, str]]:
        """Key, title and address of its pages."""
        tabs = [(key, title, url(path, name=self.name)) for key, title, path in TABS]
        return [*tabs, ("journal", "What happened", url("/journal", queue=self.name))]

    @property
    def failed(self) -> str:
        """The address of what was given back, with the reasons."""
        return failures_url(self.name)


async def queue_head(visit: Visit) -> QueueHead:
    """Of the queue that is asked about. Raises MessageError where there is none of this name."""
    return await queue_head_of(visit, visit.asked("name"))


async def queue_head_of(visit: Visit, name: str) -> QueueHead:
    """Of a queue. Raises MessageError where there is none of this name."""
    off, off_tenants = await visit.look(_switches, visit.store, name)
    overview = await visit.wait_for(_counted, visit.state)
    if overview is None:
        return QueueHead(name, off, off_tenants, None, None, is_old=False, rates=NOTHING)
    rates = overview.value.rates.get(name, NOTHING)
    metrics = _of_queue(overview.value, name)
    return QueueHead(name, off, off_tenants, metrics, overview.at, overview.is_old, rates)


def _switches(store: Store, name: str) -> tuple[SwitchedOff | None, list[str]]:
    return store.off(name), store.off_tenants(name)


def _counted(state: ConsoleState, patience: float = PATIENCE) -> Counted[StoreOverview] | None:
    try:
        return store_overview(state, patience)
    except UserError:  # the page says that the database is lost
        return None


def _of_queue(overview: StoreOverview, name: str) -> Metrics | None:
    return next((queue for queue in overview.queues if queue.queue == name), None)


async def queue_numbers(visit: Visit) -> Mapping[str, str]:
    """Of the pages of a queue that stay open: as they were counted, which costs nothing."""
    name = visit.asked("name")
    overview = _counted(visit.state, 0)
    metrics = None if overview is None else _of_queue(overview.value, name)
    if overview is None or metrics is None:
        return {}
    texts = {"at": iso(overview.at), "old": OLD if overview.is_old else ""}
    if not overview.is_old:
        texts["list"] = "on" if metrics.enabled else "off"
    return {**queue_texts(metrics), **texts}
