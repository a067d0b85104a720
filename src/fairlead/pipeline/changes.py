"""Changes from a file of any kind that is allowed, Parquet among them."""

from __future__ import annotations

from pathlib import Path

from fairlead.balance.change import Change
from fairlead.config import changes
from fairlead.config.paths import path_of
from fairlead.errors import ChangeError

PARQUET = ".parquet"


def load_changes(path: str | Path) -> list[Change]:
    """The changes of a file, in its order: CSV with a header, JSON lines, or Parquet.

    Columns: `time` (a timestamp, or a number of seconds), `target`, `attribute`, and `value`, which
    may be missing. Raises ChangeError with one line that names file, row, what was found and what
    is allowed.
    """
    place = path_of(path, ChangeError)
    if place.suffix.lower() == PARQUET and place.is_file():
        return load_parquet(place)
    if place.is_file() and place.suffix.lower() not in changes.READERS:
        allowed = ", ".join((*changes.READERS, PARQUET))
        raise ChangeError(f"{path}: found {place.suffix or 'no ending'}, allowed: {allowed}")
    return changes.load_changes(path)


def load_parquet(path: Path) -> list[Change]:
    """The changes in a Parquet file, in its order. Raises ChangeError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read()
        rows = table.to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ChangeError(f"{path}: not a Parquet file: {error}") from None
    changes.check_names(table.column_names, str(path))
    return changes.changes_of(enumerate(rows, 1), str(path))
