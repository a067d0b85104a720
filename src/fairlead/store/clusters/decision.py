"""A decision, as whoever asked a store for it gets it."""

from __future__ import annotations

from typing import NamedTuple


class StoreDecision(NamedTuple):
    """Where a message goes, as a store has decided and counted it."""

    destination: str | None
    """None unless `outcome` is `routed`."""
    address: str | None
    """The destination's, if the cluster's file gives one."""
    sequence: int | None
    """The message's place in its stream, from 0; None for a SetPriority, which is no work."""
    outcome: str
    """As that of `Balancer.choose`."""
    cluster: str
    """Its name."""
    version: int
    """How many changes the cluster had seen."""
    number: int
    """Of its event in the journal: `Store.decision` takes it."""
    copies: tuple[tuple[str, str | None], ...]
    """All destinations of the message with their addresses, by name; none if it is not routed."""
    to: tuple[tuple[int, str], ...] = ()
    """What a completion has to name, for each of `copies`: the destination's id, and its part."""
    messages: tuple[str, ...] = ()
    """The ids of the messages that were sent, where it was published."""
