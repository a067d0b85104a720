"""A job: one message in a pool, from its arrival until it is over."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

from fairlead.balance.message import AttributeValues, Message
from fairlead.balance.procedure import NONE
from fairlead.errors import RuleError
from fairlead.order.waiting import Item

WAITING: Final = 0
WORKING: Final = 1
OVER: Final = 2

NOBODY: Final = 0
"""Instead of a reader; they are numbered from 1."""

FAILED: Final = "failed"
"""How a message ends whose work failed, and is not tried again."""
TIMEOUT: Final = "timeout"
"""How one ends that waited too long."""
CANCELLED: Final = "cancelled"
"""How one ends whose caller went away while it waited."""


class Attempt(NamedTuple):
    """One attempt of a job, as it ended; times in microseconds."""

    decided: int | None
    """The running number of the choice; None where none was made."""
    version: int
    """Of the cluster, when the choice was made."""
    destination: str | None
    address: str | None
    outcome: str
    reader: int
    since: int
    """When it began to wait."""
    start: int | None
    finish: int | None
    speed: int
    """Thousandths of the nominal speed."""


class JobPlace(Protocol):
    """Where jobs wait, or are worked on."""

    def withdraw(self, job: Job) -> None:
        """Take a job away that waits here."""


class Job(Item):
    """One message: what it says, where it waits or is worked on, and what became of it so far.

    A pool makes its own kind of it, which knows who is to be told.
    """

    # What most jobs do not change stands here once: it is not written for each.
    attempt: int = 1
    phase: int = WAITING
    member: int = NONE
    destination: str | None = None
    address: str | None = None
    queue: JobPlace | None = None
    """Where it waits or is worked on; None: no destination has been ready for it."""
    reader: int = NOBODY
    speed: int = 0
    start: int | None = None
    outcome: str = ""
    """How it ended, once it has."""
    error: RuleError | None = None
    """What a user's own rule has raised when a destination was to be chosen for it."""
    avoid: frozenset[str] = frozenset()
    """The destinations that it must not go to."""
    bind: AttributeValues | None = None
    """What its destination is bound to, if to anything."""
    key: int = 0
    """What a keyed rule chooses by."""
    decided: int | None = None
    version: int = 0
    past: list[Attempt] | None = None
    """Its attempts that are over, where a journal is kept."""

    sequence: int
    """Its place in its stream."""
    since: int
    """When it began to wait in this attempt."""

    position: int
    """Where a journal is kept: its place among all messages; when it came; its stream's parts."""
    time: int
    stream: tuple[str, ...]

    def __init__(
        self,
        message: Message,
        values: AttributeValues = (),
        group: str = "",
        priority: int | None = None,
        tenant: str = "",
        cost: int = 1,
    ) -> None:
        """`values`: what the policy reads of the message; `group` "" for a group of its own."""
        self.message = message
        self.values = values
        self.group = group
        self.priority = priority
        self.tenant = tenant
        self.cost = cost

    def shown(self) -> Any:  # noqa: ANN401 - whatever its id is
        """Its id."""
        return self.message.get("id")

    @property
    def name(self) -> str:
        """What a journal calls it."""
        value = self.message.get("id")
        return str(self.position) if value in (None, "") else str(value)
