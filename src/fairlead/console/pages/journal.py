"""The journal: what happened, the latest first, and a decision that explains itself."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, MutableMapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from fairlead.config.moments import moment
from fairlead.console import history
from fairlead.console.journal_export import csv_head, csv_lines, json_lines
from fairlead.console.refusals import PageRefusal
from fairlead.console.state import ConsoleState, MenuItem
from fairlead.console.timeline import told
from fairlead.console.visit import Route, Visit
from fairlead.store.journal.events import KINDS, Event, EventChoice, place_of

NAMES: Final = ("queue", "cluster", "group", "id", "actor")
"""Of which an event has one, and a page can ask for it."""
TIMES: Final = ("start", "end")
CHANGES: Final = (
    *("changed", "loaded", "raised", "switched-off", "switched-on", "discarded", "deleted"),
    *("schedule-paused", "schedule-resumed", "schedule-dropped", "recovered"),
)
"""Kinds of what somebody has changed."""
PAGE: Final = 1000
"""Events of one step of a download."""
DOWNLOADS: Final = 8
"""At one time."""


class Download(StreamingResponse):
    """An answer that is made while it is sent, and counts as long as it is."""

    def __init__(
        self,
        counts: MutableMapping[ConsoleState, int],
        state: ConsoleState,
        parts: AsyncIterator[str],
        **more: Any,  # noqa: ANN401 - what a response takes
    ) -> None:
        """`counts`: of each console; `parts`: what is sent."""
        super().__init__(parts, **more)
        self._counts, self._state = counts, state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, and count it among the downloads while that goes on."""
        self._counts[self._state] = self._counts.get(self._state, 0) + 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._counts[self._state] -= 1


_downloads: Final[WeakKeyDictionary[ConsoleState, int]] = WeakKeyDictionary()
"""How many are being sent by each console of this process."""


def _moments(visit: Visit) -> dict[Literal["start", "end"], float]:
    """From when, and before when. Raises UserError."""
    now = time.time()
    moments: dict[Literal["start", "end"], float] = {}
    for key in TIMES:
        text = visit.query.get(key, "").strip()
        if text:
            moments[key] = moment(key, text, now)
    return moments


def _choice(visit: Visit) -> EventChoice:
    """Which events the page's address asks for. Raises UserError."""
    query = visit.query
    choice = EventChoice()
    for name in NAMES:
        value = query.get(name, "").strip()
        if value:
            choice[name] = value
    for key, at in _moments(visit).items():
        choice[key] = at
    kinds = [kind for kind in query.getlist("kind") if kind]
    if kinds:
        choice["kind"] = kinds
    return choice


def _address(
    path: str, visit: Visit, before: str | None = None, kinds: Sequence[str] | None = None
) -> str:
    """A path with the same choice, or with other kinds; so long ago is the same moment there."""
    left_out = {"before", *TIMES, *(() if kinds is None else ("kind",))}
    query = visit.query.multi_items()
    pairs = [(key, value) for key, value in query if value and key not in left_out]
    pairs += [
        (key, f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%fZ}")
        for key, at in _moments(visit).items()
    ]
    pairs += [("kind", kind) for kind in kinds or ()]
    if before is not None:
        pairs.append(("before", before))
    return f"{path}?{urlencode(pairs)}" if pairs else path


async def _journal(visit: Visit) -> Response:
    choice = _choice(visit)
    before = visit.query.get("before") or None
    page = await visit.look(history.matching, visit.store, choice, before)
    return visit.page(
        "journal.html",
        moments=told(page.events),
        looked_to=page.looked_to,
        earlier=page.cursor and _address("/journal", visit, page.cursor),
        latest=_address("/journal", visit) if before else None,
        as_json=_address("/journal.jsonl", visit),
        as_csv=_address("/journal.csv", visit),
        kinds=sorted(KINDS),
        changes=_address("/journal", visit, kinds=CHANGES),
        wanted=visit.query.getlist("kind"),
        values={name: visit.query.get(name, "") for name in (*NAMES, *TIMES)},
    )


async def _as_json(visit: Visit) -> Response:
    return await _download(visit, "application/jsonl", "journal.jsonl", "", json_lines)


async def _as_csv(visit: Visit) -> Response:
    return await _download(visit, "text/csv", "journal.csv", csv_head(), csv_lines)


async def _download(
    visit: Visit,
    kind: str,
    file_name: str,
    head: str,
    lines: Callable[[Sequence[Event]], str],
) -> Response:
    """All events of the choice, in their order: up to the one that is the latest now.

    They are read and sent bit by bit, however many there are.
    """
    choice = _choice(visit)
    if _downloads.get(visit.state, 0) >= DOWNLOADS:
        raise PageRefusal(503, "The journal is being taken away by too many: try again in a while")
    latest = await visit.look(visit.store.latest)
    await visit.look(visit.store.journal_ahead, None, 1, 1, **choice)  # refused before it begins

    async def parts() -> AsyncIterator[str]:
        yield head
        cursor, last = None, None if latest is None else place_of("until", latest)
        while last is not None:
            page = await visit.look(visit.store.journal_ahead, cursor, PAGE, history.LOOK, **choice)
            cursor = page.cursor
            yield lines([event for event in page.events if place_of("", event.cursor) <= last])
            if cursor is None or place_of("", cursor) >= last:
                return

    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    if visit.request.method == "HEAD":
        return Response(media_type=kind, headers=headers)
    return Download(
        _downloads, visit.state, parts(), media_type=f"{kind}; charset=utf-8", headers=headers
    )


async def _decision(visit: Visit) -> Response:
    """A decision by the number of its event, or the latest about a message of a cluster."""
    if "number" in visit.query:
        number = visit.number("number", 0, 2**63 - 1, 0)
        decision = await visit.look(visit.store.decision, number)
    else:
        cluster, id_ = visit.asked("cluster"), visit.asked("id")
        decision = await visit.look(visit.store.decision_about, cluster, id_)
    explanation = await visit.look(decision.explain)
    return visit.page("decision.html", decision=decision, lines=str(explanation).splitlines())


ROUTES: Final = (
    Route("/journal", _journal),
    Route("/journal.jsonl", _as_json),
    Route("/journal.csv", _as_csv),
    Route("/decision", _decision),
)
MENU: Final = MenuItem("Journal", "/journal", "e")
