"""Clusters: who gets what against what he should, what a change would do, and what was changed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from starlette.responses import Response

from fairlead.config.roles import Role
from fairlead.console import history
from fairlead.console.addresses import url
from fairlead.console.jobs import ConsoleJob
from fairlead.console.preview import HOUR, Preview, PreviewRequest, plans
from fairlead.console.preview_process import preview_apart
from fairlead.console.proposal import (
    apply,
    as_text,
    in_words,
    proposal_of,
    proposed,
    what_changed,
)
from fairlead.console.refusals import PageRefusal, stale
from fairlead.console.shares import by_target, cluster_view
from fairlead.console.state import ConsoleState, MenuItem
from fairlead.console.timeline import told
from fairlead.console.visit import Form, Route, Stream, Visit
from fairlead.errors import EnvironmentProblem
from fairlead.extras import need
from fairlead.store.clusters.shares import PoolShares
from fairlead.store.journal.events import EventChoice
from fairlead.store.store import Store

LAST: Final = 1000
"""Choices that are counted, where nobody asks for another number."""
MOST: Final = 5000
SHOWN: Final = 200
"""Destinations of one page."""
STEPS: Final = {"read": (0, 30), "write": (30, 30), "decide": (60, 30), "replay": (90, 10)}
"""What a preview does → from which percent on, and how many."""
RUNNING: Final = 2
"""Previews at one time."""
KEPT: Final = 50
HOURS: Final = ("0.25", "1", "6", "24")
NEW: Final = ("name", "weight", "address", "queue")
"""What can be said of a destination that is added."""


@dataclass
class AskedPreview:
    """What somebody has asked for."""

    request: PreviewRequest
    version: int
    """Of the cluster that he saw."""
    lines: list[str]
    """What would be changed, in words."""
    result: Preview | None = None
    """None: it is not done."""


class Previews:
    """What was found, for as long as somebody may look at it."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._all: dict[str, AskedPreview] = {}

    def begin(self, id_: str, asked: AskedPreview) -> None:
        """One is asked for; the oldest is forgotten, where there are many."""
        while len(self._all) >= KEPT:
            del self._all[next(iter(self._all))]
        self._all[id_] = asked

    def get(self, id_: str) -> AskedPreview:
        """What was asked, and what was found. Raises PageRefusal."""
        if id_ not in self._all:
            raise PageRefusal(404, "This preview is not remembered any more: ask for it again")
        return self._all[id_]


_previews: Final[WeakKeyDictionary[ConsoleState, Previews]] = WeakKeyDictionary()
"""Those of each console of this process."""


def _previews_of(visit: Visit) -> Previews:
    return _previews.setdefault(visit.state, Previews())


# -------- what there is


def _pools(store: Store) -> list[PoolShares]:
    return [store.pool(name) for name in store.clusters()]


async def _clusters(visit: Visit) -> Response:
    return visit.page("clusters.html", pools=await visit.look(_pools, visit.store))


async def _cluster(visit: Visit) -> Response:
    name = visit.asked("name")
    most = visit.number("last", 1, MOST, LAST)
    first = visit.number("from", 0, 10**9, 0)
    view = await visit.look(cluster_view, visit.store, name, most)
    machines = [*by_target(view.pool).items()][first : first + SHOWN]
    keys = {key for _, machine in machines for key in machine.attributes}
    return visit.page(
        "cluster.html",
        pool=view.pool,
        last=view.last,
        most=most,
        machines=machines,
        earlier=url("/cluster", name=name, **{"from": max(first - SHOWN, 0)}) if first else None,
        more=(
            url("/cluster", name=name, **{"from": first + SHOWN})
            if len(view.pool.machines) > first + SHOWN
            else None
        ),
        total=sum(machine.sent for machine in view.pool.machines),
        has_weight="weight" in keys,
        has_pending=any(machine.pending is not None for _, machine in machines),
        texts=_texts(view.pool),
    )


async def _numbers(visit: Visit) -> Mapping[str, str]:
    return _texts(await visit.look(visit.store.pool, visit.asked("name")))


def _texts(pool: PoolShares) -> dict[str, str]:
    """What changes while the page is open."""
    total = sum(machine.sent for machine in pool.machines)
    texts = {"list": str(pool.version), "choices": f"{pool.choices:,}"}
    for name, machine in by_target(pool).items():
        texts[f"sent:{name}"] = f"{machine.sent:,}"
        texts[f"share:{name}"] = f"{machine.share:.2%}"
        texts[f"pending:{name}"] = "" if machine.pending is None else f"{machine.pending:,}"
        if machine.expected is not None:
            texts[f"off:{name}"] = f"{machine.sent - machine.expected * total:+,.1f}"
    return texts


async def _changes(visit: Visit) -> Response:
    """What was changed, and by whom, the latest first."""
    name, before = visit.asked("name"), visit.query.get("before") or None
    choice = EventChoice(cluster=name, kind=["changed", "loaded"])
    page = await visit.look(history.matching, visit.store, choice, before)
    return visit.page(
        "changes.html",
        name=name,
        moments=told(page.events),
        looked_to=page.looked_to,
        earlier=page.cursor and url("/cluster/changes", name=name, before=page.cursor),
        before=before,
    )


# -------- what would be


def _version(form: Form) -> int:
    return form.number("version", 0, 2**62)


def _weights(form: Form) -> dict[str, str]:
    """By destination that was shown, what was typed. Raises PageRefusal."""
    names, weights = form.all("target"), form.all("weight")
    if weights and len(weights) != len(names):
        raise PageRefusal(400, "The form does not have a weight for each destination")
    return dict(zip(names, weights or [""] * len(names), strict=True))


async def _change(visit: Visit) -> Response:
    """What a form would change, in words, before anything is done."""
    form = await visit.form()
    name, version = form.asked("name"), _version(form)
    pool = await visit.look(visit.store.pool, name)
    if pool.version != version:
        raise stale(await visit.look(what_changed, visit.store, name, version))
    proposal = proposed(
        pool,
        _weights(form),
        form.all("enabled"),
        form.all("draining"),
        form.all("removed"),
        {key: form.get(f"new_{key}").strip() for key in NEW},
    )
    missing = ""
    try:
        need("tables", "a preview")
        await visit.look(plans, pool, proposal, time.time())
    except EnvironmentProblem as error:
        missing = str(error)
    return visit.page(
        "change.html",
        name=name,
        version=version,
        lines=in_words(pool, proposal),
        proposal=as_text(proposal),
        missing=missing,
        hours=HOURS,
    )


async def _apply(visit: Visit) -> Response:
    form = await visit.form()
    name, proposal = form.asked("name"), proposal_of(form.asked("proposal"))
    await visit.act(apply, visit.store, name, _version(form), proposal)
    visit.state.recount()
    return visit.back(url("/cluster", name=name), "Done; it counts from the next choice on.")


async def _preview(visit: Visit) -> Response:
    """Begin a preview, in the background."""
    form = await visit.form()
    name, proposal = form.asked("name"), proposal_of(form.asked("proposal"))
    hours = form.get("hours", "1")
    if hours not in HOURS:
        raise PageRefusal(400, f"hours: found {hours[:20]!r}, allowed: {', '.join(HOURS)}")
    running = [job for job in visit.state.jobs.every() if _is_preview(job) and job.ended is None]
    if len(running) >= RUNNING:
        raise PageRefusal(503, "Two previews are being made already: try again when one is done")
    now = time.time()
    request = PreviewRequest(name, proposal, now - float(hours) * HOUR, now)
    job = ConsoleJob(f"Preview of a change of cluster {name}", visit.who, "", 100)
    job.back = url("/cluster/preview", id=job.id)
    store = visit.store
    pool = await visit.look(store.pool, name)
    preview = AskedPreview(request, _version(form), in_words(pool, proposal))
    _previews_of(visit).begin(job.id, preview)

    def tell(what: str, done: int, of: int) -> None:
        start, part = STEPS[what]
        job.tell(start + (part * done // of if of else 0))

    def work(job: ConsoleJob) -> str:
        preview.result = preview_apart(store.url, request, tell)
        job.tell(100)
        return f"{preview.result.messages:,} messages were decided again"

    visit.begin(job, work)
    return visit.back(job.back)


def _is_preview(job: ConsoleJob) -> bool:
    return job.back.startswith("/cluster/preview?")


async def _previewed(visit: Visit) -> Response:
    """How far a preview is, or what it has found."""
    id_ = visit.asked("id")
    wanted = _previews_of(visit).get(id_)
    request = wanted.request
    job = visit.state.jobs.find(id_)
    pool = await visit.look(visit.store.pool, request.cluster)
    return visit.page(
        "preview.html",
        id=id_,
        name=request.cluster,
        request=request,
        version=wanted.version,
        is_stale=pool.version != wanted.version,
        lines=wanted.lines,
        proposal=as_text(request.proposal),
        preview=wanted.result,
        job=job,
        goes_on=job is not None and job.ended is None,
        hours=HOURS,
    )


async def _progress(visit: Visit) -> Mapping[str, str]:
    job = visit.state.jobs.find(visit.asked("id"))
    if job is None or job.ended is not None:
        return {"bar": "100", "done_with": "1"}
    return {"bar": str(job.done), "percent": str(job.done)}


ROUTES: Final = (
    Route("/clusters", _clusters),
    Route("/cluster", _cluster),
    Route("/cluster/changes", _changes),
    Route("/cluster/change", _change, "POST", Role.OPERATOR),
    Route("/cluster/apply", _apply, "POST", Role.OPERATOR),
    Route("/cluster/preview", _previewed),
    Route("/cluster/preview", _preview, "POST", Role.OPERATOR),
)
STREAMS: Final = (Stream("/live/cluster", _numbers), Stream("/live/preview", _progress))
MENU: Final = MenuItem("Clusters", "/clusters", "c")
