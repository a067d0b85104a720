"""One cluster inside the live balancer: its parts, its streams' counters, its bindings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count, repeat
from typing import Any

from fairlead.balance.change import ResolvedChange
from fairlead.balance.course import LOG, Binding, Direct, Frame, Scheduled
from fairlead.balance.decision import Context, Decision
from fairlead.balance.elimination import Verdict
from fairlead.balance.message import (
    NO_DESTINATION,
    ROUTED,
    Message,
    text,
)
from fairlead.balance.objects import Ref
from fairlead.balance.policy import Raw
from fairlead.balance.rules.keyed import number_of
from fairlead.balance.state import AnyState
from fairlead.errors import MessageError


class Part:
    """The messages of a cluster that share one state of the rule, and where that stands."""

    def __init__(self, cluster: AnyState) -> None:
        """From the policy as it is; from here on it is this part's own."""
        self.cluster = cluster
        self._begin()

    def _begin(self) -> None:
        cluster = self.cluster
        every = range(len(cluster.members))
        # Both as lists: what makes decisions ahead looks up in a list twice as fast as in a tuple.
        self.names = list(cluster.members)
        self.addresses = [cluster.address(i) for i in every]
        self.outcomes = [cluster.outcome_of(i) for i in every] if cluster.policy.fans_out else None
        self.frame = Frame(cluster)
        self.course: Scheduled | Direct | None = None

    def _settle(self) -> None:
        if isinstance(self.course, Scheduled):
            self.cluster.rule = self.course.rule_now()
        self.course = None

    def choose(
        self, verdict: Verdict, key: str, sequence: int
    ) -> tuple[Scheduled | Direct | None, int, int]:
        """The stretch, the place in it and the member chosen (-1: nobody)."""
        members = verdict.members
        if not members:
            return None, 0, -1
        if verdict.preselected >= 0:
            return None, 0, verdict.preselected
        if self.cluster.rule.keyed:
            return None, 0, self.cluster.rule.choose_for(members, number_of(key, sequence))
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
        if course is None and (rule := self.cluster.rule.scheduled(members)) is not None:
            course = self.course = Scheduled(rule, members)
        if not isinstance(course, Scheduled) or course.members != members:
            return None
        if course.place == len(course.choices):
            course = self.course = course.after()
        return course

    def _direct(self) -> Direct:
        """A stretch in which the rule is asked each time."""
        if not isinstance(self.course, Direct) or len(self.course.log) >= LOG:
            self._settle()
            self.course = Direct(self.cluster.rule)
        return self.course

    def completed(self, member: int) -> None:
        """A member has finished a message."""
        self._direct().completed(member)

    def apply(self, changes: Sequence[ResolvedChange], time: int) -> None:
        """Make the changes of one step, and what is due by then."""
        self._settle()
        self.cluster.apply(changes, time)
        self._begin()

    def dump(self) -> dict[str, Any]:
        """The policy's state as plain data."""
        self._settle()
        return self.cluster.dump()

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave."""
        self.cluster.load(plain)
        self._begin()


class Desk:
    """One cluster inside a balancer: its parts, its streams' counters, its bindings."""

    def __init__(self, name: str, cluster: AnyState) -> None:
        """At the cluster's beginning."""
        self.name = name
        self.cluster = cluster
        """As it is now; where parts have a state each, nobody is served in this one."""
        self.parts: dict[Raw, Part] = {} if cluster.policy.partition_by else {(): Part(cluster)}
        self.sequences: dict[Raw, int] = {}
        self.bindings: dict[Raw, int] = {}
        self.failed: dict[Ref, int] = {}
        """Who has failed → the version since which it holds nothing of what came before."""

    def _part(self, raw: Raw) -> Part:
        key = self.cluster.part(raw) if self.cluster.policy.partition_by else ()
        found = self.parts.get(key)
        if found is None:
            found = self.parts[key] = Part(self.cluster.frozen())
        return found

    def choose(self, message: Message) -> Decision:
        """Decide, and count the choice."""
        cluster = self.cluster
        raw = cluster.raw(message) if cluster.policy.reads else ()
        stream = cluster.stream(raw) if cluster.policy.streams else ()
        verdict = cluster.verdict(raw)
        part = self._part(raw)
        key: Raw | None = None
        binding: Binding | None = None
        if cluster.binds:
            key = cluster.binding(raw, message)
            before = self.bindings.get(key, -1) if key else -1
            if before >= 0 and not (cluster.rebinds and before not in cluster.holding(raw)):
                follows = Binding(key or (), follows=True)
                return self._decision(part, verdict, before, ROUTED, stream, raw, binding=follows)
            binding = Binding(key, follows=False, before=before) if key else None
        word = text(message, cluster.keyed_by) if cluster.keyed_by else ""
        start, place, member = part.choose(verdict, word, self.sequences.get(stream, 0))
        if key and member >= 0:
            self.bindings[key] = member
        outcome = verdict.outcome if member >= 0 or verdict.outcome != ROUTED else NO_DESTINATION
        return self._decision(
            part, verdict, member, outcome, stream, raw, start, place, binding, word
        )

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
        binding: Binding | None = None,
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
            binding,
            key,
            verdict.recipients,
        )
        return Decision(name, address, sequence, context)

    def ahead(self, most: int) -> Iterable[Decision]:
        """The next decisions on messages that say nothing, made ahead; none where that cannot be.

        They count as made; `take_back` says how many of them were not used after all.
        """
        cluster = self.cluster
        if cluster.policy.reads:
            return []
        verdict = cluster.verdict(())
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
            ROUTED, self.name, (), part.frame, course, first - sequence, also=verdict.recipients
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
        cluster = self.cluster
        try:
            member = cluster.member_called(destination, decision.raw)
        except ValueError:
            raise MessageError(
                f"completed: found destination {destination!r}, "
                f"allowed: a destination of {self.name}"
            ) from None
        version = decision.frame.version if decision.frame else 0
        if version < self.failed.get(cluster.object_of(member), 0):
            return  # it failed since then, and lost the message
        self._part(decision.raw).completed(member)

    def apply(self, changes: Sequence[ResolvedChange], time: int) -> None:
        """Make the changes of one step, and what is due by then."""
        if self.cluster.policy.partition_by:
            self.cluster.apply(changes, time)
        for part in self.parts.values():
            part.apply(changes, time)
        for ref in self.cluster.failed_now:
            if not self.cluster.failures.retains_after_failure(ref):
                self.failed[ref] = self.cluster.version

    def dump(self) -> dict[str, Any]:
        """Everything that later choices depend on, as plain data."""
        return {
            "parts": [[list(key), part.dump()] for key, part in self.parts.items()],
            "untouched": self.cluster.dump() if self.cluster.policy.partition_by else None,
            "sequences": [[list(stream), n] for stream, n in self.sequences.items()],
            "bindings": [[list(key), member] for key, member in self.bindings.items()],
            "failed": [[list(ref), version] for ref, version in self.failed.items()],
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave."""
        if self.cluster.policy.partition_by:
            self.cluster.load(plain["untouched"])
        for key, part in plain["parts"]:
            if self.cluster.policy.partition_by:
                self.parts[tuple(key)] = Part(self.cluster.frozen())
            self.parts[tuple(key)].load(part)
        self.sequences = {tuple(stream): n for stream, n in plain["sequences"]}
        self.bindings = {tuple(key): member for key, member in plain["bindings"]}
        self.failed = {Ref(*ref): version for ref, version in plain["failed"]}
