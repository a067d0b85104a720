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
"""Beside these, a row of a journal has what the message says itself: queue, group, priority, …."""
POOL_COLUMNS: Final = (
    Column(
        "decided",
        WHOLE,
        "the row's place among all that was decided and that happened, from 0; an attempt that "
        "follows a `rolled-back` one has its place",
    ),
)
"""What rows of a pool's journal have beside those of a replay's attempts and of changes."""
_OF = {column.name: column for column in JOURNAL_COLUMNS}
EVENT_COLUMNS: Final = (
    Column("position", WHOLE, "the event's place among all events; there are gaps"),
    Column("cursor", TEXT, "reading goes on after this event with `since`"),
    Column("time", SECONDS, "when it happened, since 1970"),
    Column(
        "kind",
        TEXT,
        "`sent`, `arrived` (it was delayed), `raised`, `taken`, `accepted`, `rejected`, "
        "`released`, `woken` (the delay of a release is over), `expired`, `discarded` (a dead "
        "letter was deleted, or what waited was purged); of a queue, or of a tenant of it, "
        "`switched-off`, `switched-on`; of a queue `deleted`; of a schedule `schedule-paused`, "
        "`schedule-resumed`, `schedule-dropped`; of a dialog `begun`, `ended`, `timed` (a timer "
        "was set, or a lifetime), `refused` (what was said is not "
        "allowed; the sender gets an Error), `dropped` (it came to an end that has ended, or its "
        "subscriber has failed); of a cluster `loaded`, `changed`, `decided`, `completed`; of the "
        "store `recovered` (a backup was restored)",
    ),
    Column("queue", TEXT, "the queue's name; empty where the event is a cluster's"),
    Column("group", TEXT, "the group's name; empty if the message has none"),
    Column(
        "id",
        TEXT,
        "the message's; empty where the event is a group's; of `begun` and `ended` the end's name, "
        "such as `d-17/i`; of `schedule-paused` and the like the schedule's",
    ),
    Column("tenant", TEXT, "whose it is; empty if nobody's"),
    Column("priority", WHOLE, "that it was sent with, or raised to"),
    Column("cost", WHOLE, "what its tenant is charged"),
    Column("type", TEXT, "the message's"),
    _OF["attempt"],
    Column("token", WHOLE, "of the reader that took it"),
    Column(
        "actor",
        TEXT,
        "who did it: host and process, or the user of plain SQL; then its trace, if any",
    ),
    Column("lease", SECONDS, "when the lease of what was taken ends"),
    Column(
        "detail",
        TEXT,
        "why it was rejected, released, refused, dropped or switched off; between which services a "
        "dialog was begun, and how it was ended; what was changed, as JSON; `redelivered` where a "
        "message was decided about again, as its subscriber had failed",
    ),
    _OF["cluster"],
    _OF["version"],
    _OF["stream"],
    Column("destination", TEXT, "that was chosen, has completed, or was changed"),
    _OF["address"],
    _OF["outcome"],
    _OF["sequence"],
    Column("said", TEXT, "what the message said that was decided about, as JSON"),
    Column(
        "login",
        TEXT,
        "the user of the database who was logged in when it was written, whoever `actor` says it "
        "was; empty on SQLite, and for events of before there was one",
    ),
)
"""The rows of a store's journal: what happened to messages, beside what was decided."""

DECISION: Final = tuple(column.name for column in DECISION_COLUMNS)
"""What a decision adds to a message's own columns."""
ATTEMPT: Final = tuple(column.name for column in ATTEMPT_COLUMNS)
"""What a replay adds to a decision."""
JOURNAL: Final = tuple(column.name for column in JOURNAL_COLUMNS)
"""What every row of a journal has."""
EVENT: Final = tuple(column.name for column in EVENT_COLUMNS)
"""What every row of a store's journal has."""
(DECIDED,) = (column.name for column in POOL_COLUMNS)
OWN: Final = ("position", "time", "id", "cluster")
"""Those of a journal's columns that are the message's own; all others were decided."""
CHANGED: Final = "changed"
COMPLETED: Final = "completed"
REDELIVERED: Final = "redelivered"
"""The detail of a decision about a message that had gone elsewhere, where it failed."""
HAPPENED: Final = (CHANGED, COMPLETED)
"""Outcomes of a live journal's rows that are no decisions: what happened between these."""
CHANGE: Final = ("target", "attribute", "value")
"""What rows of changes have beside the columns of every journal, as files of changes do."""


def without_decisions(names: Sequence[str]) -> list[str]:
    """The columns of a table that its messages have: of a journal, not what was decided then.

    A table is a journal if it has all of JOURNAL. Other tables are left as they are.
    """
    if not set(JOURNAL) <= set(names):
        return list(names)
    decided = {*JOURNAL} - {*OWN}
    if set(ATTEMPT) <= set(names):
        decided |= {*ATTEMPT}
    if {*CHANGE} <= set(names):
        decided |= {*CHANGE}
    if DECIDED in names:
        decided |= {DECIDED}
    return [name for name in names if name not in decided]
