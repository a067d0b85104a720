"""Files: a table from files of this machine, as Spark would read them.

Numbers and texts of CSV and JSON stay the texts that they are. What only Spark reads is refused.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from fairlead.errors import UserError
from fairlead.memory import csv_lines
from fairlead.pipeline.constants import LONGEST_SHOWN, NO_CHARACTER, ROW_DIGITS
from fairlead.pipeline.intake.files import (
    COMPRESSIONS,
    ONE_LINE,
    OPENED,
    OTHER_ENCODING,
    UTF8,
    Kind,
    files_in,
    names_in,
)
from fairlead.pipeline.paths import local

UNDERSTOOD: Final = {"sep", "encoding", "multiLine", "recursiveFileLookup", "mode"}
"""Options of Spark's reader that this one has, too."""
SPARK_READS: Final = "allowed with --engine memory"
ODD_QUOTE: Final = rb'[^%b"\n\r]"[^%b"\n\r]'
"""A quote in the middle of a cell, about which readers of CSV differ."""


class Found(NamedTuple):
    """A table, and of each row why it is none; None: it is one."""

    table: pa.Table
    malformed: list[str | None] | None
    """None: all are."""


def read(path: str, kind: Kind, *, number_rows: bool = False) -> Found:
    """The rows of a file or a folder of files, one file after another. Raises UserError.

    `number_rows`: with `id`, the file's name (below the folder) and the row's number in it.
    """
    place = local(path)
    if place is None or not place.exists():
        raise UserError(f"{path}: found a place elsewhere, {SPARK_READS}: files of this machine")
    for name in kind.options.keys() - UNDERSTOOD:
        raise UserError(
            f"{path}: --read-option {name}: {SPARK_READS}: {', '.join(sorted(UNDERSTOOD))}"
        )
    files = [file for file in files_in(place, path) if file.stat().st_size]
    if any("=" in part for file in files for part in file.relative_to(place).parts[:-1]):
        raise UserError(f"{path}: found folders called name=value, {SPARK_READS}: without")
    names = names_in(path, kind)
    if kind.format not in READERS or (names is None and kind.format == "csv"):
        raise UserError(
            f"{path}: found columns that only Spark names, {SPARK_READS}: csv with a header, json "
            "of one object a line, parquet, text"
        )
    parts = [READERS[kind.format](file, kind, names or []) for file in files]
    if number_rows:
        parts = [
            _numbered(part, _name(file, place)) for part, file in zip(parts, files, strict=True)
        ]
    return _together(parts, path)


def _name(file: Path, place: Path) -> str:
    return str(file.relative_to(place)) if place.is_dir() else file.name


def _numbered(part: Found, name: str) -> Found:
    ids = [f"{name}:{row:0{ROW_DIGITS}}" for row in range(1, len(part.table) + 1)]
    table = part.table
    if "id" in table.column_names:
        table = table.drop_columns("id")
    return Found(table.add_column(0, "id", pa.array(ids, pa.string())), part.malformed)


def _together(parts: list[Found], path: str) -> Found:
    try:
        table = pa.concat_tables([part.table for part in parts], promote_options="permissive")
    except pa.ArrowException as error:
        raise UserError(f"{path}: found files whose columns do not fit together: {error}") from None
    if all(part.malformed is None for part in parts):
        return Found(table, None)
    reasons: list[str | None] = []
    for part in parts:
        reasons += part.malformed or [None] * len(part.table)
    return Found(table, reasons)


def _bytes(file: Path) -> bytes:
    """What the file holds, unpacked."""
    ending = file.suffix.lower()
    try:
        if ending in OPENED:
            with OPENED[ending](file) as packed:
                return packed.read()
        if ending == ".zst":
            with pa.input_stream(file, compression="zstd") as stream:
                return bytes(stream.read())
        if ending in COMPRESSIONS:
            raise UserError(f"{file}: found {ending}, {SPARK_READS}: .gz, .bz2, .zst, or unpacked")
        return file.read_bytes()
    except EOFError:
        raise UserError(f"{file}: cannot be read: the packed file ends too early") from None
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None


def _text(data: bytes, kind: Kind) -> str:
    encoding = "utf-8-sig" if kind.encoding == UTF8 else kind.encoding
    return data.decode(encoding, errors="replace")


def _csv(file: Path, kind: Kind, names: list[str]) -> Found:
    data = _bytes(file)
    multi_line = kind.options.get("multiLine", "false").lower() == "true"
    separator = kind.options.get("sep", ",").replace("\\t", "\t")
    if kind.encoding != UTF8:
        data = _text(data, kind).encode()
    found = _regular(data, separator, names, multi_line=multi_line)
    if found is not None:
        return Found(found, None)
    text = data.decode("utf-8-sig", errors="replace")
    every = list(csv_lines.rows(text, separator, multi_line=multi_line))[1:]
    cells, raw = csv_lines.table(every, len(names))
    reasons = [None if row is None else _cut_row(row) for row in raw]
    if kind.encoding == UTF8 and not _is_utf8(data):
        reasons = [
            reason or _other_bytes(names, values)
            for reason, values in zip(reasons, zip(*cells, strict=True), strict=True)
        ]
    arrays = [pa.array(column, pa.string()) for column in cells]
    return Found(pa.Table.from_arrays(arrays, names=names), reasons)


def _regular(data: bytes, separator: str, names: list[str], *, multi_line: bool) -> pa.Table | None:
    """The table of a file about which all readers of CSV agree; None for another."""
    mark = re.escape(separator.encode())
    odd = b'"' in data and re.search(ODD_QUOTE % (mark, mark), data)
    if odd or len(names) == 1 or not _is_utf8(data):
        return None
    parse = pa.csv.ParseOptions(delimiter=separator, newlines_in_values=multi_line)
    convert = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        # Spark takes an empty text in quotes for nothing, too.
        quoted_strings_can_be_null=True,
        null_values=[""],
    )
    try:
        table = pa.csv.read_csv(pa.BufferReader(data), parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid:
        return None
    if table.column_names != names:
        return None
    if not multi_line and b'"' in data:
        breaks = (pc.any(pc.match_substring_regex(column, r"[\r\n]")) for column in table.columns)
        if any(each.as_py() for each in breaks):
            return None
    return table


def _is_utf8(data: bytes) -> bool:
    try:
        codecs.decode(data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _cut_row(row: str) -> str:
    if row.count('"') % 2:
        allowed = (
            "a part of a quoted text with a line break, allowed: with the option multiLine=true"
        )
        return _found("row", row, allowed)
    return _found("row", row, "allowed: a cell for each column")


def _other_bytes(names: list[str], cells: tuple[str | None, ...]) -> str | None:
    for name, cell in zip(names, cells, strict=True):
        if cell is not None and NO_CHARACTER in cell:
            return _found(name, cell, f"allowed: text in UTF-8; {OTHER_ENCODING}")
    return None


def _found(name: str, found: str, allowed: str) -> str:
    return f"{name}: found '{found[:LONGEST_SHOWN]}', {allowed}"


def _json(file: Path, kind: Kind, _names: list[str]) -> Found:
    if kind.options.get("multiLine", "false").lower() == "true":
        raise UserError(f"{file}: --read-option multiLine: {SPARK_READS}: one object a line")
    lines = [line for line in _text(_bytes(file), kind).split("\n") if line.strip()]
    rows = [_object(line) for line in lines]
    allowed = f"allowed: an object of JSON on one line, in UTF-8; {ONE_LINE}"
    reasons = [
        _found("row", line.removesuffix("\r"), allowed) if row is None else None
        for line, row in zip(lines, rows, strict=True)
    ]
    # Spark orders the columns that it finds in JSON by their names.
    names = sorted({name for row in rows if row for name in row})
    if not names:
        raise UserError(f"{file}: not a table of format json: found no row in it; {ONE_LINE}")
    columns = [[_plain(file, name, (row or {}).get(name)) for row in rows] for name in names]
    arrays = [pa.array(column, pa.string()) for column in columns]
    return Found(pa.Table.from_arrays(arrays, names=names), reasons if None in rows else None)


def _object(line: str) -> dict[str, Any] | None:
    """The object of a line, its numbers as they are written."""
    try:
        found: object = json.loads(line, parse_float=_Word, parse_int=_Word, parse_constant=_Word)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


class _Word(str):
    """A number as it is written."""

    __slots__ = ()


def _plain(file: Path, name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    kind = "an object" if isinstance(value, dict) else "a list"
    raise UserError(f"{file}: {name}: found {kind}, {SPARK_READS}: texts, numbers, true, false")


def _parquet(file: Path, _kind: Kind, _names: list[str]) -> Found:
    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: not a table of format parquet: {error}") from None
    return Found(_known(table, file), None)


def _known(table: pa.Table, file: Path) -> pa.Table:
    """The table with the types that Spark gives it."""
    schema = table.schema.remove_metadata()
    for place, field in enumerate(schema):
        schema = schema.set(place, pa.field(field.name, _kind(field.type, field.name, file)))
    return table.cast(schema, safe=False)


def _kind(kind: pa.DataType, name: str, file: Path) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_nested(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        raise UserError(f"{file}: {name}: found {kind}, {SPARK_READS}: texts, numbers and times")
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    return kind


def _lines(file: Path, kind: Kind, _names: list[str]) -> Found:
    data = _bytes(file)
    lines = re.split(r"\r\n|\n|\r", _text(data, kind))
    lines = lines[:-1] if lines and not lines[-1] else lines
    table = pa.table({"value": pa.array(lines, pa.string())})
    if kind.encoding != UTF8 or _is_utf8(data):
        return Found(table, None)
    return Found(table, [_other_bytes(["value"], (line,)) for line in lines])


READERS: Final[Mapping[str, Callable[[Path, Kind, list[str]], Found]]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "text": _lines,
}
