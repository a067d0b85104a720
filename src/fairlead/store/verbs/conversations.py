"""What a transaction does in conversations, and what a store does in one of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.balance.times import Time
from fairlead.errors import MessageError
from fairlead.store.arguments import check_priority, name
from fairlead.store.conversation import Conversation, DialogSession
from fairlead.store.database.context import BaseContext
from fairlead.store.database.port import Database
from fairlead.store.database.retrying import again
from fairlead.store.dialogs.declared import DeclaredService
from fairlead.store.dialogs.engine import DialogEngine
from fairlead.store.dialogs.replies import Beginning, checked_error
from fairlead.store.queues.endpoints import Endpoint
from fairlead.store.verbs.store_verbs import StoreVerbs, TransactionVerbs
from fairlead.store.work import HeldWork


class ConversationVerbs(TransactionVerbs, DialogSession):
    """Begin dialogs and speak in them, in one transaction with the user's own rows."""

    _shared: bool
    _taken: list[HeldWork]
    _begun: list[Conversation]
    _ended: list[Conversation]

    @abstractmethod
    def _take(
        self, queue: str, group: str | None, conversation: int | None = None
    ) -> HeldWork | None:
        """Take a group, or what waits in one conversation of it."""

    def begin_dialog(
        self,
        service: str,
        far_service: str,
        contract: str | None = None,
        *,
        related: Conversation | str | None = None,
        group: str | None = None,
        lifetime: Time | None = None,
    ) -> Conversation:
        """Begin a dialog between two services, as `Store.begin_dialog` does."""
        self._check()
        if related is not None and group is not None:
            raise MessageError("begin_dialog: found related and group, allowed: one of them")
        near = None if related is None else self._endpoint(related)
        beginning = Beginning(service, far_service, contract, near, name("group", group), lifetime)
        with self._speaking() as dialogs:
            conversation = Conversation(dialogs.begin(beginning), self)
        self._begun.append(conversation)
        return conversation

    def conversation(self, conversation: Conversation | str) -> Conversation:
        """The same end of a dialog, or the one with this id, in this transaction."""
        self._check()
        end = self._endpoint(conversation)
        held = (work.conversations.get(end.id) for work in self._taken)
        in_hand = next((handle for handle in held if handle is not None), None)
        original = conversation if isinstance(conversation, Conversation) else None
        return Conversation(end, self, in_hand or original)

    def say(self, conversation: Conversation, type_: str, body: object) -> str:
        """Send a message, as `Conversation.send` does."""
        self._check()
        with self._speaking() as dialogs:
            return dialogs.send(self._endpoint(conversation), type_, body)

    def raise_far_end(self, conversation: Conversation, priority: int | None) -> bool:
        """Raise the other end's group, as `Conversation.prioritise` does."""
        self._check()
        check_priority(priority)
        end = self._endpoint(conversation)
        with self._speaking() as dialogs:
            return dialogs.prioritise(end, priority)

    def set_timer(self, conversation: Conversation, seconds: Time | None) -> None:
        """Set a timer, as `Conversation.timer` does."""
        self._check()
        with self._speaking() as dialogs:
            dialogs.set_timer(self._endpoint(conversation), seconds)

    def bind(self, conversation: Conversation, other: Conversation) -> None:
        """Bind two conversations, as `Conversation.bind` does."""
        self._check()
        with self._speaking() as dialogs:
            dialogs.bind(self._endpoint(conversation), self._endpoint(other))

    def bound_to(self, conversation: Conversation) -> Conversation | None:
        """The conversation that one is bound to, in this transaction."""
        self._check()
        end = self._dialogs.bound(conversation.endpoint)
        return None if end is None else self.conversation(Conversation(end, self))

    def end_conversation(
        self, conversation: Conversation, error: object = None, *, cleanup: bool = False
    ) -> None:
        """End an end, as `Conversation.end` does."""
        self._check()
        checked = checked_error(error)
        if checked and cleanup:
            raise MessageError("end: found error and cleanup, allowed: one of them")
        with self._speaking() as dialogs:
            end = self._endpoint(conversation)
            dialogs.end(end, checked, cleanup=cleanup, given=conversation.given)
        if self._shared:
            self._ended += [conversation, conversation.origin]
            conversation.ending = conversation.origin.ending = self._database

    @contextmanager
    def dialog_transaction(self) -> Iterator[ConversationVerbs]:
        """This transaction."""
        yield self

    def receive(self, conversation: Conversation, wait: float, lease: float) -> HeldWork | None:
        """Take what waits in a conversation, in this transaction; it has no lease."""
        if wait:
            raise MessageError("take: found wait in a transaction, allowed: Store.take")
        del lease
        return self._take(conversation.queue, conversation.group, conversation.endpoint.id)

    def is_of(self, context: BaseContext) -> bool:
        """Whether it is of the store with this context."""
        return self._context is context

    def state_of(self, end: Endpoint) -> str:
        """How an end stands."""
        self._check()
        return self._dialogs.state(end)

    @contextmanager
    def _speaking(self) -> Iterator[DialogEngine]:
        """What is said in this transaction. What is refused in the block has done nothing."""
        dialogs = self._dialogs
        with dialogs.undone_if_refused():
            yield dialogs

    @property
    def _dialogs(self) -> DialogEngine:
        context = self._context
        return context.backend.dialogs(self._database, context, shared=self._shared)

    def _endpoint(self, conversation: Conversation | str) -> Endpoint:
        if not isinstance(conversation, Conversation):
            return self._dialogs.found(conversation)
        if conversation.is_of(self._context):
            return conversation.endpoint
        # another store's: of the same database, or of one where the same numbers are others' ends
        return self._dialogs.found(conversation.id)


class StoreConversations(StoreVerbs, DialogSession):
    """The same, each in a transaction of its own."""

    @abstractmethod
    def _verbs(self, database: Database) -> ConversationVerbs:
        """The verbs, for one of them: where it is refused, the whole transaction is undone."""

    @again
    def begin_dialog(
        self,
        service: str,
        far_service: str,
        contract: str | None = None,
        *,
        related: Conversation | str | None = None,
        group: str | None = None,
        lifetime: Time | None = None,
    ) -> Conversation:
        """Begin a dialog between two services; the initiator's end.

        `contract`: may be left out where the other service accepts one only. `related`: a
        conversation, or its id, whose conversation group this one joins; `group`: the name of such
        a group; else it gets one of its own. `lifetime`: seconds after which both ends get an
        Error, if the dialog has not ended. The other side hears of it with the first message.
        Raises MessageError.
        """
        with self._calling() as database:
            conversation = self._verbs(database).begin_dialog(
                *(service, far_service, contract),
                related=related,
                group=group,
                lifetime=lifetime,
            )
        return Conversation(conversation.endpoint, self)

    def conversation(self, id: str) -> Conversation:  # noqa: A002 - it is called so
        """The end of a dialog with this id. Raises ConversationError."""
        with self._connection() as database:
            return Conversation(self._dialogs(database).found(id), self)

    def service(self, name: str) -> DeclaredService:
        """A service as it was declared. Raises MessageError."""
        with self._connection() as database:
            return self._context.declared.get(database).service(name)

    @contextmanager
    def dialog_transaction(self) -> Iterator[ConversationVerbs]:
        """A transaction of its own."""
        with self._calling() as database:
            yield self._verbs(database)

    def bound_to(self, conversation: Conversation) -> Conversation | None:
        """The conversation that one is bound to."""
        with self._connection() as database:
            end = self._dialogs(database).bound(conversation.endpoint)
        return None if end is None else Conversation(end, self)

    def is_of(self, context: BaseContext) -> bool:
        """Whether it is of the store with this context."""
        return self._context is context

    def state_of(self, end: Endpoint) -> str:
        """How an end stands."""
        with self._connection() as database:
            return self._dialogs(database).state(end)

    def _dialogs(self, database: Database) -> DialogEngine:
        return self._context.backend.dialogs(database, self._context, shared=False)
