"""Changes from a file of any kind that is allowed, Parquet among them."""

from __future__ import annotations

from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.balance.change import Change
from fairlead.config import changes
from fairlead.config.paths import path_of
from fairlead.errors import ChangeError
from fairlead.extras import need
from fairlead.rows import CHANGED, without_decisions
from fairlead.runs.files import BEGIN, Kind, damaged, names_in

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = ".parquet"
OUTCOME = "outcome"


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


def of_journal(path: str | Path, kind: Kind) -> list[Change]:
    """The changes that stand in a journal beside its messages; none in a table of another kind.

    Raises ChangeError.
    """
    place = Path(path)
    if not place.is_file() or place.stat().st_size == 0:
        return []
    if place.suffix.lower() == PARQUET:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        try:
            names = pq.read_schema(place).names
            if without_decisions(names) == names:
                return []
            outcomes = pq.read_table(place, columns=[OUTCOME]).column(OUTCOME)
            there = pc.any(pc.equal(pc.cast(outcomes, pa.string()), CHANGED)).as_py()
        except (pa.ArrowException, OSError):
            return []  # the table says itself what is wrong with it
    elif place.suffix.lower() in changes.READERS:
        names = names_in(str(place), kind) or []
        if without_decisions(names) == names:
            return []
        with place.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            there = content.find(CHANGED.encode()) >= 0
    else:
        return []
    return load_changes(place) if there else []


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
        values: list[object] = column.to_pylist()
    except (ValueError, OverflowError, LookupError):
        raise ChangeError(
            f"{where}: found {column.type} that cannot be read, allowed: text in UTF-8, and dates "
            "from 0001 to 9999 in a zone that is known"
        ) from None
    return values
