"""Columns that the stages add and drop again (a user's own must not begin so), and small helps."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fairlead.runs.constants import PREFIX

KEY: Final = PREFIX + "key"
"""What orders the messages, then `ID`: the position, or the time."""
ID: Final = PREFIX + "id"
TIME: Final = PREFIX + "time"
"""Whole microseconds."""
SERVICE: Final = PREFIX + "service"
"""Whole microseconds."""
AT: Final = PREFIX + "at"
"""The latest time up to a row, which says how long ago it was that others were seen."""
HOME: Final = PREFIX + "home"
"""The cluster, and what in it binds messages to each other: a list of JSON."""
MEMBER: Final = PREFIX + "member"
"""To whom a group or an opener is bound: the number of the rule's member."""
GOOD: Final = PREFIX + "good"
"""Whether a row is a message."""
REASON: Final = PREFIX + "reason"
"""Why a row is none; only looked at where it is not GOOD, so that nobody else makes texts."""
BLOCK: Final = PREFIX + "block"
VERSION: Final = PREFIX + "version"
"""How many of the times at which anything changes have come."""
CLASS: Final = PREFIX + "class"
FREE: Final = PREFIX + "free"
"""Whether the message is not bound to an earlier one's destination."""
BOUND: Final = PREFIX + "bound"
"""The label of the destination that a message is bound to."""
BIND: Final = PREFIX + "bind"
"""How a message is bound."""
WHOSE: Final = PREFIX + "whose"
"""The number of the cluster and queue inside which it is bound."""
WORD: Final = PREFIX + "word"
"""The opener or group by which it is bound; null: it is not bound by any."""
EPOCH: Final = PREFIX + "epoch"
"""The stretch of time in which no binding ends."""
WHO: Final = (WORD, EPOCH, WHOSE, BIND)
"""What binds a message: those that agree in all of it go where the first of them goes.

The word comes first: where Spark sorts by them, it looks at the beginning of one column."""
FIRST: Final = PREFIX + "first"
"""The place of the first that finds somebody, of those that are bound by one word in one epoch."""
PACKED: Final = PREFIX + "packed"
"""Sequence and label in one number."""
CONTROL: Final = PREFIX + "control"
NUMBER: Final = PREFIX + "number"
"""The place of a message in the order of all."""
PLACE: Final = PREFIX + "place"
"""The place of a message in its block, from 0."""
SENT: Final = PREFIX + "sent"
"""When a message was sent, beside its attempts."""
THERE: Final = PREFIX + "there"
"""Whether an attempt's message is there."""
SCENARIO: Final = PREFIX + "scenario"
COPY: Final = PREFIX + "copy"
"""One of the destinations of a message, and its address."""

ARRIVAL: Final = "arrival"
"""The number of a message of a stream, in the order in which they arrived, from 0."""


def quoted(name: str) -> Column:
    """A user's column, whatever its name."""
    return F.col("`" + name.replace("`", "``") + "`")


def small_table(
    spark: SparkSession, kinds: Mapping[str, pa.DataType], rows: Sequence[Sequence[object]]
) -> DataFrame:
    """A table of the driver's own, such as is joined to every row.

    From Arrow Spark takes it as a part of the plan; a list of Python's would be a job.
    """
    columns = zip(*rows, strict=True) if rows else ((),) * len(kinds)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, list(kinds)))


def looked_up(words: Sequence[object], place: Column, kind: str = "string") -> Column:
    """words[place], the words standing as one literal however many they are; null for null.

    `place`: a whole number, from 0. `kind`: of each of the words, as Spark spells it.
    """
    return F.element_at(literals(words, kind), place.cast("int") + 1)


def literals(words: Sequence[object], kind: str = "string") -> Column:
    """An array that stands as one literal, however long it is."""
    return F.from_json(F.lit(json.dumps(words)), f"array<{kind}>")
