"""Delete what waits: first how much that is, then it is done in the background."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from fairlead.config.roles import Role
from fairlead.console.addresses import url
from fairlead.console.jobs import ConsoleJob
from fairlead.console.pages.queue_head import queue_head
from fairlead.console.pages.running import job_url
from fairlead.console.refusals import PageRefusal
from fairlead.console.visit import Route, Visit
from fairlead.store.arguments import MAX_NUMBER
from fairlead.text import plural


async def _asked(visit: Visit) -> Response:
    head = await queue_head(visit)
    group, tenant = visit.query.get("group") or None, visit.query.get("tenant") or None
    count = await visit.look(visit.store.purgeable, head.name, group, tenant=tenant)
    return visit.page("purge.html", head=head, group=group, tenant=tenant, count=count)


async def _purge(visit: Visit) -> Response:
    form = await visit.form()
    queue, reason = form.asked("name"), form.get("reason")
    group, tenant = form.get("group") or None, form.get("tenant") or None
    if form.get("sure") != queue:
        raise PageRefusal(400, f"To delete what waits in {queue}, write its name")
    total, state = form.number("seen", 0, MAX_NUMBER), visit.state

    def work(job: ConsoleJob) -> str:
        purged = state.store.purge(queue, group, reason, job.tell, tenant=tenant)
        job.done = purged.deleted
        state.recount(queue)
        stays = [
            f"{plural(count, 'message')} {what}"
            for count, what in (
                (purged.working, "in readers' hands"),
                (purged.of_conversations, "of conversations"),
            )
            if count
        ]
        left = f"; what stays: {', '.join(stays)}" if stays else ""
        return f"{plural(purged.deleted, 'message')} deleted{left}"

    which = f", group {group}" if group else f", tenant {tenant}" if tenant else ""
    title = f"Delete what waits in {queue}{which}"
    job = visit.begin(ConsoleJob(title, visit.who, url("/queue", name=queue), total), work)
    return visit.back(job_url(job))


ROUTES: Final = (
    Route("/purge", _asked, role=Role.OPERATOR),
    Route("/purge", _purge, "POST", Role.OPERATOR),
)
