"""What the node asks of the store, as plain data; who executes it gives the result back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from fairlead.errors import MessageError
from fairlead.store.clusters.subscription import Subscription
from fairlead.store.queues.settlement import Settlement
from fairlead.store.queues.taken_group import TakenGroup

QUEUE: Final = "queue"
CLUSTER: Final = "cluster"
SUBJECT: Final = "subject"
PUT: Final = "put"
"""A queue that may be at several queue managers: the cluster of this one decides."""
ANY: Final = "any"
"""Any of these: whoever executes the call finds out, and says which."""


class GoneError(MessageError):
    """There is nothing of that name, or not any more."""


class Answer(Struct):
    """Where a publisher wants to be told where its message goes."""

    to: str
    """The name of a queue."""
    correlation: Any
    """By which it knows the message: its message-id."""


class Send(Struct):
    """A message for a queue, or to be published."""

    to: str
    """The name of the queue or of the cluster."""
    kind: str
    """QUEUE, CLUSTER, PUT, ANY or SUBJECT, which is a cluster that has subscribers."""
    body: Any
    more: dict[str, Any]
    """As `Store.send` takes it."""
    said: dict[str, Any]
    """Routing attributes, where it is published."""
    reply_to: str = ""
    """The queue for an answer, where it is put."""
    answer: Answer | None = None
    """Where to say which destination it was published to."""


class Ending(Struct):
    """How work on a queue's group ends, in whole or in part."""

    queue: str
    end: Settlement
    held: TakenGroup
    """The group; it is in hand for as long as this is to be stored."""
    raises: bool = False
    """Whether what waits in the group then is to raise it again, as its end lets go of it."""


class Unit(Struct, eq=False):
    """What happens in one transaction, all of it or nothing."""

    done: Callable[[Unit, Exception | None], None]
    """Called when it has happened, or has been refused."""
    sends: list[Send] = []
    ends: list[Ending] = []
    answers: list[Any] = []
    """What each send came to: a decision of a cluster, or None."""
    owner: Any = None
    """Whom the result is for."""
    size: int = 0
    """Bytes of its messages."""

    @property
    def tokens(self) -> Iterator[int]:
        """Those of the work that it settles."""
        return (ending.end.token for ending in self.ends)


class Take(Struct, eq=False):
    """Take the best groups of a queue. The result: `TakenGroup`s, best first."""

    queue: str
    most: int
    page: int
    """Messages of each, at most."""
    group: str | None = None
    """The one that is wanted; None: any."""
    client: str = ""
    """For whom; "": for one of many."""

    @property
    def called(self) -> str:
        """What peers call the queue: a temporary queue is a group."""
        return self.group or self.queue


class Write(Struct, eq=False):
    """Do these; what is refused of them does not keep the others from being done. Then take.

    All in one transaction, where nothing is refused. The result: a `Written`.
    """

    units: list[Unit]
    takes: list[Take] = []


class Written(Struct):
    """What became of a write."""

    units: list[Exception | None]
    """Why each was refused, if it was."""
    takes: list[list[TakenGroup] | Exception] = []
    """What each has taken, or why it could not."""


def failed(call: Write, error: Exception) -> Written:
    """A write of which nothing was done."""
    return Written([error] * len(call.units), [error] * len(call.takes))


class More(Struct, eq=False):
    """What came for a group meanwhile. The result: `Received`s."""

    held: TakenGroup
    given: list[int]
    owner: Any


class Renew(Struct, eq=False):
    """Keep work, and subscriptions.

    The result: the tokens of what is lost, and whether all clients that have left are let go.
    """

    held: dict[str, list[TakenGroup]]
    """Queue → the work to keep, group by group."""


class Resolve(Struct, eq=False):
    """What is called so. The result: QUEUE, CLUSTER or PUT."""

    name: str
    owner: Any


class AgreeChannel(Struct, eq=False):
    """Another queue manager wants to send on a channel. The result: an AgreedChannel."""

    channel: str
    properties: dict[Any, Any]
    """Of its link."""
    owner: Any


class ReceiveBatch(Struct, eq=False):
    """A batch that has come on a channel. The result: how many of its messages are dead letters."""

    end: Any
    """This end of the channel."""
    number: int
    token: str
    content: bytes
    owner: Any


class CloseOpener(Struct, eq=False):
    """Whoever had opened a queue has closed it."""

    queue: str
    opener: str


class Make(Struct, eq=False):
    """Make a temporary queue. The result: its address."""

    owner: Any


class Remove(Struct, eq=False):
    """A temporary queue is not wanted any more."""

    address: str


class Project(Struct, eq=False):
    """Which cluster's subjects a virtual host has. The result: its name."""

    host: str
    owner: Any


class Subscribe(Struct, eq=False):
    """Let a client subscribe. The result: its Subscription."""

    wanted: Any
    owner: Any
    is_found: bool = False
    """Whether it is one that was found by its name."""


class Find(Struct, eq=False):
    """Find a client's durable subscription. The result: its subject; None: there is none."""

    host: str
    name: str
    """The subscriber's."""
    owner: Any


class Leave(Struct, eq=False):
    """A client has no link any more by which it gets what it subscribed to."""

    subscription: Subscription
    how: str
    """gone, warm or failed. The result: whether that is all; if not, `Renew` goes on with it."""


class Ask(Struct, eq=False):
    """How it stands with guaranteed messages. The result: a `Delivery` for each that is known."""

    numbers: list[int]
    """Of their decisions."""


class Browse(Struct, eq=False):
    """What waits in a queue. The result: `Message`s, in the order of their groups."""

    name: str
    owner: Any
    room: int = 0
    """Bytes, about, after which no more are looked for."""
    wanted: Callable[[Mapping[str, Any]], bool] | None = None
    """Which are wanted of these, by what selectors know of them; None: all."""


Call = (
    AgreeChannel
    | Ask
    | Browse
    | CloseOpener
    | Find
    | Write
    | Take
    | More
    | Renew
    | Resolve
    | Make
    | Remove
    | Project
    | ReceiveBatch
    | Subscribe
    | Leave
)
