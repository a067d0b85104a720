"""Hashes of rows as Spark's xxhash64 makes them, so that every engine gives one digest.

XXH64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) of each column in turn, the
hash of the columns before being the seed of the next; what is null leaves it as it is. Spark hashes
whole numbers and floating point as one word of 8 or 4 bytes without the loop over blocks, which for
so few bytes is what XXH64 does with them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairlead.compiled.kernels import Int64s, compiled

Hashes = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Starts = NDArray[np.int64]
Flags = NDArray[np.bool_]

SEED: Final = np.uint64(42)
P1: Final = np.uint64(0x9E3779B185EBCA87)
P2: Final = np.uint64(0xC2B2AE3D27D4EB4F)
P3: Final = np.uint64(0x165667B19E3779F9)
P4: Final = np.uint64(0x85EBCA77C2B2AE63)
P5: Final = np.uint64(0x27D4EB2F165667C5)
LENGTH_8: Final = np.uint64(8)
LENGTH_4: Final = np.uint64(4)
LOW_32: Final = np.uint64(0xFFFFFFFF)


def _rotated(x: np.uint64, bits: int) -> np.uint64:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


def _mixed(x: Any) -> Any:  # noqa: ANN401 - as compiled: uint64
    x ^= x >> np.uint64(33)
    x *= P2
    x ^= x >> np.uint64(29)
    x *= P3
    return x ^ (x >> np.uint64(32))


def _word(data: Bytes, at: int, n: int) -> np.uint64:
    """N bytes as a number, the first one lowest."""
    number = np.uint64(0)
    for k in range(n):
        number |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return number


def _of_bytes(data: Bytes, start: int, stop: int, seed: Any) -> Any:  # noqa: ANN401 - uint64
    at = start
    if stop - start >= 32:
        v1, v2, v3, v4 = seed + P1 + P2, seed + P2, seed, seed - P1
        while at <= stop - 32:
            v1 = rotated(v1 + word(data, at, 8) * P2, 31) * P1
            v2 = rotated(v2 + word(data, at + 8, 8) * P2, 31) * P1
            v3 = rotated(v3 + word(data, at + 16, 8) * P2, 31) * P1
            v4 = rotated(v4 + word(data, at + 24, 8) * P2, 31) * P1
            at += 32
        state = rotated(v1, 1) + rotated(v2, 7) + rotated(v3, 12) + rotated(v4, 18)
        for v in (v1, v2, v3, v4):
            state = (state ^ (rotated(v * P2, 31) * P1)) * P1 + P4
    else:
        state = seed + P5
    state += np.uint64(stop - start)
    while at <= stop - 8:
        state ^= rotated(word(data, at, 8) * P2, 31) * P1
        state = rotated(state, 27) * P1 + P4
        at += 8
    if at <= stop - 4:
        state ^= word(data, at, 4) * P1
        state = rotated(state, 23) * P2 + P3
        at += 4
    while at < stop:
        state ^= np.uint64(data[at]) * P5
        state = rotated(state, 11) * P1
        at += 1
    return mixed(state)


def _hash_texts(data: Bytes, starts: Starts, valid: Flags, out: Hashes) -> None:
    for k in range(len(out)):
        if valid[k]:
            out[k] = of_bytes(data, starts[k], starts[k + 1], out[k])


rotated: Any = compiled(_rotated)
mixed: Any = compiled(_mixed)
word: Any = compiled(_word)
of_bytes: Any = compiled(_of_bytes, _rotated, _mixed, _word)
hash_texts: Any = compiled(_hash_texts, _of_bytes, _rotated, _mixed, _word)


def new(rows: int) -> Hashes:
    """The hash of no columns, of so many rows."""
    return np.full(rows, SEED, np.uint64)


def with_texts(hashes: Hashes, texts: pa.ChunkedArray | pa.Array) -> Hashes:
    """... of a column of texts more."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    texts = texts.cast(pa.large_string())
    new_hashes = hashes.copy()
    if len(texts):
        _, offsets, data = texts.buffers()
        starts = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        bytes_ = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
        hash_texts(bytes_, starts, np.asarray(texts.is_valid()), new_hashes)
    return new_hashes


def with_column(hashes: Hashes, column: pa.ChunkedArray | pa.Array) -> Hashes:
    """... of any column of results more: texts, whole numbers, floating point, timestamps."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return with_texts(hashes, column)
    valid = np.asarray(column.is_valid())
    if pa.types.is_floating(kind):
        return with_doubles(hashes, np.asarray(column.fill_null(0.0)), valid)
    whole = column.cast(pa.int64()).fill_null(0)
    numbers = np.asarray(whole.to_numpy()).astype(np.int64)
    return (with_ints if kind == pa.int32() else with_longs)(hashes, numbers, valid)


def with_longs(hashes: Hashes, numbers: Int64s, valid: Flags | None = None) -> Hashes:
    """... of a column of 64 bits more, such as bigint, or microseconds of a timestamp."""
    words = numbers.view(np.uint64)
    state = hashes + P5 + LENGTH_8
    state ^= _turned(words * P2, 31) * P1
    state = _turned(state, 27) * P1 + P4
    return _where(valid, _mixed_all(state), hashes)


def with_ints(hashes: Hashes, numbers: Int64s, valid: Flags | None = None) -> Hashes:
    """... of a column of 32 bits more."""
    words = numbers.view(np.uint64) & LOW_32
    state = hashes + P5 + LENGTH_4
    state ^= words * P1
    state = _turned(state, 23) * P2 + P3
    return _where(valid, _mixed_all(state), hashes)


def with_doubles(
    hashes: Hashes, numbers: NDArray[np.float64], valid: Flags | None = None
) -> Hashes:
    """... of a column of floating point more; -0.0 counts as 0.0."""
    return with_longs(hashes, (numbers + 0.0).view(np.int64), valid)


def _turned(x: Hashes, bits: int) -> Hashes:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


def _mixed_all(x: Hashes) -> Hashes:
    x = (x ^ (x >> np.uint64(33))) * P2
    x = (x ^ (x >> np.uint64(29))) * P3
    return x ^ (x >> np.uint64(32))


def _where(valid: Flags | None, hashes: Hashes, before: Hashes) -> Hashes:
    return hashes if valid is None else np.where(valid, hashes, before)
