"""A service: the functions that handle its messages, by message type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from fairlead.balance.objects import listed, repr_of
from fairlead.config.services import DIALOG_TIMER, END_DIALOG, ERROR
from fairlead.errors import ConfigError, ConversationError, MessageError, Reject
from fairlead.store.arguments import duration, name, whole
from fairlead.store.conversation import Conversation
from fairlead.store.message import Message
from fairlead.store.transaction import Transaction
from fairlead.store.workers.handlers import Handler, function

IDLE_TIMEOUT: Final = 1.0
"""Seconds."""
GONE: Final = ("ended-by-other", "failed")
"""The states of a conversation in which nobody hears what is said."""
NOT_UNDERSTOOD: Final = 1
"""The code of the error with which a conversation ends whose message nobody handles."""

Function = TypeVar("Function", bound=Callable[..., object])


class Service:
    """The functions that handle the messages of a service, by message type.

    >>> shop = Service("Orders/Shop", max_readers=10)
    >>> @shop.on("Order")
    ... def order(message, tx):
    ...     tx.conversation(message.conversation).send("Confirmation", message.body)

    A function gets a message and the transaction in which its whole group is handled; what it does
    in that commits with the group. One that takes the message alone is called before a transaction
    begins, and may work for minutes: nobody waits for it but its group. It may return a function of
    the transaction, which is then called in it:

    >>> @shop.on("LongOrder")
    ... def long_order(message):
    ...     result = message.body.upper()
    ...     def answer(tx):
    ...         tx.conversation(message.conversation).send("Confirmation", result)
    ...     return answer

    Either may be a coroutine function; then the verbs of the transaction and of the conversation
    are awaited. All coroutines of a process run on one event loop.

    `fairlead work MODULE:shop` starts readers when messages arrive.

    A message of a type that no function is for: EndDialog and Error end this end of the
    conversation, a DialogTimer is nothing, and any other ends the conversation with an error. One
    that is on no conversation is rejected. So is one whose function says something in its
    conversation, when the other side has ended it: what the function did is undone.
    """

    def __init__(
        self, name: str, max_readers: int | None = None, idle_timeout: float = IDLE_TIMEOUT
    ) -> None:
        """`name`: as declared. Raises MessageError.

        `max_readers`: readers at one time; None: as declared. `idle_timeout`: seconds without work
        after which a reader leaves.
        """
        self.name = _named("service", name)
        """As declared."""
        if max_readers is not None:
            whole("max_readers", max_readers, 1)
        self.max_readers = max_readers
        """Readers at one time; None: as declared."""
        duration("idle_timeout", idle_timeout)
        self.idle_timeout = idle_timeout
        """Seconds without work after which a reader leaves."""
        self._functions: dict[str, Handler] = {}

    def on(self, *types: str) -> Callable[[Function], Function]:
        """Decorate the function that handles messages of these types.

        It takes (message, tx), or (message). Raises MessageError for what is no type, ConfigError
        for another function, and for a second one of a type.
        """
        for kind in types or ("",):
            _named("message type", kind)

        def decorate(call: Function) -> Function:
            where = f"service {self.name!r}: {listed(map(repr, types))}"
            handler = function(where, call)
            for kind in types:
                current = self._functions.setdefault(kind, handler).call
                if getattr(current, "function", current) is not call:
                    raise ConfigError(
                        f"service {self.name!r}: found two functions for {kind!r}, allowed: one"
                    )
            return call

        return decorate

    @property
    def works_before(self) -> bool:
        """Whether it has a function that works before the transaction begins."""
        return not all(handler.in_transaction for handler in self._functions.values())

    def before(self, message: Message) -> Callable[[Message], object] | None:
        """The function that works on a message before the transaction begins, if one does."""
        handler = self._functions.get(message.type or "")
        return None if handler is None or handler.in_transaction else partial(_before, handler.call)

    def handle(self, message: Message, tx: Transaction) -> None:
        """Handle a message, as `fairlead work` does. Raises what its function raises; Reject."""
        handler = self._functions.get(message.type or "")
        if handler is not None:
            _call(handler, message, tx)
            return
        if message.conversation is None:
            known = listed(map(repr, self._functions)) or "none"
            raise Reject(
                f"service {self.name!r}: found a message of type {message.type!r} on no "
                f"conversation, allowed: {known}"
            )
        here = tx.conversation(message.conversation)
        if message.type in (END_DIALOG, ERROR):
            here.end()
        elif message.type != DIALOG_TIMER:
            reason = f"{self.name} does not understand messages of type {message.type!r}"
            here.end(error=(NOT_UNDERSTOOD, reason))

    def __repr__(self) -> str:
        return f"<Service {self.name!r}>"


def _call(handler: Handler, message: Message, tx: Transaction) -> None:
    if handler.in_transaction:
        _unless_gone(partial(handler.call, message), message, tx)
    else:
        finish = handler.call(message)
        if callable(finish):
            _unless_gone(finish, message, tx)


def _before(call: Callable[[Message], object], message: Message) -> object:
    try:
        finish = call(message)
    except ConversationError as error:
        raise _refused(error, message.conversation) from error
    return partial(_unless_gone, finish, message) if callable(finish) else None


def _unless_gone(call: Callable[[Transaction], object], message: Message, tx: Transaction) -> None:
    """Call a function; where it answers somebody who has gone, its message is a dead letter.

    Else whoever ends a dialog early would make a poison of it, which keeps others from their turn.
    """
    try:
        call(tx)
    except ConversationError as error:
        here = message.conversation
        raise _refused(error, None if here is None else tx.conversation(here)) from error


def _refused(error: ConversationError, here: Conversation | None) -> Exception:
    """What an error is where somebody who has gone was told something."""
    return error if here is None or here.state not in GONE else Reject(str(error))


def _named(what: str, value: object) -> str:
    checked = name(what, value)
    if not checked:
        raise MessageError(f"{what}: found {repr_of(value)}, allowed: a name")
    return checked
