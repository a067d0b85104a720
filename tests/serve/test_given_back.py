"""What is given back over AMQP: which message is to blame, how often it comes again, and when."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from proton import ProtonException
from proton.reactor import Container
from proton.utils import LinkDetached

from fairlead import Store
from fairlead.serve import executor
from fairlead.serve.node import group_delivery, node
from tests.blame.failed import say
from tests.serve.serving import Served, serving, wait_until
from tests.serve.test_transactions import Client


def taken(receiver: Any, count: int) -> dict[Any, int]:
    """So many messages, and how often each was given in vain."""
    found = {}
    for _ in range(count):
        message = receiver.receive(timeout=10)
        found[message.body] = message.delivery_count
    return found


def lost(served: Served, connection: Any) -> None:
    served.hang_up()
    with suppress(ProtonException):
        connection.wait(lambda: connection.disconnected, timeout=5)
    wait_until(lambda: not served.server.sessions)


def dead(store: Store, queue: str = "jobs") -> list[tuple[Any, str]]:
    return [(each.body, each.reason) for each in store.dead(queue)]


@pytest.mark.parametrize("group", [None, "kim"])
def test_a_lost_connection_blames_the_oldest_that_was_not_settled(
    store: Store, served: Served, group: str | None
) -> None:
    for body in ("done", "poison", "good 1", "good 2", "good 3"):
        store.send("jobs", body, group=group)
    for turn in range(5):
        connection = served.connect()
        receiver = connection.create_receiver("jobs", credit=10)
        if not turn:
            assert taken(receiver, 1) == {"done": 0}
            receiver.accept()
            say(connection)
        good = dict.fromkeys(["good 1", "good 2", "good 3"], min(turn, 1))
        assert taken(receiver, 4) == {"poison": turn, **good}
        lost(served, connection)
        wait_until(lambda: store.queues()[0].ready > 0)
    assert dead(store) == [("poison", "its receiver is gone")]
    connection = served.connect()
    receiver = connection.create_receiver("jobs", credit=10)
    assert taken(receiver, 3) == {"good 1": 1, "good 2": 1, "good 3": 1}
    connection.close()


def test_each_link_of_a_lost_connection_had_one_message_in_hand(
    store: Store, served: Served
) -> None:
    for queue in ("jobs", "more"):
        store.set_limits(queue, max_failures=1)
        for body in ("poison", "good"):
            store.send(queue, body)
    connection = served.connect()
    for queue in ("jobs", "more"):
        taken(connection.create_receiver(queue, credit=10), 2)
    lost(served, connection)
    wait_until(lambda: all(each.ready for each in store.queues()))
    reason = "its receiver is gone"
    assert (dead(store), dead(store, "more")) == ([("poison", reason)], [("poison", reason)])


def test_a_message_counts_its_own_deliveries(store: Store, served: Served) -> None:
    for body in ("first", "second", "third"):
        store.send("jobs", body, group="kim")
    connection = served.connect()
    receiver = connection.create_receiver("jobs")  # which asks for one at a time
    for count in range(3):
        assert taken(receiver, 1) == {"first": count}
        receiver.release(delivered=True)
    assert taken(receiver, 1) == {"first": 3}
    receiver.accept()
    assert taken(receiver, 1) == {"second": 0}
    receiver.release(delivered=True)
    assert taken(receiver, 1) == {"second": 1}
    receiver.accept()
    store.send("jobs", "fourth", group="kim")
    for body in ("third", "fourth"):
        assert taken(receiver, 1) == {body: 0}
        receiver.accept()
    connection.close()


def test_what_others_had_may_have_been_any_of_it(store: Store, served: Served) -> None:
    for body in ("first", "second"):
        store.send("jobs", body, group="kim")
    work = store.take("jobs")
    assert work is not None
    list(work)
    work.release()
    connection = served.connect()
    receiver = connection.create_receiver("jobs", credit=2)
    assert taken(receiver, 2) == {"first": 1, "second": 1}
    receiver.accept()
    receiver.accept()
    connection.close()


@pytest.mark.parametrize("end", ["abort", "close"])
def test_a_transaction_that_is_rolled_back_is_a_failure_of_what_was_settled_last(
    store: Store, served: Served, end: str
) -> None:
    store.set_limits("in", max_failures=2)
    for body in ("good 1", "good 2", "poison", "good 3"):
        store.send("in", body)
    for _ in range(2):
        client = Client(served.url, 3, end, sends=0)
        Container(client).run()
        assert client.seen == ["good 1", "good 2", "poison"]
        wait_until(lambda: not served.server.sessions)
        wait_until(lambda: store.queues()[0].ready + len(dead(store, "in")) == 4)
    assert dead(store, "in") == [("poison", "its receiver's transaction was rolled back")]
    assert store.queues()[0].ready == 3


@pytest.mark.slow
def test_what_is_given_back_again_and_again_comes_later_and_in_the_end_is_a_failure(
    store: Store, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.set_limits("jobs", max_failures=1)
    monkeypatch.setattr(group_delivery, "SHORTEST", 50_000)
    monkeypatch.setattr(group_delivery, "LONGEST", 100_000)
    store.send("jobs", "poison")
    connection = served.connect()
    receiver = connection.create_receiver("jobs", credit=1)
    times = []
    for count in range(group_delivery.OFTEN):
        assert taken(receiver, 1) == {"poison": count}
        times.append(time.monotonic())
        receiver.release(delivered=False)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps[2:]) >= 0.05
    assert min(gaps[3:]) >= 0.1
    connection.close()
    wait_until(lambda: bool(store.dead("jobs")))
    assert dead(store) == [("poison", "its receivers have given it back 20 times")]


@pytest.mark.costly
def test_a_client_that_only_leaves_with_what_it_has_not_looked_at_blames_nothing(
    store: Store, served: Served
) -> None:
    store.set_limits("jobs", max_failures=1)
    for n in range(3):
        store.send("jobs", n)
    for turn in range(25):
        connection = served.connect()
        receiver = connection.create_receiver("jobs", credit=3)
        assert taken(receiver, 3) == dict.fromkeys(range(3), min(turn, 1))
        connection.close()
    wait_until(lambda: store.queues()[0].ready == 3)
    assert dead(store) == []


def test_what_failed_before_is_no_failure_of_the_next_of_its_group(
    store: Store, served: Served
) -> None:
    store.set_limits("jobs", max_failures=3)
    for body in ("first", "second"):
        store.send("jobs", body, group="kim")

    def failed(*bodies: str, accept: int = 0) -> None:
        connection = served.connect()
        receiver = connection.create_receiver("jobs", credit=10)
        assert [*taken(receiver, len(bodies))] == [*bodies]
        for _ in range(accept):
            receiver.accept()
        say(connection)
        lost(served, connection)
        wait_until(lambda: store.queues()[0].working == 0)

    for _ in range(2):
        failed("first", "second")
    failed("first", "second", accept=1)  # and the second fails
    failed("second")
    assert dead(store) == []
    failed("second")
    assert dead(store) == [("second", "its receiver is gone")]


@pytest.mark.costly
def test_what_a_client_holds_already_may_be_held_for_as_long_as_is_said_then(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "RENEW", 0.1)
    monkeypatch.setattr(executor, "KNOWN", 0.1)
    store.set_limits("jobs", max_failures=1)
    store.send("jobs", "hangs")
    with serving(store) as served:
        connection = served.connect()
        receiver = connection.create_receiver("jobs", credit=10)
        assert taken(receiver, 1) == {"hangs": 0}
        store.set_limits("jobs", max_failures=1, max_seconds=1)
        with pytest.raises(LinkDetached, match=r"amqp:resource-limit-exceeded.*max_seconds = 1"):
            connection.wait(lambda: store.dead("jobs") and False, timeout=20)
        connection.close()


@pytest.mark.slow
def test_what_a_client_keeps_for_too_long_has_failed_and_what_it_has_beside_that_has_not(
    store: Store, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    store.set_limits("jobs", max_failures=1, max_seconds=1)
    for body in ("hangs", "good"):
        store.send("jobs", body, group="kim")
    connection = served.connect()
    receiver = connection.create_receiver("jobs", credit=10)
    assert taken(receiver, 2) == {"hangs": 0, "good": 0}
    with pytest.raises(LinkDetached, match=r"amqp:resource-limit-exceeded.*max_seconds = 1"):
        connection.wait(lambda: store.dead("jobs") and False, timeout=20)
    assert "event=link-ended" in caplog.text
    assert "event=link-refused" not in caplog.text
    wait_until(lambda: store.dead("jobs"))
    ((body, reason),) = dead(store)
    assert body == "hangs"
    assert reason.startswith("queue 'jobs', group 'kim', message ")
    connection.close()
    connection = served.connect()
    again = connection.create_receiver("jobs", credit=10)
    assert taken(again, 1) == {"good": 1}
    again.accept()
    wait_until(lambda: not store.queues()[0].messages)
    connection.close()
