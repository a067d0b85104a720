"""Runs that bring many messages at once: each has a name, by which it is brought once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from fairlead.balance.times import MICROS
from fairlead.errors import DeliveredError
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database


class BulkRun(NamedTuple):
    """A run that was brought."""

    batch: int
    """Its last part; 0 where it has one."""
    at: float
    """When that was brought, in seconds since 1970."""
    actor: str
    """By whom."""
    messages: int
    """That were published, in all parts."""


def begin_run(database: Database, name: str, batch: int, clock: int | None, actor: str) -> int:
    """Begin a run, or one more part of it; its number. Raises DeliveredError if it was brought.

    Nobody else can begin it until the transaction ends.
    """
    now = time_of(database, clock)
    begun = database.run("begin_bulk_run", name=name, batch=batch, at=now, actor=actor)
    if begun:
        return int(begun[0][0])
    known = bulk_run(database, name)
    assert known is not None  # noqa: S101 - it was in the way
    raise delivered_before(name, known)


def delivered_before(name: str, known: BulkRun) -> DeliveredError:
    """That a run was brought before."""
    part = f" up to batch {known.batch}" if known.batch else ""
    when = datetime.fromtimestamp(known.at, UTC).isoformat(timespec="seconds")
    return DeliveredError(
        f"run {name!r}: found one that was brought{part} at {when} by {known.actor}, with "
        f"{known.messages:,} messages, allowed: a name of its own for each run"
    )


def bulk_run(database: Database, name: str) -> BulkRun | None:
    """What is known of a run."""
    rows = database.run("bulk_run", name=name)
    if not rows:
        return None
    batch, at, actor, messages = rows[0]
    return BulkRun(batch, at / MICROS, actor, messages)
