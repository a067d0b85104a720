"""Files: a table from files of this machine, as Spark would read them.

Numbers and texts of CSV and JSON stay the texts that they are. What only Spark reads is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from fairlead.compiled.intake.columns import is_utf8
from fairlead.compiled.intake.rows import CheckedTable
from fairlead.compiled.row_checks import LONGEST_SHOWN
from fairlead.errors import UserError
from fairlead.memory.fits import OTHERWISE, available, too_large
from fairlead.runs import csv_lines
from fairlead.runs.arrow_types import as_spark_has, refuse_unknown, schema_of, stored
from fairlead.runs.constants import NO_CHARACTER, ROW_DIGITS
from fairlead.runs.files import (
    COMPRESSIONS,
    LONGEST_CELL,
    ONE_LINE,
    OPENED,
    OTHER_ENCODING,
    TOO_LONG,
    UTF8,
    Kind,
    each_key_once,
    files_in,
    key_twice,
    names_in,
    text_after,
    too_deep,
)
from fairlead.runs.paths import local

UNDERSTOOD: Final = {"sep", "encoding", "multiLine", "recursiveFileLookup", "mode"}
"""Options of Spark's reader that this one has, too."""
SPARK_READS: Final = "allowed with --engine memory"
COPIES: Final = 2
"""So often a text that was read is held, while it is decided."""
BOTH_READ: Final = "allowed: either, throughout"
WHOLE: Final = re.compile(r"-?\d{1,19}")
OF_OTHER_TYPES: Final = re.compile(r"\d{4}-\d\d?(-.*)?|[+-]?\d*\.\d*([eEdD].*)?|\d+[eEdDfF]\d*")
"""A value of a folder's name that Spark takes for a date, a time, or a number that is not whole."""
BOM: Final = "\ufeff"
INFINITE: Final = re.compile(r'("(?:[^"\\]|\\.)*+")|(:\s*)([-+]INF|\+Infinity)(?=\s*[,}])')
"""Texts, and the numbers that Spark's reader of JSON has besides those of Python's."""
ODD_QUOTE: Final = rb'[^%b"\n\r]"[^%b"\n\r]'
"""A quote in the middle of a cell, about which readers of CSV differ."""


def read(
    path: str, kind: Kind, *, number_rows: bool = False, drop: Collection[str] = ()
) -> CheckedTable:
    """The rows of a file or a folder of files, one file after another. Raises UserError.

    `drop`: columns that are not wanted, so they may be of any type.
    `number_rows`: with `id`, the file's name (below the folder) and the row's number in it.
    """
    place, files, names = refuse_what_spark_reads(path, kind, drop)
    folders = _folders(files, place, path)
    columns = [name for name in names or [] if name not in folders]
    parts = [READERS[kind.format](file, kind, columns, drop) for file in files]
    if number_rows:
        parts = [
            _numbered(part, _name(file, place)) for part, file in zip(parts, files, strict=True)
        ]
    result = _together(parts, path)
    for name, values in folders.items():
        lengths = [len(part.table) for part in parts]
        column = pa.array([v for v, n in zip(values, lengths, strict=True) for _ in range(n)])
        if name in result.table.column_names:
            raise UserError(f"{path}: column {name!r}: found in files and in the folders' names")
        result = CheckedTable(
            result.table.append_column(name, _of_folders(column)), result.malformed
        )
    return result


def refuse_what_spark_reads(
    path: str, kind: Kind, drop: Collection[str] = ()
) -> tuple[Path, list[Path], list[str] | None]:
    """Refuse what only Spark reads, as far as that can be seen without reading the rows.

    Returns the place, its files, and the names of the columns. Raises UserError.
    """
    place = local(path)
    if place is None or not place.exists():
        raise UserError(f"{path}: found a place elsewhere, {SPARK_READS}: files of this machine")
    for name in kind.options.keys() - UNDERSTOOD:
        raise UserError(
            f"{path}: --read-option {name}: {SPARK_READS}: {', '.join(sorted(UNDERSTOOD))}"
        )
    refuse_unknown(path, schema_of(path, kind), drop)
    files = [file for file in files_in(place, path) if file.stat().st_size]
    _folders(files, place, path)
    names = names_in(path, kind)
    if kind.format not in READERS or (names is None and kind.format == "csv"):
        raise UserError(
            f"{path}: found columns that only Spark names, {SPARK_READS}: csv with a header, json "
            "of one object a line, parquet, text"
        )
    for file in files if kind.format == "parquet" else []:
        with suppress(pa.ArrowException, OSError):  # said when it is read
            for field in stored(file):
                if field.name not in drop:
                    _kind(field.type, field.name, file)
    return place, files, names


def _folders(files: list[Path], place: Path, path: str) -> dict[str, list[str | None]]:
    """What folders called name=value say, by the file. Raises UserError."""
    columns: dict[str, list[str | None]] = {}
    every = [file.relative_to(place).parts[:-1] if place.is_dir() else () for file in files]
    named = [[part.partition("=") for part in parts if "=" in part] for parts in every]
    if len({tuple(name for name, _, _ in pairs) for pairs in named}) > 1:
        raise UserError(f"{path}: found folders called name=value beside others, {BOTH_READ}")
    for pairs in named:
        for name, _, value in pairs:
            nothing = value == "__HIVE_DEFAULT_PARTITION__"
            columns.setdefault(name, []).append(None if nothing else unquote(value))
    for name, values in columns.items():
        if any(OF_OTHER_TYPES.fullmatch(value or "") for value in values):
            raise UserError(
                f"{path}: found folders called {name}=… that are dates, times or fractions, "
                f"{SPARK_READS}: texts and whole numbers"
            )
    return columns


def _of_folders(values: pa.Array) -> pa.Array:
    """The values with the type that Spark gives them: whole numbers, or texts."""
    words = [word for word in values.to_pylist() if word is not None]
    if not words or not all(WHOLE.fullmatch(word) for word in words):
        return values.cast(pa.string())
    widest = max(abs(int(word)) for word in words)
    if widest >= 1 << 63:
        return values.cast(pa.string())
    return values.cast(pa.int32() if widest < 1 << 31 else pa.int64())


def _name(file: Path, place: Path) -> str:
    return str(file.relative_to(place)) if place.is_dir() else file.name


def _numbered(part: CheckedTable, name: str) -> CheckedTable:
    ids = [f"{name}:{row:0{ROW_DIGITS}}" for row in range(1, len(part.table) + 1)]
    table = part.table
    if "id" in table.column_names:
        table = table.drop_columns("id")
    return CheckedTable(table.add_column(0, "id", pa.array(ids, pa.string())), part.malformed)


def _together(parts: list[CheckedTable], path: str) -> CheckedTable:
    try:
        table = pa.concat_tables([part.table for part in parts], promote_options="permissive")
    except pa.ArrowException as error:
        raise UserError(f"{path}: found files whose columns do not fit together: {error}") from None
    if all(part.malformed is None for part in parts):
        return CheckedTable(table, None)
    reasons: list[str | None] = []
    for part in parts:
        reasons += part.malformed or [None] * len(part.table)
    return CheckedTable(table, reasons)


def _at_most(read: Callable[[int], bytes], file: Path) -> bytes:
    """What is packed in a file, if there is room for it. Raises UserError."""
    free = available()
    if free is None:
        return read(-1)
    data = read(free // OTHERWISE + 1)
    if len(data) > free // OTHERWISE:
        raise too_large(str(file), len(data) * OTHERWISE, free)
    return data


def _bytes(file: Path) -> bytes:
    """What the file holds, unpacked."""
    ending = file.suffix.lower()
    try:
        if ending in OPENED:
            with OPENED[ending](file) as packed:
                return _at_most(packed.read, file)
        if ending == ".zst":
            with pa.input_stream(file, compression="zstd") as stream:
                return bytes(_at_most(stream.read, file))
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


def _csv(file: Path, kind: Kind, names: list[str], _drop: Collection[str]) -> CheckedTable:
    data = _bytes(file)
    if b"\n" not in data:  # lines that end as those of old Macs do
        data = data.replace(b"\r", b"\n")
    multi_line = kind.options.get("multiLine", "false").lower() == "true"
    separator = kind.options.get("sep", ",").replace("\\t", "\t")
    if kind.encoding != UTF8:
        data = _text(data, kind).encode()
    if multi_line and data.count(b"\r") == data.count(b"\n") == data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n")
    table = _regular(data, separator, names, multi_line=multi_line)
    if table is not None:
        return CheckedTable(table, None)
    text = data.decode("utf-8-sig", errors="replace")
    try:
        every = list(csv_lines.rows(text, separator, multi_line=multi_line))[1:]
    except csv_lines.CellTooLongError as error:
        raise UserError(f"{file}: {TOO_LONG}, in line {error.line:,}") from None
    cells, raw = csv_lines.table(every, len(names))
    reasons = [None if row is None else _cut_row(row) for row in raw]
    if kind.encoding == UTF8 and not is_utf8(data):
        reasons = [
            reason or _other_bytes(names, values)
            for reason, values in zip(reasons, zip(*cells, strict=True), strict=True)
        ]
    arrays = [pa.array(column, pa.string()) for column in cells]
    return CheckedTable(pa.Table.from_arrays(arrays, names=names), reasons)


def _regular(data: bytes, separator: str, names: list[str], *, multi_line: bool) -> pa.Table | None:
    """The table of a file about which all readers of CSV agree; None for another."""
    mark = re.escape(separator.encode())
    odd = b'"' in data and re.search(ODD_QUOTE % (mark, mark), data) is not None
    odd = odd or (multi_line and b"\r" in data)  # then it is no end of a row
    if odd or len(names) == 1 or not is_utf8(data):
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
    lengths = (pc.max(pc.binary_length(column)).as_py() or 0 for column in table.columns)
    if max(lengths) > LONGEST_CELL:
        return None
    if not multi_line and b'"' in data:
        breaks = (pc.any(pc.match_substring_regex(column, r"[\r\n]")) for column in table.columns)
        if any(flag.as_py() for flag in breaks):
            return None
    return table


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


def _json(file: Path, kind: Kind, _names: list[str], drop: Collection[str]) -> CheckedTable:
    if kind.options.get("multiLine", "false").lower() == "true":
        raise UserError(f"{file}: --read-option multiLine: {SPARK_READS}: one object a line")
    lines = _lines_of(_bytes(file), kind)
    per_line = [[None] if line.garbled else _objects(line.text, file) for line in lines]
    rows = [row for objects in per_line for row in objects]
    lines = [line for line, objects in zip(lines, per_line, strict=True) for _ in objects]
    allowed = f"allowed: an object of JSON on one line, in UTF-8; {ONE_LINE}"
    reasons = [
        _found("row", line.text.removesuffix("\r"), allowed) if row is None else None
        for line, row in zip(lines, rows, strict=True)
    ]
    # Spark orders the columns that it finds in JSON by their names.
    names = sorted({name for row in rows if row for name in row})
    some = [name for name in names if name not in drop]
    if not names:
        raise UserError(f"{file}: not a table of format json: found no row in it; {ONE_LINE}")
    columns = [[_plain(file, name, (row or {}).get(name)) for row in rows] for name in some]
    # What is dropped may be of any type, and is there to be dropped.
    arrays = [pa.array(column, pa.string()) for column in columns]
    arrays += [pa.nulls(len(rows), pa.string()) for _ in range(len(names) - len(some))]
    some += [name for name in names if name in drop]
    table = pa.Table.from_arrays(arrays, names=some).select(names)
    return CheckedTable(table, reasons if None in rows else None)


class _JsonLine(NamedTuple):
    """A line of JSON."""

    text: str
    garbled: bool = False
    """Whether it has bytes that are no text."""


def _lines_of(data: bytes, kind: Kind) -> list[_JsonLine]:
    """The lines in which something stands. Each may begin with a byte order mark, as for Spark."""
    if kind.encoding == UTF8 and not is_utf8(data):
        pieces = re.split(rb"\r\n|\n|\r", data)
        every = [_JsonLine(_text(piece, kind), not is_utf8(piece)) for piece in pieces]
    else:
        # In another encoding Spark is told what ends a line.
        ends = r"\r\n|\n|\r" if kind.encoding == UTF8 else r"\n"
        every = [_JsonLine(line.removeprefix(BOM)) for line in re.split(ends, _text(data, kind))]
    return [line for line in every if line.text.strip()]


def _objects(line: str, file: Path) -> list[dict[str, Any] | None]:
    """The object of a line, or those of its list, their numbers as they are written; None: none.

    Raises UserError for a key twice, and for what stands behind an object.
    """
    try:
        value, end = JSON.raw_decode(line, len(line) - len(line.lstrip()))
    except KeyError as error:
        raise key_twice(file, error) from None
    except RecursionError:
        raise too_deep(file) from None
    except ValueError:
        other = INFINITE.sub(lambda part: part[1] or f'{part[2]}"{part[3]}"', line)
        return [None] if other == line else _objects(other, file)
    every: list[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in every):
        return [None]
    if line[end:].strip():
        raise text_after(file, line)
    return every


class _Word(str):
    """A number as it is written."""

    __slots__ = ()


JSON: Final = json.JSONDecoder(
    parse_float=_Word,
    parse_int=_Word,
    parse_constant=_Word,
    object_pairs_hook=each_key_once,
)


def _plain(file: Path, name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        # Half a character, as of a text that was cut, is written as Java writes it.
        return None if value is None else value.encode(errors="replace").decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    kind = "an object" if isinstance(value, dict) else "a list"
    raise UserError(
        f"{file}: {name}: found {kind}, {SPARK_READS}: texts, numbers, true, false, "
        f"or --drop {name}"
    )


def _parquet(file: Path, _kind: Kind, _names: list[str], drop: Collection[str]) -> CheckedTable:
    try:
        every = pq.read_schema(file).names
        texts = [f.name for f in pq.read_schema(file) if _is_text(f.type) and f.name not in drop]
        texts = [name for name in texts if name not in _by_differences(file)]
        coded = pq.ParquetFile(file, read_dictionary=texts, coerce_int96_timestamp_unit="us")
        table = coded.read([name for name in every if name not in drop])
        _check_room(table, file)
        # What is dropped may be of any type, and is there to be dropped.
        for place, name in enumerate(every):
            if name in drop:
                table = table.add_column(place, name, pa.nulls(len(table), pa.string()))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: not a table of format parquet: {error}") from None
    return CheckedTable(_known(table, file, drop), None)


def _by_differences(file: Path) -> set[str]:
    """The columns whose texts stand as what differs from those before, so without a dictionary."""
    metadata = pq.read_metadata(file)
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    return {
        column.path_in_schema
        for column in columns
        if any(encoding.startswith("DELTA") for encoding in column.encodings)
    }


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _check_room(table: pa.Table, file: Path) -> None:
    """Refuse texts that would not fit when each row has its own. Raises UserError.

    In the file a long one stands once, however many rows have it.
    """
    free, need = available(), 0
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            for chunk in column.chunks:
                lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
                need += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    if free is not None and need * COPIES > free:
        raise too_large(str(file), need * COPIES, free)


def _known(table: pa.Table, file: Path, drop: Collection[str]) -> pa.Table:
    """The table with the types that Spark gives it."""
    schema, file_schema = table.schema.remove_metadata(), stored(file)
    for place, name in enumerate(schema.names):
        if name not in drop:
            kind = _kind(file_schema.field(place).type, name, file)
            schema = schema.set(place, pa.field(name, kind))
    return table.cast(schema, safe=False)


def _kind(kind: pa.DataType, name: str, file: Path) -> pa.DataType:
    spark_kind = as_spark_has(kind)
    if spark_kind is None or pa.types.is_nested(spark_kind):
        raise UserError(
            f"{file}: {name}: found {kind}, {SPARK_READS}: texts, numbers and times, or "
            f"--drop {name}"
        )
    return spark_kind


def _lines(file: Path, kind: Kind, _names: list[str], _drop: Collection[str]) -> CheckedTable:
    data = _bytes(file)
    lines = re.split(r"\r\n|\n|\r", _text(data, kind))
    lines = lines[:-1] if lines and not lines[-1] else lines
    table = pa.table({"value": pa.array(lines, pa.string())})
    if kind.encoding != UTF8 or is_utf8(data):
        return CheckedTable(table, None)
    return CheckedTable(table, [_other_bytes(["value"], (line,)) for line in lines])


READERS: Final[Mapping[str, Callable[[Path, Kind, list[str], Collection[str]], CheckedTable]]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "text": _lines,
}
