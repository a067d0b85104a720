"""The service in front of another one, through which a caller may ask that its work go first.

A request for more priority must not wait behind the work that it raises. So it comes to a service
of its own, which does nothing but forward: requests to the service behind it, and what that says
back. Only the conversation in which it is asked is raised: nobody can raise another's.

Source: Processing conversation with priority order (Service Broker), front end and back end.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

from fairlead.balance.objects import repr_of
from fairlead.config.services import DIALOG_TIMER, END_DIALOG, ERROR
from fairlead.errors import ConversationError, MessageError
from fairlead.order.agenda import HIGHEST, LOWEST
from fairlead.store.conversation import Conversation
from fairlead.store.dialogs.validation import fault
from fairlead.store.message import Message
from fairlead.store.queues.bodies import encoded
from fairlead.store.queues.endpoints import SIDES, TARGET
from fairlead.store.transaction import Transaction
from fairlead.store.workers.service import IDLE_TIMEOUT, NOT_UNDERSTOOD, Service

SET_PRIORITY: Final = "SetPriority"
BAD_PRIORITY: Final = 2
"""The code of the error with which a conversation ends that asks for a priority there is not."""
WHOLE: Final = re.compile(r"\s*\d{1,9}\s*", re.ASCII)


class PriorityService(Service):
    """Forwards requests to the service behind it, and raises those that ask for it.

    >>> front = PriorityService("Prioritised", back="Workers")

    A message of type SetPriority raises the work behind the conversation in which it comes: to a
    number from 0 to 255, or without one to the default of that queue. Its body is the number, as
    data, as text, as {"priority": 80} or as <priority>80</priority>. Before the first request it is
    ignored. Anything else that is no such number ends the conversation with an error.

    All other types are requests: they are forwarded in a dialog with the service behind, one for
    each conversation, and what comes back is forwarded, too. Ends and errors of one side are passed
    on to the other.
    """

    def __init__(
        self,
        name: str,
        back: str,
        contract: str | None = None,
        *,
        set_priority: str = SET_PRIORITY,
        max_readers: int | None = None,
        idle_timeout: float = IDLE_TIMEOUT,
    ) -> None:
        """`name`, `back`: this service and the one behind it, as declared.

        `contract`: with that one; it may be left out where that accepts one only. `set_priority`:
        the type of the messages that raise. `max_readers`, `idle_timeout`: as a `Service` has them.
        """
        super().__init__(name, max_readers, idle_timeout)
        self.back = back
        self.contract = contract
        self.set_priority = set_priority

    def handle(self, message: Message, tx: Transaction) -> None:
        """Forward a message, or act on it."""
        if message.conversation is None or message.type in (DIALOG_TIMER, *self._functions):
            super().handle(message, tx)
            return
        here = tx.conversation(message.conversation)
        other = here.bound()
        if message.type == END_DIALOG:
            _end(here, other)
        elif message.type == ERROR:
            _end(here, other, passed_on=_error_in(message))
        elif here.side != SIDES[TARGET]:
            _forward(message, here, other)
        elif message.type == self.set_priority:
            if other is not None:
                _raise(message, here, other)
        else:
            _forward(message, here, other or self._begun(tx, here))

    def _begun(self, tx: Transaction, here: Conversation) -> Conversation:
        other = tx.begin_dialog(self.name, self.back, self.contract, related=here)
        here.bind(other)
        return other


def priority_in(body: object) -> int | None:
    """The priority that a body asks for; None: the default. Raises MessageError."""
    value = _said(body)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str) and WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and LOWEST <= value <= HIGHEST:
        return value
    raise MessageError(
        f"priority: found {repr_of(value)[:100]}, allowed: an integer from {LOWEST} to {HIGHEST}"
    )


def _said(body: object) -> object:
    """What stands where the number belongs; None: nothing."""
    if isinstance(body, dict):
        return body.get("priority")
    if isinstance(body, bytes):
        body = body.decode(errors="replace")
    if isinstance(body, str) and body.lstrip().startswith("<"):
        if fault("xml", None, *encoded(body)) is None:
            root = ET.fromstring(body)  # noqa: S314 - without DOCTYPE, as was looked at
            return (root.text or "") if root.tag == "priority" else None
        return body
    return body


def _raise(message: Message, here: Conversation, other: Conversation) -> None:
    try:
        priority = priority_in(message.body)
    except MessageError as error:
        refused = (BAD_PRIORITY, str(error))
        here.end(error=refused)
        _end_other(other, refused)
    else:
        other.prioritise(priority)


def _forward(message: Message, here: Conversation, other: Conversation | None) -> None:
    if other is None:
        return  # it was ended by hand
    try:
        other.send(message.type or "", message.body)
    except ConversationError:
        return  # its other side has ended; that is passed on when its notice is read
    except MessageError as error:
        refused = (NOT_UNDERSTOOD, str(error))
        here.end(error=refused)
        _end_other(other, refused)


def _end(
    here: Conversation, other: Conversation | None, passed_on: tuple[int, str] | None = None
) -> None:
    here.end()
    if other is not None:
        _end_other(other, passed_on)


def _end_other(other: Conversation, error: tuple[int, str] | None) -> None:
    try:
        other.end(error=error)
    except ConversationError:
        return  # somebody has ended it by hand


def _error_in(message: Message) -> tuple[int, str]:
    """What an Error says; codes of the store's own are below 0, and are passed on above it."""
    return max(abs(message.body["code"]), 1), message.body["description"]
