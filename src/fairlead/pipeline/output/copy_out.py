"""Copy rows into a table of PostgreSQL, from executors: each task in one statement of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame

from fairlead.errors import MessageError, StoreError

SCHEMA: Final = "attempt string, refused string, failed string, rows bigint"
"""`refused`: what is wrong with a row; `failed`: with the store."""
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
        texts = dict.fromkeys(("attempt", "refused", "failed"), pa.string())
        schema = pa.schema({**texts, "rows": pa.int64()})
        ended = _copied(batches, url, table, columns, make)
        yield pa.RecordBatch.from_pylist([ended], schema)

    ended = rows.mapInArrow(task, SCHEMA).collect()
    for row in ended:
        if row["refused"] is not None:
            raise MessageError(row["refused"])
        if row["failed"] is not None:
            raise StoreError(row["failed"])
    return [(row["attempt"], row["rows"]) for row in ended]


def _copied(
    batches: Iterator[pa.RecordBatch], url: str, table: str, columns: tuple[str, ...], make: Make
) -> dict[str, object]:
    """How the attempt has ended, as a row of SCHEMA."""
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
        return {"attempt": attempt, "rows": 0, "refused": str(error)}
    except psycopg.Error as error:
        line = str(error).partition("\n")[0]
        return {"attempt": attempt, "rows": 0, "failed": f"{without_password(url)}: {line}"}
    return {"attempt": attempt, "rows": count}
