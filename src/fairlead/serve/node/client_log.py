"""What an operator is told of clients: a line each in the server's log, which names the client."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from fairlead.serve.wire.events import Condition, Link, near

LOGGER: Final = logging.getLogger("fairlead.serve")
REFUSALS: Final = 20
"""So many of its links that were refused are told of a connection."""
STILL: Final = 60.0
"""Seconds after which it is told that a client settles nothing of what it has."""
SHOWN: Final = 100
"""Characters of a name that a peer says."""


class Who(NamedTuple):
    """A client, as its connection says."""

    place: str = ""
    """Its address."""
    user: str = ""
    container: str = ""
    host: str = ""
    """The virtual host."""

    @property
    def name(self) -> str:
        """By which it is called beside a group that was taken for it."""
        return (self.container or self.user or self.place)[:SHOWN]

    @property
    def in_full(self) -> str:
        """By which it is called where its group is held for longer: with its user and address."""
        at = "@".join(part[:SHOWN] for part in (self.user, self.place) if part)
        return f"{self.container[:SHOWN]} ({at})" if self.container else at

    def __str__(self) -> str:
        """For a line of the log."""
        pairs = zip(("peer", "user", "container", "host"), self, strict=True)
        return " ".join(f"{key}={json.dumps(value[:SHOWN])}" for key, value in pairs)


def lost(who: Who, in_hand: Mapping[str, int]) -> None:
    """A connection was lost with messages in hand: by their queues."""
    queues = ", ".join(f"{queue}: {count}" for queue, count in in_hand.items())
    count = sum(in_hand.values())
    LOGGER.warning("event=lost %s in_hand=%d queues=%s", who, count, json.dumps(queues))


def link_refused(who: Who, link: Link, why: Condition, before: int) -> None:
    """A link was refused, or ended where it was open; `before`: so many of this connection were."""
    if before < REFUSALS:
        LOGGER.warning(
            "event=link-%s %s address=%s as=%s condition=%s why=%s%s",
            "ended" if link.open else "refused",
            who,
            json.dumps((near(link).address or "")[:SHOWN]),
            "receiver" if link.sends else "sender",
            why.name,
            json.dumps(why.description),
            "" if before < REFUSALS - 1 else " (more of this connection are not told)",
        )


def host_refused(who: Who, why: Condition) -> None:
    """A connection was refused by what its opening says."""
    reason = json.dumps(why.description)
    LOGGER.warning("event=open-refused %s condition=%s why=%s", who, why.name, reason)


def client_ended(who: Who, why: Condition) -> None:
    """A connection was ended, as its client is refused from now on."""
    text = "event=client-ended %s condition=%s why=%s"
    LOGGER.warning(text, who, why.name, json.dumps(why.description))


def settles_nothing(who: Who, queue: str, in_hand: int, seconds: float) -> None:
    """A client has messages in hand, and has settled none for a while."""
    name = json.dumps(queue)
    text = "event=settles-nothing %s queue=%s in_hand=%d for=%.0fs"
    LOGGER.warning(text, who, name, in_hand, seconds)
