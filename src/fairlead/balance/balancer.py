"""The live balancer: one message, one decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Final

from fairlead.balance.change import Change
from fairlead.balance.cluster import Cluster, resolve
from fairlead.balance.course import LOG, AnyPolicy, Direct, Frame, Moment, Scheduled
from fairlead.balance.decision import Decision
from fairlead.balance.journal import JournalRow
from fairlead.balance.message import (
    CONTROL,
    NO_DESTINATION,
    ROUTED,
    SET_PRIORITY,
    Message,
    check,
    text,
)
from fairlead.balance.policy import Effect, Raw, Verdict
from fairlead.errors import ConfigError, MessageError

NOTHING: Final[Message] = {}
FORMAT: Final = 1


class Desk:
    """One cluster inside a balancer: its policy, its streams' counters, its bindings."""

    def __init__(self, name: str, policy: AnyPolicy) -> None:
        """At the cluster's beginning."""
        self.name = name
        self.policy = policy
        self.sequences: dict[Raw, int] = {}
        self.bindings: dict[Raw, int] = {}
        self._begin()

    def _begin(self) -> None:
        policy = self.policy
        self.addresses = [policy.address(i) for i in range(len(policy.members))]
        self.frame = Frame(policy)
        self.course: Scheduled | Direct | None = None

    def _settle(self) -> None:
        if isinstance(self.course, Scheduled):
            self.policy.rule = self.course.rule_now()
        self.course = None

    def choose(self, message: Message) -> Decision:
        """Decide, and count the choice."""
        policy = self.policy
        raw = policy.raw(message) if policy.reads else ()
        stream = policy.stream(raw) if policy.streams else ()
        verdict = policy.verdict(raw)
        key = None
        if policy.binds:
            key = policy.binding(
                raw, text(message, "bind"), text(message, "producer"), text(message, "group")
            )
            bound = self.bindings.get(key) if key else None
            if bound is not None:
                moment = Moment(self.frame, None, 0, key or ())
                return self._decision(bound, ROUTED, stream, raw, moment)
        moment, member = self._choose(verdict)
        if key and member >= 0:
            self.bindings[key] = member
        outcome = verdict.outcome if member >= 0 or verdict.outcome != ROUTED else NO_DESTINATION
        return self._decision(member, outcome, stream, raw, moment)

    def _choose(self, verdict: Verdict) -> tuple[Moment, int]:
        members = verdict.members
        course = self.course
        if not members:
            return Moment(self.frame, None, 0), -1
        if verdict.taken >= 0:
            return Moment(self.frame, None, 0), verdict.taken
        if type(course) is Scheduled and course.members == members:
            place = course.place
            if place == len(course.choices):
                self.course = course = course.after()
                place = 0
            course.place = place + 1
            moment = Moment(self.frame, course, course.turns * len(course.choices) + place)
            return moment, course.choices[place]
        return self._choose_otherwise(members)

    def _choose_otherwise(self, members: tuple[int, ...]) -> tuple[Moment, int]:
        course = self.course
        if course is None and self.policy.rule.scheduled(members):
            self.course = Scheduled(self.policy.rule, members)
            return self._choose(Verdict(ROUTED, members))
        if not isinstance(course, Direct) or len(course.log) >= LOG:
            self._settle()
            self.course = course = Direct(self.policy.rule)
        moment = Moment(self.frame, course, len(course.log))
        return moment, course.choose(members)

    def _decision(
        self, member: int, outcome: str, stream: Raw, raw: Raw, moment: Moment
    ) -> Decision:
        sequence = self.sequences.get(stream, 0)
        self.sequences[stream] = sequence + 1
        if member < 0:
            return Decision(None, None, outcome, sequence, self.name, raw, moment)
        name = self.policy.members[member]
        return Decision(name, self.addresses[member], outcome, sequence, self.name, raw, moment)

    def completed(self, destination: str) -> None:
        """A destination has finished one message."""
        try:
            member = self.policy.members.index(destination)
        except ValueError:
            raise MessageError(
                f"completed: found destination {destination!r}, "
                f"allowed: a destination of {self.name}"
            ) from None
        if not isinstance(self.course, Direct):
            self._settle()
            self.course = Direct(self.policy.rule)
        self.course.completed(member)

    def apply(self, effects: Sequence[Effect]) -> None:
        """Make the changes of one step."""
        self._settle()
        self.policy.apply(effects)
        self._begin()

    def dump(self) -> dict[str, Any]:
        """Everything that later choices depend on, as plain data."""
        self._settle()
        return {
            "policy": self.policy.dump(),
            "sequences": [[list(stream), n] for stream, n in self.sequences.items()],
            "bindings": [[list(key), member] for key, member in self.bindings.items()],
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave."""
        self.policy.load(plain["policy"])
        self.sequences = {tuple(stream): n for stream, n in plain["sequences"]}
        self.bindings = {tuple(key): member for key, member in plain["bindings"]}
        self._begin()


class Balancer:
    """Chooses a destination for each message. Thread-safe; choosing and counting are one step.

    >>> from fairlead import Balancer, Cluster
    >>> balancer = Balancer(Cluster.of("msmq", destination=[
    ...     {"name": "DEV1", "weight": 100}, {"name": "DEV2", "weight": 200}]))
    >>> [balancer.choose().destination for _ in range(3)]
    ['DEV2', 'DEV1', 'DEV2']

    `clusters`: one cluster, or several with different names; a message then names its cluster in
    its attribute `cluster`. `journal` is called with the row of each decision.
    """

    def __init__(
        self,
        clusters: Cluster | Iterable[Cluster],
        *,
        journal: Callable[[JournalRow], object] | None = None,
    ) -> None:
        """Start all clusters at their beginning."""
        every = [clusters] if isinstance(clusters, Cluster) else list(clusters)
        self._desks: dict[str, Desk] = {}
        for cluster in every:
            if cluster.name in self._desks:
                raise ConfigError(f"cluster {cluster.name!r}: found twice, allowed: once")
            self._desks[cluster.name] = Desk(cluster.name, cluster.start())
        self._only = next(iter(self._desks.values())) if len(self._desks) == 1 else None
        self._elsewhere: dict[Raw, int] = {}
        self._streamed = tuple(
            dict.fromkeys(name for desk in self._desks.values() for name in desk.policy.streams)
        )
        self._journal = journal
        self._position = 0
        self._lock = Lock()

    def choose(self, message: Message = NOTHING) -> Decision:
        """Decide where a message goes, and count the choice.

        `message`: routing attributes by name (`cluster`, `queue`, `group`, …); all are optional.
        Raises MessageError for an attribute value that is not allowed; nothing is counted then.
        """
        with self._lock:
            if not message and self._only is not None:
                decision = self._only.choose(message)
            else:
                decision = self._choose(message)
            if self._journal is not None:
                self._record(message, decision)
            return decision

    def _choose(self, message: Message) -> Decision:
        check(message)
        cluster = text(message, "cluster")
        if text(message, "type") == SET_PRIORITY:
            return Decision(None, None, CONTROL, None, cluster, (), None)
        desk = self._desks.get(cluster) if cluster else self._only
        if desk is not None:
            return desk.choose(message)
        stream = (cluster, *(text(message, name) for name in self._streamed))
        sequence = self._elsewhere.get(stream, 0)
        self._elsewhere[stream] = sequence + 1
        return Decision(None, None, NO_DESTINATION, sequence, cluster, (), None)

    def _record(self, message: Message, decision: Decision) -> None:
        if self._journal is not None:
            time = message.get("time")
            at = time if isinstance(time, int) else None
            self._journal(decision.journal(self._position, text(message, "id"), at))
            self._position += 1

    def completed(self, decision: Decision) -> None:
        """A destination has finished a message; one that was busy may now be ready."""
        if decision.destination is None:
            raise MessageError(f"completed: the decision's outcome is {decision.outcome}")
        with self._lock:
            self._desks[decision.cluster].completed(decision.destination)

    def apply(self, changes: Change | Iterable[Change]) -> None:
        """Make changes to the clusters, all or (if one is refused) none.

        Changes of one call that have the same `time` are one step. Raises ChangeError.
        """
        several = [changes] if isinstance(changes, Change) else list(changes)
        with self._lock:
            states = {name: desk.policy for name, desk in self._desks.items()}
            for _, name, effects in resolve(states, several):
                self._desks[name].apply(effects)

    def snapshot(self) -> dict[str, Any]:
        """All state as plain data (JSON would do): restoring it changes no later decision."""
        with self._lock:
            return {
                "format": FORMAT,
                "position": self._position,
                "elsewhere": [[list(stream), n] for stream, n in self._elsewhere.items()],
                "clusters": {name: desk.dump() for name, desk in self._desks.items()},
            }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take over a snapshot of a balancer with the same clusters. Raises ConfigError."""
        if snapshot.get("format") != FORMAT:
            raise ConfigError(f"snapshot: found format {snapshot.get('format')}, allowed: {FORMAT}")
        if set(snapshot["clusters"]) != set(self._desks):
            raise ConfigError(
                f"snapshot: found clusters {', '.join(snapshot['clusters'])}, "
                f"allowed: {', '.join(self._desks)}"
            )
        with self._lock:
            for name, plain in snapshot["clusters"].items():
                self._desks[name].load(plain)
            self._elsewhere = {tuple(stream): n for stream, n in snapshot["elsewhere"]}
            self._position = snapshot["position"]
