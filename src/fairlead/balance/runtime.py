"""One cluster inside the live balancer: its partitions, its streams' counters, its bindings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import count, repeat
from typing import TYPE_CHECKING, Any

from fairlead.balance.change import ResolvedChange
from fairlead.balance.decision import Decision, DecisionContext
from fairlead.balance.elimination import Eligible
from fairlead.balance.history import LOG, Binding, ClusterVersion, LoggedRun, PrecomputedRun
from fairlead.balance.message import (
    NO_DESTINATION,
    ROUTED,
    AttributeValues,
    Message,
    text,
)
from fairlead.balance.objects import Ref
from fairlead.balance.procedure import BINDING, NONE, PRESELECTION, RULE, what_decides
from fairlead.balance.rules.keyed import number_of
from fairlead.balance.state import AnyState
from fairlead.errors import MessageError

if TYPE_CHECKING:
    from fairlead.balance.membership import Changed


class Partition:
    """The messages of a cluster that share one state of the rule, and where that stands."""

    def __init__(self, cluster: AnyState) -> None:
        """From the cluster as it is; from here on it is this partition's own."""
        self.cluster = cluster
        self._begin()

    def _begin(self) -> None:
        self._frame: ClusterVersion | None = None
        self.precomputed: PrecomputedRun | None = None
        """The run of choices that was made ahead; one of these two at most."""
        self.logged: LoggedRun | None = None
        """The run in which the rule is asked each time."""

    @property
    def frame(self) -> ClusterVersion:
        """The cluster at this version, made only when it is asked for: changes come in swarms."""
        if self._frame is None:
            self._frame = ClusterVersion(self.cluster)
        return self._frame

    def settle(self) -> None:
        """Let the rule itself know of the choices that were made ahead and are used."""
        if self.precomputed is not None:
            self.cluster.rule = self.precomputed.rule_now()
        self.precomputed = self.logged = None

    def choose(
        self, eligible: Eligible, key: str, sequence: int
    ) -> tuple[PrecomputedRun | LoggedRun | None, int, int]:
        """Ask the rule: the run, the place in it and the member chosen (NONE: nobody)."""
        members = eligible.members
        if self.cluster.rule.keyed:
            return None, 0, self.cluster.rule.choose_for(members, number_of(key, sequence))
        scheduled = self.scheduled(members) if self.logged is None else None
        if scheduled is not None:
            at = scheduled.turns * len(scheduled.choices) + scheduled.place
            scheduled.place += 1
            return scheduled, at, scheduled.choices[scheduled.place - 1]
        logged = self._logged()
        return logged, len(logged.log), logged.choose(members)

    def scheduled(self, members: tuple[int, ...]) -> PrecomputedRun | None:
        """The run among just these members, with a choice left; None where they differ."""
        run = self.precomputed
        if run is None and self.logged is None:
            rule = self.cluster.rule.scheduled(members)
            run = None if rule is None else PrecomputedRun(rule, members)
        elif run is not None and run.members != members:
            return None
        if run is not None and run.place == len(run.choices):
            run = run.after()
        self.precomputed = run
        return run

    def _logged(self) -> LoggedRun:
        """A run in which the rule is asked each time."""
        if self.logged is None or len(self.logged.log) >= LOG:
            self.settle()
            self.logged = LoggedRun(self.cluster.rule)
        return self.logged

    def completed(self, member: int) -> None:
        """A member has finished a message."""
        self._logged().completed(member)

    def apply(self, changes: Sequence[ResolvedChange], time: int) -> None:
        """Make the changes of one step, and what is due by then."""
        self.settle()
        self.cluster.apply(changes, time)
        self._begin()

    def dump(self) -> dict[str, Any]:
        """The state as plain data."""
        self.settle()
        return self.cluster.dump()

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave."""
        self.cluster.load(plain)
        self._begin()


class ClusterRuntime:
    """One cluster inside a balancer: its partitions, its streams' counters, its bindings."""

    def __init__(self, name: str, cluster: AnyState) -> None:
        """At the cluster's beginning."""
        self.name = name
        self.cluster = cluster
        """As it is now; where partitions have a state each, nobody is served in this one."""
        self.partitions: dict[AttributeValues, Partition] = (
            {} if cluster.policy.partition_by else {(): Partition(cluster)}
        )
        self.sequences: dict[AttributeValues, int] = {}
        self.bindings: MutableMapping[AttributeValues, int] = {}
        self.failed: dict[Ref, int] = {}
        """Who has failed → the version since which it holds nothing of what came before."""

    def _partition(self, values: AttributeValues) -> Partition:
        key = self.cluster.partition(values) if self.cluster.policy.partition_by else ()
        partition = self.partitions.get(key)
        if partition is None:
            partition = self.partitions[key] = Partition(self.cluster.frozen())
        return partition

    def choose(self, message: Message) -> Decision:
        """Decide, and count the choice."""
        cluster = self.cluster
        values = cluster.values_of(message) if cluster.policy.reads else ()
        stream = cluster.stream(values) if cluster.policy.streams else ()
        eligible = cluster.eligible(values)
        partition = self._partition(values)
        word = text(message, cluster.keyed_by) if cluster.keyed_by else ""
        key = cluster.binding(values, message) if cluster.binds else None
        before = self.bindings.get(key, NONE) if key else NONE
        ended = before != NONE and not cluster.keeps(before, values)
        member = NONE if ended else before
        start, place = None, 0
        decides = what_decides(member, eligible.preselected, bool(eligible.members))
        if decides == PRESELECTION:
            member = eligible.preselected
        elif decides == RULE:
            start, place, member = partition.choose(eligible, word, self.sequences.get(stream, 0))
        if key and member != NONE:
            self.bindings[key] = member
        binding = Binding(key, follows=decides == BINDING, before=before) if key else None
        outcome = ROUTED if member != NONE else eligible.outcome
        if member == NONE and eligible.members:
            outcome = NO_DESTINATION
        sequence = self.sequences.get(stream, 0)
        self.sequences[stream] = sequence + 1
        return self._decision(
            partition, eligible, member, outcome, sequence, values, start, place, binding, word
        )

    def choose_again(self, message: Message, sequence: int) -> Decision:
        """Decide about a message whose destination has failed; it keeps its place in its stream.

        Where nobody is left for it, the outcome says how it ends.
        """
        cluster = self.cluster
        values = cluster.values_of(message) if cluster.policy.reads else ()
        eligible = replace(cluster.failures.redelivery(values), recipients=())
        partition = self._partition(values)
        member, outcome, start, place = NONE, eligible.outcome, None, 0
        if eligible.members:
            start, place, member = partition.choose(eligible, "", sequence)
            outcome = ROUTED
        return self._decision(partition, eligible, member, outcome, sequence, values, start, place)

    def _decision(
        self,
        partition: Partition,
        eligible: Eligible,
        member: int,
        outcome: str,
        sequence: int,
        values: AttributeValues,
        start: PrecomputedRun | LoggedRun | None = None,
        place: int = 0,
        binding: Binding | None = None,
        key: str = "",
    ) -> Decision:
        frame = partition.frame
        name = frame.names[member] if member >= 0 else None
        address = frame.addresses[member] if member >= 0 else None
        if frame.outcomes is not None and name is not None:
            outcome = frame.outcomes[member]
            if outcome != ROUTED:
                name = address = None
        context = DecisionContext(
            outcome,
            self.name,
            values,
            frame,
            start,
            place - sequence,
            binding,
            key,
            eligible.recipients,
        )
        return Decision(name, address, sequence, context)

    def ahead(self, most: int) -> Iterable[Decision]:
        """The next decisions on messages that say nothing, made ahead; none where that cannot be.

        They count as made; `take_back` says how many of them were not used after all.
        """
        cluster = self.cluster
        if cluster.policy.reads:
            return []
        eligible = cluster.eligible(())
        partition = self.partitions[()]
        run = partition.scheduled(eligible.members) if eligible.members else None
        if run is None:
            return []
        chosen = run.choices[run.place : run.place + most]
        first = run.turns * len(run.choices) + run.place
        sequence = self.sequences.get((), 0)
        run.place += len(chosen)
        self.sequences[()] = sequence + len(chosen)
        frame = partition.frame
        context = DecisionContext(
            ROUTED, self.name, (), frame, run, first - sequence, also=eligible.recipients
        )
        return map(
            Decision,
            map(frame.names.__getitem__, chosen),
            map(frame.addresses.__getitem__, chosen),
            count(sequence),
            repeat(context),
        )

    def take_back(self, unused: int) -> None:
        """So many of the decisions that were made ahead last have not been used."""
        run = self.partitions[()].precomputed if unused else None
        if run is not None:
            run.place -= unused
            self.sequences[()] -= unused

    def withdraw(self, decision: Decision) -> None:
        """The latest decision of its stream, which found nobody, counts for nothing.

        Its message waits, and is decided about again.
        """
        policy = self.cluster.policy
        stream = self.cluster.stream(decision.values) if policy.streams else ()
        self.sequences[stream] -= 1
        if not self.sequences[stream]:
            del self.sequences[stream]  # as if it had not come

    def completed(self, decision: Decision, destination: str) -> None:
        """A destination has finished a message."""
        cluster = self.cluster
        try:
            member = cluster.member_called(destination, decision.values)
        except ValueError:
            raise MessageError(
                f"completed: found destination {destination!r}, "
                f"allowed: a destination of {self.name}"
            ) from None
        version = decision.frame.version if decision.frame else 0
        self.complete(member, version, self._partition(decision.values))

    def complete(self, member: int, version: int, partition: Partition) -> None:
        """A member has finished a message for which it was chosen in this version."""
        if version >= self.failed.get(self.cluster.object_of(member), 0):
            partition.completed(member)  # else it failed since then, and lost the message

    def apply(self, changes: Sequence[ResolvedChange], time: int) -> None:
        """Make the changes of one step, and what is due by then."""
        if self.cluster.policy.partition_by:
            self.cluster.apply(changes, time)
        for partition in self.partitions.values():
            partition.apply(changes, time)
        for ref in self.cluster.failed_now:
            if not self.cluster.failures.retains_after_failure(ref):
                self.failed[ref] = self.cluster.version

    def settled(self) -> AnyState:
        """The cluster as it is now; its rule knows of all choices."""
        for partition in self.partitions.values():
            partition.settle()
        return self.cluster

    def with_destinations(self, changed: Changed) -> ClusterRuntime:
        """The same with other destinations; what was decided stays counted, and groups bound."""
        cluster = changed.state
        runtime = ClusterRuntime(self.name, cluster)
        if cluster.policy.partition_by:
            runtime.partitions = {
                key: Partition(changed.carry(partition.cluster))
                for key, partition in self.partitions.items()
            }
        runtime.sequences, runtime.failed = self.sequences, self.failed
        places = {name: i for i, name in enumerate(cluster.members)}
        before = self.cluster.members
        runtime.bindings = {
            key: places[before[i]] for key, i in self.bindings.items() if before[i] in places
        }
        return runtime

    def dump(self) -> dict[str, Any]:
        """Everything that later choices depend on, as plain data."""
        return {
            "parts": [[list(key), partition.dump()] for key, partition in self.partitions.items()],
            "untouched": self.cluster.dump() if self.cluster.policy.partition_by else None,
            "sequences": [[list(stream), n] for stream, n in self.sequences.items()],
            "bindings": [[list(key), member] for key, member in self.bindings.items()],
            "failed": [[list(ref), version] for ref, version in self.failed.items()],
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        """Take over what `dump` gave."""
        if self.cluster.policy.partition_by:
            self.cluster.load(plain["untouched"])
        for key, partition in plain["parts"]:
            if self.cluster.policy.partition_by:
                self.partitions[tuple(key)] = Partition(self.cluster.frozen())
            self.partitions[tuple(key)].load(partition)
        self.sequences = {tuple(stream): n for stream, n in plain["sequences"]}
        self.bindings = {tuple(key): member for key, member in plain["bindings"]}
        self.failed = {Ref(*ref): version for ref, version in plain["failed"]}
