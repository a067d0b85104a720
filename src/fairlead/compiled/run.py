"""One cluster's messages in order, through its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlead.balance.change import ResolvedChange
from fairlead.balance.history import Binding
from fairlead.balance.message import NO_DESTINATION, OUTCOMES, ROUTED
from fairlead.balance.policy import Raw
from fairlead.balance.state import AnyState
from fairlead.compiled.bindings import UNBOUND, Bindings
from fairlead.compiled.choices import (
    choose_among_one,
    choose_among_sets,
    choose_by_key,
    choose_in_time,
)
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.labels import Codes

Step = tuple[int, Sequence[ResolvedChange]]
NO_SET = -1
NOBODY = -1


class ClusterRun:
    """Routes blocks of one cluster's messages, one after another."""

    def __init__(
        self,
        cluster: AnyState,
        steps: Sequence[Step],
        classes: Sequence[Raw],
        codes: Codes,
        *,
        timed: bool,
    ) -> None:
        """`steps` in order of time; `classes` by the codes that `feed` gets.

        `timed`: completions decide who is busy, so times and services matter.
        """
        self.cluster = cluster
        self.steps = steps
        self.classes = classes
        self.codes = codes
        self.timed = timed
        self.done = 0
        self._fresh = True
        self._label()

    def feed(
        self,
        codes: Int32s,
        times: Int64s | None,
        services: Int64s | None = None,
        bindings: Bindings | None = None,
        keys: Int64s | None = None,
    ) -> Int32s:
        """Route a block; returns the code of what each message is told.

        `times` (microseconds, never falling) are needed where there are steps or completions,
        `services` (microseconds) where there are completions, `keys` (numbers) where the rule
        chooses by them.
        """
        out = np.empty(len(codes), np.int32)
        start = 0
        while start < len(codes):
            stop = len(codes)
            if times is not None and self.done < len(self.steps):
                time, changes = self.steps[self.done]
                stop = int(np.searchsorted(times, time, "left"))
                if stop <= start:
                    self._apply(time, changes)
                    continue
            part = slice(start, stop)
            out[part] = self._segment(
                codes[part],
                None if times is None else times[part],
                None if services is None else services[part],
                None if bindings is None else bindings.at(part),
                None if keys is None else keys[part],
            )
            start = stop
        return out

    def advance(self, time: int | None, counts: Mapping[int, int]) -> bool:
        """Make the steps up to `time`, then the choices of so many messages of each class.

        Returns False, having done nothing of the choices, where only their order could tell.
        """
        if time is not None:
            self.catch_up(time)
        if self.cluster.rule.keyed:
            return True  # whoever was chosen, it remembers nothing
        sets = {self.cluster.verdict(self.classes[code]) for code, n in counts.items() if n}
        chosen_from = {
            verdict.members for verdict in sets if verdict.members and verdict.preselected < 0
        }
        if not chosen_from:
            return True
        members = next(iter(chosen_from))
        rule = self.cluster.rule.scheduled(members)
        if len(chosen_from) > 1 or self.timed or rule is None:
            return False
        n = sum(
            count
            for code, count in counts.items()
            if self.cluster.verdict(self.classes[code]).members == members
            and self.cluster.verdict(self.classes[code]).preselected < 0
        )
        rule.advance(members, n)
        return True

    def catch_up(self, time: int) -> None:
        """Make all steps up to and at this time."""
        while self.done < len(self.steps) and self.steps[self.done][0] <= time:
            self._apply(*self.steps[self.done])

    def reach(self, time: int | None) -> None:
        """Let everything happen that comes before a message at this time."""
        if time is None:
            return
        self.catch_up(time)
        if self.timed:
            self.cluster.rule.finish_until(time)

    def _apply(self, time: int, changes: Sequence[ResolvedChange]) -> None:
        if self.timed:
            self.cluster.rule.finish_until(time)
        self.cluster.apply(changes, time)
        self.done += 1
        self._fresh = True
        if any(attribute == "address" for _, attribute, _ in changes):
            self._label()

    def _label(self) -> None:
        cluster = self.cluster
        every = range(len(cluster.members))
        self._now = np.array([self.codes.label(cluster, i) for i in every], np.int32)
        if cluster.binds:
            self._member = np.full(self.codes.size, NOBODY, np.int64)
            self._member[self._now] = np.arange(len(self._now))

    def _prepare(self) -> None:
        """What holds for the cluster as it is now: whom each class may go to."""
        cluster = self.cluster
        verdicts = [cluster.verdict(raw) for raw in self.classes]
        sets: dict[tuple[int, ...], int] = {}
        self._which = np.full(len(verdicts), NO_SET, np.int32)
        self._fixed = np.zeros(len(verdicts), np.int32)
        for code, verdict in enumerate(verdicts):
            if verdict.preselected >= 0:
                self._fixed[code] = self._now[verdict.preselected]
                self._fixed[code] += self.codes.copies_code(cluster, verdict.recipients)
            elif verdict.members:
                self._which[code] = sets.setdefault(verdict.members, len(sets))
            else:
                self._fixed[code] = OUTCOMES.index(verdict.outcome)
        copies = [self.codes.copies_code(cluster, verdict.recipients) for verdict in verdicts]
        self._copies = np.array(copies, np.int32) if any(copies) else None
        self._bind = np.array(
            [Bindings.code(cluster.bind_default(cluster.key(raw))) for raw in self.classes], np.int8
        )
        self._ok = np.array([verdict.outcome == ROUTED for verdict in verdicts], np.bool_)
        self._sets = list(sets)
        if cluster.rebinds and self.classes:
            # Such a policy reads nothing of a message, so all classes are one.
            self._holds = np.zeros(len(cluster.members), np.bool_)
            self._holds[list(cluster.holding(self.classes[0]))] = True
        self._fresh = False

    def _segment(
        self,
        codes: Int32s,
        times: Int64s | None,
        services: Int64s | None,
        bindings: Bindings | None,
        keys: Int64s | None,
    ) -> Int32s:
        """Route messages between two steps."""
        if self._fresh:
            self._prepare()
        if bindings is None or not self.cluster.binds:
            return self._free(codes, times, services, keys)
        return self._bound(codes, times, services, bindings)

    def _bound(
        self, codes: Int32s, times: Int64s | None, services: Int64s | None, bindings: Bindings
    ) -> Int32s:
        """Route messages that can be bound to earlier ones."""
        keys = self._keys(bindings, self._bind[codes])
        if not (keys >= 0).any():
            return self._free(codes, times, services)
        bound = bindings.bound
        # Whom a key binds from which place on: nobody yet, since before, or from its first on.
        keyed = keys >= 0
        held = np.where(keyed, bound[keys], UNBOUND)
        open_ = keyed & (held == UNBOUND)
        if self.cluster.rebinds:
            open_ |= keyed & ~self._holds[held]
        firsts = self._first_of_each(codes, keys, open_)
        binder = np.zeros(len(bound), np.int64)
        binder[keys[keyed]] = np.where(open_[keyed], len(codes), -1)
        binder[keys[firsts]] = np.flatnonzero(firsts)
        free = ~keyed | (np.arange(len(codes)) <= binder[keys])
        out = np.empty(len(codes), np.int32)
        out[free] = self._free(codes[free], None, None)
        bound[keys[firsts]] = self._member[out[firsts]]
        out[~free] = self._now[bound[keys[~free]]]
        bindings.free[:] = free
        return out

    def _keys(self, bindings: Bindings, default: NDArray[np.int8]) -> Int64s:
        return bindings.by_group if self.cluster.rebinds else bindings.keys(default)

    def binding(self, bindings: Bindings, raw: Raw, key: Raw) -> Binding:
        """What the one message of these bindings has to do with earlier ones of its `key`."""
        cluster = self.cluster
        default = Bindings.code(cluster.bind_default(cluster.key(raw)))
        number = int(self._keys(bindings, np.array([default], np.int8))[0])
        before = int(bindings.bound[number])
        if before == UNBOUND or (cluster.rebinds and before not in cluster.holding(raw)):
            return Binding(key, follows=False, before=before)
        return Binding(key, follows=True)

    def _first_of_each(
        self, codes: Int32s, keys: Int64s, open_: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which messages are the first of an open key that find somebody."""
        asking = np.flatnonzero(open_)
        asking = asking[self._ok[codes[asking]]]
        _, places = np.unique(keys[asking], return_index=True)
        firsts = np.zeros(len(keys), np.bool_)
        firsts[asking[places]] = True
        return firsts

    def _free(
        self,
        codes: Int32s,
        times: Int64s | None,
        services: Int64s | None,
        keys: Int64s | None = None,
    ) -> Int32s:
        """Route messages that are bound to nothing."""
        which = self._which[codes]
        asks = which >= 0
        if asks.all():
            chosen = self._choose(which, times, services, keys)
            return self._with_copies(codes, self._labelled(chosen))
        out = self._fixed[codes]
        if asks.any():
            chosen = self._choose(
                which[asks],
                None if times is None else times[asks],
                None if services is None else services[asks],
                None if keys is None else keys[asks],
            )
            out[asks] = self._with_copies(codes[asks], self._labelled(chosen))
        return out

    def _with_copies(self, codes: Int32s, label: Int32s) -> Int32s:
        """Who gets the messages as well."""
        if self._copies is None:
            return label
        found: Int32s = label + self._copies[codes]
        return found

    def _labelled(self, chosen: Int64s) -> Int32s:
        found: Int32s = self._now[chosen]
        found[chosen < 0] = OUTCOMES.index(NO_DESTINATION)
        return found

    def _choose(
        self,
        which: Int32s,
        times: Int64s | None,
        services: Int64s | None,
        keys: Int64s | None,
    ) -> Int64s:
        if not len(which):
            return np.empty(0, np.int64)
        if self.cluster.rule.keyed and keys is not None:
            return choose_by_key(self.cluster.rule, self._sets, which, keys)
        if self.timed and times is not None and services is not None:
            return choose_in_time(self.cluster.rule, self._sets, which, times, services)
        used = np.unique(which) if len(self._sets) > 1 else np.array([0])
        if len(used) == 1:
            return choose_among_one(self.cluster.rule, self._sets[int(used[0])], len(which))
        return choose_among_sets(self.cluster.rule, self._sets, which)

    def dump(self) -> dict[str, Any]:
        """Where the cluster stands, as plain data."""
        return {"done": self.done, "rule": self.cluster.rule.dump()}

    def load(self, plain: Mapping[str, Any]) -> None:
        """Go to where `dump` was taken; only forwards."""
        while self.done < plain["done"]:
            time, changes = self.steps[self.done]
            self.cluster.apply(changes, time)
            self.done += 1
        self.cluster.rule.load(plain["rule"])
        self._fresh = True
        self._label()
