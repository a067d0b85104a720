"""Locks by which others wait; where one writes at a time, nobody else is about to write."""

from __future__ import annotations

from typing import Final

from fairlead.store.database.port import Database

LOCK_TIMEOUT: Final = 5_000
"""Milliseconds for which whoever changes queues waits for those who use them."""


def lock_queues(database: Database) -> None:
    """Nobody adds messages or takes them away until the transaction ends.

    To be called before anything is written: senders hold what they write. Raises StoreError after
    `LOCK_TIMEOUT`.
    """
    database.run("lock_timeout", milliseconds=str(LOCK_TIMEOUT))
    database.run("lock_queues")
