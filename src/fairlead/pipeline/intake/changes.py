"""Changes from a file of any kind that is allowed, Parquet among them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.balance.change import Change
from fairlead.config import changes
from fairlead.config.paths import path_of
from fairlead.errors import ChangeError
from fairlead.extras import need
from fairlead.pipeline.intake.files import BEGIN, damaged

if TYPE_CHECKING:
    import pyarrow as pa

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
    if place.exists() and not place.is_dir() and place.suffix.lower() not in changes.READERS:
        allowed = ", ".join((*changes.READERS, PARQUET))
        raise ChangeError(f"{path}: found {place.suffix or 'no ending'}, allowed: {allowed}")
    return changes.load_changes(path)


def load_parquet(path: Path) -> list[Change]:
    """The changes in a Parquet file, in its order. Raises ChangeError."""
    need("tables", str(path))
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            if not file.read(4).startswith(BEGIN["Parquet"]):
                raise ChangeError(f"{path}: not a Parquet file: it does not begin like one")
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise ChangeError(f"{path}: not a Parquet file: {damaged(error)}") from None
    return of_table(table, str(path))


def of_table(table: pa.Table, where: str) -> list[Change]:
    """The changes in an Arrow table, in its order. Raises ChangeError."""
    changes.check_names(table.column_names, where)
    columns = {name: _values(table[name], f"{where}: {name}") for name in table.column_names}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return changes.changes_of(enumerate(rows, 1), where)


def _values(column: pa.ChunkedArray, where: str) -> list[object]:
    """A column's values as Python has them. Raises ChangeError where it has them not."""
    try:
        found: list[object] = column.to_pylist()
    except (ValueError, OverflowError, LookupError):
        raise ChangeError(
            f"{where}: found {column.type} that cannot be read, allowed: text in UTF-8, and dates "
            "from 0001 to 9999 in a zone that is known"
        ) from None
    return found
