"""Columns of a table in memory, whatever type of Arrow's they have, in the plain one."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fairlead.compiled.intake.texts import is_text, to_text, words_of
from fairlead.compiled.kernels import Int64s
from fairlead.compiled.order import Bools
from fairlead.compiled.row_checks import wrong_type

PLAIN: Final = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
"""What is read of columns of types that only Arrow has."""
DIGITS: Final = 38
"""Of the longest decimal."""
NAMES: Final = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.date32(): "date",
    pa.binary(): "binary",
    pa.null(): "void",
}


def plain_kind(kind: pa.DataType) -> pa.DataType:
    """The type as which a column of another type is read; a type of Spark's is itself."""
    if pa.types.is_dictionary(kind):
        return plain_kind(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType) and kind != pa.uuid():
        return plain_kind(kind.storage_type)
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_decimal(kind) and kind.precision <= DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    return PLAIN.get(kind, kind)


def plain(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column in its plain type. Raises MessageError where Arrow cannot make that of it."""
    values = table.column(name)
    kind = plain_kind(values.type)
    if values.type == kind:
        return values
    try:
        if isinstance(values.type, pa.BaseExtensionType):
            values = values.cast(values.type.storage_type)
        return values.cast(kind, safe=False)
    except pa.ArrowException:
        raise wrong_type(name, simple(values.type), "a text") from None


def column(table: pa.Table, name: str) -> pa.Array:
    """A column in its plain type, and in one piece."""
    return in_one(plain(table, name))


def in_one(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, which is not copied where it is one."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def texts(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column as text, in the pieces that it has: all ids together may be longer than an array."""
    values = plain(table, name)
    return values if is_text(values.type) else pa.chunked_array([_text(values, name)])


def text(table: pa.Table, name: str) -> pa.Array:
    """A column as text, "" where it is not given or there is none. Raises MessageError."""
    if name not in table.column_names:
        return pa.repeat("", len(table))
    return pc.fill_null(_text(plain(table, name), name), "")


def _text(values: pa.ChunkedArray, name: str) -> pa.Array:
    try:
        return to_text(in_one(values))
    except pa.ArrowException:
        raise wrong_type(name, simple(values.type), "a text") from None


def coded(table: pa.Table, name: str) -> tuple[Int64s, list[str]]:
    """A column of texts as codes, and the words they stand for."""
    codes = text(table, name).dictionary_encode()
    return np.asarray(codes.indices).astype(np.int64), words_of(codes.dictionary)


def said(table: pa.Table, name: str) -> Bools:
    """Whether a row says anything in a column."""
    if name not in table.column_names:
        return np.zeros(len(table), np.bool_)
    if is_number(plain_kind(table.schema.field(name).type)):
        return np.asarray(column(table, name).is_valid())
    return np.asarray(pc.not_equal(text(table, name), ""))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds numbers."""
    of = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal128)
    return any(known(kind) for known in of)


def simple(kind: pa.DataType) -> str:
    """A type as Spark calls it."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return NAMES.get(kind, str(kind))


def is_utf8(data: bytes) -> bool:
    """Whether bytes are a text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def all_utf8(column: pa.ChunkedArray) -> bool:
    """Whether all texts or bytes of a column are text; anything else is."""
    kind = plain_kind(column.type)
    try:
        if is_text(kind):
            column.validate(full=True)  # Arrow itself notices late or never
        elif pa.types.is_binary(kind):
            column.cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True
