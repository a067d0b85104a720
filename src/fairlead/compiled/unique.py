"""Whether all texts of a column are different."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairlead.compiled.kernels import Int32s, compiled

SEED = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)


def all_different(texts: pa.ChunkedArray) -> bool:
    """Whether no text (pa.string, none missing) is there twice.

    Counting distinct texts takes ten times as long as sorting numbers that are made from them, so
    texts are compared only where their numbers meet.
    """
    hashes = np.concatenate([_hashes(chunk) for chunk in texts.chunks] or [np.empty(0, np.uint64)])
    in_order = np.sort(hashes)
    met = in_order[1:][in_order[1:] == in_order[:-1]]
    if not len(met):
        return True
    doubtful = texts.filter(pa.array(np.isin(hashes, met)))
    return bool(pc.count_distinct(doubtful).as_py() == len(doubtful))


def _hashes(texts: pa.StringArray) -> NDArray[np.uint64]:
    hashes = np.empty(len(texts), np.uint64)
    if len(texts):
        _, offsets, data = texts.buffers()
        starts = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
        hash_each(starts, np.frombuffer(data or b"", np.uint8), hashes)
    return hashes


def _hash_each(starts: Int32s, data: NDArray[np.uint8], out: NDArray[Any]) -> None:
    """FNV-1a, 64 bits: out[k] = the number of the bytes from starts[k] to starts[k + 1]."""
    for k in range(len(out)):
        number = SEED
        for at in range(starts[k], starts[k + 1]):
            number = (number ^ np.uint64(data[at])) * PRIME
        out[k] = number


hash_each = compiled(_hash_each)
