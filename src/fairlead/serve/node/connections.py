"""A client's connection, and the links on it."""

from __future__ import annotations

from collections import deque

import msgspec
from msgspec import Struct

from fairlead.serve.node.browsing import BrowserLink
from fairlead.serve.node.calls import Browse
from fairlead.serve.node.channel_links import ChannelLink
from fairlead.serve.node.client_log import Who
from fairlead.serve.node.port import Wire
from fairlead.serve.node.queue_consumers import ReceiverLink
from fairlead.serve.node.senders import SenderLink
from fairlead.serve.node.transactions import Coordinator
from fairlead.serve.sasl import NOBODY
from fairlead.serve.wire.events import Flowed

Attachment = SenderLink | ReceiverLink | BrowserLink | ChannelLink | Coordinator


class ClientConnection(Struct, eq=False):
    """A connection, and the links on it."""

    wire: Wire
    container: str = ""
    host: str = ""
    """The virtual host that it wants."""
    user: str = NOBODY
    links: dict[int, Attachment] = {}
    """By their numbers, once they are answered."""
    waiting: set[int] = set()
    """Links of which is still to be found out what they are for."""
    flows: dict[int, Flowed] = {}
    """What such links said of their credit meanwhile."""
    browses: deque[Browse] = msgspec.field(default_factory=deque)
    """What its links that only look are still to be shown: it is looked for one by one."""
    looking: bool = False
    place: str = ""
    """Its address."""
    refused: int = 0
    """So many of its links were."""
    lost: dict[str, int] = {}
    """What it had in hand of each queue as it was lost."""

    @property
    def who(self) -> Who:
        """As its operator is told of it."""
        return Who(self.place, self.user, self.container, self.host)
