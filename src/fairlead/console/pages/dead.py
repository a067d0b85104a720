"""Dead letters: why they are, what they say, and back with them: one, some, all of a reason."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from fairlead.config.roles import Role
from fairlead.console.addresses import url
from fairlead.console.bodies import shown_body
from fairlead.console.jobs import ConsoleJob
from fairlead.console.pages.queue_head import queue_head, queue_head_of
from fairlead.console.pages.running import job_url
from fairlead.console.refusals import PageRefusal, stale
from fairlead.console.state import WHY_DEAD, ConsoleState
from fairlead.console.visit import Form, Route, Visit
from fairlead.errors import MessageError
from fairlead.store.arguments import MAX_NUMBER
from fairlead.text import plural, visible

PAGE: Final = 50
REASONS: Final = 12
PATIENCE: Final = 1.0
SENT: Final = "requeue"
DELETED: Final = "discard"


async def _dead(visit: Visit) -> Response:
    head = await queue_head(visit)
    reason = visit.query.get("reason") or None
    after = visit.number("after", 0, MAX_NUMBER, 0)
    letters = await visit.look(visit.store.dead_heads, head.name, PAGE + 1, after, reason=reason)
    counts = await visit.wait_for(_reasons, visit.state, head.name)
    following = letters[PAGE - 1].number if len(letters) > PAGE else None
    shown = {"head": head, "tab": "dead", "reason": reason, "counts": counts}
    return visit.page("dead.html", **shown, letters=letters[:PAGE], following=following)


def _reasons(state: ConsoleState, queue: str) -> Any:  # noqa: ANN401 - counted, or None
    return state.counts.get(
        (WHY_DEAD, queue), lambda: state.store.dead_counts(queue, REASONS), PATIENCE
    )


async def _letter(visit: Visit) -> Response:
    head = await queue_head(visit)
    number = visit.number("number", 0, MAX_NUMBER, 0)
    letters = await visit.look(visit.store.dead_heads, head.name, 1, max(number - 1, 0))
    if not letters or letters[0].number != number:
        raise stale("This is no dead letter any more")
    body = None
    if visit.sees_bodies:
        most = visit.state.file.limits.body
        part = await visit.look(visit.store.dead_body, head.name, number, most)
        body = shown_body(part)
    return visit.page("letter.html", head=head, letter=letters[0], body=body)


async def _chosen(visit: Visit) -> Response:
    """Those that are ticked, or that one; who deletes is asked first whether he means it."""
    form = await visit.form()
    queue, ids = form.asked("name"), form.all("id")
    if not ids:
        raise PageRefusal(400, "No dead letter was chosen")
    deletes = form.get("do") == DELETED
    if deletes and not form.is_sure:
        return visit.page("dead_chosen.html", head=await queue_head_of(visit, queue), ids=ids)
    verb = visit.store.discard if deletes else visit.store.requeue
    try:
        count = await visit.act(verb, queue, ids)
    except MessageError as error:
        raise stale(f"Not all of them are dead letters that can be sent again: {error}") from None
    visit.state.recount(queue)
    done = "deleted" if deletes else "sent again, to the end of their groups"
    return visit.back(url("/queue/dead", name=queue), f"{plural(count, 'dead letter')} {done}.")


async def _all_asked(visit: Visit) -> Response:
    """How many they are, before all of a reason are sent again or deleted."""
    head = await queue_head(visit)
    reason = visit.query.get("reason") or None
    counts = await visit.look(visit.store.dead_counts, head.name, REASONS, reason=reason)
    deletes = visit.query.get("do") == DELETED
    shown = {"head": head, "reason": reason, "counts": counts, "deletes": deletes}
    return visit.page("dead_all.html", **shown)


async def _all(visit: Visit) -> Response:
    form = await visit.form()
    queue, reason = form.asked("name"), form.get("reason") or None
    deletes = form.get("do") == DELETED
    if deletes and not form.is_sure:
        return visit.back(url("/dead-letters/all", name=queue, reason=reason, do=DELETED))
    job = _job(visit, form, queue, reason, deletes=deletes)
    return visit.back(job_url(job))


def _job(visit: Visit, form: Form, queue: str, reason: str | None, *, deletes: bool) -> ConsoleJob:
    state, done = visit.state, "deleted" if deletes else "sent again"
    which = f"with the reason {visible(reason, 60)}" if reason else "of any reason"
    title = f"{'Delete' if deletes else 'Put back'} dead letters of {queue} {which}"
    total = form.number("seen", 0, MAX_NUMBER)

    def work(job: ConsoleJob) -> str:
        verb = state.store.discard if deletes else state.store.requeue
        count = verb(queue, reason=reason, told=job.tell)
        job.done = count
        state.recount(queue)
        return f"{plural(count, 'dead letter')} {done}"

    back = url("/queue/dead", name=queue)
    return visit.begin(ConsoleJob(title, visit.who, back, total), work)


ROUTES: Final = (
    Route("/queue/dead", _dead),
    Route("/dead-letter", _letter),
    Route("/dead-letters/chosen", _chosen, "POST", Role.OPERATOR),
    Route("/dead-letters/all", _all_asked, role=Role.OPERATOR),
    Route("/dead-letters/all", _all, "POST", Role.OPERATOR),
)
