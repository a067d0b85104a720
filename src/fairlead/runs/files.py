"""Files of messages as they lie on this machine: what they show before Spark is started."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from fairlead.balance.objects import listed
from fairlead.compiled.required_columns import named
from fairlead.compiled.row_checks import LONGEST_SHOWN
from fairlead.errors import MessageError, UserError
from fairlead.runs.paths import local
from fairlead.runs.read_options import checked

FORMATS: Final = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".txt": "text",
    ".log": "text",
    ".tsv": "csv",
}
TABBED: Final = ".tsv"
COMPRESSIONS: Final = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
OPENED: Final[Mapping[str, Callable[[Path], gzip.GzipFile | bz2.BZ2File]]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
}
BEGIN: Final[Mapping[str, bytes]] = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "Zstandard": b"\x28\xb5\x2f\xfd",
    "Parquet": b"PAR1",
    "ORC": b"ORC",
    "zip": b"PK\x03\x04",
    "UTF-32": codecs.BOM_UTF32_LE,
    "UTF-16": codecs.BOM_UTF16_LE,
    "UTF-16 ": codecs.BOM_UTF16_BE,
}
"""How files of these kinds begin; no table of text does. (UTF-32 begins like UTF-16.)"""
WHOLE: Final = {"parquet": "Parquet", "orc": "ORC"}
UTF8: Final = "UTF-8"
LONGEST_CELL: Final = 1_000_000
"""Characters of CSV. A quote that is never closed would make one cell of the rest of the file."""
TOO_LONG: Final = (
    f"found a cell of more than {LONGEST_CELL:,} characters, allowed: fewer; a quoted text may "
    "never be closed"
)
UNCLOSED: Final = "unexpected end of data"
"""What the standard library says of a quote without its end."""
LOOKED_AT: Final = 1 << 16
MAX_JSON: Final = 1 << 22
"""Bytes of a file of JSON whose every line is looked at, because any can have one more name."""
MAX_SCHEMAS: Final = 1_000
"""Files whose columns are looked at."""
PASSED_OVER: Final = ("_", ".")
OTHER_ENCODING: Final = "a file in another encoding needs --read-option encoding=ISO-8859-1"
ONE_LINE: Final = "an object over several lines needs --read-option multiLine=true"
UNDERSTOOD: Final = {
    *("sep", "encoding", "multiLine", "inferSchema", "nullValue"),
    *("dateFormat", "timestampFormat", "recursiveFileLookup", "mode", "lineSep"),
}
"""Options in spite of which it can be said here what Spark will call the columns."""


class Kind(NamedTuple):
    """How files are read: a format of Spark's, and its options."""

    format: str
    options: Mapping[str, str]

    @property
    def encoding(self) -> str:
        """As Spark calls it."""
        return self.options.get("encoding", UTF8)


def kind_of(path: str, input_format: str | None, options: Mapping[str, str]) -> Kind:
    """The format by what was said, else by the file's ending, or by that of the folder's files."""
    ending = "" if input_format else _ending_of(path)
    kind = input_format or FORMATS[ending]
    settings = checked(options, kind)
    if ending == TABBED:
        settings.setdefault("sep", "\t")
    return Kind(kind, settings)


def readable(path: str, kind: Kind) -> None:
    """Refuse early what is clearly no such table: missing, empty, forbidden, of another kind."""
    place = local(path)
    if place is None or is_pattern(path):
        return
    if not place.exists():
        raise UserError(f"{path}: no such file or folder")
    if not place.is_file() and not place.is_dir():
        raise UserError(
            f"{path}: found a pipe or a device, allowed: a file or a folder; Spark reads more "
            "than once"
        )
    if place.is_file() and place.name.startswith(PASSED_OVER):
        raise UserError(
            f"{path}: found a name that begins with {place.name[0]}, which Spark passes over; "
            "rename it"
        )
    if place.is_file() and place.stat().st_size == 0:
        raise UserError(f"{path}: not a table: the file is empty")
    for file in files_in(place, path):
        if ":" in file.name:
            raise UserError(f"{file}: found a name with :, which Spark cannot read; rename it")
        if file.is_file() and file.stat().st_size:
            _check_begin(file, kind)


def names_in(path: str, kind: Kind) -> list[str] | None:
    """The columns that a table will have; None where that is not certain here."""
    place = local(path)
    if place is None or is_pattern(path):
        return None
    if not kind.options.keys() <= UNDERSTOOD:
        return None
    files = [file for file in files_in(place, path) if file.stat().st_size]
    if kind.format == "text":
        names: list[str] | None = ["value"]
    elif kind.format == "csv":
        names = _common_header(files, kind)
    elif kind.format == "json":
        names = _keys(files, kind)
    elif kind.format == "parquet":
        names = _schemas(files)
    else:
        names = None
    return None if names is None else [*names, *_partitions(files, place)]


def is_pattern(path: str) -> bool:
    """Whether a path stands for several, as Spark has it."""
    place = local(path)
    return any(mark in path for mark in "*?[{") and not (place and place.exists())


def files_in(place: Path, path: str) -> list[Path]:
    """The files that Spark reads."""

    def refuse(error: OSError) -> NoReturn:
        raise UserError(f"{error.filename}: cannot be read: {error.strerror}") from None

    if not place.is_dir():
        return [place]
    paths = []
    for folder, inside, files in os.walk(place, onerror=refuse):
        inside[:] = sorted(name for name in inside if not name.startswith(PASSED_OVER))
        paths += [Path(folder, name) for name in sorted(files) if not name.startswith(PASSED_OVER)]
    if not paths:
        raise UserError(f"{path}: found an empty folder, allowed: a table's file or files")
    return paths


def _ending_of(path: str) -> str:
    """The one ending of the file, or of the files in the folder."""
    place = local(path)
    names = [(place or Path(path)).name]
    if place is not None and place.is_dir():
        names = [file.name for file in files_in(place, path)]
    endings = sorted({_ending(name) for name in names})
    kinds = {(FORMATS.get(ending), ending == TABBED) for ending in endings}
    if len(kinds) == 1 and endings[0] in FORMATS:
        return endings[0]
    if all(ending in FORMATS for ending in endings):
        raise UserError(
            f"{path}: found {listed(endings)} in one folder, allowed: files of one kind"
        )
    if place is not None and not is_pattern(path) and not place.exists():
        raise UserError(f"{path}: no such file or folder")
    raise UserError(
        f"{path}: found {listed(ending or 'no ending' for ending in endings)}, "
        f"allowed: {', '.join(FORMATS)}; or say --input-format csv, json, orc, parquet or text"
    )


def _ending(name: str) -> str:
    stem = name.lower()
    for compression in COMPRESSIONS:
        stem = stem.removesuffix(compression)
    return Path(stem).suffix


def has_plain_folders(path: str) -> bool:
    """Whether there are folders inside that are not partitions (name=value)."""
    root = local(path)
    if root is None or not root.is_dir():
        return False
    inside = [folder.name for folder in root.iterdir() if folder.is_dir()]
    return any("=" not in name and not name.startswith(PASSED_OVER) for name in inside)


def _partitions(files: list[Path], place: Path) -> list[str]:
    """The names that folders called name=value give."""
    parts = files[0].relative_to(place).parts[:-1] if place.is_dir() and files else ()
    return [part.partition("=")[0] for part in parts if "=" in part]


def _check_begin(file: Path, kind: Kind) -> None:
    """Refuse a file that does not begin like one of its kind."""
    if kind.format in WHOLE:
        wanted = WHOLE[kind.format]
        if not _first(file, raw=True).startswith(BEGIN[wanted]):
            raise UserError(
                f"{file}: not a table of format {kind.format}: "
                f"found no {wanted} file, which would begin with {BEGIN[wanted].decode()}"
            )
        return
    if kind.encoding.startswith(("UTF-16", "UTF-32")):
        return
    begin = _first(file, most=LOOKED_AT // 16)
    for name, bytes_ in BEGIN.items():
        if begin.startswith(bytes_):
            way = ""
            if name.startswith("UTF"):
                way = f"; say --read-option encoding={name.strip()}"
            raise UserError(
                f"{file}: not a table of format {kind.format}: found {name.strip()}, "
                f"allowed: text in {kind.encoding}{way}"
            )
    if b"\0" in begin:
        raise UserError(
            f"{file}: not a table of format {kind.format}: found bytes that are no text, "
            f"allowed: text in {kind.encoding}"
        )


def _first(file: Path, *, raw: bool = False, most: int = LOOKED_AT) -> bytes:
    """How a file begins, unpacked; nothing where Python cannot unpack it."""
    ending = file.suffix.lower()
    try:
        if raw or ending not in COMPRESSIONS:
            with file.open("rb") as plain:
                return plain.read(most)
        if ending not in OPENED:
            return b""
        with OPENED[ending](file) as packed:
            return packed.read(most)
    except EOFError:
        raise UserError(f"{file}: cannot be read: the packed file ends too early") from None
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None


def _lines(begin: bytes, encoding: str) -> Iterator[str]:
    """The whole lines of how a file begins."""
    text = begin.decode(encoding, errors="replace").removeprefix("\ufeff")
    yield from (line.removesuffix("\r") for line in text.split("\n") if line.strip())


def _common_header(files: list[Path], kind: Kind) -> list[str] | None:
    """The header that all files have. Raises UserError where they have several."""
    if not files:
        return None
    first = _header(files[0], kind)
    for file in files[1:MAX_SCHEMAS] if first else []:
        other = _header(file, kind)
        if other is not None and other != first:
            raise UserError(
                f"{file}: header: found {named(other)}, allowed: the header of {files[0]}: "
                f"{named(first or [])}"
            )
    return first


def _header(file: Path, kind: Kind) -> list[str] | None:
    """The names of a header; none where Spark would make others of it."""
    begin = _first(file)
    cut = len(begin) == LOOKED_AT
    if b"\n" not in begin:  # lines that end as those of old Macs do
        begin = begin.replace(b"\r", b"\n")
    if not begin or (cut and b"\n" not in begin):
        return None
    head = begin[: begin.find(b"\n")] if b"\n" in begin.lstrip() else begin
    if kind.encoding == UTF8:
        try:
            head.decode()
        except UnicodeDecodeError:
            raise UserError(
                f"{file}: header: found bytes that are no UTF-8; {OTHER_ENCODING}"
            ) from None
    sep = kind.options.get("sep", ",").replace("\\t", "\t")
    if len(sep) != 1 or "lineSep" in kind.options:
        return None
    names = _cells(file, begin, sep, kind)
    if names is None:
        return None
    if not all(names):
        place = names.index("") + 1
        raise UserError(
            f"{file}: header: found no name for column {place} of {len(names)}, allowed: one for "
            "each column; pandas writes its index so, and without it by to_csv(index=False)"
        )
    if (refused := twice(file, names, " in the header")) is not None:
        raise refused
    return names


def _cells(file: Path, begin: bytes, sep: str, kind: Kind) -> list[str] | None:
    """The cells of a header; None where Spark may find others in it. Raises UserError."""
    try:
        lines = list(_lines(begin, kind.encoding))
    except LookupError:
        return None
    try:
        names = next(csv.reader(lines[:1], delimiter=sep, strict=True))
    except csv.Error as error:
        several = kind.options.get("multiLine", "").lower() == "true"
        if UNCLOSED in str(error) and _never_closed(lines if several else lines[:1], sep):
            raise UserError(
                f"{file}: header: found a quote that is never closed, allowed: names without, or "
                "with one at both ends"
            ) from None
        return None
    except StopIteration:
        return None
    return None if "\r" in lines[0] else names


def _never_closed(lines: Iterable[str], sep: str) -> bool:
    """Whether a header's quote has no end in these lines."""
    try:
        next(csv.reader([f"{line}\n" for line in lines], delimiter=sep, strict=True))
    except csv.Error as error:
        return UNCLOSED in str(error)
    return False


def _keys(files: list[Path], kind: Kind) -> list[str] | None:
    """All names that the objects of small files have."""
    names: dict[str, None] = {}
    if sum(file.stat().st_size for file in files) > MAX_JSON or kind.encoding != UTF8:
        return None
    for file in files:
        begin = _first(file, most=MAX_JSON)
        if len(begin) in (0, MAX_JSON):
            return None
        for line in _lines(begin, UTF8):
            try:
                row = json.loads(line, object_pairs_hook=each_key_once)
            except KeyError as error:
                raise key_twice(file, error) from None
            except RecursionError:
                raise too_deep(file) from None
            except ValueError:
                return None
            if not isinstance(row, dict):
                return None
            names |= dict.fromkeys(row)
    return list(names)


def each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON. Raises KeyError for a key that it has twice."""
    members = dict(pairs)
    if len(members) != len(pairs):
        keys = [key for key, _ in pairs]
        raise KeyError(next(key for key in keys if keys.count(key) > 1))
    return members


def key_twice(file: Path, error: KeyError) -> UserError:
    """That an object of JSON has a key twice, of which one value would be ignored."""
    return UserError(f"{file}: column {error.args[0]!r}: found twice in a line, allowed: once")


def too_deep(file: Path) -> UserError:
    """That lists or objects of JSON lie too deep in each other for any reader."""
    return UserError(f"{file}: found lists or objects too deep in each other, allowed: a flat row")


def text_after(file: Path | str, line: str) -> UserError:
    """That something stands behind an object of JSON on its line, and would be passed over."""
    return UserError(
        f"{file}: found text after an object on its line: '{line[:LONGEST_SHOWN]}', allowed: one "
        "object of JSON on each line"
    )


def twice(file: Path | str, names: Sequence[str], where: str = "") -> MessageError | None:
    """That several columns have one name, if so; upper and lower case are alike."""
    folded = Counter(name.lower() for name in names)
    for name in names:
        if (times := folded[name.lower()]) > 1:
            return MessageError(
                f"{file}: column {name!r}: found {times} times{where}, allowed: once (upper and "
                "lower case are alike)"
            )
    return None


def damaged(error: Exception) -> str:
    """Why a file that begins like Parquet cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.errno else None
    return reason or "it is damaged, or cut off"


def _schemas(files: list[Path]) -> list[str] | None:
    """All names that Parquet files have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, None] = {}
    if len(files) > MAX_SCHEMAS:
        return None
    for file in files:
        try:
            names = pq.read_schema(file).names
        except (pa.ArrowException, OSError) as error:
            raise UserError(f"{file}: not a table of format parquet: {damaged(error)}") from None
        if len(set(names)) < len(names) and (refused := twice(file, names)) is not None:
            raise refused
        columns |= dict.fromkeys(names)
    return list(columns)
