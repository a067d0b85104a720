"""What comes to an end of a dialog that has ended: nobody reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.store.queues.endpoints import ENDED, Endpoint, by_ids
from fairlead.store.queues.received import Stored


def ends_of(database: Database, rows: Sequence[Stored]) -> Mapping[int, Endpoint]:
    """The ends to which messages come."""
    ids = {row.conversation for row in rows if row.conversation is not None}
    return by_ids(database, ids) if ids else {}


def is_over(row: Stored, ends: Mapping[int, Endpoint]) -> bool:
    """Whether a message comes to an end that has ended."""
    if row.conversation is None:
        return False
    end = ends.get(row.conversation)
    return end is None or end.state == ENDED


def drop(
    database: Database,
    rows: Sequence[Stored],
    ends: Mapping[int, Endpoint],
    groups: Mapping[int, str],
    log: Log,
) -> None:
    """Drop messages that came to an end that has ended: it was ended while they were being sent.

    `groups`: their names.
    """
    if not rows:
        return
    database.run("drop_messages", ids=[row.id for row in rows])
    for row in rows:
        group = groups[row.group_id]
        log.add("dropped", group=group, key=row.key, cost=row.cost, detail="its end has ended")
    ids = {row.conversation for row in rows if row.conversation is not None}
    dialogs = {ends[id_].dialog for id_ in ids if id_ in ends}
    if dialogs:
        database.run("drop_ended", dialogs=sorted(dialogs))
