"""The rows of a table in order: which comes where, and the table that has them so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairlead.compiled.kernels import Int64s

Bools = NDArray[np.bool_]

OFFSETS: dict[pa.DataType, type[np.signedinteger[Any]]] = {
    pa.string(): np.int32,
    pa.large_string(): np.int64,
}


def in_order(keys: Int64s, ids: pa.Array | pa.ChunkedArray) -> Int64s | None:
    """The rows by (key, id), ids by their bytes; None where they are in order by key alone."""
    if (keys[1:] > keys[:-1]).all():
        return None
    order, same = _by_key(keys)
    # Ids are compared only among the rows that share their key with another.
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    if len(tied):
        rows = order[tied]
        table = pa.table({"key": keys[rows], "id": ids.take(pa.array(rows)).cast(pa.binary())})
        inside = pc.sort_indices(table, [("key", "ascending"), ("id", "ascending")])
        order[tied] = rows[np.asarray(inside.to_numpy()).astype(np.int64)]
    return order


def _by_key(keys: Int64s) -> tuple[Int64s, Bools]:
    """The rows by key, and of each but the last whether its key may be that of the next.

    Numpy sorts numbers ten times as fast as it finds their order, so each number has its row in
    its last bits. Where key and row do not fit into 64 bits, the last bits of the key are left
    out: whom only those tell apart are then as good as equal here.
    """
    first, last = int(keys.min()), int(keys.max())
    row_bits = (len(keys) - 1).bit_length()
    left_out = max(0, (last - first).bit_length() + row_bits - 64)
    # The difference may take all 64 bits: it wraps around, and is right as an unsigned number.
    packed = (keys - np.int64(first)).view(np.uint64)
    packed >>= np.uint64(left_out)
    packed <<= np.uint64(row_bits)
    packed |= np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & np.uint64((1 << row_bits) - 1)).view(np.int64)
    packed >>= np.uint64(row_bits)
    return order, packed[1:] == packed[:-1]


def taken(table: pa.Table, rows: Int64s) -> pa.Table:
    """The table with these rows."""
    at = pa.array(rows)
    columns = [_taken(column, at) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _taken(column: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    if column.type in OFFSETS and len(column) and not column.null_count:
        column = pa.table([column], ["text"]).combine_chunks().column(0)
        if column.num_chunks == 1:
            return _taken_texts(column.chunk(0), rows)
    return column.take(rows)


def _taken_texts(texts: pa.Array, rows: pa.Array) -> pa.Array:
    """Texts that are all of one length, as ids often are, are found in half the time."""
    kind = OFFSETS[texts.type]
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, kind)[texts.offset : texts.offset + len(texts) + 1]
    width = int(starts[1] - starts[0])
    if not width or not (starts[1:] - starts[:-1] == width).all():
        return texts.take(rows)
    blocks = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(texts), [None, data.slice(int(starts[0]))]
    )
    ends = np.arange(len(rows) + 1, dtype=kind) * width
    buffer = blocks.take(rows).buffers()[1]
    return pa.Array.from_buffers(texts.type, len(rows), [None, pa.py_buffer(ends), buffer])
