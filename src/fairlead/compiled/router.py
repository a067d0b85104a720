"""All clusters' messages in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairlead.balance.message import CONTROL, NO_DESTINATION, OUTCOMES, AttributeValues
from fairlead.balance.rules.keyed import PLACES
from fairlead.compiled.bindings import Bindings
from fairlead.compiled.kernels import Int32s, Int64s, number
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.compiled.run import ClusterRun

Name = tuple[str, ...]
"""A cluster, and the texts that tell apart what is of it."""
NO_RUN = -1
EARLIEST = -(1 << 62)


def _partitions(plan: ClassifiedPlan, cluster: str) -> dict[AttributeValues, list[int]]:
    """The codes of a cluster's classes, those together that share a state of its rule."""
    state = plan.states[cluster]
    partitions: dict[AttributeValues, list[int]] = {} if state.policy.partition_by else {(): []}
    for code, message_class in enumerate(plan.classes):
        if message_class.cluster == cluster and not message_class.control:
            partitions.setdefault(state.partition(message_class.values), []).append(code)
    return partitions


@dataclass(frozen=True)
class Carried:
    """Where clusters and streams stand, by their names: it holds for messages of any classes."""

    runs: Mapping[Name, Mapping[str, Any]] = field(default_factory=dict)
    streams: Mapping[Name, int] = field(default_factory=dict)
    """The next place in each."""
    latest: int = EARLIEST
    """The latest time so far, in microseconds."""

    def dump(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "runs": [[list(name), run] for name, run in self.runs.items()],
            "streams": [[list(name), n] for name, n in self.streams.items()],
            "latest": self.latest,
        }

    @classmethod
    def load(cls, plain: Mapping[str, Any]) -> Carried:
        """What `dump` gave."""
        return cls(
            {tuple(name): run for name, run in plain["runs"]},
            {tuple(name): n for name, n in plain["streams"]},
            plain["latest"],
        )


class Router:
    """Routes blocks of messages in order; its state can be taken and given at any block."""

    def __init__(self, plan: ClassifiedPlan) -> None:
        """At the beginning of all clusters."""
        self.plan = plan
        self.codes = plan.codes
        self.upcoming = np.zeros(len(plan.streams), np.int64)
        self.latest = EARLIEST
        timed = plan.timed
        self._keyed = bool(plan.keyed)
        self.runs: list[ClusterRun] = []
        self._names: list[Name] = []
        """Of the runs: the cluster, and what its messages share."""
        classes = plan.classes
        self._run_of = np.full(len(classes), NO_RUN, np.int32)
        self._own_code = np.zeros(len(classes), np.int32)
        self._stream_of = np.array(plan.stream_of, np.int32)
        self._fixed = np.array(
            [
                OUTCOMES.index(CONTROL if message_class.control else NO_DESTINATION)
                for message_class in classes
            ],
            np.int32,
        )
        for cluster in plan.clusters:
            for shared, codes in _partitions(plan, cluster.name).items():
                self._names.append((cluster.name, *shared))
                self._run_of[codes] = len(self.runs)
                self._own_code[codes] = np.arange(len(codes))
                values = [classes[code].values for code in codes]
                steps, late = plan.steps[cluster.name], timed[cluster.name]
                self.runs.append(ClusterRun(cluster.start(), steps, values, self.codes, timed=late))

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
        """Route a block; returns the code (see `codes`) of each message's decision.

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
        places = np.empty(len(codes), np.int64)
        number(self._stream_of[codes], self.upcoming, places)
        return places

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
        return all(
            self.runs[place].advance(time, run_counts) for place, run_counts in by_run.items()
        )

    def dump(self) -> dict[str, Any]:
        """Where all clusters and streams stand, as plain data."""
        return {
            "runs": [run.dump() for run in self.runs],
            "upcoming": self.upcoming.tolist(),
            "latest": self.latest,
        }

    def carried(self, before: Carried) -> Carried:
        """Where all clusters and streams stand, for a router of messages of other classes.

        `before`: what this router was resumed from; what did not occur since stays as it was.
        """
        names = map(tuple, self.plan.streams)
        runs = zip(self._names, (run.dump() for run in self.runs), strict=True)
        return Carried(
            {**before.runs, **dict(runs)},
            {**before.streams, **dict(zip(names, self.upcoming.tolist(), strict=True))},
            self.latest,
        )

    def resume(self, before: Carried) -> None:
        """Go to where `carried` was taken; what is new since begins."""
        for name, run in zip(self._names, self.runs, strict=True):
            if name in before.runs:
                run.load(before.runs[name])
        known = [before.streams.get(tuple(name), 0) for name in self.plan.streams]
        self.upcoming = np.array(known, np.int64)
        self.latest = before.latest

    def load(self, plain: Mapping[str, Any]) -> None:
        """Go to where `dump` was taken; only forwards."""
        for run, state in zip(self.runs, plain["runs"], strict=True):
            run.load(state)
        self.upcoming = np.array(plain["upcoming"], np.int64)
        self.latest = plain["latest"]
