"""Write: tables as files that read back as those that Spark writes."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fairlead.compiled.intake.texts import double_text, is_text, to_text
from fairlead.runs.constants import SPELLED_OUT

ROWS_A_GROUP: Final = 1 << 20
SPECIAL: Final = '[,"\\r\\n]'
"""What a cell of CSV that has any of it is quoted for."""
ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
"""Decimals are numbers, and bytes base64, as Spark writes them."""
SUCCESS: Final = "_SUCCESS"
YEAR: Final = 4
"""Digits; a year of more has a sign."""


def write(table: pa.Table, folder: Path, file_format: str) -> None:
    """Write a table as one file of a new folder. Raises OSError."""
    folder.mkdir(parents=True)
    table = _plain(table)
    if file_format == "parquet":
        place = folder / "part-00000.snappy.parquet"
        pq.write_table(table, place, compression="snappy", row_group_size=ROWS_A_GROUP)
    else:
        spelled = _csv if file_format == "csv" else _json
        with (folder / f"part-00000.{file_format}").open("w", encoding="utf-8", newline="") as file:
            if file_format == "csv":
                file.write(",".join(_quoted(name) for name in table.column_names) + "\n")
            for at in range(0, len(table), ROWS_A_GROUP):
                lines = spelled(table.slice(at, ROWS_A_GROUP))
                file.writelines(f"{line}\n" for line in lines)
    (folder / SUCCESS).touch()


def _plain(table: pa.Table) -> pa.Table:
    """The table without dictionaries."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, column)
    return table


def _csv(table: pa.Table) -> list[str]:
    cells = [_cells(column.combine_chunks()) for column in table.columns]
    return pc.binary_join_element_wise(*cells, ",").to_pylist() if cells else []


def _cells(column: pa.Array) -> pa.Array:
    """A column as it stands in CSV; nothing where there is nothing, and "" for an empty text."""
    texts = pa.array(_moments(column), pa.string()) if _is_time(column) else None
    if pa.types.is_floating(column.type):
        spellings = [None if value is None else _without_power(value) for value in _floats(column)]
        texts = pa.array(spellings, pa.string())
    if texts is None:
        texts = to_text(column)
    if is_text(column.type):
        odd = pc.match_substring_regex(texts, SPECIAL)
        doubled = pc.replace_substring(texts, '"', '""')
        quoted = pc.binary_join_element_wise('"', doubled, '"', "")
        texts = pc.if_else(pc.or_(odd, pc.equal(texts, "")), quoted, texts)
    return pc.fill_null(texts, "")


def _quoted(name: str) -> str:
    odd = any(mark in name for mark in ',"\r\n')
    return '"' + name.replace('"', '""') + '"' if odd else name


def _is_time(column: pa.Array) -> bool:
    return bool(pa.types.is_timestamp(column.type))


def _moments(column: pa.Array) -> list[str | None]:
    """Times as Java writes them, also those for which Python has no datetime."""
    zone = "" if column.type.tz is None else "Z"
    micros = np.asarray(column.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0))
    words = np.datetime_as_string(micros.astype("datetime64[us]"), unit="us").tolist()
    return [
        f"{'+' if word.find('-') > YEAR else ''}{word}{zone}" if valid else None
        for word, valid in zip(words, column.is_valid().to_pylist(), strict=True)
    ]


def _floats(column: pa.Array) -> list[float | None]:
    """Numbers with the digits that name them in their width, and no more."""
    floats: list[float | None] = column.to_pylist()
    if pa.types.is_float32(column.type):
        floats = [None if value is None else float(str(np.float32(value))) for value in floats]
    return floats


def _without_power(value: float) -> str:
    """A number with all digits that name it and no other; without a power of ten if not too long.

    >>> _without_power(12345678.5), _without_power(1e-5), _without_power(1e20)
    ('12345678.5', '0.00001', '1.0E20')
    """
    if not any(least <= abs(value) < below for least, below in SPELLED_OUT):
        return double_text(value)
    digits = f"{Decimal(repr(value)):f}"
    return digits if "." in digits else digits + ".0"


def _json(table: pa.Table) -> list[str]:
    columns = [_json_values(column.combine_chunks()) for column in table.columns]
    names = table.column_names
    return [
        ENCODER.encode(dict(zip(names, row, strict=True))).decode()
        for row in zip(*columns, strict=True)
    ]


def _json_values(column: pa.Array) -> list[Any]:
    if _is_time(column):
        return [*_moments(column)]
    if pa.types.is_date(column.type):
        column = to_text(column)
    if pa.types.is_floating(column.type):  # JSON has no number for some
        floats = _floats(column)
        return [double_text(x) if x is not None and not isfinite(x) else x for x in floats]
    values: list[Any] = column.to_pylist()
    return values
