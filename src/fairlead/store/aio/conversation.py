"""A conversation, as one of its ends sees it from an event loop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fairlead.balance.times import Time
from fairlead.store.aio.acting import Acting
from fairlead.store.conversation import Conversation

if TYPE_CHECKING:
    from fairlead.store.aio.work import AsyncWork


class AsyncConversation:
    """One end of a dialog between two services: a `Conversation` whose verbs are awaited."""

    def __init__(self, conversation: Conversation, acting: Acting) -> None:
        """`AsyncStore.begin_dialog` gives one, and a message."""
        self.plain = conversation
        """The end itself."""
        self._acting = acting

    @property
    def id(self) -> str:
        """This end's id. Who knows it can act as this end; the other end has another one."""
        return self.plain.id

    @property
    def dialog(self) -> str:
        """The dialog's name, which both ends have."""
        return self.plain.dialog

    @property
    def group(self) -> str:
        """The conversation group in which its messages wait."""
        return self.plain.group

    @property
    def service(self) -> str:
        """The service at this end."""
        return self.plain.service

    @property
    def far_service(self) -> str:
        """The service at the other end."""
        return self.plain.far_service

    @property
    def contract(self) -> str:
        """The contract that both keep to."""
        return self.plain.contract

    @property
    def queue(self) -> str:
        """The queue in which its messages wait."""
        return self.plain.queue

    @property
    def side(self) -> str:
        """Initiator | target."""
        return self.plain.side

    async def state(self) -> str:
        """How this end stands now, as `Conversation.state` says."""
        return await self._acting.read(lambda: self.plain.state)

    async def send(self, type: str, body: object = b"") -> str:  # noqa: A002 - the field's own word
        """Send a message to the other end, as `Conversation.send` does; its id."""
        return await self._acting.write(partial(self.plain.send, type, body))

    async def prioritise(self, priority: int | None = None) -> bool:
        """Raise the group in which the other end's messages wait."""
        return await self._acting.write(partial(self.plain.prioritise, priority))

    async def timer(self, seconds: Time | None) -> None:
        """Let a DialogTimer come to this end after so many seconds; None: no timer any more."""
        await self._acting.write(partial(self.plain.timer, seconds))

    async def bind(self, other: AsyncConversation) -> None:
        """Remember another conversation with this one, and this one with that: to forward."""
        await self._acting.write(partial(self.plain.bind, other.plain))

    async def bound(self) -> AsyncConversation | None:
        """The conversation that this one is bound to; None: there is none, or it has ended."""
        found = await self._acting.read(self.plain.bound)
        return None if found is None else AsyncConversation(found, self._acting)

    async def end(self, error: tuple[int, str] | None = None, *, cleanup: bool = False) -> None:
        """End this end, as `Conversation.end` does."""
        await self._acting.write(partial(self.plain.end, error, cleanup=cleanup))

    async def take(self, wait: float = 0, lease: float = 60) -> AsyncWork | None:
        """Take what waits in this conversation, and nothing else; None: nothing does."""
        return await self._acting.receive(self.plain, wait, lease)

    def act_through(self, acting: Acting) -> None:
        """Act through another one: the transaction in which it was begun is committed."""
        self._acting = acting

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsyncConversation) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Async{repr(self.plain)[1:]}"


def plain_of(conversation: AsyncConversation | str | None) -> Conversation | str | None:
    """As the verbs that are not awaited take it."""
    return conversation.plain if isinstance(conversation, AsyncConversation) else conversation
