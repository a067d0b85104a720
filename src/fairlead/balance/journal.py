"""The journal row: one format for every decision, wherever it was made."""

from __future__ import annotations

from typing import NamedTuple


class JournalRow(NamedTuple):
    """One decision."""

    position: int
    """Place among all decisions of this journal, from 0."""
    time: float | None
    """The message's, in seconds (of a timestamp: since 1970); None where not given."""
    id: str
    """The message's, "" where not given."""
    cluster: str
    """Its name, "" where the message names none and there are several."""
    version: int
    """How many steps of changes the cluster had seen."""
    stream: str
    """The cluster, and the queue where the policy has one, `/` between them."""
    sequence: int | None
    """Place in the stream, from 0; None for a control message."""
    destination: str | None
    """None unless `outcome` is `routed`."""
    outcome: str
    """As the decision's."""
    attempt: int
    """Always 1: nothing is sent again."""
    step: str
    """The step that decided."""
    runner_up: str | None
    """Who would have been next, if anybody."""
