"""The hash of a row of decisions, compiled: what a digest is made of, without the row."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.balance.times import MICROS
from fairlead.compiled.hashes import (
    LENGTH_4,
    LENGTH_8,
    LOW_32,
    P1,
    P2,
    P3,
    P4,
    P5,
    mixed,
    of_bytes,
    rotated,
)
from fairlead.compiled.kernels import compiled
from fairlead.measure.cells import Marks, Texts
from fairlead.replay.batch import Attempts
from fairlead.replay.layout import NEVER


def _with_long(value: Any, number: int) -> Any:  # noqa: ANN401 - uint64
    """The hash with 64 bits more, as `fairlead.compiled.hashes.with_longs`."""
    value += P5 + LENGTH_8
    value ^= rotated(np.uint64(number) * P2, 31) * P1
    return mixed(rotated(value, 27) * P1 + P4)


def _with_int(value: Any, number: int) -> Any:  # noqa: ANN401
    """... with 32 bits more."""
    value += P5 + LENGTH_4
    value ^= (np.uint64(number) & LOW_32) * P1
    return mixed(rotated(value, 23) * P2 + P3)


def _with_text(value: Any, texts: Texts, k: int) -> Any:  # noqa: ANN401
    """... with a text more, if there is one."""
    if not texts.there[k]:
        return value
    return of_bytes(texts.data, texts.starts[k], texts.starts[k + 1], value)


def _with_time(value: Any, marks: Marks, time: int) -> Any:  # noqa: ANN401
    """... with a time more, as it is written."""
    if marks.dated:
        return with_long(value, time)
    return with_long(value, np.float64(time / MICROS).view(np.int64))


def _hash_of(a: Attempts, k: int, outcome: int, seed: int, texts: Texts, marks: Marks) -> Any:  # noqa: ANN401
    """The hash of a row: of the id, the decision and the attempt, in the order of `rows.py`."""
    label = a.label[k] + 1
    row_hash = with_text(np.uint64(seed), texts, 2 * label)
    row_hash = with_text(row_hash, texts, 2 * label + 1)
    row_hash = with_text(row_hash, texts, 2 * texts.labels + outcome)
    if a.sequence[k] >= 0:
        row_hash = with_long(row_hash, a.sequence[k])
    row_hash = with_int(row_hash, a.attempt[k])
    if a.reader[k] >= 0:
        row_hash = with_int(row_hash, a.reader[k])
    until = a.finish[k]
    if a.start[k] != NEVER:
        until = a.start[k]
        row_hash = with_time(row_hash, marks, a.start[k])
    if a.finish[k] != NEVER:
        row_hash = with_time(row_hash, marks, a.finish[k])
    if until != NEVER:
        row_hash = with_long(row_hash, np.float64((until - a.since[k]) / MICROS).view(np.int64))
    return row_hash


with_long: Any = compiled(_with_long)
with_int: Any = compiled(_with_int)
with_text: Any = compiled(_with_text)
with_time: Any = compiled(_with_time, _with_long)
hash_of: Any = compiled(_hash_of, _with_long, _with_int, _with_text, _with_time)
