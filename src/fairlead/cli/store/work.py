"""Work: handlers of the user's own, in threads or in processes."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import NamedTuple

from fairlead.errors import ConfigError, UserError
from fairlead.prometheus import MetricsServer
from fairlead.store.backends.urls import backend_of
from fairlead.store.store import Store
from fairlead.store.workers.activation import CHECK_INTERVAL
from fairlead.store.workers.counting import WorkCounts
from fairlead.store.workers.handlers import named
from fairlead.store.workers.handling import LOGGER, Handling
from fairlead.store.workers.manager import ServiceManager
from fairlead.store.workers.metrics import Page
from fairlead.store.workers.serving import FILE, Serving, check_services, serve
from fairlead.store.workers.supervisor import ProcessTask, check, log_to_stderr, run_here, supervise
from fairlead.store.workers.threads import listen


class WorkOptions(NamedTuple):
    """Those of `fairlead work` that are not for both, handlers of queues and services."""

    queues: list[str] | None
    processes: int | None
    threads: int | None
    until_empty: bool
    check_interval: float | None
    metrics: str | None = None
    """Where Prometheus may ask: HOST:PORT, or PORT on loopback."""


def work(url: str, place: str, handling: Handling, grace: float, options: WorkOptions) -> int:
    """Work until a signal comes; the exit status."""
    if options.metrics is None:
        return _began(url, place, handling, grace, options)
    if options.processes is None:
        handling = handling._replace(counts=WorkCounts())
    with Store.open(url, create=False) as store:
        ask = Page(store, handling.counts)
        with MetricsServer(ask, options.metrics, ConfigError) as server:
            return _began(url, place, handling, grace, options._replace(metrics=server.url))


def _began(url: str, place: str, handling: Handling, grace: float, options: WorkOptions) -> int:
    if not place.endswith(FILE) and isinstance(named(place), Mapping):
        return _work(url, place, handling, grace, options)
    return _serve(url, place, handling, grace, options)


def _work(url: str, place: str, handling: Handling, grace: float, options: WorkOptions) -> int:
    if options.check_interval is not None:
        raise UserError("work --check-interval goes with services, not with functions of queues")
    if options.until_empty and options.processes is not None:
        raise UserError("work --until-empty goes with --threads, not with --processes")
    threads = options.threads or 1
    job = ProcessTask(url, place, options.queues, threads, grace, handling, options.until_empty)
    check(job)
    log_to_stderr()
    signals = listen(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    with _told(url, place, options) as manager:
        if options.processes is None:
            return run_here(job, signals, manager=manager)
        return supervise(job, signals, options.processes, manager)


def _serve(url: str, place: str, handling: Handling, grace: float, options: WorkOptions) -> int:
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
    signals = listen(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    with _told(url, place, options) as manager:
        return serve(job, signals, manager)


@contextmanager
def _told(url: str, place: str, options: WorkOptions) -> Iterator[ServiceManager]:
    """Tell the log, and who started this program, that it works now, and that it has ended."""
    manager = ServiceManager()
    began = time.monotonic()
    where = backend_of(url).shown(url)
    LOGGER.info(
        "event=started version=%s store=%s handlers=%s processes=%s threads=%s%s",
        *(version("fairlead"), where, place, options.processes or 0, options.threads or 1),
        f" metrics={options.metrics}" if options.metrics else "",
    )
    manager.ready()
    try:
        yield manager
    finally:
        LOGGER.info("event=ended seconds=%.3f", time.monotonic() - began)
