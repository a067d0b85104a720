"""Copy rows into a table of PostgreSQL, from executors: each task in one statement of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame

from fairlead.errors import MessageError, StoreError

SCHEMA: Final = "attempt string, rows bigint, error string"
Make = Callable[[str, dict[str, Any]], tuple[object, ...]]
"""Takes the name of the attempt and a row; gives the row of the table. Raises MessageError."""


def copy_out(
    rows: DataFrame, url: str, table: str, columns: tuple[str, ...], make: Make
) -> list[tuple[str, int]]:
    """Copy rows; the names of the attempts that have ended well, and how many rows each copied.

    What a task copied that failed, or that ran a second time, is under another name. Raises
    MessageError for a row that `make` refuses, StoreError.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        attempt, count, error = _copied(batches, url, table, columns, make)
        yield pa.RecordBatch.from_pydict(
            {"attempt": [attempt], "rows": [count], "error": [error]},
            pa.schema({"attempt": pa.string(), "rows": pa.int64(), "error": pa.string()}),
        )

    ended = rows.mapInArrow(task, SCHEMA).collect()
    for row in ended:
        if row["error"] is not None:
            raise (MessageError if row["rows"] else StoreError)(row["error"])
    return [(row["attempt"], row["rows"]) for row in ended]


def _copied(
    batches: Iterator[pa.RecordBatch], url: str, table: str, columns: tuple[str, ...], make: Make
) -> tuple[str, int, str | None]:
    """The attempt, its rows, and what was wrong: with a row (then 1), or with the store (0)."""
    import psycopg

    from fairlead.store.database.postgresql import settings_for, without_password

    attempt, count = secrets.token_hex(8), 0
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    try:
        with (
            psycopg.connect(url, **settings_for(url)) as connection,
            connection.cursor() as cursor,
            cursor.copy(statement.encode()) as copy,
        ):
            for batch in batches:
                names = batch.schema.names
                values = [column.to_pylist() for column in batch.columns]
                for row in zip(*values, strict=True):
                    copy.write_row(make(attempt, dict(zip(names, row, strict=True))))
                    count += 1
    except MessageError as error:
        return attempt, 1, str(error)
    except psycopg.Error as error:
        line = str(error).partition("\n")[0]
        return attempt, 0, f"{without_password(url)}: {line}"
    return attempt, count, None
