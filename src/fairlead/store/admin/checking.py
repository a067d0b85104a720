"""Look for what should not be in a store: what no reader would get, or what would last for ever.

No verb leaves such things behind. They come from a clock that was wrong, from a backup that was
restored, from SQL by hand, and from faults of earlier versions.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fairlead.store.database.port import Database, Row
from fairlead.store.journal.epochs import begin_epoch, is_restored
from fairlead.store.journal.log import Log
from fairlead.store.queues.outgoing import OutgoingMessage
from fairlead.store.queues.sending import arrive
from fairlead.store.queues.settings import AHEAD, known_queue

STEP: Final = 1000
"""So many messages are mended in one transaction."""

CHECKS: Final = {
    "lost_messages": "messages without a group",
    "empty_groups": "groups without a message",
    "unbounded_work": "work that nobody would take back",
    "future_events": "events later than now",
    "future_groups": "groups that came, were raised or were taken later than now",
    "future_messages": "messages that came later than now",
    "future_raises": "raises later than now",
    "future_ids": "ids of messages that were used later than now",
    "future_resets": "resets that are too far away",
    "future_versions": "changes later than now",
    "lost_published": "messages that a cluster waits for, and that are not there",
    "left_runs": "runs of many messages that a process was bringing, which is gone",
    "gone_listeners": "processes that are notified, and gone",
}
"""What statements of these names find, and mend."""
STEPS: Final = {
    "lost_messages": (),  # in portions, and in Python
    "lost_published": (
        "complete_lost_published",
        "acknowledge_lost_published",
        "mend_lost_published",
    ),
}
"""Those that are not mended by one statement."""


class Finding(NamedTuple):
    """Something that should not be there."""

    what: str
    """What was found, such as: messages without a group."""
    where: str
    """A queue, a cluster, or a part of the store."""
    found: int
    """How many of them."""
    example: str
    """One of them: an id, or a group's name; "" where they have none."""


def find(database: Database, now: int) -> list[Finding]:
    """What is wrong, but for the work of processes that are gone. `now`: microseconds."""
    findings = []
    for name, what in CHECKS.items():
        values = {"now": now, "limit": now + AHEAD}
        for where, count, example in database.run(f"find_{name}", **values):
            if count:
                findings.append(
                    Finding(what, where, count, "" if example is None else str(example))
                )
    if is_restored(database):
        what = "events of a restored backup, after which no event would be read"
        findings.append(Finding(what, "journal", 1, ""))
    return findings


def mend(database: Database, now: int, actor: str) -> None:
    """Put right what `find` finds, but for the messages without a group."""
    if is_restored(database):
        begin_epoch(database, now, actor)
    for name in CHECKS:
        for step in STEPS.get(name, (f"mend_{name}",)):
            database.run(step, now=now, limit=now + AHEAD)


def mend_lost_messages(database: Database, clock: int | None, actor: str) -> bool:
    """Give some messages their groups back; whether there may be more of them.

    A message keeps its number, and so its place among those of its group. What group it was of is
    in the journal; where that has forgotten it, the message goes without one.
    """
    rows = database.run("lost_messages", most=STEP)
    database.run("drop_messages", ids=[row[1] for row in rows])
    for name in sorted({row[0] for row in rows}):
        queue = known_queue(database, name, clock)
        log = Log(database, name, queue.moment, actor)
        lost = [_outgoing(row) for row in rows if row[0] == name]
        for _, message in lost:
            log.add(
                "arrived",
                group=message.group or "",
                key=message.key or "",
                tenant=message.tenant,
                cost=message.cost,
                type=message.type,
                detail="was without its group",
            )
        arrive(database, queue, lost)
        log.flush()
        if queue.columns.awaited:
            database.run("notify", queue=queue.id)
    return len(rows) == STEP


def _outgoing(row: Row) -> tuple[int, OutgoingMessage]:
    _, number, key, group, tenant, expires, cost, type_, conversation, format_, body = row
    outgoing = OutgoingMessage(
        *(group or None, None, key, type_, tenant or "", cost, None, expires, format_, bytes(body)),
        conversation,
    )
    return abs(number), outgoing
