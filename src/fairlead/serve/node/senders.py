"""Links on which peers send: what comes on them goes to a queue, or is published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fairlead.balance.message import GUARANTEED
from fairlead.serve import message as messages
from fairlead.serve.codec import CodecError
from fairlead.serve.message import Incoming
from fairlead.serve.node.calls import ANY, CLUSTER, QUEUE, Answer, Send, Unit
from fairlead.serve.node.conditions import DECODE, INVALID, NOT_IMPLEMENTED, condition_of
from fairlead.serve.node.link_requests import refusal_of_form
from fairlead.serve.node.open_transaction import UNKNOWN, OpenTransaction
from fairlead.serve.node.port import Wire
from fairlead.serve.node.publisher_confirms import Awaiting
from fairlead.serve.node.subjects import PREFIX
from fairlead.serve.wire.events import (
    ACCEPTED,
    REJECTED,
    Condition,
    Delivered,
    Link,
    Outcome,
)
from fairlead.store.clusters.decision import StoreDecision

WINDOW: Final = 1000
"""So many messages a link may have under way that are not answered yet."""
KIND: Final = "x-opt-jms-dest"
"""An annotation: what the address is to which a client of JMS sends."""
TOPICS: Final = (1, 3)
"""A topic, and a temporary one."""
Said = Callable[[Incoming], "dict[str, Any] | Condition"]
"""What a message says for a policy, or why it cannot say it."""
_ACCEPT: Final = Outcome(ACCEPTED)


class SenderLink:
    """A link on which the peer sends."""

    def __init__(
        self,
        wire: Wire,
        link: Link,
        to: str | None,
        kind: str,
        submit: Callable[[Unit], None],
        window: int = WINDOW,
        said: Said | None = None,
        deny: Callable[[str], Condition | None] = lambda _: None,
        raises: Callable[[str], bool] = lambda _: False,
        awaiting: Awaiting | None = None,
    ) -> None:
        """`to`: the queue or cluster; None: each message says it. `submit`: does a unit.

        `said`: what a message says for the policy, where its application properties do not.
        `deny`: why a message may not go where it says, if so. `raises`: whether a message's
        priority raises its group there. `awaiting`: where its guaranteed messages are awaited.
        """
        self.wire, self.link = wire, link
        self.to, self.kind = to, kind
        self._submit = submit
        self._window = window
        self._said = said or _said
        self._deny = deny
        self._raises = raises
        self._awaiting = awaiting
        self._raises_there = to is not None and raises(to)
        self._credit = 0
        self._open = 0
        """Messages that are not answered yet."""
        self.stopped = False

    def grant(self) -> None:
        """Let the peer send on, as far as it may."""
        more = self._window - self._credit - self._open
        if not self.stopped and more >= max(self._window // 2, 1):
            self.wire.credit(self.link, more)
            self._credit += more

    def used(self) -> None:
        """A message of the credit has come."""
        self._credit -= 1

    def send_of(self, event: Delivered, now: float) -> Send | Condition:
        """A message as the store is to have it, or why it cannot."""
        try:
            message = messages.incoming(event.sections)
        except (CodecError, RecursionError) as error:
            return Condition(DECODE, str(error))
        to = self.to if self.to is not None else message.properties.get("to")
        if not isinstance(to, str) or not to:
            return Condition(INVALID, "to: found no address, allowed: a queue or cluster")
        if (
            self.to is None
            and (why := self._refusal_of_to(to, message) or self._deny(to)) is not None
        ):
            return why
        attributes = {} if self.kind == QUEUE else self._said(message)
        if isinstance(attributes, Condition):
            return attributes
        try:
            send = _send(to, self.kind, message, now, attributes)
        except CodecError as error:
            return Condition(INVALID, str(error))
        reply_to = message.properties.get("reply_to")
        if isinstance(reply_to, str):
            send.reply_to = reply_to
        if self._raises_there or (self.to is None and self._raises(to)):
            send.more["priority"] = messages.priority_of(message.priority)
        return self._with_answer(send, message)

    def _refusal_of_to(self, to: str, incoming: Incoming) -> Condition | None:
        """Why a message cannot go where it says: its link said nothing of that."""
        if to.startswith(PREFIX):
            return Condition(NOT_IMPLEMENTED, f"to: found {to!r}, allowed: the name of a queue")
        if incoming.annotations.get(KIND) in TOPICS:
            why = f"to: found a topic, {to!r}, allowed: a queue, or a link at the topic"
            return Condition(NOT_IMPLEMENTED, why)
        return refusal_of_form(to)

    def _with_answer(self, send: Send, incoming: Incoming) -> Send | Condition:
        """The same, with where to say its destination, if it asks for that."""
        if self.kind in (CLUSTER, ANY) and incoming.annotations.get(messages.DESTINATION) is True:
            reply = incoming.properties.get("reply_to")
            if not isinstance(reply, str) or not reply:
                return Condition(
                    INVALID, f"{messages.DESTINATION}: found no reply-to, allowed: a queue"
                )
            if (why := self._deny(reply)) is not None:
                return why
            send.answer = Answer(reply, incoming.properties.get("message_id"))
        return send

    def came(self, event: Delivered, now: float) -> None:
        """A message has come that belongs to no transaction."""
        self.used()
        send = self.send_of(event, now)
        if isinstance(send, Condition):
            self.wire.settle(event.delivery, Outcome(REJECTED, condition=send))
            self.grant()
            return
        self._open += 1
        self.wire.pending += len(event.sections)
        unit = Unit(self._wrote, sends=[send], owner=event.delivery, size=len(event.sections))
        self._submit(unit)

    def came_in(self, event: Delivered, ledger: OpenTransaction | None, now: float) -> None:
        """A message has come that belongs to a transaction; None: to one that there is not."""
        self.used()
        send = self.send_of(event, now)
        if ledger is None:
            outcome = Outcome(REJECTED, condition=Condition(UNKNOWN, "found no such transaction"))
        else:
            before = ledger.size
            why = ledger.add(send, len(event.sections))
            self.wire.held += ledger.size - before  # until its end
            kind = ACCEPTED if why is None else REJECTED
            outcome = Outcome(kind, condition=why, transaction=event.transaction)
        self.wire.settle(event.delivery, outcome)
        self.grant()

    def _wrote(self, unit: Unit, error: Exception | None) -> None:
        self.wire.pending -= unit.size
        number = None if error is not None or not unit.owner else guaranteed_in(unit)
        if number is not None and self._awaiting is not None:
            self._awaiting.add(number, self, partial(self._answer, unit.owner))
        else:
            self._answer(unit.owner, outcome_of(error))

    def _answer(self, delivery: Any, outcome: Outcome) -> None:  # noqa: ANN401 - the wire's
        self._open -= 1
        if delivery:
            self.wire.settle(delivery, outcome)
        self.grant()


def guaranteed_in(unit: Unit) -> int | None:
    """The number of a decision of which the publisher is told later; None: there is none."""
    (send,), (decision,) = unit.sends, unit.answers
    if send.said.get("delivery") in GUARANTEED and isinstance(decision, StoreDecision):
        return decision.number
    return None


def outcome_of(error: Exception | None) -> Outcome:
    """What a sender is told of a message that was stored, or refused."""
    return _ACCEPT if error is None else Outcome(REJECTED, condition=condition_of(error))


def _send(to: str, kind: str, incoming: Incoming, now: float, said: dict[str, Any]) -> Send:
    properties = incoming.properties
    more: dict[str, Any] = {}
    if not (properties or incoming.annotations or incoming.ttl):
        return Send(to, kind, incoming.body, more, said)
    delay = messages.delay_in(incoming.annotations, now)
    for key, value in (
        ("id", messages.name_of(properties.get("message_id"))),
        ("group", properties.get("group_id")),
        ("type", properties.get("subject")),
        ("delay", delay),
        ("expires", messages.expiry_of(incoming, now, delay)),
    ):
        if value:
            more[key] = str(value) if isinstance(value, str) else value
    return Send(to, kind, incoming.body, more, said)


def _said(incoming: Incoming) -> dict[str, Any]:
    return {
        str(key): messages.plain(value)
        for key, value in incoming.application_properties.items()
        if isinstance(key, str) and value is not None
    }
