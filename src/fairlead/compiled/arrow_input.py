"""Tables as people have them: Arrow's, those of other libraries, and rows of plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from fairlead.balance.objects import kind_of
from fairlead.errors import MessageError

ALLOWED: Final = (
    "a pyarrow.Table, a DataFrame of pandas or Polars, anything with the Arrow stream interface, "
    "or a list of dicts"
)
OF_SPARK: Final = "pyspark.DataFrame"


def table_of(messages: object) -> pa.Table:
    """The messages as a table of Arrow's. Raises MessageError for what is no table."""
    if isinstance(messages, pa.Table):
        return messages
    kind = kind_of(messages)
    if kind == OF_SPARK:
        raise MessageError(
            f"messages: found a {kind}, allowed: {ALLOWED}; fairlead.dispatch takes one of Spark"
        )
    try:
        table = _made(messages, kind)
    except (pa.ArrowException, TypeError, ValueError) as error:
        line = str(error).splitlines()[0]
        raise MessageError(f"messages: found a {kind} that is no table: {line}") from None
    if table is None:
        raise MessageError(f"messages: found a {kind}, allowed: {ALLOWED}")
    return table


def _made(messages: Any, kind: str) -> pa.Table | None:  # noqa: ANN401 - anything that was given
    if kind == "pandas.DataFrame":
        return pa.Table.from_pandas(messages, preserve_index=False)
    if hasattr(messages, "__arrow_c_stream__"):
        return pa.table(messages)
    if isinstance(messages, Mapping):
        return pa.table(dict(messages))
    if isinstance(messages, Sequence) and all(isinstance(row, Mapping) for row in messages):
        # A name need not be in the first row.
        names = dict.fromkeys(name for row in messages for name in row)
        return pa.table({name: [row.get(name) for row in messages] for name in names})
    return None
