"""Services that are served: which they are, and their readers in threads or in processes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import Final, NamedTuple

from fairlead.balance.objects import repr_of
from fairlead.config.services import load_declared
from fairlead.errors import ConfigError
from fairlead.store.store import Store
from fairlead.store.workers.activation import Activated, Activation, Readers, Reading
from fairlead.store.workers.handlers import ALLOWED, Handler, function, named
from fairlead.store.workers.handling import Handling
from fairlead.store.workers.manager import ServiceManager
from fairlead.store.workers.service import IDLE_TIMEOUT, Service
from fairlead.store.workers.supervisor import LOOK, MARGIN, Child, Pauses, end_soon
from fairlead.store.workers.threads import Asked

FILE: Final = ".toml"
ALL: Final = sys.maxsize
"""A group is handled with all that arrives for it."""


class Serving(NamedTuple):
    """What is served, and how."""

    url: str
    place: str
    """MODULE:NAME of a Service or of several, or a file with `[[service]]` tables."""
    handling: Handling
    grace: float
    check_interval: float
    most: int | None = None
    """Readers of each service, whatever more it allows."""
    processes: bool = False
    """Whether each reader is a process, not a thread of this one."""
    until_empty: bool = False


class ServedService(NamedTuple):
    """A service, and what handles its messages."""

    name: str
    handler: Handler
    max_readers: int | None
    """None: as declared."""
    idle_timeout: float


def served(place: str) -> list[ServedService]:
    """The services that a module or a file says. Raises ConfigError."""
    if place.endswith(FILE):
        return _served_by(place)
    value = named(place)
    every = value if isinstance(value, list | tuple) else [value]
    if not every or not all(isinstance(service, Service) for service in every):
        raise ConfigError(f"handlers: {place}: found {repr_of(value)}, allowed: {ALLOWED}")
    return [of_service(service) for service in every]


def of_service(service: Service) -> ServedService:
    """The same of one service."""
    before = service.before if service.works_before else None
    handler = Handler(service.handle, in_transaction=True, before=before)
    return ServedService(service.name, handler, service.max_readers, service.idle_timeout)


def activated(
    every: Iterable[ServedService], store: Store, most: int | None = None
) -> list[Activated]:
    """The queues of services. Raises UserError."""
    queues: dict[str, Activated] = {}
    for service in every:
        declaration = store.service(service.name)
        if declaration.queue in queues:
            raise ConfigError(
                f"handlers: found services {queues[declaration.queue].name!r} and "
                f"{service.name!r} of one queue, {declaration.queue!r}, allowed: one of them"
            )
        maximum = min(service.max_readers or declaration.max_readers, most or ALL)
        queues[declaration.queue] = Activated(
            service.name, declaration.queue, service.handler, maximum, service.idle_timeout
        )
    return list(queues.values())


def check_services(job: Serving) -> None:
    """Find what cannot be served before it is begun. Raises FairleadError."""
    every = served(job.place)
    with Store.open(job.url, create=False) as store:
        activated(every, store)


def serve(job: Serving, asked: Asked, manager: ServiceManager) -> int:
    """Serve until a signal comes; the exit status. Raises FairleadError."""
    store = Store.open(job.url, create=False)
    readers = ReaderProcesses(store, job) if job.processes else _readers(store, job)
    for queue in activated(served(job.place), store, job.most):
        readers.activate(queue, until_empty=job.until_empty)
    if job.until_empty:
        store.tick()
    else:
        readers.begin(readers.tick)
    status = readers.run(asked, job.grace, manager)
    end_soon(status, readers)
    if not readers.busy:
        store.close()
    return status


class ReaderProcesses(Readers):
    """The readers of some queues, each a process."""

    def __init__(self, store: Store, job: Serving) -> None:
        """`store`: as this process sees it."""
        super().__init__(store, job.handling, job.check_interval)
        self._job = job
        self._children: set[Child] = set()
        self._pauses: dict[str, Pauses] = {}

    def run(self, asked: Asked, grace: float, manager: ServiceManager | None = None) -> int:
        try:
            return super().run(asked, grace + MARGIN, manager)
        finally:
            for child in list(self._children):
                child.kill()

    def _step(self, activation: Activation, reader: Reading) -> Callable[[], bool]:
        return partial(self._let_read, activation, reader)

    def _let_read(self, activation: Activation, reader: Reading) -> bool:
        """Start a process, and stay with it until it has ended."""
        name = activation.each.name
        child = Child(partial(_read, self._job, name))
        self._children.add(child)
        while child.process.exitcode is None:
            if self._stop.is_set():
                child.tell()
            waits = child.hear(LOOK)
            if waits is not None:
                reader.say(bool(waits))
        child.tell()
        self._children.discard(child)
        if child.process.exitcode and not self._stop.is_set():
            pause = self._pauses.setdefault(name, Pauses()).after(child)
            activation.pause = time.monotonic() + pause
        else:
            self._pauses.pop(name, None)
        return False


def _served_by(path: str) -> list[ServedService]:
    """The services of a file that have a handler."""
    services = []
    for service in load_declared(path).services:
        if service.handler is None:
            continue
        handler = named(service.handler)
        if isinstance(handler, Service):
            if handler.name != service.name:
                raise ConfigError(
                    f"{path}: service {service.name!r}: handler: found {service.handler}, the "
                    f"Service {handler.name!r}, allowed: one of this name, or a function"
                )
            services.append(of_service(handler))
        else:
            where = f"{path}: service {service.name!r}: handler {service.handler}"
            services.append(
                ServedService(service.name, function(where, handler), None, IDLE_TIMEOUT)
            )
    if not services:
        raise ConfigError(
            f'{path}: found no handler, allowed: handler = "MODULE:NAME" in a [[service]]'
        )
    return services


def _readers(store: Store, job: Serving) -> Readers:
    return Readers(store, job.handling._replace(most=ALL), job.check_interval)


def _read(job: Serving, name: str, asked: Asked, end: Connection) -> int:
    """Be a reader of a service, in a process of its own, until it leaves; the exit status."""
    store = Store.open(job.url, create=False)
    (queue,) = activated([service for service in served(job.place) if service.name == name], store)
    readers = _readers(store, job)
    readers.begin(partial(readers.read, queue, _Saying(end)))
    status = readers.run(asked, job.grace)
    end_soon(status, readers)
    if not readers.busy:
        store.close()
    return status


class _Saying:
    """Tells whoever started this process whether it waits to receive, when that changes."""

    def __init__(self, end: Connection) -> None:
        self._end = end
        self._waits = True

    def __call__(self, waits: bool) -> None:
        if waits != self._waits:
            self._waits = waits
            with suppress(OSError):  # nobody is there to hear it: then this process stops
                self._end.send(waits)
