"""Meters: what is measured of the attempts of one scenario, while they pass.

Every engine gives its attempts to a meter, and so measures alike. What a meter remembers grows with
what is different and with the messages that are not over, not with the traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fairlead.compiled.kernels import Int64s
from fairlead.compiled.plan import ClassifiedPlan
from fairlead.measure.bins import common
from fairlead.measure.cells import A_ROW, Marks, Sent, Texts
from fairlead.measure.growing import Growing
from fairlead.measure.kernel import close, count
from fairlead.measure.measured import Measured, MeterRows, TableWords, measured
from fairlead.measure.tables import bars_of, empty, ends_of, grown
from fairlead.measure.waits import phase_times
from fairlead.replay.batch import Attempts
from fairlead.replay.layout import NEVER
from fairlead.replay.words import CODED_WORDS
from fairlead.results.comparison import Window

NOBODY: Final = -1


@dataclass(frozen=True)
class What:
    """What is asked of all scenarios alike. Times in microseconds."""

    first: int
    """When the first message was sent."""
    unit: int
    """How long the stretches of time are that are told apart."""
    dated: bool
    """Whether times are dates, not plain seconds."""
    windows: Sequence[Window]
    in_full: bool
    """Also the digest of the rows, and what happened over time."""


def what(
    period: tuple[int, int] | None,
    *,
    dated: bool,
    windows: Sequence[Window] = (),
    in_full: bool = True,
) -> What:
    """... of messages that were sent between the first and the last time."""
    first, last = period or (0, 0)
    return What(first, common(first, last), dated, tuple(windows), in_full)


class MeteredTraffic:
    """What meters ask of the messages that are not over; all scenarios share it."""

    def __init__(self, *, priorities: bool, tenants: bool) -> None:
        """`priorities`, `tenants`: whether messages have such a column."""
        self.base = 0
        """The number of the first message that is not over."""
        self.pairs = 0
        """How many groups there are, each in its cluster."""
        self.priorities, self.tenants = priorities, tenants
        self._columns = Growing(len(Sent._fields))

    def add(
        self,
        times: Int64s,
        hashes: Int64s,
        clusters: Int64s,
        priorities: Int64s | None,
        tenants: Int64s | None,
        groups: Int64s | None,
    ) -> None:
        """More messages, in order. `hashes`: of their ids; `groups`: each in its cluster."""
        columns = self._columns.extend(len(times))
        for column, values in zip(
            columns, (times, hashes, clusters, priorities, tenants, groups), strict=True
        ):
            column[:] = NOBODY if values is None else values
        if groups is not None and len(groups):
            self.pairs = max(self.pairs, int(groups.max()) + 1)

    def __len__(self) -> int:
        """How many messages are remembered."""
        return len(self._columns)

    @property
    def stop(self) -> int:
        """The number of the next message."""
        return self.base + len(self)

    def sent(self) -> Sent:
        """The columns, until there are more."""
        return Sent(*self._columns.columns())

    def forget(self, upto: int) -> None:
        """All messages before this one are over, in all scenarios."""
        self._columns.forget(upto - self.base)
        self.base = upto


class Meter:
    """Counts the attempts of one scenario."""

    def __init__(self, plan: ClassifiedPlan, what: What, traffic: MeteredTraffic) -> None:
        """Nothing yet."""
        self.plan, self.asked, self.traffic = plan, what, traffic
        self.names, self._texts = _texts(plan)
        windows = [time for window in what.windows for time in (window.start, window.end)]
        self._marks = Marks(
            np.array(phase_times(plan), np.int64),
            np.array(windows, np.int64),
            len(phase_times(plan)),
            len(what.windows),
            traffic.priorities,
            traffic.tenants,
            what.first // what.unit,
            what.unit,
            what.dated,
            what.in_full,
        )
        self._starts = Growing(1)
        self._latest = np.empty(0, np.int64)
        self._torn = np.empty(0, np.bool_)
        self._tables = empty()

    def add(self, attempts: Attempts) -> None:
        """Count attempts of messages that the traffic has."""
        more = len(self.traffic) - len(self._starts)
        if more > 0:
            self._starts.extend(more)[:] = NEVER
        self._tables = self._tables._replace(starts=self._starts.columns()[0])
        arrays = Attempts(*(np.ascontiguousarray(column) for column in attempts))
        sent, done = self.traffic.sent(), 0
        while True:
            base, marks = self.traffic.base, self._marks
            done = count(done, arrays, base, sent, self._texts, marks, self._tables)
            if done == len(arrays.message):
                return
            self._tables = grown(self._tables, A_ROW + len(self.asked.windows))

    def close(self, upto: int) -> None:
        """All messages before this one are over: look at the order inside their groups.

        The traffic forgets them afterwards.
        """
        n = upto - self.traffic.base
        if len(self._starts) < n:
            self._starts.extend(n - len(self._starts))[:] = NEVER
        missing = self.traffic.pairs - len(self._latest)
        if missing > 0:
            self._latest = np.append(self._latest, np.full(missing, NEVER))
            self._torn = np.append(self._torn, np.zeros(missing, np.bool_))
        starts = self._starts.columns()[0]
        close(n, self.traffic.sent(), starts, self._latest, self._torn)
        self._starts.forget(n)

    def measured(self, clusters: Sequence[str], tenants: Sequence[str]) -> Measured:
        """What was counted, after all messages are closed.

        `clusters`, `tenants`: what their numbers stand for.
        """
        t = self._tables
        counted = MeterRows(*bars_of(t), *ends_of(t), t.state)
        return measured(
            counted,
            self.plan,
            TableWords(self.names, clusters, tenants),
            first=self._marks.first,
            windows=len(self.asked.windows),
            groups=int((self._latest != NEVER).sum()),
            torn=int(self._torn.sum()),
        )


def _texts(plan: ClassifiedPlan) -> tuple[list[str], Texts]:
    """The names of destinations, and all texts that decisions are made of."""
    codes = plan.codes
    words: list[str | None] = [None, None]
    for pair in zip(codes.destination, codes.address, strict=True):
        words += pair
    words += CODED_WORDS
    written = [(word or "").encode() for word in words]
    starts = np.cumsum([0, *map(len, written)])
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(name or "", len(numbers)) for name in (None, *codes.destination)]
    return list(numbers), Texts(
        np.frombuffer(b"".join(written), np.uint8).copy(),
        starts.astype(np.int64),
        np.array([word is not None for word in words], np.uint8),
        np.array(places, np.int64),
        len(places),
    )
