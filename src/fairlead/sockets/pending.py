"""Requests that have no reply yet, and the attempts to get one."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import NamedTuple

from fairlead.balance.decision import Decision
from fairlead.balance.message import Message
from fairlead.errors import UserError
from fairlead.sockets.pipe import Pipe
from fairlead.sockets.ring import Lane
from fairlead.sockets.wire import Bytes


class Pending(ABC):
    """A request without a reply."""

    __slots__ = (
        *("again", "attempt", "body", "chosen", "first", "key", "lane", "lost"),
        *("message", "pipes", "since"),
    )

    def __init__(self, key: bytes, body: Bytes, message: Message) -> None:
        """`key`: its stack of words, by which its replies are known."""
        self.key = key
        self.body = body
        self.message = message
        self.since = time.monotonic()
        self.attempt: SentRequest | None = None
        """The latest; None while it waits."""
        self.again = ""
        """Why it is sent again."""
        self.pipes: set[Pipe] = set()
        """By which it was sent: from there a reply may come."""
        self.lane: Lane = ()
        self.first = ""
        """The id of its first row in the journal."""
        self.chosen = 0
        """How often somebody was chosen for it."""
        self.lost = 0
        """How often it was lost with its peer."""

    @abstractmethod
    def settle(self, body: Bytes) -> None:
        """This is the reply."""

    @abstractmethod
    def fail(self, error: UserError) -> None:
        """There will be none."""


class SentRequest(NamedTuple):
    """A request that was sent to a peer, which has not replied."""

    key: bytes
    pipe: Pipe
    decision: Decision
    sent: float
    """When the peer first had it, on the monotonic clock, however often it was sent there."""
