"""The data source: what Spark asks of it, on the driver and on executors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceWriter,
    InputPartition,
)

from fairlead.errors import UserError
from fairlead.pipeline.store_tables.columns import batches, decided, spark_schema
from fairlead.pipeline.store_tables.request import JOURNALS, StoreRequest, request_of
from fairlead.pipeline.store_tables.write_request import write_request_of
from fairlead.pipeline.store_tables.writer import RunWriter
from fairlead.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from fairlead.store.journal.events import Event

CURSOR = "cursor"


class StoreTables(DataSource):
    """`spark.read.format("fairlead").option("store", url).load(table)`.

    And `table.write.format("fairlead").mode("append").options(store=url, cluster=…, run=…).save()`.
    Tables: `journal` and `decisions`, also as streams, `waiting` and `dead_letters`. Options:
    `store`; of the first two `cluster`, `from`, `until`, `partitions`; of the others `queue`.
    """

    @classmethod
    def name(cls) -> str:
        return "fairlead"

    def schema(self) -> StructType:
        return spark_schema(request_of(self.options).table)

    def reader(self, schema: StructType) -> DataSourceReader:
        return StoreReader(request_of(self.options))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return RunWriter(write_request_of(self.options, schema.names, overwrite=overwrite))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        request = request_of(self.options)
        if request.table not in JOURNALS:
            raise UserError(
                f"spark.readStream: found {request.table}, allowed: {' or '.join(JOURNALS)}, which "
                "only grow"
            )
        return StoreStreamReader(request)


class JournalRange(InputPartition):
    """What one task reads of a journal: after one cursor, and up to another one."""

    def __init__(self, since: str | None, until: str | None) -> None:
        """None: from the first event that is kept, or a table that is read whole."""
        super().__init__((since, until))
        self.since, self.until = since, until


class StoreReader(DataSourceReader):
    """A table of a store as it is when Spark plans to read it."""

    def __init__(self, request: StoreRequest) -> None:
        """`request`: what was asked."""
        self.request = request

    def partitions(self) -> list[InputPartition]:
        if self.request.table not in JOURNALS:
            return [JournalRange(None, None)]
        return ranges(self.request, None, None)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, JournalRange) and partition.until is not None:
            yield from journal_batches(self.request, partition)
        elif self.request.table not in JOURNALS:
            with _opened(self.request) as store:
                rows = store.view_rows(self.request.table, self.request.queue)
            yield from batches(self.request.table, rows)


class StoreStreamReader(DataSourceStreamReader):
    """A journal as it grows: an offset is the cursor of an event."""

    def __init__(self, request: StoreRequest) -> None:
        """`request`: what was asked."""
        self.request = request

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's
        return {CURSOR: ""}

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:  # noqa: N802
        with _opened(self.request) as store:
            return {CURSOR: store.latest() or start[CURSOR]}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        if start == end:
            return []
        return ranges(self.request, start[CURSOR] or None, end[CURSOR])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, JournalRange):
            yield from journal_batches(self.request, partition)


def ranges(request: StoreRequest, since: str | None, until: str | None) -> list[InputPartition]:
    """The parts of the journal between two cursors, for a task each. Raises StoreError."""
    with _opened(request) as store:
        if request.cluster is not None:
            store.pool(request.cluster)  # refused if there is none
        parts = store.journal_parts(request.partitions, since, until)
    # Spark takes no plan without any partition for an empty table
    return [JournalRange(*part) for part in parts] or [JournalRange(None, None)]


def journal_batches(request: StoreRequest, part: JournalRange) -> Iterator[pa.RecordBatch]:
    """The rows of a part. Raises PrunedError where some are kept no more, and StoreError."""
    if part.until is None:
        return
    with _opened(request) as store:
        events: Iterator[Event] = store.journal(
            part.since,
            until=part.until,
            cluster=request.cluster,
            start=request.start,
            end=request.end,
            kind="decided" if request.table == "decisions" else None,
        )
        rows = decided(events) if request.table == "decisions" else events
        yield from batches(request.table, rows)


def _opened(request: StoreRequest) -> Store:
    return Store.open(request.url, create=False)
