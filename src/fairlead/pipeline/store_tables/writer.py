"""Write a table into the queues of a store: tasks hand over rows, and one commit publishes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from fairlead.balance.objects import repr_of
from fairlead.balance.times import TIMES, micros
from fairlead.compiled.row_checks import SENT, SENT_SECONDS
from fairlead.errors import MessageError
from fairlead.pipeline.store_tables.write_request import WriteRequest
from fairlead.runs.progress import quiet
from fairlead.runs.staged_delivery import deliver_staged, staged
from fairlead.runs.store_delivery import (
    TEXTS,
    DeliveredRun,
    RowReader,
    TableRow,
    deliver_rows,
    refuse_known,
    refuse_others,
)
from fairlead.store.database.run_file import WAIT
from fairlead.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

ATTEMPT: Final = "commit"


@dataclass
class TaskRows(WriterCommitMessage):
    """The rows of a task, as one batch of Arrow's."""

    rows: bytes


class RunWriter(DataSourceArrowWriter):
    """A run of many messages. Nothing of it is in the store before the commit, which brings it all.

    Each task hands its rows over to the driver's Python; a task that ran twice hands over once.
    """

    def __init__(self, request: WriteRequest) -> None:
        """`request`: what was asked."""
        self.request = request

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskRows:
        import pyarrow as pa

        sink, writer = pa.BufferOutputStream(), None
        for batch in iterator:
            writer = writer or pa.ipc.new_stream(sink, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
        return TaskRows(sink.getvalue().to_pybytes())

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Publish the rows of all tasks. Raises UserError; then nothing was published."""
        request = self.request
        handed_over = [message.rows for message in messages if isinstance(message, TaskRows)]
        with Store.open(request.url, create=False) as store:
            store.loaded_cluster(request.cluster)  # refused if there is none
            refuse_others(store, [request.cluster], request.others)
            refuse_known(store, request.run)
            every = ordered(request, reads_of(store, request), handed_over)
            delivered = DeliveredRun(request.run, read=len(every))
            if store.can_reserve(request.cluster):
                deliver_staged(
                    store,
                    delivered,
                    lambda run: [
                        run.copy(ATTEMPT, (staged(ATTEMPT, key, row) for key, row in every))
                    ],
                    quiet,
                )
            else:
                deliver_rows(
                    store,
                    delivered,
                    lambda: (row for _, row in every),
                    lambda *_: None,
                    len(every),
                    [request.cluster],
                    request.others or WAIT,
                )

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing of it is in the store."""


def reads_of(store: Store, request: WriteRequest) -> RowReader:
    """What makes messages of the rows."""
    known = {*request.columns}
    reads = {*store.pool(request.cluster).reads} & known
    columns = tuple(name for name in (*TEXTS, *SENT, *SENT_SECONDS) if name in known)
    return RowReader(
        columns, {request.cluster: tuple(sorted(reads - {"group", "type"}))}, as_json=False
    )


def ordered(
    request: WriteRequest, reader: RowReader, handed_over: Sequence[bytes]
) -> list[tuple[int, TableRow]]:
    """The messages in the order of `position`, else of `time`, then `id`, each with its key.

    Raises MessageError for a row that is no message, and for an id that is there twice.
    """
    import pyarrow as pa

    every: list[tuple[int, TableRow]] = []
    names: set[str] = set()
    for rows in filter(None, handed_over):
        for row in pa.ipc.open_stream(rows).read_all().to_pylist():
            id_ = row["id"]
            if id_ is None or not str(id_):
                raise MessageError("id: found nothing, allowed: an id of its own for each message")
            if str(id_) in names:
                raise MessageError(
                    f"id: found {id_!r} twice, allowed: an id of its own for each message"
                )
            names.add(str(id_))
            plain = {name: value_of(str(id_), name, row[name]) for name in row}
            message = reader(request.cluster, str(id_), body_of(request, row), plain)
            every.append((key_of(str(id_), row), message))
    every.sort(key=lambda keyed: (keyed[0], keyed[1].id.encode()))
    return every


def key_of(id_: str, row: Mapping[str, Any]) -> int:
    """By which a row is ordered. Raises MessageError."""
    if "position" in row:
        place = row["position"]
        if not isinstance(place, int):
            raise MessageError(
                f"message {id_!r}: position: found {repr_of(place)}, allowed: an integer"
            )
        return place
    time = None if row["time"] is None else micros(row["time"])
    if time is None:
        raise MessageError(f"message {id_!r}: time: found {repr_of(row['time'])}, allowed: {TIMES}")
    return time


def value_of(id_: str, name: str, value: object) -> object:
    """A value as a message is sent with it. Raises MessageError."""
    if value in (None, ""):
        return value
    try:
        if name in SENT:
            return int(str(value))
        if name in SENT_SECONDS:
            return float(str(value))
    except ValueError:
        raise MessageError(
            f"message {id_!r}: {name}: found {repr_of(value)}, allowed: a number"
        ) from None
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str | bytes) else str(value)


def body_of(request: WriteRequest, row: Mapping[str, Any]) -> object:
    """The body: bytes or text as they are; JSON of other types, and of several columns."""
    (first, *more) = request.body
    if not more and (row[first] is None or isinstance(row[first], bytes | str)):
        return "" if row[first] is None else row[first]
    content = {name: row[name] for name in request.body}
    try:
        json.dumps(content)
    except TypeError as error:
        raise MessageError(
            f"message {row['id']!r}: body: {error}, allowed: texts, numbers, and lists and tables "
            "of them; cast the column, or use fairlead.deliver"
        ) from None
    return content
