"""Queues of a store, used by clients of proton's over AMQP."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from proton import Message, ProtonException
from proton.handlers import MessagingHandler
from proton.reactor import Container, Copy
from proton.utils import SendException

from fairlead import Store
from fairlead.config.serving import ServingFile
from fairlead.serve.access import Access
from tests.serve.serving import Served, serving, wait_until


def bodies(store: Store, queue: str = "orders") -> list[Any]:
    found = []
    while (work := store.take(queue)) is not None:
        with work:
            found += [message.body for message in work]
    return found


def test_what_is_sent_is_in_the_store_when_it_is_accepted(store: Store, served: Served) -> None:
    connection = served.connect()
    sender = connection.create_sender("orders")
    sender.send(Message("a text", id="o-1", group_id="customer-7", subject="Order"))
    sender.send(Message(b"bytes", id="o-2", inferred=True))
    sender.send(Message({"total": 3}))
    work = store.take("orders")
    assert work is not None
    (message,) = work
    assert (message.id, message.group, message.type, message.body) == (
        *("o-1", "customer-7", "Order", "a text"),
    )
    work.accept()
    assert bodies(store) == [b"bytes", {"total": 3}]
    connection.close()


def test_a_message_that_is_sent_again_is_there_once(store: Store, served: Served) -> None:
    connection = served.connect()
    sender = connection.create_sender("orders")
    sender.send(Message("a text", id="o-1"))
    sender.send(Message("a text", id="o-1", ttl=60))
    assert bodies(store) == ["a text"]
    connection.close()


def test_a_message_comes_when_it_is_due_and_not_when_it_has_expired(
    store: Store, served: Served
) -> None:
    connection = served.connect()
    sender = connection.create_sender("orders")
    later = Message("later")
    later.annotations = {"x-opt-delivery-delay": 300}
    sender.send(later)
    sender.send(Message("late", ttl=0.001))
    receiver = connection.create_receiver("orders", credit=10)
    assert receiver.receive(timeout=10).body == "later"
    receiver.accept()
    assert [each.body for each in store.dead("orders")] == ["late"]
    connection.close()


def test_a_full_queue_and_a_body_that_is_refused_are_said(store: Store, served: Served) -> None:
    store.set_limits("orders", max_waiting=1)
    connection = served.connect()
    sender = connection.create_sender("orders")
    sender.send(Message("first", id="o-1"))
    for message in (Message("second"), Message("other", id="o-1")):
        with pytest.raises(SendException):
            sender.send(message)
    assert bodies(store) == ["first"]
    connection.close()


def test_a_receiver_gets_what_was_sent_best_first(store: Store, served: Served) -> None:
    store.send("orders", "low", group="a")
    store.send("orders", {"n": 1}, group="b", priority=200, id="o-2", type="Order")
    connection = served.connect()
    receiver = connection.create_receiver("orders", credit=2)
    first, second = receiver.receive(timeout=10), receiver.receive(timeout=10)
    assert (first.body, first.id, first.group_id, first.subject) == ({"n": 1}, "o-2", "b", "Order")
    assert second.body == "low"
    receiver.accept()
    receiver.accept()
    connection.close()
    wait_until(lambda: store.queues()[0].messages == 0)


def test_rejected_is_a_dead_letter_and_released_comes_again(store: Store, served: Served) -> None:
    for body in ("spoilt", "again"):
        store.send("orders", body, group=body)
    connection = served.connect()
    receiver = connection.create_receiver("orders", credit=1)
    assert receiver.receive(timeout=10).body == "spoilt"
    receiver.reject()
    assert receiver.receive(timeout=10).body == "again"
    receiver.release(delivered=False)
    again = receiver.receive(timeout=10)
    assert (again.body, again.delivery_count) == ("again", 1)
    receiver.release(delivered=True)
    again = receiver.receive(timeout=10)
    assert (again.body, again.delivery_count) == ("again", 2)
    receiver.accept()
    connection.close()
    wait_until(lambda: store.queues()[0].messages == 0)
    assert [each.body for each in store.dead("orders")] == ["spoilt"]


def test_what_a_lost_client_had_comes_again(store: Store, served: Served) -> None:
    for n in range(5):
        store.send("orders", n, group=f"g{n % 2}")
    connection = served.connect()
    receiver = connection.create_receiver("orders", credit=10)
    assert receiver.receive(timeout=10).body == 0
    served.hang_up()
    with suppress(ProtonException):
        connection.wait(lambda: connection.disconnected, timeout=5)
    other = served.connect()
    receiver = other.create_receiver("orders", credit=10)
    found = []
    for _ in range(5):
        message = receiver.receive(timeout=10)
        found.append(message.body)
        receiver.accept()
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert [n for n in found if not n % 2] == [0, 2, 4]
    other.close()


def test_many_messages_pass_in_the_order_of_their_groups(store: Store, served: Served) -> None:
    connection = served.connect()
    sender = connection.create_sender("orders")
    for n in range(60):
        sender.send(Message({"n": n}, group_id=f"g{n % 7}"))
    receiver = connection.create_receiver("orders", credit=15)
    found: list[int] = []
    for _ in range(60):
        body: Any = receiver.receive(timeout=10).body
        found.append(body["n"])
        receiver.accept()
    for g in range(7):
        assert [n for n in found if n % 7 == g] == list(range(g, 60, 7))
    connection.close()


def test_stopping_gives_back_what_is_under_way(store: Store) -> None:
    store.send("orders", "under way")
    with serving(store) as served:
        connection = served.connect()
        receiver = connection.create_receiver("orders", credit=1)
        assert receiver.receive(timeout=10).body == "under way"
    with suppress(ProtonException):
        connection.wait(lambda: connection.disconnected, timeout=5)
    work = store.take("orders")
    assert work is not None
    assert work.attempt == 2
    assert store.queues()[0].failures == 0


def test_a_receiver_may_say_at_once_what_it_wants(store: Store, served: Served) -> None:
    store.send("orders", "first")

    class Reader(MessagingHandler):
        found: list[Any] = []

        def on_start(self, event: Any) -> None:
            connection = event.container.connect(served.url, allowed_mechs="ANONYMOUS")
            event.container.create_receiver(connection, "orders")

        def on_message(self, event: Any) -> None:
            self.found.append(event.message.body)
            event.connection.close()

    reader = Reader()
    Container(reader).run()
    assert reader.found == ["first"]


def test_who_browses_takes_nothing(store: Store, served: Served) -> None:
    for n in range(3):
        store.send("orders", n, group="low" if n else "high", priority=0 if n else 200)
    connection = served.connect()
    for _ in range(2):
        receiver = connection.create_receiver("orders", credit=10, options=Copy())
        found = []
        for _ in range(3):
            found.append(receiver.receive(timeout=10).body)
            receiver.accept()
        assert found == [0, 1, 2]
        receiver.close()
    assert store.queues()[0].ready == 2
    assert bodies(store) == [0, 1, 2]
    connection.close()


def test_a_priority_raises_a_group_where_the_file_says_so(store: Store) -> None:
    access = Access(ServingFile(raised_by_priority=["jobs-*"]))
    with serving(store, access=access) as served:
        connection = served.connect()
        for queue in ("jobs-1", "orders"):
            sender = connection.create_sender(queue)
            for n, priority in enumerate((0, 4, 9)):
                sender.send(Message(n, group_id=f"g{n}", priority=priority))
        connection.close()
    assert (bodies(store, "jobs-1"), bodies(store, "orders")) == ([2, 1, 0], [0, 1, 2])


def test_what_waits_in_a_group_raises_it_when_something_of_it_is_done(store: Store) -> None:
    access = Access(ServingFile(raised_by_priority=["jobs"]))
    with serving(store, access=access) as served:
        connection = served.connect()
        sender = connection.create_sender("jobs")
        sent = [("a", 4), ("b", 4), ("a", 0), ("a", 9), ("c", 7), ("d", 0)]
        for group, priority in sent:
            sender.send(Message((group, priority), group_id=group, priority=priority))
        receiver = connection.create_receiver("jobs")  # which asks for one at a time
        found: list[Any] = []
        for _ in sent:
            found.append(tuple(receiver.receive(timeout=10).body))
            receiver.accept()
            connection.create_sender("other", name="o").close()  # which sends what was said
            wait_until(lambda: not store.working("jobs"))
        assert found == [("a", 4), ("a", 0), ("a", 9), ("c", 7), ("b", 4), ("d", 0)]
        connection.close()
