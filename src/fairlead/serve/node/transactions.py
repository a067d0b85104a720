"""Transactions of AMQP: what is sent and settled in one happens at its end, or not at all.

All of it is one transaction of the store. Until then it is kept here, and a peer that goes takes
its transactions with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fairlead.serve import codec
from fairlead.serve import message as messages
from fairlead.serve.codec import CodecError, DescribedValue
from fairlead.serve.node.calls import Ending, Unit
from fairlead.serve.node.conditions import DECODE, LIMIT, condition_of
from fairlead.serve.node.open_transaction import UNKNOWN, OpenTransaction
from fairlead.serve.node.port import Wire
from fairlead.serve.wire.events import (
    ACCEPTED,
    DECLARED,
    REJECTED,
    RELEASED,
    Condition,
    Delivered,
    Disposed,
    Link,
    Outcome,
)

DECLARE, DISCHARGE = 0x31, 0x32
NAMES: Final = {"amqp:declare:list": DECLARE, "amqp:discharge:list": DISCHARGE}
ROLLBACK: Final = "amqp:transaction:rollback"
CREDIT: Final = 100
MOST: Final = 100
"""Transactions that a connection may have at one time."""


class Coordinator:
    """The link on which a peer begins and ends transactions, and those that it has begun."""

    def __init__(self, wire: Wire, link: Link, submit: Callable[[Unit], None]) -> None:
        """`submit`: does a unit."""
        self.wire, self.link = wire, link
        self._submit = submit
        self._next = 0
        self._open: dict[bytes, OpenTransaction] = {}
        wire.credit(link, CREDIT)

    def ledger(self, transaction: bytes) -> OpenTransaction | None:
        """The transaction that is called so."""
        return self._open.get(transaction)

    def came(self, event: Delivered) -> None:
        """A transaction begins or ends."""
        self.wire.credit(self.link, 1)
        try:
            kind, fields = _asked(event.sections)
        except CodecError as error:
            self._refuse(event.delivery, Condition(DECODE, str(error)))
            return
        if kind == DECLARE:
            self._declare(event.delivery)
            return
        transaction, fail = (*fields, None, None)[:2]
        ledger = self._open.pop(transaction, None) if isinstance(transaction, bytes) else None
        self.wire.held -= 0 if ledger is None else ledger.size
        if ledger is None:
            self._refuse(event.delivery, Condition(UNKNOWN, "found no such transaction"))
        elif fail is True:
            roll_back(ledger, failed=True)
            self.wire.settle(event.delivery, Outcome(ACCEPTED))
        elif ledger.refused is not None:
            roll_back(ledger)
            self._refuse(event.delivery, Condition(ROLLBACK, ledger.refused.description))
        elif not ledger.whole:
            roll_back(ledger)
            why = "found a message in it that went back, as its link has ended"
            self._refuse(event.delivery, Condition(ROLLBACK, why))
        else:
            self._commit(event.delivery, ledger)

    def _declare(self, delivery: int) -> None:
        if len(self._open) >= MOST:
            why = f"found more than {MOST} transactions of a link, allowed: {MOST}"
            self._refuse(delivery, Condition(LIMIT, why))
            return
        self._next += 1
        transaction = self._next.to_bytes(8)
        self._open[transaction] = OpenTransaction([], {})
        self.wire.settle(delivery, Outcome(DECLARED, transaction=transaction))

    def _commit(self, delivery: int, ledger: OpenTransaction) -> None:
        ends: list[Ending] = []
        for settlement in ledger.settled.values():
            settlement.holding, endings = settlement.consumers.ended_in(
                settlement.receiver, settlement.event.delivery, settlement.event.outcome
            )
            ends += endings
        unit = Unit(
            self._ended,
            sends=ledger.sends,
            ends=ends,
            owner=(delivery, ledger),
            size=ledger.size,
        )
        self.wire.pending += ledger.size
        self._submit(unit)

    def _ended(self, unit: Unit, error: Exception | None) -> None:
        delivery, ledger = unit.owner
        self.wire.pending -= ledger.size
        for settlement in ledger.settled.values():
            stored = error is None
            settlement.consumers.ended_with(
                settlement.receiver, settlement.event, settlement.holding, stored=stored
            )
        if error is None:
            self.wire.settle(delivery, Outcome(ACCEPTED))
        else:
            self._refuse(delivery, Condition(ROLLBACK, condition_of(error).description))

    def _refuse(self, delivery: int, why: Condition) -> None:
        self.wire.settle(delivery, Outcome(REJECTED, condition=why))

    def end(self) -> None:
        """The link has ended, and with it all of them."""
        for ledger in self._open.values():
            roll_back(ledger, failed=True)
            self.wire.held -= ledger.size
        self._open.clear()


def roll_back(ledger: OpenTransaction, *, failed: bool = False) -> None:
    """What was sent is forgotten; what its receiver has forgotten comes again.

    `failed`: whether the message is to blame that was settled last: its client was busy with that.
    """
    for number in [*ledger.settled][-1:] if failed else []:
        last = ledger.settled[number]
        last.consumers.rolled_back(last.receiver, number)
    for settlement in ledger.settled.values():
        if settlement.event.settled:
            again = Disposed(
                settlement.event.link, settlement.event.delivery, Outcome(RELEASED), settled=False
            )
            settlement.consumers.disposed(settlement.receiver, again)


def _asked(sections: bytes) -> tuple[int, list[Any]]:
    """Whether a transaction is declared or discharged, and how. Raises CodecError."""
    parts = messages.sections(sections)
    body = next((part for part in parts if part.kind == messages.VALUE), None)
    content = None if body is None else codec.decode(sections[body.value : body.end])
    if isinstance(content, DescribedValue) and isinstance(content.value, list):
        kind = content.descriptor
        kind = NAMES.get(kind, 0) if isinstance(kind, str) else kind
        if kind in (DECLARE, DISCHARGE):
            return int(kind), content.value
    raise CodecError("found no declare and no discharge, where one must be")
