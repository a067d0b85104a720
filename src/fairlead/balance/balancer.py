"""The live balancer: one message, one decision."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Final

from fairlead.balance.change import Change, ResolvedChange
from fairlead.balance.changes import resolve
from fairlead.balance.cluster import Cluster, clusters_in
from fairlead.balance.decision import Decision, DecisionContext, who_completes
from fairlead.balance.journal import EventRow, JournalRow, check_read
from fairlead.balance.message import (
    ATTRIBUTES,
    CONTROL,
    NO_DESTINATION,
    SET_PRIORITY,
    AttributeValues,
    Message,
    check,
    not_by_name,
    text,
    unknown,
)
from fairlead.balance.objects import repr_of
from fairlead.balance.runtime import ClusterRuntime
from fairlead.balance.snapshot import opened, sealed
from fairlead.balance.times import Time, moment, seconds, seconds_until
from fairlead.errors import ChangeError, ConfigError, MessageError

NOTHING: Final[Message] = {}
BEFORE_ALL: Final = -(1 << 62)
"""The time of a balancer that has not been told any, in microseconds."""
SETTINGS: Final = ("policy", "options")
"""Of a cluster's file: what a state means nothing without."""
NEAREST, FARTHEST = 8, 256
"""How many decisions are made ahead, at first and at most."""


class Balancer:
    """Chooses a destination for each message. Thread-safe; choosing and counting are one step.

    >>> from fairlead import Balancer, Cluster
    >>> balancer = Balancer(Cluster.of("msmq", destination=[
    ...     {"name": "DEV1", "weight": 100}, {"name": "DEV2", "weight": 200}]))
    >>> [balancer.choose().destination for _ in range(3)]
    ['DEV2', 'DEV1', 'DEV2']

    `clusters`: one cluster, or several with different names; a message then names its cluster in
    its attribute `cluster`. `journal` is called with each row of each decision, and with a row of
    each change and completion, in their order. Raises ConfigError where two clusters have one name.
    """

    def __init__(
        self,
        clusters: Cluster | Iterable[Cluster],
        *,
        journal: Callable[[JournalRow | EventRow], object] | None = None,
    ) -> None:
        """Start all clusters at their beginning."""
        self._runtimes: dict[str, ClusterRuntime] = {}
        self._settings: dict[str, Any] = {}
        for cluster in clusters_in(clusters):
            if cluster.name in self._runtimes:
                raise ConfigError(f"cluster {cluster.name!r}: found twice, allowed: once")
            self._runtimes[cluster.name] = ClusterRuntime(cluster.name, cluster.start())
            plain = cluster.to_dict()
            self._settings[cluster.name] = {name: plain.get(name) for name in SETTINGS}
        if journal is not None and not callable(journal):
            raise ConfigError(
                f"journal: found {repr_of(journal)}, allowed: what can be called with a row"
            )
        self._only = next(iter(self._runtimes.values())) if len(self._runtimes) == 1 else None
        self._elsewhere: dict[AttributeValues, int] = {}
        self._now = BEFORE_ALL
        self._next: int | None = None
        policies = [runtime.cluster.policy for runtime in self._runtimes.values()]
        self._streamed = tuple(
            dict.fromkeys(name for policy in policies for name in policy.streams)
        )
        self._relevant: frozenset[str] = frozenset().union(
            *(runtime.cluster.relevant_attributes() for runtime in self._runtimes.values())
        )
        if journal is not None:
            check_read(self._relevant)
        self._decisive = self._relevant | {"cluster", "type"}
        self._known = ATTRIBUTES | self._relevant
        self._silent = self._known - self._decisive
        self._journal = journal
        self._position = 0
        self._lock = Lock()
        self._reach: int = NEAREST
        self._renew()

    def choose(self, message: Message = NOTHING) -> Decision:
        """Decide where a message goes, and count the choice.

        `message`: attributes by name (`cluster`, `queue`, `group`, …); all are optional, and those
        that no policy here reads, such as `size`, mean nothing. Raises MessageError for a name
        that no message has, and for a value that is not allowed; nothing is counted then.
        """
        quiet = message is NOTHING
        if not quiet:
            try:
                quiet = message.keys() <= self._silent
                known = quiet or message.keys() <= self._known
            except (AttributeError, TypeError):
                raise not_by_name(message) from None
            if not known:
                raise unknown(message, self._known)
        if quiet:
            try:
                return self._take()
            except IndexError:
                pass
        if self._journal is None:
            with self._lock:
                return self._choose_next(message)
        id_and_time = (text(message, "id"), _time(message))  # refused before anything is counted
        with self._lock:
            decision = self._choose_next(message)
            for row in JournalRow.of(decision, self._position, dict(message), *id_and_time):
                self._journal(row)
            self._position += 1
        return decision

    def _choose_next(self, message: Message) -> Decision:
        quiet = not message or message.keys().isdisjoint(self._decisive)
        if quiet and self._only is not None and self._journal is None:
            if not self._ahead:  # else another thread has just filled it
                self._ahead.extend(self._only.ahead(self._reach))
                self._reach = min(2 * self._reach, FARTHEST)
            try:
                return self._take()
            except IndexError:  # none can be made ahead, or other threads were faster
                return self._only.choose(message)
        self._withdraw()
        return self._choose(message)

    def _renew(self) -> None:
        """Start with no decisions made ahead."""
        self._ahead: deque[Decision] = deque()
        # Threads take decisions from the left without the lock: popleft is one atomic step.
        self._take = self._ahead.popleft
        self._reach = NEAREST

    def _withdraw(self) -> None:
        """Take back what was made ahead and nobody has taken yet."""
        if self._only is None or not self._ahead:
            return
        unused, old = 0, self._ahead
        self._renew()
        while True:
            try:
                old.pop()
            except IndexError:
                break
            unused += 1
        self._only.take_back(unused)

    def _choose(self, message: Message) -> Decision:
        check(message, self._relevant)
        cluster = text(message, "cluster")
        if text(message, "type") == SET_PRIORITY:
            return Decision(None, None, None, DecisionContext(CONTROL, cluster))
        runtime = self._runtimes.get(cluster) if cluster else self._only
        if runtime is not None:
            return runtime.choose(message)
        stream = (cluster, *(text(message, name) for name in self._streamed))
        sequence = self._elsewhere.get(stream, 0)
        self._elsewhere[stream] = sequence + 1
        return Decision(None, None, sequence, DecisionContext(NO_DESTINATION, cluster, stream[1:]))

    def completed(self, decision: Decision, by: str | None = None) -> None:
        """A destination has finished (or acknowledged) a message; one that was busy may be ready.

        To be called once for each decision, or, where a message went to several destinations,
        once for each of them with its name in `by`. A message that was lost when its destination
        failed is not completed any more: that changes nothing. Raises MessageError for a decision
        without a destination, and for a name that the message did not go to.
        """
        if not isinstance(decision, Decision):
            raise MessageError(
                f"completed: found {repr_of(decision)}, allowed: what choose returned"
            )
        names = [copy.destination for copy in decision.copies]
        by = who_completes(decision.outcome, names, by)
        with self._lock:
            self._withdraw()
            self._runtimes[decision.cluster].completed(decision, by)
            if self._journal is not None:
                self._journal(EventRow.of_completion(self._position, decision, by))

    def apply(self, changes: Change | Iterable[Change]) -> None:
        """Make changes to the clusters, all or (if one is refused) none.

        Changes of one call that have the same `time` are one step. A change is made at its time,
        or, where that is over already, at the latest time that the balancer has been told; what is
        due before is made before, and what follows later is counted from there. Raises ChangeError.
        """
        with self._lock:
            self._withdraw()
            states = {name: runtime.cluster for name, runtime in self._runtimes.items()}
            for time, name, resolved in resolve(states, changes):
                self._make_due(time - 1)
                self._now = max(self._now, time)
                self._step(name, resolved)
            self._make_due(self._now)

    def at(self, time: Time) -> None:
        """It is this time now (seconds, or a timestamp): make the changes that have become due.

        They follow of themselves from earlier changes, under a policy with `slow_start`,
        `failback_delay` or `reconnect_timeout`. To be called before a choice, or by a timer (see
        `next_change`). A time that is over already changes nothing. Raises ChangeError.
        """
        now = moment(time, "at", ChangeError)
        with self._lock:
            self._make_due(now)
            self._now = max(self._now, now)

    def next_change(self) -> float | None:
        """When the next change is due of itself, in seconds; None if none is to come."""
        due = self._next
        return None if due is None else seconds_until(due)

    def _make_due(self, time: int) -> None:
        """Make a step at each time up to and at this one at which something is due."""
        while self._next is not None and self._next <= time:
            self._withdraw()
            self._now = self._next
            for runtime in self._runtimes.values():
                if runtime.cluster.follow_ups.next == self._now:
                    self._step(runtime.name, [])

    def _step(self, name: str, changes: Sequence[ResolvedChange]) -> None:
        """Make a step of a cluster, now."""
        runtime = self._runtimes[name]
        runtime.apply(changes, self._now)
        self._look_ahead()
        if self._journal is not None:
            version = runtime.cluster.version
            for row in EventRow.of_step(self._position, name, version, changes, self._now):
                self._journal(row)

    def _look_ahead(self) -> None:
        due = [runtime.cluster.follow_ups.next for runtime in self._runtimes.values()]
        self._next = min((time for time in due if time is not None), default=None)

    def snapshot(self) -> dict[str, Any]:
        """All state as plain data (JSON would do): restoring it changes no later decision.

        Its content is for `restore` only; its format is a number in it.
        """
        with self._lock:
            self._withdraw()
            return sealed(
                {
                    "position": self._position,
                    "elsewhere": [[list(stream), n] for stream, n in self._elsewhere.items()],
                    "now": self._now,
                    "settings": self._settings,
                    "clusters": {name: runtime.dump() for name, runtime in self._runtimes.items()},
                }
            )

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take over a snapshot of a balancer with the same clusters. Raises ConfigError."""
        snapshot = opened(snapshot)
        if set(snapshot["clusters"]) != set(self._runtimes):
            raise ConfigError(
                f"snapshot: found clusters {', '.join(snapshot['clusters'])}, "
                f"allowed: {', '.join(self._runtimes)}"
            )
        for cluster, settings in self._settings.items():
            for name, allowed in settings.items():
                setting = snapshot["settings"][cluster][name]
                if setting != allowed:
                    raise ConfigError(
                        f"snapshot: cluster {cluster!r}: {name}: found {repr_of(setting)}, "
                        f"allowed: {repr_of(allowed)}"
                    )
        with self._lock:
            self._withdraw()
            runtimes = {}
            for name, plain in snapshot["clusters"].items():
                runtimes[name] = ClusterRuntime(name, self._runtimes[name].cluster.frozen())
                runtimes[name].load(plain)
            self._runtimes = runtimes
            self._only = next(iter(runtimes.values())) if len(runtimes) == 1 else None
            self._elsewhere = {tuple(stream): n for stream, n in snapshot["elsewhere"]}
            self._position = snapshot["position"]
            self._now = snapshot["now"]
            self._look_ahead()


def _time(message: Message) -> float | None:
    """When a message was sent, if it says so, in seconds."""
    time = message.get("time")
    if time is None or time == "":
        return None
    return seconds(moment(time, "message time", MessageError))
