"""An operator switches queues, and tenants of them, off and on."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.balance.times import micros, seconds
from fairlead.store.database.port import Database
from fairlead.store.journal.log import Log
from fairlead.store.queues.settings import Queue
from fairlead.store.queues.switching import KINDS
from fairlead.text import to_the_second


class SwitchedOff(NamedTuple):
    """That a queue is switched off."""

    since: float | None
    """When that was done, in seconds since 1970; None: the journal does not have it any more."""
    why: str
    """Why, and by whom."""

    def __str__(self) -> str:
        if self.since is None:
            return "switched off, since before the first event that is kept"
        return f"switched off since {to_the_second(micros(self.since) or 0)}: {self.why}"


def switch(database: Database, queue: Queue, actor: str, reason: str, *, on: bool) -> bool:
    """Switch a queue on or off; whether that is a change. Failures are counted anew from here."""
    if not database.run("switch", queue=queue.id, enabled=int(on)):
        return False
    if on:
        database.run("forgive", queue=queue.id)
    log = Log(database, queue.name, queue.moment, actor)
    log.add(KINDS[on], detail=reason or None)
    log.flush()
    if queue.columns.awaited:
        database.run("notify", queue=queue.id)
    return True


def off(database: Database, queue: Queue, tenant: str = "") -> SwitchedOff | None:
    """When and why a queue, or a tenant of it, was switched off; None: it is on."""
    if tenant not in queue.off_tenants if tenant else queue.columns.enabled:
        return None
    rows = database.run("switched_off", queue=queue.name, tenant=tenant)
    if not rows:
        return SwitchedOff(None, "")
    ((time, actor, detail),) = rows
    return SwitchedOff(seconds(time), f"{detail}, by {actor}" if detail else f"by {actor}")


def off_columns(off: SwitchedOff | None) -> dict[str, Any]:
    """The columns that say so of what is counted."""
    since, why = off or SwitchedOff(None, "")
    return {"enabled": off is None, "off_since": since, "off_why": why}
