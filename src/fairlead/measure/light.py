"""The waits of one scenario and nothing else, for whoever tries many."""

from __future__ import annotations

import numpy as np

from fairlead.compiled.kernels import Int64s
from fairlead.measure.cells import LATE, UNSERVED
from fairlead.measure.histograms import Bars, whole
from fairlead.measure.kernel import look
from fairlead.measure.tables import bars_of, empty, grown
from fairlead.replay.batch import Attempts
from fairlead.results.comparison import Waits


class Light:
    """Counts the waits of attempts."""

    def __init__(self, times: Int64s, limit: int) -> None:
        """`times`: of all messages, by their numbers; `limit`: microseconds."""
        self.times, self.limit = times, limit
        self._tables = empty()
        self._late = np.empty(0, np.int64)

    def add(self, attempts: Attempts) -> None:
        """Count attempts that are over."""
        arrays = Attempts(*(np.ascontiguousarray(column) for column in attempts))
        room = self.late_by_now + len(arrays.message)
        if room > len(self._late):
            self._late = np.append(self._late, np.empty(room, np.int64))
        done = 0
        while True:
            done = look(done, arrays, self.times, self.limit, self._late, self._tables)
            if done == len(arrays.message):
                return
            self._tables = grown(self._tables, 1)

    @property
    def late_by_now(self) -> int:
        """How many messages waited longer than the limit."""
        return int(self._tables.state[LATE])

    @property
    def late(self) -> Int64s:
        """Which messages these are."""
        return self._late[: self.late_by_now]

    @property
    def unserved(self) -> int:
        """How many messages were never started."""
        return int(self._tables.state[UNSERVED])

    def waits(self) -> Waits | None:
        """Of all that were started; None: nobody was."""
        keys, bars = bars_of(self._tables)
        return whole(Bars(np.zeros(len(keys), np.int64), keys, *bars.T))
