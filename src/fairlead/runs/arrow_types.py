"""The types that Parquet files have by Arrow, as Spark has them: both engines read alike."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from fairlead.compiled.intake.columns import DIGITS, plain_kind
from fairlead.errors import UserError
from fairlead.runs.files import MAX_SCHEMAS, Kind, files_in, is_pattern
from fairlead.runs.paths import local

READ: Final = "allowed: texts, numbers, dates and timestamps"
OTHERS: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.null(): pa.int32(),
}
"""What Spark has instead of those that it has not; of nothing, the integers that are stored."""


def as_spark_has(kind: pa.DataType) -> pa.DataType | None:
    """The type that Spark gives a column of a file; None: it reads no such column."""
    if pa.types.is_dictionary(kind):
        return as_spark_has(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return None if kind == pa.uuid() else as_spark_has(kind.storage_type)
    if pa.types.is_decimal(kind) and kind.precision > DIGITS:
        return None
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_duration(kind):  # they are stored as numbers of their unit
        return pa.int64()
    if pa.types.is_time(kind) or pa.types.is_float16(kind) or pa.types.is_interval(kind):
        return None
    return OTHERS.get(kind, plain_kind(kind))


def schema_of(path: str, kind: Kind) -> pa.Schema | None:
    """Of all files of Parquet that are here, together; None where that is not known."""
    place = local(path)
    if kind.format != "parquet" or place is None or is_pattern(path) or not place.exists():
        return None
    files = [file for file in files_in(place, path) if file.stat().st_size]
    with suppress(pa.ArrowException, OSError):  # said when they are read
        every = [stored(file) for file in files[:MAX_SCHEMAS]]
        return pa.unify_schemas(every, promote_options="permissive")
    return None


def stored(file: Path) -> pa.Schema:
    """Of one file, with what Arrow takes for something else: intervals, UUIDs, times of 96 bits.

    Those are moments, whatever Arrow says. Raises ArrowException, OSError.
    """
    columns = pq.read_metadata(file).schema
    schema = columns.to_arrow_schema().remove_metadata()
    for column in map(columns.column, range(len(columns))):
        place = schema.get_field_index(column.path)
        if place >= 0 and column.converted_type == "INTERVAL":
            schema = schema.set(place, pa.field(column.path, pa.month_day_nano_interval()))
        elif place >= 0 and column.logical_type.type == "UUID":
            schema = schema.set(place, pa.field(column.path, pa.uuid()))
        elif place >= 0 and column.physical_type == "INT96":
            schema = schema.set(place, pa.field(column.path, pa.timestamp("us", "UTC")))
    return schema


def nanoseconds(schema: pa.Schema | None) -> dict[str, bool]:
    """The columns of files that are times in nanoseconds: whether with a zone."""
    fine = [
        field
        for field in schema or ()
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns"
    ]
    return {field.name: field.type.tz is not None for field in fine}


def refuse_unknown(path: str, schema: pa.Schema | None, drop: Collection[str]) -> list[str]:
    """Refuse columns that no engine reads, unless they are dropped: those are returned.

    Raises UserError.
    """
    odd = [field for field in schema or () if as_spark_has(field.type) is None]
    for field in odd:
        if field.name not in drop:
            line = f"{path}: {field.name}: found {field.type}, {READ}; cast it, or"
            raise UserError(f"{line} drop it", f"{line} --drop {field.name}")
    return [field.name for field in odd]
