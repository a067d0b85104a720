"""Queues that servers keep for themselves: programs put to none of them."""

from __future__ import annotations

from typing import Final

from fairlead.balance.policies.ibm_mq_objects import TRANSMISSION
from fairlead.errors import MessageError
from fairlead.store.arguments import OWN

OUTBOX: Final = "outbox:"
"""So the names of outboxes begin; where it leads to stands behind it."""


def check_put_queue(queue: str) -> None:
    """Raises MessageError for a queue to which nobody puts."""
    if queue.startswith((OWN, TRANSMISSION, OUTBOX)):
        raise MessageError(f"queue: found {queue!r}, allowed: one that is not the servers' own")
