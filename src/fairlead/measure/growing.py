"""Columns of int64 that grow at their end and are forgotten from their beginning."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairlead.compiled.kernels import Int64s

LEAST: Final = 1 << 12


class Growing:
    """So many columns, each in one piece."""

    def __init__(self, columns: int) -> None:
        """Nothing yet."""
        self._cells: NDArray[np.int64] = np.empty((columns, 0), np.int64)
        self._start = self._stop = 0

    def __len__(self) -> int:
        """How many entries there are."""
        return self._stop - self._start

    def extend(self, n: int) -> NDArray[np.int64]:
        """So many entries more, to be filled: their cells, by column."""
        if self._stop + n > self._cells.shape[1]:
            live = len(self)
            cells = np.empty((len(self._cells), max(LEAST, 2 * live, live + n)), np.int64)
            cells[:, :live] = self._cells[:, self._start : self._stop]
            self._cells, self._start, self._stop = cells, 0, live
        self._stop += n
        return self._cells[:, self._stop - n : self._stop]

    def forget(self, n: int) -> None:
        """Forget the first entries."""
        self._start += n

    def columns(self) -> list[Int64s]:
        """What is there, until it grows."""
        return [cells[self._start : self._stop] for cells in self._cells]
