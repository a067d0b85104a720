"""Scale in memory: the messages that `fairlead.pipeline.intake.scale` gives on Spark."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.balance.times import MICROS, number
from fairlead.compiled import hashes
from fairlead.compiled.hashes import Hashes
from fairlead.compiled.intake import numbers
from fairlead.compiled.intake.columns import column, is_number, text
from fairlead.compiled.intake.rows import CheckedTable
from fairlead.compiled.intake.texts import is_text, to_text
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools
from fairlead.replay.scale import LIKE_A_COPY, Scale, latest_shift, like_a_copy, no_place

ID, GROUP, TIME = "id", "group", "time"
EXACT: Final = pa.decimal128(38, 6)
BEGINNING: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without a zone


def scale_rate(checked_table: CheckedTable, scale: Scale) -> CheckedTable:
    """The same messages so many times, on average. Raises MessageError where copies cannot be."""
    rate, seed = scale
    if rate == 1:
        return checked_table
    table = checked_table.table
    whose = _Conversations(table, seed)
    copies = int(rate)
    part = int((rate - copies) * MICROS)
    once_more = np.mod(whose.hashed(copies), MICROS) < part
    rows = np.repeat(np.arange(len(table)), copies + once_more)
    first = np.append(True, np.diff(rows) != 0)[: len(rows)]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
    copy = np.arange(len(rows)) - starts
    several = table.take(pa.array(rows))
    if rate > 1:
        most = _most(table, whose)
        several = _changed(several, copy, np.where(copy > 0, whose.spread(rows, copy, most), 0))
    malformed = (
        None if checked_table.malformed is None else [checked_table.malformed[row] for row in rows]
    )
    return CheckedTable(several, malformed)


class _Conversations:
    """The conversation of each message: its group, or the message alone."""

    def __init__(self, table: pa.Table, seed: int) -> None:
        group = text(table, GROUP)
        self.grouped: Int64s = np.asarray(pc.not_equal(group, "")).astype(np.int64)
        self.named = pc.if_else(pc.not_equal(group, ""), group, text(table, ID))
        self._seed = seed

    def hashed(self, *copies: int) -> Int64s:
        """A number of each message's conversation, the seed, and a copy."""
        values = self._begun(len(self.grouped))
        for copy in copies:
            values = hashes.with_ints(values, np.full(len(values), copy, np.int64))
        return self._ended(values, self.grouped, self.named)

    def spread(self, rows: Int64s, copy: Int64s, most: int) -> Int64s:
        """By how much each copy comes later, up to `most`."""
        values = hashes.with_ints(self._begun(len(rows)), copy)
        values = hashes.with_texts(values, pa.repeat(TIME, len(rows)))
        named = self.named.take(pa.array(rows))
        return np.mod(self._ended(values, self.grouped[rows], named), most + 1)

    def _begun(self, rows: int) -> Hashes:
        return hashes.with_longs(hashes.new(rows), np.full(rows, self._seed, np.int64))

    def _ended(self, found: Hashes, grouped: Int64s, named: pa.Array) -> Int64s:
        # A message may be called as a group is.
        return hashes.with_texts(hashes.with_ints(found, grouped), named).view(np.int64)


def _most(table: pa.Table, whose: _Conversations) -> int:
    """By how many microseconds a copy comes later at most. Raises MessageError."""
    if "position" in table.column_names:
        raise no_place()
    times = numbers.times(column(table, TIME))
    for name in (ID, GROUP):
        if name in table.column_names:
            odd = pc.match_substring_regex(text(table, name), LIKE_A_COPY)
            like = text(table, name).filter(pc.and_(odd, pa.array(times.known)))
            if len(like):
                raise like_a_copy(name, min(like.to_pylist(), key=str.encode))
    known = times.values[times.known]
    if not len(known):
        return 0
    clusters = len(pc.unique(text(table, "cluster").filter(pa.array(times.known))))
    conversations = len(np.unique(whose.hashed()[times.known]))
    return latest_shift(int(known.max()) - int(known.min()), clusters, conversations)


def _changed(table: pa.Table, copy: Int64s, shift: Int64s) -> pa.Table:
    """Ids, groups and times that hold the copies'."""
    for name in (ID, GROUP):
        if name in table.column_names:
            texts = to_text(column(table, name))
            mask = pc.and_(pc.fill_null(pc.not_equal(texts, ""), False), pa.array(copy > 0))
            copied = pc.binary_join_element_wise(texts, pa.array(copy).cast(pa.string()), "~")
            place = table.column_names.index(name)
            table = table.set_column(place, name, pc.if_else(mask, copied, texts))
    return table.set_column(
        table.column_names.index(TIME), TIME, _later(column(table, TIME), copy, shift)
    )


def _later(time: pa.Array, copy: Int64s, shift: Int64s) -> pa.Array:
    """The times so much later, in the column's own type where that can hold them."""
    moments = numbers.times(time)
    later = moments.values + shift
    kind = time.type
    if is_text(kind):
        texts = [
            word if not n else _text(word, int(at), known=bool(known))
            for word, n, at, known in zip(
                time.to_pylist(), copy.tolist(), later.tolist(), moments.known.tolist(), strict=True
            )
        ]
        return pa.array(texts, pa.string())
    if is_number(kind):
        return _decimals(later, moments.known)
    zone = "UTC" if pa.types.is_timestamp(kind) and kind.tz is not None else None
    return pa.array(later, mask=~moments.known).cast(pa.timestamp("us", zone))


def _decimals(micros: Int64s, known: Bools) -> pa.Array:
    """Seconds with 6 digits, which are the microseconds with a point."""
    words = np.stack([micros, micros >> 63], axis=1)
    valid = pa.array(known).buffers()[1]
    return pa.Array.from_buffers(EXACT, len(micros), [valid, pa.py_buffer(words.tobytes())])


def _text(word: str | None, micros: int, *, known: bool) -> str | None:
    """A time that was a text, later, as Spark writes it."""
    if word is None or not known:
        return None
    if number(word) is not None:
        return str((Decimal(micros) / MICROS).quantize(Decimal("0.000001")))
    moment = BEGINNING + timedelta(microseconds=micros)
    parts = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{parts}"
