"""All clusters' messages in order: a plan that says what there is, and the router that runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fairlead.balance.change import Change, ResolvedChange
from fairlead.balance.changes import resolve, with_follow_ups
from fairlead.balance.cluster import Cluster
from fairlead.balance.message import CONTROL, NO_DESTINATION, OUTCOMES
from fairlead.balance.policy import Raw
from fairlead.balance.rules.keyed import PLACES
from fairlead.balance.state import AnyState
from fairlead.compiled.bindings import Bindings
from fairlead.compiled.kernels import Int32s, Int64s, number
from fairlead.compiled.labels import Codes
from fairlead.compiled.run import ClusterRun
from fairlead.errors import ConfigError

CONTROL_CLASS = "control"
NO_STREAM = -1
NO_RUN = -1
EARLIEST = -(1 << 62)


class MessageClass(NamedTuple):
    """Messages that every policy treats alike: the same cluster and routing attributes."""

    cluster: str
    """"" where the message names none and there are several."""
    raw: Raw
    control: bool = False


@dataclass
class Plan:
    """What is known before the first message: plain data, sent to whoever routes a block."""

    clusters: Sequence[Cluster]
    changes: Sequence[Change]
    classes: Sequence[MessageClass] = ()
    steps: Mapping[str, list[tuple[int, list[ResolvedChange]]]] = field(init=False)
    """By cluster, also those that follow of themselves from the changes."""
    times: list[int] = field(init=False)
    """When anything changes, ascending."""
    streams: list[tuple[str, ...]] = field(init=False)
    stream_of: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Resolve the changes; every bad one is refused here. Raises ChangeError."""
        states = {cluster.name: cluster.start() for cluster in self.clusters}
        if len(states) < len(self.clusters):
            names = [cluster.name for cluster in self.clusters]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"cluster {twice!r}: found twice, allowed: once")
        steps: dict[str, list[tuple[int, list[ResolvedChange]]]] = {name: [] for name in states}
        for time, name, resolved in resolve(states, self.changes):
            steps[name].append((time, resolved))
        self.steps = {
            cluster.name: with_follow_ups(cluster.start(), steps[cluster.name])
            for cluster in self.clusters
        }
        self.times = sorted({time for own in self.steps.values() for time, _ in own})
        self.states = states
        self.reads = tuple(
            dict.fromkeys(name for state in states.values() for name in state.policy.reads)
        )
        self.streamed = tuple(
            dict.fromkeys(name for state in states.values() for name in state.policy.streams)
        )
        self.set_classes(self.classes)

    def __reduce__(self) -> tuple[type[Plan], tuple[object, ...]]:
        """Travel as what it was made from; everything else is worked out again."""
        return (Plan, (self.clusters, self.changes, self.classes))

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
        for name, own in self.steps.items():
            for time, resolved in own:
                steps.setdefault(time, []).append((name, resolved))
        yield 0, states
        for version, time in enumerate(self.times, 1):
            for name, resolved in steps[time]:
                states[name].apply(resolved, time)
            yield version, states

    @cached_property
    def codes(self) -> Codes:
        """What a message of these classes can be told."""
        found = Codes()
        for name, state in self.states.items():
            found.add(state, [resolved for _, resolved in self.steps[name]])
        if self.fans_out:
            for _, states in self.versions():
                for each in self.classes:
                    if each.cluster in states and not each.control:
                        state = states[each.cluster]
                        found.add_copies(state, state.verdict(each.raw).recipients)
        return found

    @property
    def fans_out(self) -> bool:
        """Whether a message can go to several destinations."""
        return any(state.policy.fans_out for state in self.states.values())

    @property
    def fanning(self) -> list[str]:
        """What messages call the clusters where it can; "": the only one."""
        found = [name for name, state in self.states.items() if state.policy.fans_out]
        return ["", *found] if found and len(self.clusters) == 1 else found

    @property
    def relevant_attributes(self) -> set[str]:
        """The attributes of a message that can make a difference."""
        return set().union(*(state.relevant_attributes() for state in self.states.values()))

    def set_classes(self, classes: Sequence[MessageClass]) -> None:
        """The classes of messages that occur, by code."""
        self.classes = classes
        self.__dict__.pop("codes", None)
        streams: dict[tuple[str, ...], int] = {}
        self.stream_of = []
        for each in classes:
            if each.control:
                self.stream_of.append(NO_STREAM)
                continue
            state = self.states.get(each.cluster)
            own = state.stream(each.raw) if state else each.raw
            self.stream_of.append(streams.setdefault((each.cluster, *own), len(streams)))
        self.streams = list(streams)

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
            # Nobody knows the cluster, but its streams are told apart like everybody's.
            return MessageClass(cluster, tuple(attributes.get(name, "") for name in self.streamed))
        return MessageClass(
            cluster, state.normal(tuple(attributes.get(name, "") for name in state.policy.reads))
        )


def _partitions(plan: Plan, cluster: str) -> list[list[int]]:
    """The codes of a cluster's classes, those together that share a state of its rule."""
    state = plan.states[cluster]
    found: dict[Raw, list[int]] = {} if state.policy.partition_by else {(): []}
    for code, each in enumerate(plan.classes):
        if each.cluster == cluster and not each.control:
            found.setdefault(state.partition(each.raw), []).append(code)
    return list(found.values())


class Router:
    """Routes blocks of messages in order; its state can be taken and given at any block."""

    def __init__(self, plan: Plan) -> None:
        """At the beginning of all clusters."""
        self.plan = plan
        self.codes = plan.codes
        self.upcoming = np.zeros(len(plan.streams), np.int64)
        self.latest = EARLIEST
        timed = plan.timed
        self._keyed = bool(plan.keyed)
        self.runs: list[ClusterRun] = []
        classes = plan.classes
        self._run_of = np.full(len(classes), NO_RUN, np.int32)
        self._own_code = np.zeros(len(classes), np.int32)
        self._stream_of = np.array(plan.stream_of, np.int32)
        self._fixed = np.array(
            [OUTCOMES.index(CONTROL if each.control else NO_DESTINATION) for each in classes],
            np.int32,
        )
        for cluster in plan.clusters:
            for own in _partitions(plan, cluster.name):
                self._run_of[own] = len(self.runs)
                self._own_code[own] = np.arange(len(own))
                raws = [classes[code].raw for code in own]
                steps, late = plan.steps[cluster.name], timed[cluster.name]
                self.runs.append(ClusterRun(cluster.start(), steps, raws, self.codes, timed=late))

    def run_of(self, code: int) -> ClusterRun | None:
        """The run that messages of this class are part of; None where their cluster is unknown."""
        place = int(self._run_of[code])
        return None if place == NO_RUN else self.runs[place]

    def feed(
        self,
        codes: Int32s,
        times: Int64s | None = None,
        services: Int64s | None = None,
        bindings: Bindings | None = None,
        keys: Int64s | None = None,
    ) -> Int32s:
        """Route a block; returns the code (see `codes`) of what each message is told.

        `codes`: class codes. `times`, `services` in microseconds, where there are changes or
        completions. `bindings`: where messages can be bound to earlier ones. `keys`: numbers of
        keys or NO_KEY, where a rule chooses by them; nobody has one if they are not given.
        """
        if self._keyed:
            keys = self._numbered(codes, keys)
        if times is not None and len(times):
            # Where messages are ordered by position, a change once made stays made.
            times = np.maximum(np.maximum.accumulate(times), self.latest)
            self.latest = int(times[-1])
        if len(self._run_of) == 1 and self._run_of[0] >= 0:
            # One class of one cluster: its codes are all 0 here and there.
            run: ClusterRun = self.runs[self._run_of[0]]
            return run.feed(codes, times, services, bindings, keys)
        runs = self._run_of[codes]
        out = self._fixed[codes]
        present = np.unique(runs)
        for place in present[present >= 0]:
            mine: Any = slice(None) if len(present) == 1 else np.flatnonzero(runs == place)
            bound = None if bindings is None else bindings.at(mine)
            out[mine] = self.runs[place].feed(
                self._own_code[codes[mine]],
                None if times is None else times[mine],
                None if services is None else services[mine],
                bound,
                None if keys is None else keys[mine],
            )
            if bindings is not None and bound is not None:
                bindings.free[mine] = bound.free
        return out

    def _numbered(self, codes: Int32s, keys: Int64s | None) -> Int64s:
        """The keys; a message without one is chosen for by its place in its stream."""
        if keys is not None and (keys >= 0).all():
            return keys
        places = np.empty(len(codes), np.int64)
        number(self._stream_of[codes], self.upcoming.copy(), places)
        return PLACES + places if keys is None else np.where(keys < 0, PLACES + places, keys)

    def sequence(self, codes: Int32s) -> Int64s:
        """The place of each message in its stream; -1 for one that belongs to none."""
        found = np.empty(len(codes), np.int64)
        number(self._stream_of[codes], self.upcoming, found)
        return found

    def skip(self, counts: Mapping[int, int]) -> None:
        """Go past so many messages of each class in their streams."""
        for code, n in counts.items():
            if self._stream_of[code] >= 0:
                self.upcoming[self._stream_of[code]] += n

    def advance(self, time: int | None, counts: Mapping[int, int]) -> bool:
        """Go past so many messages of each class that all come at or after `time`.

        False where that depends on their order; the router's state is then undefined.
        """
        by_run: dict[int, dict[int, int]] = {}
        for code, n in counts.items():
            place = int(self._run_of[code])
            if place >= 0:
                by_run.setdefault(place, {})[int(self._own_code[code])] = n
        return all(self.runs[place].advance(time, own) for place, own in by_run.items())

    def dump(self) -> dict[str, Any]:
        """Where all clusters and streams stand, as plain data."""
        return {
            "runs": [run.dump() for run in self.runs],
            "upcoming": self.upcoming.tolist(),
            "latest": self.latest,
        }

    def load(self, plain: Mapping[str, Any]) -> None:
        """Go to where `dump` was taken; only forwards."""
        for run, each in zip(self.runs, plain["runs"], strict=True):
            run.load(each)
        self.upcoming = np.array(plain["upcoming"], np.int64)
        self.latest = plain["latest"]
