"""What is known before the first message is routed: the clusters, and all that will change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from fairlead.balance.change import Change, ResolvedChange
from fairlead.balance.changes import resolve, with_follow_ups
from fairlead.balance.cluster import Cluster
from fairlead.balance.message import AttributeValues
from fairlead.balance.state import AnyState
from fairlead.compiled.labels import Codes
from fairlead.errors import ConfigError

NO_STREAM = -1


class MessageClass(NamedTuple):
    """Messages that every policy treats alike: the same cluster and routing attributes."""

    cluster: str
    """"" where the message names none and there are several."""
    values: AttributeValues
    control: bool = False


class Resolved(NamedTuple):
    """What clusters and changes come to."""

    states: Mapping[str, AnyState]
    """By cluster, as it begins."""
    steps: Mapping[str, list[tuple[int, list[ResolvedChange]]]]
    """By cluster, also those that follow of themselves from the changes."""
    times: list[int]
    """When anything changes, ascending."""


def _resolved(clusters: Sequence[Cluster], changes: Sequence[Change]) -> Resolved:
    states = {cluster.name: cluster.start() for cluster in clusters}
    if len(states) < len(clusters):
        names = [cluster.name for cluster in clusters]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"cluster {twice!r}: found twice, allowed: once")
    raw_steps: dict[str, list[tuple[int, list[ResolvedChange]]]] = {name: [] for name in states}
    for time, name, resolved in resolve(states, changes):
        raw_steps[name].append((time, resolved))
    steps = {
        cluster.name: with_follow_ups(cluster.start(), raw_steps[cluster.name])
        for cluster in clusters
    }
    return Resolved(
        states,
        steps,
        sorted({time for cluster_steps in steps.values() for time, _ in cluster_steps}),
    )


@dataclass(frozen=True)
class Plan:
    """Clusters and changes, checked. It travels as what it was made from."""

    clusters: Sequence[Cluster]
    changes: Sequence[Change]
    given: Resolved | None = field(default=None, repr=False, compare=False)
    """What they come to, where that is known already: of many changes it takes seconds."""

    def __post_init__(self) -> None:
        """Refuse every bad change. Raises ConfigError, ChangeError."""
        _ = self.resolved

    def __reduce__(self) -> tuple[type[Plan], tuple[object, ...]]:
        return (Plan, (self.clusters, self.changes))

    @cached_property
    def resolved(self) -> Resolved:
        """What the clusters and changes come to."""
        return self.given or _resolved(self.clusters, self.changes)

    @property
    def states(self) -> Mapping[str, AnyState]:
        """By cluster, as it begins."""
        return self.resolved.states

    @property
    def steps(self) -> Mapping[str, list[tuple[int, list[ResolvedChange]]]]:
        """By cluster, also those that follow of themselves from the changes."""
        return self.resolved.steps

    @property
    def times(self) -> list[int]:
        """When anything changes, ascending."""
        return self.resolved.times

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The routing attributes that any policy reads."""
        every = (name for state in self.states.values() for name in state.policy.reads)
        return tuple(dict.fromkeys(every))

    @cached_property
    def streamed(self) -> tuple[str, ...]:
        """The attributes that tell streams apart."""
        every = (name for state in self.states.values() for name in state.policy.streams)
        return tuple(dict.fromkeys(every))

    def classified(self, classes: Iterable[MessageClass]) -> ClassifiedPlan:
        """The same plan for messages of these classes."""
        return ClassifiedPlan(self.clusters, self.changes, self.resolved, tuple(classes))

    @property
    def binds(self) -> bool:
        """Whether any message can be bound to an earlier one's destination."""
        return any(state.binds for state in self.states.values())

    @property
    def timed(self) -> dict[str, bool]:
        """By cluster: whether completions decide who is busy."""
        return {
            name: state.timed(e for _, resolved in self.steps[name] for e in resolved)
            for name, state in self.states.items()
        }

    @property
    def stays(self) -> list[str]:
        """The clusters whose messages follow their group."""
        return [name for name, state in self.states.items() if state.rebinds]

    @property
    def keyed(self) -> dict[str, str]:
        """By cluster: the attribute whose value is the key, where the rule chooses by one."""
        return {name: state.keyed_by for name, state in self.states.items() if state.keyed_by}

    def versions(self) -> Iterator[tuple[int, Mapping[str, AnyState]]]:
        """Every version in turn (0: before all changes), with the clusters as they are then."""
        states = {cluster.name: cluster.start() for cluster in self.clusters}
        steps: dict[int, list[tuple[str, list[ResolvedChange]]]] = {}
        for name, cluster_steps in self.steps.items():
            for time, resolved in cluster_steps:
                steps.setdefault(time, []).append((name, resolved))
        yield 0, states
        for version, time in enumerate(self.times, 1):
            for name, resolved in steps[time]:
                states[name].apply(resolved, time)
            yield version, states

    @property
    def fans_out(self) -> bool:
        """Whether a message can go to several destinations."""
        return any(state.policy.fans_out for state in self.states.values())

    @property
    def fanning(self) -> list[str]:
        """What messages call the clusters where it can; "": the only one."""
        names = [name for name, state in self.states.items() if state.policy.fans_out]
        return ["", *names] if names and len(self.clusters) == 1 else names

    @property
    def relevant_attributes(self) -> set[str]:
        """The attributes of a message that can make a difference."""
        return set().union(*(state.relevant_attributes() for state in self.states.values()))

    def message_class(
        self, cluster: str, attributes: Mapping[str, str], *, control: bool
    ) -> MessageClass:
        """The class of messages with these routing attributes ("" where not given)."""
        if control:
            return MessageClass(cluster, (), control=True)
        if not cluster and len(self.clusters) == 1:
            cluster = self.clusters[0].name
        state = self.states.get(cluster)
        if state is None:
            # No file has the cluster, but its streams are told apart like those of any other.
            return MessageClass(cluster, tuple(attributes.get(name, "") for name in self.streamed))
        return MessageClass(
            cluster, state.normal(tuple(attributes.get(name, "") for name in state.policy.reads))
        )


@dataclass(frozen=True)
class ClassifiedPlan(Plan):
    """A plan, and the classes of the messages that occur."""

    classes: tuple[MessageClass, ...] = ()
    """By code."""

    def __reduce__(self) -> tuple[type[Plan], tuple[object, ...]]:
        return (ClassifiedPlan, (self.clusters, self.changes, None, self.classes))

    @cached_property
    def codes(self) -> Codes:
        """What can be decided about messages of these classes."""
        codes = Codes()
        for name, state in self.states.items():
            codes.add(state, [resolved for _, resolved in self.steps[name]])
        if self.fans_out:
            for _, states in self.versions():
                for message_class in self.classes:
                    if message_class.cluster in states and not message_class.control:
                        state = states[message_class.cluster]
                        codes.add_copies(state, state.eligible(message_class.values).recipients)
        return codes

    @cached_property
    def _streams(self) -> tuple[list[tuple[str, ...]], list[int]]:
        streams: dict[tuple[str, ...], int] = {}
        stream_of = []
        for message_class in self.classes:
            if message_class.control:
                stream_of.append(NO_STREAM)
                continue
            state = self.states.get(message_class.cluster)
            stream = state.stream(message_class.values) if state else message_class.values
            stream_of.append(streams.setdefault((message_class.cluster, *stream), len(streams)))
        return list(streams), stream_of

    @property
    def streams(self) -> list[tuple[str, ...]]:
        """Each stream: its cluster, and the attributes that tell it from others there."""
        return self._streams[0]

    @property
    def stream_of(self) -> list[int]:
        """By class: its place in `streams`, or NO_STREAM."""
        return self._streams[1]
