"""The live balancer: one message, one decision."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, repeat
from threading import Lock
from typing import Any, Final

from fairlead.balance.change import FAILED, STATE, Change
from fairlead.balance.cluster import Cluster, resolve
from fairlead.balance.course import LOG, AnyPolicy, Direct, Frame, Scheduled
from fairlead.balance.decision import Context, Decision
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
from fairlead.balance.objects import Ref, listed
from fairlead.balance.policy import Effect, Raw, Verdict
from fairlead.balance.rules.keyed import KeyedRule, number_of
from fairlead.errors import ChangeError, ConfigError, MessageError

NOTHING: Final[Message] = {}
FORMAT: Final = 1
BEFORE_ALL: Final = -(1 << 62)
"""The time of a balancer that has not been told any, in microseconds."""
NEAREST, FARTHEST = 8, 256
"""How many decisions are made ahead, at first and at most."""


class Part:
    """The messages of a cluster that share one state of the rule, and where that stands."""

    def __init__(self, policy: AnyPolicy) -> None:
        """From the policy as it is; from here on it is this part's own."""
        self.policy = policy
        self._begin()

    def _begin(self) -> None:
        policy = self.policy
        every = range(len(policy.members))
        # Both as lists: what makes decisions ahead looks up in a list twice as fast as in a tuple.
        self.names = list(policy.members)
        self.addresses = [policy.address(i) for i in every]
        self.outcomes = [policy.outcome_of(i) for i in every] if policy.fans_out else None
        self.frame = Frame(policy)
        self.course: Scheduled | Direct | None = None

    def _settle(self) -> None:
        if isinstance(self.course, Scheduled):
            self.policy.rule = self.course.rule_now()
        self.course = None

    def choose(
        self, verdict: Verdict, key: str, sequence: int
    ) -> tuple[Scheduled | Direct | None, int, int]:
        """The stretch, the place in it and the member chosen (-1: nobody)."""
        members = verdict.members
        if not members:
            return None, 0, -1
        if verdict.taken >= 0:
            return None, 0, verdict.taken
        if isinstance(self.policy.rule, KeyedRule):
            return None, 0, self.policy.rule.choose_for(members, number_of(key, sequence))
        scheduled = self.scheduled(members)
        if scheduled is not None:
            at = scheduled.turns * len(scheduled.choices) + scheduled.place
            scheduled.place += 1
            return scheduled, at, scheduled.choices[scheduled.place - 1]
        direct = self._direct()
        return direct, len(direct.log), direct.choose(members)

    def scheduled(self, members: tuple[int, ...]) -> Scheduled | None:
        """The stretch among just these members, with a choice left; None where they differ."""
        course = self.course
        if course is None and self.policy.rule.scheduled(members):
            course = self.course = Scheduled(self.policy.rule, members)
        if not isinstance(course, Scheduled) or course.members != members:
            return None
        if course.place == len(course.choices):
            course = self.course = course.after()
        return course

    def _direct(self) -> Direct:
        """A stretch in which the rule is asked each time."""
        if not isinstance(self.course, Direct) or len(self.course.log) >= LOG:
            self._settle()
            self.course = Direct(self.policy.rule)
        return self.course

    def completed(self, member: int) -> None:
        """A member has finished a message."""
        self._direct().completed(member)

    def apply(self, effects: Sequence[Effect], time: int) -> None:
        """Make the changes of one step, and what is due by then."""
        self._settle()
        self.policy.apply(effects, time)
        self._begin()

    def dump(self) -> dict[str, Any]:
        """The policy's state as plain data."""
        self._settle()
        return self.policy.dump()

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave."""
        self.policy.load(plain)
        self._begin()


class Desk:
    """One cluster inside a balancer: its parts, its streams' counters, its bindings."""

    def __init__(self, name: str, policy: AnyPolicy) -> None:
        """At the cluster's beginning."""
        self.name = name
        self.policy = policy
        """As it is now; where parts have a state each, nobody is served in this one."""
        self.parts: dict[Raw, Part] = {} if policy.apart else {(): Part(policy)}
        self.sequences: dict[Raw, int] = {}
        self.bindings: dict[Raw, int] = {}
        self.failed: dict[Ref, int] = {}
        """Who has failed → the version since which it holds nothing of what came before."""

    def _part(self, raw: Raw) -> Part:
        key = self.policy.part(raw) if self.policy.apart else ()
        found = self.parts.get(key)
        if found is None:
            found = self.parts[key] = Part(self.policy.frozen())
        return found

    def choose(self, message: Message) -> Decision:
        """Decide, and count the choice."""
        policy = self.policy
        raw = policy.raw(message) if policy.reads else ()
        stream = policy.stream(raw) if policy.streams else ()
        verdict = policy.verdict(raw)
        part = self._part(raw)
        key: Raw | None = None
        if policy.binds:
            key = policy.binding(raw, message)
            bound = self.bindings.get(key) if key else None
            if bound is not None and not (policy.rebinds and bound not in policy.holding(raw)):
                return self._decision(part, verdict, bound, ROUTED, stream, raw, bound_to=key or ())
        word = text(message, policy.keyed_by) if policy.keyed_by else ""
        start, place, member = part.choose(verdict, word, self.sequences.get(stream, 0))
        if key and member >= 0:
            self.bindings[key] = member
        outcome = verdict.outcome if member >= 0 or verdict.outcome != ROUTED else NO_DESTINATION
        return self._decision(part, verdict, member, outcome, stream, raw, start, place, key=word)

    def _decision(
        self,
        part: Part,
        verdict: Verdict,
        member: int,
        outcome: str,
        stream: Raw,
        raw: Raw,
        start: Scheduled | Direct | None = None,
        place: int = 0,
        bound_to: Raw = (),
        key: str = "",
    ) -> Decision:
        sequence = self.sequences.get(stream, 0)
        self.sequences[stream] = sequence + 1
        name = part.names[member] if member >= 0 else None
        address = part.addresses[member] if member >= 0 else None
        if part.outcomes is not None and name is not None:
            outcome = part.outcomes[member]
            if outcome != ROUTED:
                name = address = None
        context = Context(
            outcome,
            self.name,
            raw,
            part.frame,
            start,
            place - sequence,
            bound_to,
            key,
            verdict.also,
        )
        return Decision(name, address, sequence, context)

    def ahead(self, most: int) -> Iterable[Decision]:
        """The next decisions on messages that say nothing, made ahead; none where that cannot be.

        They count as made; `take_back` says how many of them were not used after all.
        """
        policy = self.policy
        if policy.reads:
            return []
        verdict = policy.verdict(())
        part = self.parts[()]
        course = part.scheduled(verdict.members) if verdict.members else None
        if course is None:
            return []
        chosen = course.choices[course.place : course.place + most]
        first = course.turns * len(course.choices) + course.place
        sequence = self.sequences.get((), 0)
        course.place += len(chosen)
        self.sequences[()] = sequence + len(chosen)
        context = Context(
            ROUTED, self.name, (), part.frame, course, first - sequence, also=verdict.also
        )
        return map(
            Decision,
            map(part.names.__getitem__, chosen),
            map(part.addresses.__getitem__, chosen),
            count(sequence),
            repeat(context),
        )

    def take_back(self, unused: int) -> None:
        """So many of the decisions that were made ahead last have not been used."""
        course = self.parts[()].course if unused else None
        if isinstance(course, Scheduled):
            course.place -= unused
            self.sequences[()] -= unused

    def completed(self, decision: Decision, destination: str) -> None:
        """A destination has finished a message."""
        policy = self.policy
        try:
            member = policy.member_called(destination, decision.raw)
        except ValueError:
            raise MessageError(
                f"completed: found destination {destination!r}, "
                f"allowed: a destination of {self.name}"
            ) from None
        version = decision.frame.version if decision.frame else 0
        if version < self.failed.get(policy.whose(member), 0):
            return  # it failed since then, and lost the message
        self._part(decision.raw).completed(member)

    def apply(self, effects: Sequence[Effect], time: int) -> None:
        """Make the changes of one step, and what is due by then."""
        if self.policy.apart:
            self.policy.apply(effects, time)
        for part in self.parts.values():
            part.apply(effects, time)
        for ref, attribute, value in effects:
            if ref is not None and (attribute, value) == (STATE, FAILED):
                self.failed[ref] = self.policy.version

    def dump(self) -> dict[str, Any]:
        """Everything that later choices depend on, as plain data."""
        return {
            "parts": [[list(key), part.dump()] for key, part in self.parts.items()],
            "untouched": self.policy.dump() if self.policy.apart else None,
            "sequences": [[list(stream), n] for stream, n in self.sequences.items()],
            "bindings": [[list(key), member] for key, member in self.bindings.items()],
            "failed": [[list(ref), version] for ref, version in self.failed.items()],
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave."""
        if self.policy.apart:
            self.policy.load(plain["untouched"])
        for key, part in plain["parts"]:
            if self.policy.apart:
                self.parts[tuple(key)] = Part(self.policy.frozen())
            self.parts[tuple(key)].load(part)
        self.sequences = {tuple(stream): n for stream, n in plain["sequences"]}
        self.bindings = {tuple(key): member for key, member in plain["bindings"]}
        self.failed = {Ref(*ref): version for ref, version in plain["failed"]}


class Balancer:
    """Chooses a destination for each message. Thread-safe; choosing and counting are one step.

    >>> from fairlead import Balancer, Cluster
    >>> balancer = Balancer(Cluster.of("msmq", destination=[
    ...     {"name": "DEV1", "weight": 100}, {"name": "DEV2", "weight": 200}]))
    >>> [balancer.choose().destination for _ in range(3)]
    ['DEV2', 'DEV1', 'DEV2']

    `clusters`: one cluster, or several with different names; a message then names its cluster in
    its attribute `cluster`. `journal` is called with the row of each decision. Raises ConfigError
    where two clusters have one name.
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
        self._now = BEFORE_ALL
        self._next: int | None = None
        self._streamed = tuple(
            dict.fromkeys(name for desk in self._desks.values() for name in desk.policy.streams)
        )
        self._heeded: frozenset[str] = frozenset().union(
            *(desk.policy.heeds() for desk in self._desks.values())
        )
        self._telling = self._heeded | {"cluster", "type"}
        self._journal = journal
        self._position = 0
        self._lock = Lock()
        self._reach: int = NEAREST
        self._renew()

    def choose(self, message: Message = NOTHING) -> Decision:
        """Decide where a message goes, and count the choice.

        `message`: routing attributes by name (`cluster`, `queue`, `group`, …); all are optional.
        Raises MessageError for an attribute value that is not allowed; nothing is counted then.
        """
        if not message or message.keys().isdisjoint(self._telling):
            try:
                return self._take()
            except IndexError:
                pass
        with self._lock:
            return self._choose_and_record(message)

    def _choose_and_record(self, message: Message) -> Decision:
        quiet = not message or message.keys().isdisjoint(self._telling)
        if quiet and self._only is not None and self._journal is None:
            if not self._ahead:  # else another thread has just filled it
                self._ahead.extend(self._only.ahead(self._reach))
                self._reach = min(2 * self._reach, FARTHEST)
            try:
                return self._take()
            except IndexError:  # none can be made ahead, or other threads were faster
                decision = self._only.choose(message)
        else:
            self._withdraw()
            decision = self._choose(message)
        if self._journal is not None:
            self._record(message, decision)
        return decision

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
        check(message, self._heeded)
        cluster = text(message, "cluster")
        if text(message, "type") == SET_PRIORITY:
            return Decision(None, None, None, Context(CONTROL, cluster))
        desk = self._desks.get(cluster) if cluster else self._only
        if desk is not None:
            return desk.choose(message)
        stream = (cluster, *(text(message, name) for name in self._streamed))
        sequence = self._elsewhere.get(stream, 0)
        self._elsewhere[stream] = sequence + 1
        return Decision(None, None, sequence, Context(NO_DESTINATION, cluster))

    def _record(self, message: Message, decision: Decision) -> None:
        if self._journal is not None:
            time = message.get("time")
            at = time if isinstance(time, int) else None
            self._journal(decision.journal(self._position, text(message, "id"), at))
            self._position += 1

    def completed(self, decision: Decision, by: str | None = None) -> None:
        """A destination has finished (or acknowledged) a message; one that was busy may be ready.

        To be called once for each decision, or, where a message went to several destinations,
        once for each of them with its name in `by`. A message that was lost when its destination
        failed is not completed any more: that changes nothing. Raises MessageError for a decision
        without a destination, and for a name that the message did not go to.
        """
        if decision.destination is None:
            raise MessageError(f"completed: the decision's outcome is {decision.outcome}")
        names = [copy.destination for copy in decision.copies]
        if by is None and len(names) > 1:
            raise MessageError(
                f"completed: the message went to {len(names)} destinations, "
                f"allowed: by = one of {listed(names)}"
            )
        if by is not None and by not in names:
            raise MessageError(f"completed: by: found {by!r}, allowed: {listed(names)}")
        with self._lock:
            self._withdraw()
            self._desks[decision.cluster].completed(decision, by or decision.destination)

    def apply(self, changes: Change | Iterable[Change]) -> None:
        """Make changes to the clusters, all or (if one is refused) none.

        Changes of one call that have the same `time` are one step. A change is made at its time,
        or, where that is over already, at the latest time that the balancer has been told; what is
        due before is made before, and what follows later is counted from there. Raises ChangeError.
        """
        several = [changes] if isinstance(changes, Change) else list(changes)
        with self._lock:
            self._withdraw()
            states = {name: desk.policy for name, desk in self._desks.items()}
            for time, name, effects in resolve(states, several):
                self._make_due(time - 1)
                self._now = max(self._now, time)
                self._desks[name].apply(effects, self._now)
                self._look_ahead()
            self._make_due(self._now)

    def at(self, time: int) -> None:
        """It is this time now, in microseconds: make the changes that have become due.

        They follow of themselves from earlier changes, under a policy with `slow_start` or
        `failback_delay`. To be called before a choice, or by a timer (see `next_change`). A time
        that is over already changes nothing. Raises ChangeError.
        """
        if not isinstance(time, int):
            raise ChangeError(f"at: found {time!r}, allowed: a time in whole microseconds")
        with self._lock:
            self._make_due(time)
            self._now = max(self._now, time)

    def next_change(self) -> int | None:
        """When the next change is due of itself, in microseconds; None if none is to come."""
        return self._next

    def _make_due(self, time: int) -> None:
        """Make a step at each time up to and at this one at which something is due."""
        while self._next is not None and self._next <= time:
            self._withdraw()
            self._now = self._next
            for desk in self._desks.values():
                if desk.policy.pending.next == self._now:
                    desk.apply([], self._now)
            self._look_ahead()

    def _look_ahead(self) -> None:
        due = [desk.policy.pending.next for desk in self._desks.values()]
        self._next = min((time for time in due if time is not None), default=None)

    def snapshot(self) -> dict[str, Any]:
        """All state as plain data (JSON would do): restoring it changes no later decision.

        Its content is for `restore` only; its format is a number in it.
        """
        with self._lock:
            self._withdraw()
            return {
                "format": FORMAT,
                "position": self._position,
                "elsewhere": [[list(stream), n] for stream, n in self._elsewhere.items()],
                "now": self._now,
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
            self._withdraw()
            desks = {}
            for name, plain in snapshot["clusters"].items():
                desks[name] = Desk(name, self._desks[name].policy.frozen())
                desks[name].load(plain)
            self._desks = desks
            self._only = next(iter(desks.values())) if len(desks) == 1 else None
            self._elsewhere = {tuple(stream): n for stream, n in snapshot["elsewhere"]}
            self._position = snapshot["position"]
            self._now = snapshot["now"]
            self._look_ahead()
