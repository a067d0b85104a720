"""Changes files: what happened to the cluster and when, as CSV or JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from sys import get_int_max_str_digits
from typing import Any, Final

from fairlead.balance.change import RESET, Change
from fairlead.balance.objects import hint, listed, shown
from fairlead.config.paths import path_of
from fairlead.config.text import text_of
from fairlead.errors import ChangeError
from fairlead.rows import CHANGED, JOURNAL

COLUMNS: Final = ("time", "target", "attribute", "value")
NEEDED: Final = ("time", "target", "attribute")


def load_changes(path: str | Path) -> list[Change]:
    """The changes of a CSV file (with a header) or a file of JSON lines, in the file's order.

    Columns: `time` (a timestamp, or a number of seconds), `target`, `attribute`, and `value`, which
    may be missing. Raises ChangeError with one line that names file, row, what was found and what
    is allowed.
    """
    place = path_of(path, ChangeError)
    reader = READERS.get(place.suffix.lower())
    if place.is_dir():
        raise ChangeError(f"{path}: found a folder, allowed: a file")
    if not place.exists():
        raise ChangeError(f"{path}: no such file")
    if not place.is_file():
        raise ChangeError(f"{path}: found a pipe or a device, allowed: a file")
    if reader is None:
        raise ChangeError(
            f"{path}: found {place.suffix or 'no ending'}, allowed: {', '.join(READERS)}; "
            "fairlead.load_changes reads .parquet, too"
        )
    return changes_of(reader(text_of(path, ChangeError), str(path)), str(path))


def changes_of(rows: Iterable[tuple[int, Mapping[str, Any]]], path: str) -> list[Change]:
    """Changes from (row number, row) pairs."""
    return [_change(row, f"{path}:{number}") for number, row in _of_journal(list(rows))]


def _of_journal(rows: list[tuple[int, Mapping[str, Any]]]) -> list[tuple[int, Mapping[str, Any]]]:
    """The rows that are changes: of a live journal those that were made, else all.

    What followed of itself from others follows of itself again.
    """
    if not rows or not _is_journal(rows[0][1]):
        return rows
    several = len({row["cluster"] for _, row in rows if row["cluster"]}) > 1
    changes: list[tuple[int, Mapping[str, Any]]] = []
    for number, row in rows:
        if row["outcome"] == CHANGED and row["target"]:
            change = {name: row[name] for name in COLUMNS}
            if several:
                reset, owner = row["attribute"] == RESET, row["cluster"]
                change["target"] = owner if reset else f"{row['target']}@{owner}"
            changes.append((number, change))
    return changes


def _is_journal(names: Iterable[str]) -> bool:
    return {*JOURNAL} <= {*names}


def _csv(text: str, path: str) -> list[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = reader.fieldnames
        rows: list[tuple[int, Mapping[str, Any]]] = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise ChangeError(f"{path}:{reader.line_num}: not CSV: {error}") from None
    if not names:
        fault = f"{path}:1: found an empty line" if text else f"{path}: the file is empty"
        raise ChangeError(f"{fault}, allowed: a header with {', '.join(COLUMNS)}")
    check_names(names, f"{path}:1")
    return rows


def _json(text: str, path: str) -> list[tuple[int, Mapping[str, Any]]]:
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_float=Decimal, object_pairs_hook=_Object)
        except json.JSONDecodeError as error:
            raise ChangeError(f"{path}:{number}: not JSON: {error.msg}") from None
        except ValueError:
            most = get_int_max_str_digits()
            raise ChangeError(
                f"{path}:{number}: found an integer of more than {most} digits, allowed: fewer"
            ) from None
        except RecursionError:
            raise ChangeError(
                f"{path}:{number}: found lists or objects too deep in each other, "
                f"allowed: {', '.join(COLUMNS)}, each a text, a number or a list"
            ) from None
        if not isinstance(row, _Object):
            raise ChangeError(f"{path}:{number}: found {line.strip()[:40]}, allowed: an object")
        check_names(row.names, f"{path}:{number}")
        rows.append((number, row))
    return rows


class _Object(dict[str, Any]):
    """An object of JSON, and its names as they stand there: one may come twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        """From what stands in the file."""
        super().__init__(pairs)
        self.names = [name for name, _ in pairs]


READERS: Final = {".csv": _csv, ".json": _json, ".jsonl": _json, ".ndjson": _json}


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse columns that changes do not have, have twice, or lack. Raises ChangeError."""
    columns = list(names)
    for name in columns:
        if columns.count(name) > 1:
            raise ChangeError(
                f"{where}: column {name!r}: found {columns.count(name)} times, allowed: once"
            )
        if name not in COLUMNS and not _is_journal(columns):
            raise ChangeError(
                f"{where}: column: found {name!r}, allowed: {', '.join(COLUMNS)}"
                f"{hint(str(name), COLUMNS)}"
            )
    for name in NEEDED:
        if name not in columns and not _is_journal(columns):
            raise ChangeError(f"{where}: no column {name!r}, found: {listed(columns)}")


def _change(row: Mapping[str, Any], where: str) -> Change:
    if None in row:
        raise ChangeError(f"{where}: found more values than columns")
    for name in ("target", "attribute"):
        if not isinstance(row.get(name), str) or not row[name]:
            raise ChangeError(f"{where}: {name}: found {shown(row.get(name))}, allowed: a text")
    return Change(row["target"], row["attribute"], row.get("value"), row["time"], where)
