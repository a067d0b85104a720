"""Guaranteed messages between clients over AMQP: their publishers are told what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from proton import ProtonException

from fairlead import Cluster, Store
from tests.serve.serving import Served, serving, wait_until
from tests.serve.subscriber import Client
from tests.stores import made_url

CHAPTER = "subject:/manual/chapter4"
FAILED = "fairlead:receiver-failed"
LATE = "fairlead:delivery-timeout"


class World:
    """A server of a cluster with these options, and its clients."""

    def __init__(self, stack: ExitStack, kind: str, **options: Any) -> None:
        self.stack = stack
        self.store = stack.enter_context(Store.open(made_url(kind)))
        self.store.keep_clusters(
            [Cluster.of("smartsockets", name="news", options={"subscribers": "any", **options})]
        )
        self.served = stack.enter_context(serving(self.store, lease=8.0))
        self.stack.callback(self.close)
        self.clients: list[Client] = []

    def client(self, name: str, served: Served | None = None, **subscription: Any) -> Client:
        """One that subscribes; without a word about how, one that only publishes."""
        self.clients.append(Client(served or self.served, name))
        if subscription:
            self.clients[-1].subscribe(CHAPTER, **subscription)
        return self.clients[-1]

    def close(self) -> None:
        for each in self.clients:
            with suppress(ProtonException):
                each.close()


Begin = Callable[..., World]


on_both = pytest.mark.parametrize("begin", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def begin(request: pytest.FixtureRequest) -> Iterator[Begin]:
    kind = getattr(request, "param", "sqlite")
    with ExitStack() as stack:
        yield lambda **options: World(stack, kind, **options)


BALANCED = {"load_balancing": True}


@pytest.mark.costly
@on_both
def test_some_is_told_at_the_first_acknowledgement_and_all_at_the_last(begin: Begin) -> None:
    world = begin()
    a, b = (world.client(name, **BALANCED) for name in "AB")
    s = world.client("S")
    some, every = (s.offer(CHAPTER, each, delivery=each) for each in ("some", "all"))
    s.hear(0.5)
    assert not some.settled
    assert a.printed() == ["some", "all"]
    assert s.told(some) == "accepted"
    s.hear(0.5)
    assert not every.settled
    assert b.printed() == ["some", "all"]
    assert s.told(every) == "accepted"


def test_what_a_receiver_rejects_its_publisher_is_told(begin: Begin) -> None:
    world = begin()
    a, s = world.client("A", **BALANCED), world.client("S")
    refused = s.offer(CHAPTER, "o", delivery="all")
    a.receiver.receive(timeout=10)
    a.receiver.reject()
    a.hear(0.2)
    assert s.told(refused) == FAILED


@pytest.mark.costly
@on_both
def test_what_is_not_acknowledged_in_time_its_publisher_is_told(begin: Begin) -> None:
    world = begin(delivery_timeout=1)
    a, s = world.client("A", **BALANCED), world.client("S")
    held = s.offer(CHAPTER, "held", delivery="all", mode="sorted")
    assert a.receiver.receive(timeout=10).body == "held"
    assert s.told(held) == LATE
    a.receiver.accept()  # its reader knows nothing of that
    assert a.printed() == []


@pytest.mark.costly
@pytest.mark.parametrize(
    ("options", "subscription", "told"),
    [
        ({"on_receiver_failure": "nack"}, BALANCED, FAILED),
        ({"zero_receivers": "failure"}, BALANCED, FAILED),
        ({}, BALANCED, "accepted"),
        ({"zero_receivers": "failure"}, {"disconnect_mode": "success"}, "accepted"),
        ({"on_receiver_failure": "nack"}, {"durable": True}, FAILED),
    ],
)
def test_what_the_failure_of_a_receiver_means_is_as_the_options_say(
    options: dict[str, Any], subscription: dict[str, Any], told: str, begin: Begin
) -> None:
    world = begin(**options)
    a, s = world.client("A", **subscription), world.client("S")
    open_ = s.offer(CHAPTER, "o", delivery="all", mode="round-robin")
    assert a.receiver.receive(timeout=10).body == "o"
    world.served.hang_up("A")
    assert s.told(open_) == told
    wait_until(lambda: world.store.pool("news").machines == [])


@pytest.mark.costly
@on_both
def test_who_is_left_gets_it_marked_and_with_its_own_number(begin: Begin) -> None:
    world = begin()
    a, b = (world.client(name, **BALANCED) for name in "AB")
    s = world.client("S")
    every = [s.offer(CHAPTER, i, delivery="some", mode="round-robin") for i in range(4)]
    assert [a.receiver.receive(timeout=10).body for _ in range(2)] == [1, 3]
    world.served.hang_up("A")
    found = {}
    for _ in range(4):
        message = b.receiver.receive(timeout=10)
        found[message.body] = message.delivery_count
        b.receiver.accept()
    b.hear(0.2)
    assert found == {0: 0, 2: 0, 1: found[1], 3: found[3]}
    assert found[1] > 0 < found[3]
    assert {s.told(each) for each in every} == {"accepted"}
    events = [each for each in world.store.journal() if each.detail == "redelivered"]
    assert [(each.sequence, each.destination) for each in events] == [(1, "B"), (3, "B")]


@pytest.mark.costly
@on_both
def test_a_durable_one_keeps_its_own_until_its_time_is_over(begin: Begin) -> None:
    world = begin(reconnect_timeout=2)
    world.client("A", durable=True)
    b, s = world.client("B", **BALANCED), world.client("S")
    kept = s.offer(CHAPTER, "kept", delivery="all", mode="sorted")
    world.served.hang_up("A")
    assert b.printed() == []
    message = b.receiver.receive(timeout=10)
    assert (message.body, message.delivery_count) == ("kept", 1)
    b.receiver.accept()
    b.hear(0.2)
    assert s.told(kept) == "accepted"
    wait_until(lambda: [each.name for each in world.store.pool("news").machines] == ["B"])


def test_a_durable_one_that_comes_back_in_time_finds_all(begin: Begin) -> None:
    world = begin(reconnect_timeout=30)
    world.client("A", durable=True)
    world.client("B", **BALANCED)
    s = world.client("S")
    kept = s.offer(CHAPTER, "kept", delivery="all", mode="sorted")
    world.served.hang_up("A")
    wait_until(
        lambda: (
            [
                each.attributes["connected"]
                for each in world.store.pool("news").machines
                if each.name == "A"
            ]
            == ["warm"]
        )
    )
    back = world.client("A", durable=True)
    assert back.printed() == ["kept"]
    assert s.told(kept) == "accepted"


def test_what_is_sent_again_is_told_what_became_of_the_first(begin: Begin) -> None:
    world = begin()
    a, s, again = world.client("A", **BALANCED), world.client("S"), world.client("T")
    first = s.offer(CHAPTER, "o", delivery="all", id="mine")
    second = again.offer(CHAPTER, "o", delivery="all", id="mine")
    assert a.printed() == ["o"]
    assert [s.told(first), again.told(second)] == ["accepted", "accepted"]


def test_a_publisher_that_is_gone_is_nobodys_trouble(begin: Begin) -> None:
    world = begin()
    a, s = world.client("A", **BALANCED), world.client("S")
    s.offer(CHAPTER, 1, delivery="all")
    s.sender.close()
    s.offer(CHAPTER, 2, delivery="all")
    world.served.hang_up("S")
    assert a.printed() == [1, 2]


def test_what_is_acknowledged_at_another_server_is_told_here() -> None:
    with ExitStack() as stack:
        world = World(stack, "postgresql")
        other = stack.enter_context(serving(world.store, lease=8.0))
        a = world.client("A", served=other, **BALANCED)
        s = world.client("S")
        sent = s.offer(CHAPTER, "o", delivery="all")
        assert a.printed() == ["o"]
        assert s.told(sent) == "accepted"


def test_a_property_that_is_none_is_refused(begin: Begin) -> None:
    world = begin()
    with pytest.raises(ProtonException, match="disconnect-mode: found 'cold', allowed: failure"):
        world.client("A", disconnect_mode="cold")


def test_weighted_counts_what_is_not_acknowledged(begin: Begin) -> None:
    world = begin()
    a, b = (world.client(name, **BALANCED) for name in "AB")
    s = world.client("S")
    sent = [s.offer(CHAPTER, i, delivery="all", mode="weighted") for i in range(2)]
    assert a.printed() == [0]
    assert s.told(sent[0]) == "accepted"
    sent.append(s.offer(CHAPTER, 2, delivery="all", mode="weighted"))
    assert a.printed() == [2]  # B has not acknowledged 1
    assert b.printed() == [1]
    assert {s.told(each) for each in sent} == {"accepted"}


def test_messages_of_no_link_are_as_they_were(begin: Begin) -> None:
    """Of a Python program the publisher is told by `deliveries`."""
    world = begin()
    a = world.client("A", **BALANCED)
    said = {"subject": "/manual/chapter4", "delivery": "all"}
    number = world.store.publish("news", "o", said).number
    assert a.printed() == ["o"]
    assert world.store.deliveries([number])[number].outcome == "acknowledged"
