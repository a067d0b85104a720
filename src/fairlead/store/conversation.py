"""A conversation, as one of its ends sees it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, Self

from fairlead.balance.times import Time
from fairlead.order.queue import Work
from fairlead.store.database.context import BaseContext
from fairlead.store.database.port import Database
from fairlead.store.queues.endpoints import SIDES, Endpoint


class DialogTransaction(Protocol):
    """What a conversation asks of a transaction."""

    def say(self, conversation: Conversation, type_: str, body: object) -> str:
        """Send a message."""

    def raise_far_end(self, conversation: Conversation, priority: int | None) -> bool:
        """Raise the other end's group."""

    def set_timer(self, conversation: Conversation, seconds: Time | None) -> None:
        """Set a timer."""

    def bind(self, conversation: Conversation, other: Conversation) -> None:
        """Bind two conversations."""

    def end_conversation(
        self, conversation: Conversation, error: object = None, *, cleanup: bool = False
    ) -> None:
        """End an end."""


class TakenWork(Work, Protocol):
    """Work that was taken in a conversation: a `StoreWork`, or one of a transaction."""

    def extend(self, lease: float = 60) -> None:
        """The lease ends so many seconds from now."""

    def transaction(self) -> AbstractContextManager[Any]:
        """A transaction for the user's own rows, further sends, and settling this work."""

    def __enter__(self) -> Self:
        """Settle it at the end of the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Accept it, or release it where the block raises."""


class DialogSession(Protocol):
    """Through whom a conversation acts: a store, or a transaction."""

    def dialog_transaction(self) -> AbstractContextManager[DialogTransaction]:
        """The transaction in which something is said."""

    def receive(self, conversation: Conversation, wait: float, lease: float) -> TakenWork | None:
        """Take what waits in a conversation."""

    def state_of(self, end: Endpoint) -> str:
        """How an end stands."""

    def bound_to(self, conversation: Conversation) -> Conversation | None:
        """The end that an end is bound to."""

    def is_of(self, context: BaseContext) -> bool:
        """Whether it is of the store with this context."""


class Conversation:
    """One end of a dialog between two services.

    `Store.begin_dialog` gives the initiator's, and `message.conversation` the receiver's. Each verb
    is a transaction of its own; `tx.conversation(c)` is the same end inside a transaction.
    """

    def __init__(
        self, end: Endpoint, session: DialogSession, origin: Conversation | None = None
    ) -> None:
        """`origin`: the same end outside the transaction."""
        self.endpoint = end
        self._session = session
        self._origin = origin
        self.given: list[int] = origin.given if origin else []
        """Numbers of its messages that its reader was given."""
        self.ending: Database | None = None
        """The transaction that is open and has ended it."""

    @property
    def id(self) -> str:
        """This end's id. Who knows it can act as this end; the other end has another one."""
        return self.endpoint.handle

    @property
    def dialog(self) -> str:
        """The dialog's name, which both ends have."""
        return self.endpoint.name

    @property
    def group(self) -> str:
        """The conversation group in which its messages wait."""
        return self.endpoint.group

    @property
    def service(self) -> str:
        """The service at this end."""
        return self.endpoint.service

    @property
    def far_service(self) -> str:
        """The service at the other end."""
        return self.endpoint.far_service

    @property
    def contract(self) -> str:
        """The contract that both keep to."""
        return self.endpoint.contract

    @property
    def queue(self) -> str:
        """The queue in which its messages wait."""
        return self.endpoint.queue

    @property
    def side(self) -> str:
        """Initiator | target."""
        return SIDES[self.endpoint.side]

    @property
    def state(self) -> str:
        """How this end stands now.

        started: nothing was sent yet; conversing; ended-by-other: the other side has ended, or
        ended with an error; failed: an error of the store has broken it off; ended.
        """
        return self._session.state_of(self.endpoint)

    def send(self, type: str, body: object = b"") -> str:  # noqa: A002 - the field's own word
        """Send a message to the other end, behind all that this end has sent; its id.

        Raises ConversationError where this or the other end has ended or failed, and MessageError
        for a type that the contract does not let this side send. A body that the type's validation
        refuses is no error here: this end gets an Error in the conversation.
        """
        with self._session.dialog_transaction() as tx:
            return tx.say(self, type, body)

    def prioritise(self, priority: int | None = None) -> bool:
        """Raise the group in which the other end's messages wait; None: to the queue's default.

        It waits for no reader. Returns whether there was anything to raise.
        """
        with self._session.dialog_transaction() as tx:
            return tx.raise_far_end(self, priority)

    def timer(self, seconds: Time | None) -> None:
        """Let a DialogTimer come to this end after so many seconds; None: no timer any more.

        An end has one timer: a new one takes the place of the old. Raises ConversationError.
        """
        with self._session.dialog_transaction() as tx:
            tx.set_timer(self, seconds)

    def bind(self, other: Conversation) -> None:
        """Remember another conversation with this one, and this one with that: to forward.

        Both are ends of this store's. Raises ConversationError.
        """
        with self._session.dialog_transaction() as tx:
            tx.bind(self, other)

    def bound(self) -> Conversation | None:
        """The conversation that this one is bound to; None: there is none, or it has ended."""
        return self._session.bound_to(self)

    def end(self, error: tuple[int, str] | None = None, *, cleanup: bool = False) -> None:
        """End this end: nothing comes to it any more, and it can say nothing.

        The other side gets an EndDialog, behind all that was sent, or with `error`, a code above 0
        and a description, an Error, before the rest. `cleanup`: it gets nothing. Raises
        ConversationError where it has ended, and MessageError.
        """
        with self._session.dialog_transaction() as tx:
            tx.end_conversation(self, error, cleanup=cleanup)

    @property
    def origin(self) -> Conversation:
        """The same end outside the transaction."""
        return self if self._origin is None else self._origin

    def take(self, wait: float = 0, lease: float = 60) -> TakenWork | None:
        """Take what waits in this conversation, and nothing else; None: nothing does.

        The whole group is held, as by `Store.take`. `wait`, `lease`: as there.
        """
        return self._session.receive(self, wait, lease)

    def is_of(self, context: BaseContext) -> bool:
        """Whether it is an end of the store with this context, as far as is known here."""
        return self._session.is_of(context)

    def act_through(self, session: DialogSession) -> None:
        """Act through another session: the transaction in which it was begun is committed."""
        self._session = session

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conversation) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Conversation {self.endpoint.end}: {self.service} to {self.far_service}>"
