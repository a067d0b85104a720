"""The rows that every engine writes: what a decision, a replay and a journal add to a message.

A column stands here once: its name, what kind of value it has, and what it means. The engines
write the columns in this order, and the documentation shows these tables.
"""

from __future__ import annotations

from collections.abc import Sequence
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
JOURNAL_COLUMNS: Final = (
    Column("position", WHOLE, "the message's place among all messages, from 0"),
    Column("time", MOMENT, "the message's; null if it gives none. Live: seconds"),
    Column("id", TEXT, "the message's; empty if it gives none"),
    Column(
        "cluster",
        TEXT,
        "the cluster's name, even if the message does not give it; empty if it is not known",
    ),
    Column("version", WHOLE, "how many steps of changes the cluster had seen"),
    Column(
        "stream", TEXT, "the cluster, and the queue or subject if the policy has one: `pool/ORDERS`"
    ),
    *DECISION_COLUMNS,
    ATTEMPT_COLUMNS[0],
)
"""Beside these, a row of a journal has what the message says itself: queue, group, priority, ….

What else a row is to hold stands here. A queue's verbs, say, would be rows of other kinds, with the
kind, the token, the actor and the lease as columns; `messages_of`, in memory and on Spark, would
then take only those that are decisions.
"""

DECISION: Final = tuple(column.name for column in DECISION_COLUMNS)
"""What a decision adds to a message's own columns."""
ATTEMPT: Final = tuple(column.name for column in ATTEMPT_COLUMNS)
"""What a replay adds to a decision."""
JOURNAL: Final = tuple(column.name for column in JOURNAL_COLUMNS)
"""What every row of a journal has."""
OWN: Final = ("position", "time", "id", "cluster")
"""Those of a journal's columns that are the message's own; all others were decided."""


def without_decisions(names: Sequence[str]) -> list[str]:
    """The columns of a table that its messages have: of a journal, not what was decided then.

    A table is a journal if it has all of JOURNAL. Other tables are left as they are.
    """
    if not set(JOURNAL) <= set(names):
        return list(names)
    decided = {*JOURNAL} - {*OWN}
    if set(ATTEMPT) <= set(names):
        decided |= {*ATTEMPT}
    return [name for name in names if name not in decided]
