"""The columns of a store's tables, as Spark and as Arrow have them, and the rows in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from fairlead.balance.message import ATTRIBUTES
from fairlead.rows import (
    EVENT_COLUMNS,
    JOURNAL,
    JOURNAL_COLUMNS,
    MOMENT,
    REDELIVERED,
    SECONDS,
    TEXT,
    WHOLE,
)
from fairlead.store.admin.views import BYTES, VIEW_COLUMNS
from fairlead.store.journal.export import journal_row

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from fairlead.store.journal.events import Event

SAID: Final = tuple(sorted(ATTRIBUTES - {*JOURNAL}))
"""Attributes of messages, which have a column each: what was not said is null."""
PLACES: Final = {name: place for place, name in enumerate(SAID)}
COLUMNS: Final[dict[str, dict[str, str]]] = {
    "journal": {column.name: column.kind for column in EVENT_COLUMNS},
    "decisions": {
        **{column.name: column.kind for column in JOURNAL_COLUMNS},
        **dict.fromkeys(SAID, TEXT),
        "said": TEXT,
    },
    **VIEW_COLUMNS,
}
"""Table → column → what kind of value it has; moments are seconds since 1970."""
ROWS: Final = 4096
"""Of a batch."""


def spark_schema(table: str) -> StructType:
    """The columns of a table, for Spark."""
    from pyspark.sql import types as T

    kinds: dict[str, T.DataType] = {
        TEXT: T.StringType(),
        WHOLE: T.LongType(),
        SECONDS: T.DoubleType(),
        MOMENT: T.DoubleType(),
        BYTES: T.BinaryType(),
    }
    return T.StructType([T.StructField(name, kinds[kind]) for name, kind in COLUMNS[table].items()])


def batches(table: str, rows: Iterable[Sequence[Any]]) -> Iterator[pa.RecordBatch]:
    """Rows in batches of Arrow; each row has the values of the table's columns in their order."""
    import pyarrow as pa

    kinds = {
        TEXT: pa.string(),
        WHOLE: pa.int64(),
        SECONDS: pa.float64(),
        MOMENT: pa.float64(),
        BYTES: pa.binary(),
    }
    schema = pa.schema([(name, kinds[kind]) for name, kind in COLUMNS[table].items()])
    every = iter(rows)
    while page := list(islice(every, ROWS)):
        arrays = [
            pa.array(values, field.type)
            for field, values in zip(schema, zip(*page, strict=True), strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def decided(events: Iterable[Event]) -> Iterator[Sequence[Any]]:
    """The rows of decisions; a message's rows have the number of the first one as `position`.

    What was chosen again as a receiver had failed is left out, as the export of a journal does.
    """
    position, message = 0, None
    for event in events:
        if event.detail == REDELIVERED:
            continue
        if message != (message := (event.cluster, event.stream, event.sequence)):
            position = event.position
        yield *journal_row(event, position), *_said(event.said), event.said


def _said(text: str | None) -> list[str | None]:
    """The values of the attributes of a message, as text."""
    values: list[str | None] = [None] * len(SAID)
    for name, value in (json.loads(text) if text else {}).items():
        if value is not None and (place := PLACES.get(name)) is not None:
            values[place] = value if isinstance(value, str) else json.dumps(value)
    return values
