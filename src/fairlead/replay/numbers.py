"""Numbers for words, given in the order in which they come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.compiled.kernels import Int64s
from fairlead.replay.layout import NONE

WIDEST: int = 1 << 32
"""More words than that are not numbered."""


class TextNumbers:
    """Numbers of texts."""

    def __init__(self, *, empty: bool) -> None:
        """`empty`: whether no text at all is a word like others; else it is NONE."""
        self._of: dict[str, int] = {}
        self._empty = empty

    def __len__(self) -> int:
        """How many words there were."""
        return len(self._of)

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
        return iter(self._of)

    def of(self, column: pa.Array) -> Int64s:
        """The number of each row's word."""
        coded = pc.fill_null(column.cast(pa.string()), "").dictionary_encode()
        known = self._of
        numbers = [
            NONE if not word and not self._empty else known.setdefault(word, len(known))
            for word in coded.dictionary.to_pylist()
        ]
        row_numbers: Int64s = np.array(numbers, np.int64)[np.asarray(coded.indices)]
        return row_numbers


class Pairs:
    """Numbers of pairs of numbers; a pair whose second is NONE is NONE."""

    def __init__(self) -> None:
        """None yet."""
        self._of: dict[int, int] = {}

    def __len__(self) -> int:
        """How many pairs there were."""
        return len(self._of)

    def of(self, first: Int64s, second: Int64s) -> Int64s:
        """The number of each row's pair."""
        distinct, places = np.unique(first * WIDEST + second, return_inverse=True)
        known = self._of
        numbers = [known.setdefault(pair, len(known)) for pair in distinct.tolist()]
        return np.where(second == NONE, NONE, np.array(numbers, np.int64)[places])
