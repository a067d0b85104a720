"""One cluster's traffic, batch by batch, through the cluster's changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np
from numba.core.errors import NumbaError

from fairlead.balance.message import AttributeValues
from fairlead.balance.objects import Order
from fairlead.balance.rules.own_rule import nonsense
from fairlead.balance.state import AnyState
from fairlead.compiled.choices import flat
from fairlead.compiled.kernels import as_arrays
from fairlead.compiled.labels import Codes
from fairlead.compiled.run import Step
from fairlead.compiled.uncompiled_rules import cannot_compile, is_interpreted
from fairlead.replay.arrays import Cells
from fairlead.replay.batch import Attempts, Batch
from fairlead.replay.events import FOREVER
from fairlead.replay.layout import eligible, header, queue
from fairlead.replay.memory import ReplayMemory
from fairlead.replay.words import CODED_WORDS

ACK_MODES: Final = {"": eligible.NO_ACK, "all": eligible.ALL_ACKS, "some": eligible.ANY_ACK}
MAX_CHOICES: Final = 1 << 34
"""So many choices between two steps must stay within 64 bits to be compiled."""


class Setting(NamedTuple):
    """A cluster at its beginning, and what is going to happen to it."""

    cluster: AnyState
    steps: Sequence[Step]
    """In order of time."""
    classes: Sequence[AttributeValues]
    """By the codes that the messages have."""
    codes: Codes
    order: Order


class Run(ABC):
    """A cluster with its readers, resumable: `feed`, `feed`, …, then `finish`.

    `done` gives what is over since it was last asked.
    """

    def __init__(self, setting: Setting, compiled: SimpleNamespace, plain: SimpleNamespace) -> None:
        """`compiled` and `plain`: the kernel's functions, bound to the policy's rule.

        The plain ones are taken where the compiled ones cannot be, or would not be exact.
        """
        self.cluster = cluster = setting.cluster
        self.steps = setting.steps
        self.classes = list(setting.classes)
        self.codes = setting.codes
        self.order = order = setting.order
        self.kernel = compiled
        self._compiled, self._plain = compiled, plain
        self.made = 0
        self._over: list[Attempts] = []
        every = range(len(cluster.members))
        self.owners = list(dict.fromkeys(cluster.queue_owner(i) for i in every))
        self._owner_of = [self.owners.index(cluster.queue_owner(i)) for i in every]
        self.memory = ReplayMemory(
            self._most_readers(),
            step=order.step,
            fifo=order.discipline == "fifo",
            default=order.default_priority,
            ack_timeout=cluster.failures.ack_timeout,
        )
        self.state: Any = None
        self.members: Cells = np.zeros(0, np.int64)
        self._fresh = True
        self.fit_out()

    def _most_readers(self) -> list[int]:
        """By queue: how many readers it has at most, at any time."""
        most = {ref: self.cluster.objects[ref].readers for ref in self.owners}
        for _, changes in self.steps:
            for ref, attribute, value in changes:
                if attribute == "readers" and ref in most and isinstance(value, int):
                    most[ref] = max(most[ref], value)
        return [most[ref] for ref in self.owners]

    # messages

    def feed(self, batch: Batch) -> None:
        """Let messages arrive; their times never fall, over all batches."""
        start = 0
        while start < len(batch.times):
            stop = len(batch.times)
            if self.made < len(self.steps):
                stop = int(np.searchsorted(batch.times, self.steps[self.made][0], "left"))
                if stop <= start:
                    self._step()
                    continue
            self.prepare()
            self.arrive(batch.at(slice(start, stop)))
            start = stop

    def finish(self) -> None:
        """No more messages come: all steps are made, and what can be done is done."""
        while self.made < len(self.steps):
            self._step()
        self.prepare()  # where no message has come
        self.reach(FOREVER)

    def done(self) -> Attempts:
        """What is over since the last call."""
        attempts, self._over = Attempts.together(self._over), []
        return attempts

    @abstractmethod
    def arrive(self, batch: Batch) -> None:
        """Messages arrive between two steps."""

    @abstractmethod
    def reach(self, time: int) -> None:
        """Let everything happen that is before this time, and its completions."""

    @abstractmethod
    def left(self) -> Attempts:
        """What waits or is worked on."""

    def ask(self, name: str, *more: object) -> Any:  # noqa: ANN401
        """Call a function of the kernel that may ask the rule."""
        cells, rule = self.memory.cells, self.cluster.rule
        with rule.guard():
            try:
                answer = getattr(self.kernel, name)(cells, self.members, self.state, *more)
            except NumbaError as error:
                if not rule.foreign:
                    raise
                cannot_compile(rule.module, error)
                rule.adopt(self.state)
                self._choose_kernel()
                answer = getattr(self.kernel, name)(cells, self.members, self.state, *more)
        if cells[header.INVALID]:
            choice = int(cells[header.INVALID_CHOICE])
            raise nonsense(rule.name, choice, range(len(self.cluster.members)))
        return answer

    def collect(self, attempts: Attempts) -> None:
        """Take up attempts that are over."""
        self._over.append(attempts)

    # changes

    def _step(self) -> None:
        """Make the next step."""
        time, changes = self.steps[self.made]
        self.prepare()
        self.reach(time)
        self.cluster.rule.adopt(self.state)
        self._fresh = True
        self.cluster.apply(changes, time)
        self.made += 1
        self.fit_out()
        self.prepare()
        self.after_step()

    def after_step(self) -> None:  # noqa: B027 - nothing, mostly
        """The changes of a step have been made."""

    def fit_out(self) -> None:
        """Give each queue the readers and the speed that it has now."""
        m = self.memory.cells
        for q, ref in zip(self.memory.queues, self.owners, strict=True):
            m[q + queue.READERS] = self.cluster.failures.readers(ref)
            m[q + queue.SPEED] = self.cluster.objects[ref].speed_in_thousandths

    # the cluster as it is now

    def prepare(self) -> None:
        """Tell the kernel the cluster as it is now."""
        if self._fresh:
            self.members = self._described()
            self._choose_kernel()
            self._fresh = False

    def _choose_kernel(self) -> None:
        rule = self.cluster.rule
        interpreted = rule.foreign and is_interpreted(rule.module)
        exact = rule.fits_int64(MAX_CHOICES) and not interpreted
        self.kernel = self._compiled if exact else self._plain
        self.state = rule.state if self.kernel is self._plain else as_arrays(rule.state)

    def _described(self) -> Cells:
        """Write whom each class may go to; returns the list of members that this speaks of."""
        cluster, memory = self.cluster, self.memory
        first = [cluster.eligible(values) for values in self.classes]
        anew = [cluster.failures.redelivery(values) for values in self.classes]
        every = {*first, *anew}
        pieces = {result.members for result in every if result.preselected < 0}
        pieces |= {result.recipients for result in every}
        starts, members = flat(list(pieces))
        piece = {member_set: (starts[k], starts[k + 1]) for k, member_set in enumerate(pieces)}
        row = {
            result: (
                *(piece[result.members] if result.preselected < 0 else (0, 0)),
                result.preselected,
                CODED_WORDS.index(result.outcome),
                *piece[result.recipients],
            )
            for result in every
        }
        failures = cluster.failures
        modes = [
            failures.ack_mode(values) if failures.ack_timeout else "" for values in self.classes
        ]
        places = range(len(cluster.members))
        # Where a binding can end, the policy reads nothing of a message: all classes are one.
        holds = [not self.classes or cluster.keeps(i, self.classes[0]) for i in places]
        whom = [
            (
                int(holds[i]),
                memory.queues[self._owner_of[i]],
                CODED_WORDS.index(cluster.outcome_of(i)),
                self.codes.label(cluster, i),
            )
            for i in places
        ]
        for place, results in ((header.ELIGIBLE, first), (header.REDELIVERIES, anew)):
            pairs = zip(results, modes, strict=True)
            memory.write(place, [(*row[result], ACK_MODES[mode]) for result, mode in pairs])
        memory.write(header.DESTINATIONS, whom)
        memory.cells[header.WAITS] = cluster.policy.waits
        return members
