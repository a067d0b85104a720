"""A subscription, as whoever subscribes in a store gets it."""

from __future__ import annotations

from typing import NamedTuple


class Subscription(NamedTuple):
    """A client's subscription to one subject of a cluster."""

    cluster: str
    subject: str
    name: str
    """The client's."""
    queue: str
    """From which the client takes what is published to the subject and meant for it."""
