"""The rows that every engine writes: what a decision adds to a message, and what a replay adds.

A column stands here once: its name, what kind of value it has, and what it means. The engines
write the columns in this order, and the documentation shows these tables.
"""

from __future__ import annotations

from typing import Final, NamedTuple

TEXT: Final = "text"
WHOLE: Final = "integer"
SECONDS: Final = "seconds"
MOMENT: Final = "as `time` is given"
"""Timestamps or numbers of seconds, as in the messages."""


class Column(NamedTuple):
    """A column that is added to the columns of the messages."""

    name: str
    kind: str
    meaning: str


DECISION_COLUMNS: Final = (
    Column(
        "destination",
        TEXT,
        "the name of the chosen destination; null if there is none. For `ibm-mq` the channel's "
        "name, or `local`",
    ),
    Column("address", TEXT, "its address, if the cluster file gives one"),
    Column(
        "outcome",
        TEXT,
        "`routed`, `no-destination`, `control`; with `ibm-mq` also `unknown-queue`, "
        "`put-inhibited`; with `smartsockets` also `refused`, `lost`; "
        "[a replay](replay.md#what-goes-in-what-comes-out) has more",
    ),
    Column(
        "sequence",
        WHOLE,
        "the message's place in its stream, from 0; null for a control message",
    ),
)
ATTEMPT_COLUMNS: Final = (
    Column("attempt", WHOLE, "from 1"),
    Column("reader", WHOLE, "which reader of the destination, from 1; null if none started"),
    Column("start", MOMENT, "when the reader started; null if none did"),
    Column(
        "finish",
        MOMENT,
        "when the attempt ended; null if it still waits. If its destination failed, the time of "
        "the failure",
    ),
    Column(
        "wait",
        SECONDS,
        "from when the message was sent (or came back) until the start, or until a failure ended "
        "the attempt",
    ),
)

DECISION: Final = tuple(column.name for column in DECISION_COLUMNS)
"""What a decision adds to a message's own columns."""
ATTEMPT: Final = tuple(column.name for column in ATTEMPT_COLUMNS)
"""What a replay adds to a decision."""
