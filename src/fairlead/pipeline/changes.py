"""Changes from a Parquet file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fairlead.balance.change import Change
from fairlead.config.changes import COLUMNS, NEEDED, changes_of
from fairlead.errors import ChangeError


def load_parquet(path: Path) -> list[Change]:
    """The changes in a Parquet file, in its order. Raises ChangeError."""
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise ChangeError(f"{path}: not a Parquet file: {error}") from None
    for name in NEEDED:
        if name not in table.column_names:
            raise ChangeError(f"{path}: no column {name!r}, found: {', '.join(table.column_names)}")
    for name in table.column_names:
        if name not in COLUMNS:
            raise ChangeError(f"{path}: column: found {name!r}, allowed: {', '.join(COLUMNS)}")
    return changes_of(enumerate(table.to_pylist(), 1), str(path))
