"""One cluster's messages in order, through its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairlead.balance.change import ResolvedChange
from fairlead.balance.history import Binding
from fairlead.balance.message import NO_DESTINATION, OUTCOMES, AttributeValues
from fairlead.balance.procedure import NONE
from fairlead.balance.state import AnyState
from fairlead.compiled.bindings import NO_KEY, Bindings
from fairlead.compiled.choices import closed_form, flat
from fairlead.compiled.decide import EMPTY, Block, DecisionTable, decide
from fairlead.compiled.kernels import Int32s, Int64s
from fairlead.compiled.labels import Codes

Step = tuple[int, Sequence[ResolvedChange]]
NO_SET: Final = -1


class ClusterRun:
    """Routes blocks of one cluster's messages, one after another."""

    def __init__(
        self,
        cluster: AnyState,
        steps: Sequence[Step],
        classes: Sequence[AttributeValues],
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
        """Route a block; returns the code of each message's decision.

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
        sets = {self.cluster.eligible(self.classes[code]) for code, n in counts.items() if n}
        chosen_from = {
            eligible.members for eligible in sets if eligible.members and eligible.preselected < 0
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
            if self.cluster.eligible(self.classes[code]).members == members
            and self.cluster.eligible(self.classes[code]).preselected < 0
        )
        rule.advance(members, n)
        return True

    def stretch(self, n: int, most: int) -> tuple[int, int] | None:
        """After how many messages of its only class what they get repeats, and for how many so.

        Of the next n; at most `most` until they repeat. None where that is not known. It changes
        nothing, and holds for as long as the cluster does not change.
        """
        eligible = self.cluster.eligible(self.classes[0])
        if eligible.preselected >= 0 or not eligible.members:
            return 1, n
        rule = self.cluster.rule.scheduled(eligible.members)
        if rule is None or self.timed:
            return None
        if not rule.heap(eligible.members):
            return 1, n
        among, length = rule.stretch(eligible.members, n)
        period = min(length, rule.period(among)) if length else most + 1
        if period <= most:
            return period, length
        return (n, n) if n <= most else None

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
        every = range(len(self.cluster.members))
        self._now = np.array([self.codes.label(self.cluster, i) for i in every], np.int32)

    def _prepare(self) -> None:
        """What holds for the cluster as it is now: whom each class may go to."""
        cluster, rule = self.cluster, self.cluster.rule
        eligibles = [cluster.eligible(values) for values in self.classes]
        asks = [eligible.members if eligible.preselected < 0 else () for eligible in eligibles]
        self._sets = list(dict.fromkeys(members for members in asks if members))
        starts, among = flat(self._sets)
        place = {members: k for k, members in enumerate(self._sets)}
        self._set_of = np.array([place.get(members, NO_SET) for members in asks], np.int64)
        unserved = [
            NO_DESTINATION if eligible.members else eligible.outcome for eligible in eligibles
        ]
        # Where a binding can end, the policy reads nothing of a message: all classes are one.
        every = range(len(cluster.members))
        holds = [not self.classes or cluster.keeps(i, self.classes[0]) for i in every]
        self.table = DecisionTable(
            among=among,
            start=np.where(self._set_of == NO_SET, 0, starts[self._set_of]),
            stop=np.where(self._set_of == NO_SET, 0, starts[self._set_of + 1]),
            preselected=np.array([eligible.preselected for eligible in eligibles], np.int64),
            unserved=np.array([OUTCOMES.index(word) for word in unserved], np.int64),
            copies=np.array(
                [self.codes.copies_code(cluster, eligible.recipients) for eligible in eligibles],
                np.int64,
            ),
            label=self._now,
            holds=np.array(holds, np.bool_),
            speed=np.array(rule.state.speed, np.int64) if self.timed else EMPTY,
        )
        self._bind = np.array(
            [Bindings.code(cluster.bind_default(cluster.key(values))) for values in self.classes],
            np.int8,
        )
        self._fresh = False

    def _segment(
        self,
        codes: Int32s,
        times: Int64s | None,
        services: Int64s | None,
        bindings: Bindings | None,
        numbers: Int64s | None,
    ) -> Int32s:
        """Route messages between two steps."""
        if self._fresh:
            self._prepare()
        block = Block(codes)
        if bindings is not None and self.cluster.binds:
            keys = self._keys(bindings, self._bind[codes])
            if (keys != NO_KEY).any():
                block = block._replace(keys=keys, bound=bindings.bound, free=bindings.free)
        if self.cluster.rule.keyed and numbers is not None:
            block = block._replace(numbers=numbers)
        if self.timed and times is not None and services is not None:
            block = block._replace(times=times, services=services)
        labels = self._among_one_set(block)
        return decide(self.cluster.rule, self.table, block) if labels is None else labels

    def _among_one_set(self, block: Block) -> Int32s | None:
        """The codes where one set is asked for all choices, and the rule knows a short way."""
        rule, table, codes = self.cluster.rule, self.table, block.classes
        if len(block.keys) or len(block.times) or not len(codes):
            return None
        present = np.flatnonzero(np.bincount(codes)) if len(self.classes) > 1 else np.array([0])
        sets = self._set_of[present]
        set_numbers = np.unique(sets[sets != NO_SET])
        if len(set_numbers) != 1:
            return None
        asks = None if (sets != NO_SET).all() else self._set_of[codes] != NO_SET
        n = len(codes) if asks is None else int(np.count_nonzero(asks))
        chosen = closed_form(rule, self._sets[int(set_numbers[0])], n)
        if chosen is None:
            return None
        member = chosen
        if asks is not None:
            member = table.preselected[codes]
            member[asks] = chosen
        labels = table.label[member]
        if table.copies.any():
            labels += table.copies[codes]
        nobody = member < 0
        if nobody.any():
            labels[nobody] = table.unserved[codes[nobody]]
        return labels

    def _keys(self, bindings: Bindings, default: NDArray[np.int8]) -> Int64s:
        return bindings.by_group if self.cluster.rebinds else bindings.keys(default)

    def binding(self, bindings: Bindings, values: AttributeValues, key: AttributeValues) -> Binding:
        """What the one message of these bindings has to do with earlier ones of its `key`."""
        cluster = self.cluster
        default = Bindings.code(cluster.bind_default(cluster.key(values)))
        number = int(self._keys(bindings, np.array([default], np.int8))[0])
        before = int(bindings.bound[number])
        ended = before != NONE and not cluster.keeps(before, values)
        return Binding(key, follows=before != NONE and not ended, before=before)

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
