"""Transactions of AMQP, as clients of proton's make them: each is one of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from proton import Message
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import Container

from fairlead import Store
from tests.serve.serving import Served, wait_until


class Client(MessagingHandler, TransactionHandler):
    """Takes so many messages, and sends one for each, in one transaction; then ends it."""

    def __init__(
        self, url: str, takes: int, end: str, sends: int = 2, takes_from: str = "in"
    ) -> None:
        super().__init__(prefetch=0, auto_accept=False)
        self.url, self.takes, self.end, self.sends = url, takes, end, sends
        self.takes_from = takes_from
        self.sent = 0
        self.transaction: Any = None
        self.seen: list[Any] = []
        self.before: Callable[[], None] = lambda: None
        self.over = ""

    def on_start(self, event: Any) -> None:
        self.connection = event.container.connect(self.url, allowed_mechs="ANONYMOUS")
        self.sender = event.container.create_sender(self.connection, "out")
        self.receiver = event.container.create_receiver(self.connection, self.takes_from)
        event.container.declare_transaction(self.connection, handler=self)

    def on_transaction_declared(self, event: Any) -> None:
        self.transaction = event.transaction
        self.send_as_credit_lets()

    def on_sendable(self, event: Any) -> None:
        if self.transaction is not None and event.sender == self.sender and self.sent < self.sends:
            self.send_as_credit_lets()

    def send_as_credit_lets(self) -> None:
        """What is sent without credit waits in the client, and a commit would overtake it."""
        while self.sender.credit and self.sent < self.sends:
            self.transaction.send(self.sender, Message(f"out {self.sent}"))
            self.sent += 1
        if self.sent < self.sends:
            return
        if self.takes:
            self.receiver.flow(self.takes)
        else:
            self.finish()

    def on_message(self, event: Any) -> None:
        self.seen.append(event.message.body)
        self.transaction.accept(event.delivery)
        if len(self.seen) == self.takes:
            self.finish()

    def finish(self) -> None:
        self.before()
        if self.end == "commit":
            self.transaction.commit()
        elif self.end == "abort":
            self.transaction.abort()
        else:
            self.connection.close()

    def on_transaction_committed(self, event: Any) -> None:
        self.over = "committed"
        self.connection.close()

    def on_transaction_aborted(self, event: Any) -> None:
        self.over = "aborted"
        self.connection.close()

    def on_transaction_commit_failed(self, event: Any) -> None:
        self.over = "failed"
        self.connection.close()


def held(store: Store) -> dict[str, int]:
    return {each.queue: each.messages for each in store.queues() if each.messages}


@pytest.mark.parametrize(
    ("end", "over", "left"),
    [
        ("commit", "committed", {"out": 2}),
        ("abort", "aborted", {"in": 3}),
        ("close", "", {"in": 3}),
    ],
)
def test_all_of_it_happens_or_nothing(
    store: Store, served: Served, end: str, over: str, left: dict[str, int]
) -> None:
    for n in range(3):
        store.send("in", n, group="g")
    client = Client(served.url, 3, end)
    client.before = lambda: held_before.update(held(store))
    held_before: dict[str, int] = {}
    Container(client).run()
    assert (client.seen, client.over) == ([0, 1, 2], over)
    assert held_before == {"in": 3}
    wait_until(lambda: held(store) == left)
    if "in" in left:
        work = store.take("in", wait=5)
        assert work is not None
        assert ([message.body for message in work], work.attempt) == ([0, 1, 2], 2)


def test_what_the_store_refuses_undoes_all_of_it(store: Store, served: Served) -> None:
    store.set_limits("out", max_waiting=1)
    store.send("in", "first", group="g")
    client = Client(served.url, 1, "commit")
    Container(client).run()
    assert client.over == "failed"
    wait_until(lambda: held(store) == {"in": 1})
    work = store.take("in", wait=5)
    assert work is not None
    assert [message.body for message in work] == ["first"]
