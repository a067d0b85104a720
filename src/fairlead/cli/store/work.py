"""Work: handlers of the user's own, in threads or in processes."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import NamedTuple

from fairlead.errors import UserError
from fairlead.store.workers.activation import CHECK_INTERVAL
from fairlead.store.workers.handlers import named
from fairlead.store.workers.handling import Handling
from fairlead.store.workers.serving import FILE, Serving, check_services, serve
from fairlead.store.workers.supervisor import Job, check, log_to_stderr, run_here, supervise
from fairlead.store.workers.threads import listen


class Options(NamedTuple):
    """Those of `fairlead work` that are not for both, handlers of queues and services."""

    queues: list[str] | None
    processes: int | None
    threads: int | None
    until_empty: bool
    check_interval: float | None


def work(url: str, place: str, handling: Handling, grace: float, options: Options) -> int:
    """Work until a signal comes; the exit status."""
    if not place.endswith(FILE) and isinstance(named(place), Mapping):
        return _work(url, place, handling, grace, options)
    return _serve(url, place, handling, grace, options)


def _work(url: str, place: str, handling: Handling, grace: float, options: Options) -> int:
    if options.check_interval is not None:
        raise UserError("work --check-interval goes with services, not with functions of queues")
    if options.until_empty and options.processes is not None:
        raise UserError("work --until-empty goes with --threads, not with --processes")
    threads = options.threads or 1
    job = Job(url, place, options.queues, threads, grace, handling, options.until_empty)
    check(job)
    log_to_stderr()
    asked = listen(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if options.processes is None:
        return run_here(job, asked)
    return supervise(job, asked, options.processes)


def _serve(url: str, place: str, handling: Handling, grace: float, options: Options) -> int:
    if options.queues:
        raise UserError("work --queue goes with functions of queues, not with services")
    if options.processes is not None and options.threads is not None:
        raise UserError("work: found --processes and --threads, allowed for services: one of them")
    interval = CHECK_INTERVAL if options.check_interval is None else options.check_interval
    most = options.threads if options.processes is None else options.processes
    processes = options.processes is not None
    job = Serving(url, place, handling, grace, interval, most, processes, options.until_empty)
    check_services(job)
    log_to_stderr()
    return serve(job, listen(signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
