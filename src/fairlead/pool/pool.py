"""The pool: policy and order in one process, for whoever waits to send work somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path
from typing import Final, Self

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.message import ATTRIBUTES, WHOLE_NUMBERS, check, unknown
from fairlead.balance.objects import hint, listed, repr_of
from fairlead.balance.times import Time
from fairlead.config.clusters import load_clusters
from fairlead.errors import ConfigError, MessageError, PoolError
from fairlead.order.outlook import Outlook, look_ahead
from fairlead.pool.counts import PoolCounts, count
from fairlead.pool.events import PoolEvents
from fairlead.pool.log import PoolLog, PoolRow
from fairlead.pool.request import PoolRequest
from fairlead.pool.scheduler import Scheduler
from fairlead.pool.waiter import TaskWaiter, ThreadWaiter

OWN: Final = frozenset({"time", "position", "service_time", "rollbacks", "type"})
"""What a message cannot say here: the pool knows it, or it means nothing."""


class Pool:
    """Whoever has work waits here until the policy has a free destination for it.

    >>> from fairlead import Cluster, Pool
    >>> pool = Pool(Cluster.of("weighted", destination=[
    ...     {"name": "gpu-1", "weight": 2, "readers": 4}, {"name": "gpu-2"}]))
    >>> with pool.acquire(group="kim") as decision:
    ...     print(decision.destination)
    gpu-1

    The policy of the cluster chooses a destination; there the message waits in the order of the
    cluster's `[order]`, until one of the destination's `readers` is free: so many blocks are in
    work there at once. The blocks of one `group` are in work one after another, in their order.

    For threads (`with`) and coroutines (`async with`), also both at once, in any number of loops.
    All state is in the memory of this process.

    `clusters`: one, or several with different names; a message then names its cluster in
    `cluster`. `journal`: True: keep a journal, for `journal()`; or a function that is called with
    each of its rows (it must be quick, and must not call the pool). `clock`: gives the time, in
    seconds; for tests. Raises ConfigError, also for a policy that can send a message to several
    destinations.
    """

    def __init__(
        self,
        clusters: Cluster | Iterable[Cluster],
        *,
        journal: bool | Callable[[PoolRow], object] = False,
        clock: Callable[[], Time] | None = None,
    ) -> None:
        """Nobody waits."""
        self._rows: list[PoolRow] | None = None
        self._log = self._logging(journal)
        self._cores: dict[str, PoolEvents] = {}
        for cluster in clusters_in(clusters):
            if cluster.name in self._cores:
                raise ConfigError(f"cluster {cluster.name!r}: found twice, allowed: once")
            self._cores[cluster.name] = PoolEvents(cluster, self._log)
        self._only = next(iter(self._cores.values())) if len(self._cores) == 1 else None
        states = [core.state for core in self._cores.values()]
        self._relevant = frozenset().union(*(state.relevant_attributes() for state in states))
        self._known = (ATTRIBUTES | self._relevant) - OWN
        self._running = Scheduler(self._cores, self._log, clock)

    @classmethod
    def from_cluster(
        cls,
        path: str | Path,
        *,
        journal: bool | Callable[[PoolRow], object] = False,
        clock: Callable[[], Time] | None = None,
    ) -> Self:
        """A pool of the clusters of a file. Raises ConfigError."""
        return cls(load_clusters(path), journal=journal, clock=clock)

    def _logging(self, journal: bool | Callable[[PoolRow], object]) -> PoolLog | None:
        if journal is False:
            return None
        if journal is True:
            self._rows = []
            return PoolLog(self._rows.append)
        if not callable(journal):
            raise ConfigError(
                f"journal: found {repr_of(journal)}, allowed: True, False, or what can be called "
                "with a row"
            )
        return PoolLog(journal)

    def acquire(
        self,
        *,
        group: str | None = None,
        priority: int | None = None,
        timeout: float | None = None,
        tenant: str = "",
        cost: int = 1,
        cluster: str = "",
        avoid: Iterable[str] = (),
        **attributes: object,
    ) -> PoolRequest:
        """For `with` or `async with`: wait for a reader of the destination that the policy chooses.

        `group`: blocks of one group are in work one at a time at each destination, in their order.
        `priority`: 0 to 255, it raises the group (see `[order]`). `timeout`: seconds to wait at
        most; None: as long as it takes. `tenant`: whose it is; `cost`: what its tenant is charged.
        `avoid`: names of destinations that it must not go to, as where it has just failed there.
        `attributes`: what the policy reads of a message (`id`, `queue`, …).

        Leaving the block completes the work; it has failed if an exception leaves the block, or
        `failed()` of the decision was called. Whoever is cancelled gives its place back, or its
        reader.

        Raises MessageError for what no message may say, and, where the block begins,
        PoolTimeoutError, NoDestinationError (the policy has nobody for it, and does not wait) and
        PoolError (the pool is closed).
        """
        core = self._core(cluster)
        if timeout is not None:
            _seconds(timeout)
        if attributes:
            if not attributes.keys() <= self._known:
                raise unknown(attributes, self._known)
            check(attributes, self._relevant)
        if priority is not None:
            _whole("priority", priority)
            attributes["priority"] = priority
        if group or tenant or cost != 1:
            _text("group", group or "")
            _text("tenant", tenant)
            _whole("cost", cost)
            if group:
                attributes["group"] = group
            if tenant or cost != 1:
                attributes |= {"tenant": tenant, "cost": cost}
        values = core.state.values_of(attributes) if core.state.policy.reads else ()
        avoided = _avoided(core, avoid) if avoid else frozenset()
        plain = (timeout, attributes, values, group or "", priority, tenant, cost, avoided)
        return PoolRequest(self._running, core, *plain)

    def _core(self, name: str) -> PoolEvents:
        """The cluster of this name; without one, the only one."""
        core = self._only if not name else self._cores.get(name)
        if core is None:
            raise MessageError(
                f"cluster: found {repr_of(name)}, allowed: {listed(self._cores)}"
                f"{hint(str(name), self._cores)}"
            )
        return core

    def apply(self, changes: Change | Iterable[Change]) -> None:
        """Make changes to the clusters now, all or (if one is refused) none.

        What waits at a destination that has failed (`state` = `failed`) goes elsewhere, and so does
        what is in work there: its block has `lost` it. Raises ChangeError, also for a change with a
        time to come.
        """
        self._running.apply(changes)

    def prioritise(self, group: str, priority: int | None = None, *, cluster: str = "") -> bool:
        """Raise a group wherever something of it waits or is in work; whether there was any.

        `priority`: 0 to 255; None: the cluster's `default_priority`. False, too, where the order is
        first come, first served. Raises MessageError.
        """
        core = self._core(cluster)
        if not _text("group", group):
            raise MessageError("group: found '', allowed: a name")
        attributes: dict[str, object] = {"group": group}
        if priority is not None:
            attributes["priority"] = _whole("priority", priority)
        return self._running.prioritise(core, attributes, group, priority)

    def waiting(self, most: int = 5) -> dict[str, Outlook]:
        """By destination: who would go next if nothing more happened, at most so many, and why.

        Under "" stands what no destination is ready for. Looks at all that waits.
        """
        with self._running.lock:
            outlooks: dict[str, Outlook] = {}
            for core in self._cores.values():
                lines = {"": core.outside, **{ref.name: q for ref, q in core.queues.items()}}
                for name, line in lines.items():
                    if line.waiting:
                        outlooks[self._called(core, name)] = look_ahead(
                            line.listed(), line.step, most, line.working
                        )
            return outlooks

    def counts(self) -> PoolCounts:
        """How many wait and are in work, by destination too; and how those ended that are over."""
        with self._running.lock:
            cores = self._cores.values()
            destinations = {
                self._called(core, ref.name): count(queue)
                for core in cores
                for ref, queue in core.queues.items()
            }
            undecided = sum(core.outside.waiting for core in cores)
            return PoolCounts(undecided, destinations, dict(self._running.ended))

    def _called(self, core: PoolEvents, name: str) -> str:
        """A destination; with several clusters as `name@CLUSTER`."""
        return name if self._only is not None else f"{name}@{core.name}"

    def journal(self) -> list[PoolRow]:
        """What was decided and what happened so far, in its order; needs `journal=True`.

        Of messages that are not over the rows have no `finish`. `to_dict` of a row gives what is
        written. Raises PoolError.
        """
        if self._log is None or self._rows is None:
            raise PoolError("journal: none is kept, allowed: of a Pool(…, journal=True)")
        with self._running.lock:
            rows = [*self._rows, *self._log.still_open()]
        return sorted(rows, key=lambda row: (row.decided is None, row.decided, row.position))

    # the end

    def close(self) -> None:
        """Take nothing more; whoever waits or is in work goes on."""
        self._running.close()

    def drain(self, timeout: float | None = None) -> bool:
        """Close, and wait in a thread until nothing waits or is in work; False: not in time."""
        waiter = self._running.drained(ThreadWaiter)
        return waiter is None or waiter.wait(timeout)

    async def adrain(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - as `drain`
        """The same in a coroutine."""
        waiter = self._running.drained(TaskWaiter)
        return waiter is None or await waiter.come(timeout)


def _avoided(core: PoolEvents, names: object) -> frozenset[str]:
    known = core.state.members
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise MessageError(f"avoid: found {repr_of(names)}, allowed: a list of names")
    avoided = list(names)
    for name in avoided:
        if name not in known:
            raise MessageError(
                f"avoid: found {repr_of(name)}, allowed: {listed(known)}{hint(str(name), known)}"
            )
    return frozenset(avoided)


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise MessageError(f"{what}: found {repr_of(value)}, allowed: a text")
    return value


def _seconds(value: object) -> None:
    if not (isinstance(value, int | float) and -inf < value < inf):
        raise MessageError(
            f"timeout: found {repr_of(value)}, allowed: a number of seconds, or None"
        )


def _whole(what: str, value: object) -> int:
    least, most = WHOLE_NUMBERS[what]
    if not (isinstance(value, int) and least <= value <= most):
        raise MessageError(
            f"{what}: found {repr_of(value)}, allowed: an integer from {least} to {most}"
        )
    return value
