"""All queues, who works on them, and what is wrong now, on one screen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from fairlead.config.roles import Role
from fairlead.console.counted import Counted
from fairlead.console.jobs import ConsoleJob
from fairlead.console.night import StoreOverview, overview_of
from fairlead.console.pages.running import job_url
from fairlead.console.rates import points
from fairlead.console.refusals import stale
from fairlead.console.rendering import iso
from fairlead.console.state import OVERVIEW, ConsoleState, MenuItem
from fairlead.console.visit import Route, Stream, Visit
from fairlead.store.admin.queues import Metrics
from fairlead.text import length

COUNTS: Final = ("messages", "working", "parked", "delayed", "dead", "failures")
PATIENCE: Final = 1.0
"""Seconds for which the first page waits for its numbers."""


def store_overview(state: ConsoleState, patience: float) -> Counted[StoreOverview] | None:
    """What the store holds, as it was counted last; None: it was not, in so many seconds."""
    return state.counts.get(OVERVIEW, overview_of(state.store, state.rates), patience)


async def _overview(visit: Visit) -> Response:
    counted = await visit.wait_for(store_overview, visit.state, PATIENCE)
    if counted is None:
        return visit.page("counting.html", what="What the store holds")
    overview = counted.value
    texts = overview_texts(counted)
    return visit.page("overview.html", overview=overview, at=counted.at, texts=texts)


async def _numbers(visit: Visit) -> Mapping[str, str]:
    counted = store_overview(visit.state, 0)
    return {} if counted is None else overview_texts(counted)


def overview_texts(counted: Counted[StoreOverview]) -> dict[str, str]:
    """The numbers of the page."""
    overview = counted.value
    texts = {"at": iso(counted.at), "list": _list(overview)}
    for queue in overview.queues:
        texts |= {f"{key}:{queue.queue}": text for key, text in queue_texts(queue).items()}
        rates = overview.rates[queue.queue]
        highest = max(*rates.came, *rates.went)
        texts |= {
            f"came:{queue.queue}": f"{rates.per_minute(rates.came):,.0f}",
            f"went:{queue.queue}": f"{rates.per_minute(rates.went):,.0f}",
            f"line-in:{queue.queue}": points(rates.came, highest),
            f"line-out:{queue.queue}": points(rates.went, highest),
        }
    for process in overview.processes:
        texts[f"holds:{process.name}"] = f"{process.holds:,}"
    for k, trouble in enumerate(overview.trouble):
        texts[f"trouble:{k}"] = trouble.text
    return texts


def queue_texts(queue: Metrics) -> dict[str, str]:
    """The numbers of one queue."""
    return {key: f"{getattr(queue, key):,}" for key in (*COUNTS, "ready")} | {
        "oldest": length(int(queue.oldest)) if queue.ready else "-",
        "longest": length(int(queue.longest_held)) if queue.working else "-",
    }


def _list(overview: StoreOverview) -> str:
    """Changes where a row comes or goes, and not with numbers."""
    rows = [
        [(queue.queue, queue.enabled) for queue in overview.queues],
        [(process.name, process.gone) for process in overview.processes],
        [cluster.name for cluster in overview.clusters],
        [(schedule.name, schedule.paused) for schedule in overview.schedules],
        [trouble.to for trouble in overview.trouble],
    ]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:12]


async def _check(visit: Visit) -> Response:
    await visit.form()
    store = visit.store

    def work(_: ConsoleJob) -> str:
        findings = store.check()
        return "; ".join(
            f"{finding.what}: {finding.found:,} in {finding.where or 'the store'}"
            + (f", such as {finding.example}" if finding.example else "")
            for finding in findings
        ) or ("nothing is in it that should not be")

    title = f"Check the store {visit.store.place}"
    job = visit.begin(ConsoleJob(title, visit.who, "/", None), work)
    return visit.back(job_url(job))


async def _pause(visit: Visit) -> Response:
    """Let a schedule send nothing, or send again."""
    form = await visit.form()
    name, paused = form.asked("name"), form.asked("paused") == "1"
    changed = await visit.act(visit.store.pause_schedule, name, paused=paused)
    visit.state.recount()
    if not changed:
        raise stale(f"Schedule {name} {'is paused' if paused else 'goes on'} already")
    done = "is paused: it sends nothing" if paused else "goes on"
    return visit.back("/", f"Schedule {name} {done}.")


ROUTES: Final = (
    Route("/", _overview),
    Route("/check", _check, "POST", Role.OPERATOR),
    Route("/schedule", _pause, "POST", Role.OPERATOR),
)
STREAMS: Final = (Stream("/live/overview", _numbers),)
MENU: Final = MenuItem("Overview", "/", "o")
