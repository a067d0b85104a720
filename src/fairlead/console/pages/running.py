"""What goes on in the background, and what has become of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from starlette.responses import Response

from fairlead.config.roles import Role
from fairlead.console.addresses import url
from fairlead.console.jobs import ConsoleJob
from fairlead.console.refusals import PageRefusal
from fairlead.console.state import MenuItem
from fairlead.console.visit import Route, Stream, Visit


async def _jobs(visit: Visit) -> Response:
    return visit.page("jobs.html", jobs=visit.state.jobs.every())


def job_url(job: ConsoleJob) -> str:
    """Its page."""
    return url("/job", id=job.id)


def _known(visit: Visit) -> ConsoleJob:
    job = visit.state.jobs.find(visit.query.get("id", ""))
    if job is None:
        raise PageRefusal(404, "This is not remembered any more; the journal says what was done")
    return job


async def _job(visit: Visit) -> Response:
    job = replace(_known(visit))  # as it is at one moment
    return visit.page("job.html", job=job, texts=_texts(job))


async def _stop(visit: Visit) -> Response:
    await visit.form()
    job = _known(visit)
    job.stops = True
    return visit.back(job_url(job), "It stops after its next step; what it has done stays done.")


def _texts(job: ConsoleJob) -> dict[str, str]:
    of = f" of {job.total:,}" if job.total is not None else ""
    return {
        "done": f"{job.done:,}{of}",
        "bar": str(job.done),
        "result": job.result or "it goes on",
        "state": _state(job),
    }


def _state(job: ConsoleJob) -> str:
    if job.ended is None:
        return "stops" if job.stops else "goes on"
    return "failed" if job.failed else "done"


async def _numbers(visit: Visit) -> Mapping[str, str]:
    job = _known(visit)
    return _texts(job) if job.ended is None else {**_texts(job), "done_with": "1"}


async def _all_numbers(visit: Visit) -> Mapping[str, str]:
    jobs = visit.state.jobs.every()
    return {f"{key}:{job.id}": text for job in jobs for key, text in _texts(job).items()}


ROUTES: Final = (
    Route("/jobs", _jobs),
    Route("/job", _job),
    Route("/job/stop", _stop, "POST", Role.OPERATOR),
)
STREAMS: Final = (Stream("/live/jobs", _all_numbers), Stream("/live/job", _numbers))
MENU: Final = MenuItem("Jobs", "/jobs", "j")
