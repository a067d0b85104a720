"""Changes files: what happened to the cluster and when, as CSV or JSON lines."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from fairlead.balance.change import Change
from fairlead.balance.objects import hint, listed, shown
from fairlead.errors import ChangeError

COLUMNS: Final = ("time", "target", "attribute", "value")
NEEDED: Final = ("time", "target", "attribute")
MICROS: Final = 1_000_000
TIMES: Final = "a timestamp, or a number of seconds"
LATEST: Final = 9_000_000_000_000
"""Seconds; microseconds of it still fit into 64 bits."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
TIMESTAMP: Final = (
    r"(?!0000)(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?"
    r" ?(Z|UTC|GMT|[+-]\d{4}|[+-]\d{1,2}(?::\d{2})?)?)?"
)
"""A text that is a timestamp, whoever reads it; Python and Java understand the pattern alike.

It has a date, for nobody is to complete one from the day on which he reads it, and no zone but UTC
and an offset: other zones skip an hour and have one twice, and their short names mean several.
"""
BLANK: Final = " \t\r\n"
"""What may stand around a time."""
NANO: Final = Decimal("1e-9")
FURTHEST: Final = timedelta(hours=18)
"""The largest offset of a zone."""


def load_changes(path: str | Path) -> list[Change]:
    """The changes of a CSV file (with a header) or a file of JSON lines, in the file's order.

    Columns: `time` (a timestamp, or a number of seconds), `target`, `attribute`, and `value`, which
    may be missing. Raises ChangeError with one line that names file, row, what was found and what
    is allowed.
    """
    place = Path(path)
    reader = READERS.get(place.suffix.lower())
    if not place.is_file():
        raise ChangeError(f"{path}: no such file")
    if reader is None:
        raise ChangeError(
            f"{path}: found {place.suffix or 'no ending'}, allowed: {', '.join(READERS)}; "
            "fairlead.load_changes reads .parquet, too"
        )
    try:
        rows = reader(place.read_text(encoding="utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise ChangeError(f"{path}: not a text in UTF-8: {error.reason}") from None
    except OSError as error:
        raise ChangeError(f"{path}: cannot be read: {error.strerror}") from None
    return changes_of(rows, str(path))


def changes_of(rows: Iterable[tuple[int, Mapping[str, Any]]], path: str) -> list[Change]:
    """Changes from (row number, row) pairs."""
    return [_change(row, f"{path}:{number}") for number, row in rows]


def _csv(text: str, path: str) -> list[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    found = reader.fieldnames
    if not found:
        raise ChangeError(f"{path}: the file is empty, allowed: a header with {', '.join(COLUMNS)}")
    check_names(found, f"{path}:1")
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise ChangeError(f"{path}:{reader.line_num}: not CSV: {error}") from None


def _json(text: str, path: str) -> list[tuple[int, Mapping[str, Any]]]:
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_float=Decimal, object_pairs_hook=_Pairs)
        except json.JSONDecodeError as error:
            raise ChangeError(f"{path}:{number}: not JSON: {error.msg}") from None
        if not isinstance(row, _Pairs):
            raise ChangeError(f"{path}:{number}: found {line.strip()[:40]}, allowed: an object")
        check_names([name for name, _ in row], f"{path}:{number}")
        rows.append((number, dict(row)))
    return rows


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON as it stands there: a name may come twice."""

    def __repr__(self) -> str:
        return repr(dict(self))


READERS: Final = {".csv": _csv, ".json": _json, ".jsonl": _json, ".ndjson": _json}


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse columns that changes do not have, have twice, or lack. Raises ChangeError."""
    found = list(names)
    for name in found:
        if found.count(name) > 1:
            raise ChangeError(
                f"{where}: column {name!r}: found {found.count(name)} times, allowed: once"
            )
        if name not in COLUMNS:
            raise ChangeError(
                f"{where}: column: found {name!r}, allowed: {', '.join(COLUMNS)}"
                f"{hint(str(name), COLUMNS)}"
            )
    for name in NEEDED:
        if name not in found:
            raise ChangeError(f"{where}: no column {name!r}, found: {listed(found)}")


def _change(row: Mapping[str, Any], where: str) -> Change:
    if None in row:
        raise ChangeError(f"{where}: found more values than columns")
    for name in ("target", "attribute"):
        if not isinstance(row.get(name), str) or not row[name]:
            raise ChangeError(f"{where}: {name}: found {shown(row.get(name))}, allowed: a text")
    time = micros(row.get("time"))
    if time is None:
        raise ChangeError(f"{where}: time: found {row.get('time')!r}, allowed: {TIMES}")
    return Change(row["target"], row["attribute"], row.get("value"), time, where)


def micros(value: object) -> int | None:
    """A time in whole microseconds: a number of seconds, or a timestamp (UTC if it has no zone)."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, datetime):
        return _since_epoch(value)
    text = str(value)
    seconds = number(text)
    return _timestamp(text.strip(BLANK)) if seconds is None else in_micros(seconds)


def number(text: str) -> Decimal | None:
    """A text that is a number of seconds; None where it is none, or more than 64 bits hold."""
    word = text.strip(BLANK)
    if "_" in word or word != word.strip():
        return None  # Python alone would take it
    try:
        found = Decimal(word)
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found) <= LATEST else None


def in_micros(seconds: Decimal) -> int:
    """Whole microseconds of a number, to nine digits, halves away from zero."""
    written = seconds.quantize(NANO, ROUND_HALF_UP)
    return int((written * MICROS).to_integral_value(ROUND_HALF_UP))


def _timestamp(text: str) -> int | None:
    found = re.fullmatch(TIMESTAMP, text, re.ASCII)
    if found is None:
        return None
    *numbers, fraction, zone = found.groups()
    year, month, day, hour, minute, second = (int(each or 0) for each in numbers)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    offset = _offset(zone or "Z")
    if offset is None:
        return None
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return _since_epoch(moment) - offset // timedelta(microseconds=1) + micros


def _offset(zone: str) -> timedelta | None:
    """How far a zone is before UTC."""
    if zone[0] not in "+-":
        return timedelta()
    hours, _, minutes = zone[1:].partition(":")
    if len(hours) == 4:
        hours, minutes = hours[:2], hours[2:]
    found = timedelta(hours=int(hours), minutes=int(minutes or 0))
    if int(minutes or 0) > 59 or found > FURTHEST:
        return None
    return -found if zone[0] == "-" else found


def _since_epoch(moment: datetime) -> int:
    known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    delta = known - EPOCH
    return (delta.days * 86_400 + delta.seconds) * MICROS + delta.microseconds
