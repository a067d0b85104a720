"""What clients ask for that is not done here: it is refused by name, or not said to be done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from proton import Data, Described, Message, ProtonException, Terminus, Timeout, symbol
from proton.reactor import Container, Copy, Filter, LinkOption, Selector
from proton.utils import BlockingConnection, LinkDetached

from fairlead import Store
from tests.serve.serving import Served, wait_until


@pytest.fixture
def news(store: Store, tmp_path: Path) -> None:
    (tmp_path / "news.toml").write_text(
        'policy = "smartsockets"\n\n[options]\nsubscribers = "any"\n'
    )
    store.load_clusters(tmp_path / "news.toml")


class Is(LinkOption):
    """Calls the address something: a topic, a queue."""

    def __init__(self, *names: str, durable: bool = False) -> None:
        self.names, self.durable = names, durable

    def apply(self, link: Any) -> None:
        terminus: Terminus = link.source if link.is_receiver else link.target
        data: Data = terminus.capabilities
        data.put_array(False, Data.SYMBOL)
        data.enter()
        for each in self.names:
            data.put_symbol(symbol(each))
        data.exit()
        if self.durable:
            link.source.durability = Terminus.DELIVERIES
            link.source.expiry_policy = Terminus.EXPIRE_NEVER
            link.source.distribution_mode = Terminus.DIST_MODE_COPY


class Nowhere(LinkOption):
    """A receiver without a source, which asks what its link was."""

    def apply(self, link: Any) -> None:
        link.source.type = Terminus.UNSPECIFIED


def refused(act: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(LinkDetached) as found:
        act()
    return str(found.value.condition), str(found.value)


def named(served: Served, container: str) -> Any:
    box = Container()
    box.container_id = container
    return BlockingConnection(served.url, 20, container=box, allowed_mechs="ANONYMOUS")


def left(receiver: Any) -> list[Any]:
    found = []
    with suppress(Timeout):
        while True:
            found.append(receiver.receive(timeout=10 if not found else 1).body)
            receiver.accept()
    return found


NO_LOCAL = {symbol("no-local"): Described(symbol("apache.org:no-local-filter:list"), [])}


def test_a_selector_and_no_local_are_refused_by_their_names(store: Store, served: Served) -> None:
    store.send("orders", "blue")
    connection = served.connect()
    red, broken = Selector("colour = 'red'"), Selector("colour =")
    for n, (options, name, what) in enumerate(
        [
            ([red], "amqp:not-implemented", "selector"),
            ([Filter(NO_LOCAL)], "amqp:not-implemented", "no-local"),
            ([Filter(NO_LOCAL), Copy()], "amqp:not-implemented", "no-local"),
            ([broken, Copy()], "amqp:invalid-field", "found the end"),
        ]
    ):
        found, why = refused(
            lambda n=n, options=options: connection.create_receiver(
                "orders", name=f"r{n}", options=options
            )
        )
        assert (found, what in why) == (name, True)
    assert store.queues()[0].ready == 1
    connection.close()


@pytest.mark.costly
def test_who_browses_with_a_selector_sees_what_it_wants(store: Store, served: Served) -> None:
    connection = served.connect()
    sender = connection.create_sender("orders")
    for n in range(4):
        colour = "blue" if n % 2 else "red"
        sender.send(Message(n, properties={"colour": colour}, priority=n))
    store.send("orders", "of Python")
    receiver = connection.create_receiver(
        "orders", credit=10, options=[Selector("colour = 'red' AND JMSPriority > 1"), Copy()]
    )
    assert receiver.link.remote_source.filter.next() is not None
    assert left(receiver) == [2]
    assert store.queues()[0].ready == 5
    connection.close()


def test_what_is_not_done_is_not_in_the_answer(served: Served) -> None:
    connection = served.connect()
    options = [Filter({symbol("x:unknown"): "anything"}), Is("queue", "shared")]
    receiver = connection.create_receiver("orders", options=options)
    source = receiver.link.remote_source
    assert source.filter.next() is None
    source.capabilities.rewind()
    source.capabilities.next()
    assert [str(each) for each in source.capabilities.get_py_array().elements] == ["queue"]
    connection.close()


def test_a_delayed_delivery_is_offered(served: Served) -> None:
    connection = served.connect()
    offered = {str(each) for each in connection.conn.remote_offered_capabilities}
    assert {"DELAYED_DELIVERY", "sole-connection-for-container"} <= offered
    connection.close()


@pytest.mark.costly
@pytest.mark.usefixtures("news")
def test_each_subscriber_of_a_topic_gets_all(served: Served) -> None:
    connection = served.connect()
    receivers = [
        connection.create_receiver("prices", credit=10, name=f"r{n}", options=Is("topic"))
        for n in range(2)
    ]
    sender = connection.create_sender("prices", options=Is("topic"))
    for n in range(3):
        sender.send(Message(n))
    assert [left(each) for each in receivers] == [[0, 1, 2], [0, 1, 2]]
    connection.close()


@pytest.mark.costly
@pytest.mark.usefixtures("news")
def test_a_durable_subscription_is_known_by_container_and_name_until_it_is_ended(
    store: Store, served: Served
) -> None:
    def subscribers() -> dict[str, Any]:
        found = store.pool("news").machines
        return {each.name: each.attributes["connected"] for each in found}

    durable = Is("topic", durable=True)
    connection = named(served, "shop-1")
    receiver = connection.create_receiver("prices", credit=10, name="sub", options=durable)
    assert subscribers() == {"shop-1:sub": True}
    receiver.link.detach()
    connection.close()
    wait_until(lambda: subscribers() == {"shop-1:sub": "warm"})
    other = served.connect()
    sender = other.create_sender("prices", options=Is("topic"))
    sender.send(Message("kept", durable=True))  # and it does not wait for who is away
    connection = named(served, "shop-1")
    receiver = connection.create_receiver("prices", credit=10, name="sub", options=durable)
    assert left(receiver) == ["kept"]
    receiver.link.detach()
    connection.close()
    wait_until(lambda: subscribers() == {"shop-1:sub": "warm"})
    connection = named(served, "shop-1")
    assert refused(lambda: connection.create_receiver(None, name="none", options=Nowhere()))[0] == (
        "amqp:not-found"
    )
    found = connection.create_receiver(None, name="sub", options=Nowhere())
    source = found.link.remote_source
    assert (source.address, source.durability) == ("prices", Terminus.DELIVERIES)
    found.close()
    wait_until(lambda: subscribers() == {})
    connection.close()
    other.close()


def test_a_topic_is_refused_where_there_are_no_subjects(store: Store, served: Served) -> None:
    store.send("secret", "x")
    connection = served.connect()
    for make in (connection.create_receiver, connection.create_sender):
        name, why = refused(lambda make=make: make("prices", options=Is("topic")))
        assert (name, "smartsockets" in why, "secret" in why) == ("amqp:not-found", True, False)
    connection.close()


def test_who_browses_what_is_not_there_is_not_told_what_is(store: Store, served: Served) -> None:
    store.send("secret", "x")
    connection = served.connect()
    name, why = refused(lambda: connection.create_receiver("orders", options=Copy()))
    assert (name, "secret" in why) == ("amqp:not-found", False)
    connection.close()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/queues/orders", ": orders"),
        ("queue://orders", ": orders"),
        ("/exchanges/orders", "a queue's or cluster's name"),
        ("topic://prices", "subject:NAME"),
        ("orders/$DeadLetterQueue", "fairlead dead"),
    ],
)
def test_an_address_of_another_broker_s_form_is_refused(
    store: Store, served: Served, address: str, said: str
) -> None:
    connection = served.connect()
    for make in (connection.create_receiver, connection.create_sender):
        name, why = refused(lambda make=make: make(address))
        assert (name, said in why) == ("amqp:not-found", True)
    assert store.queues() == []
    connection.close()


def test_who_wants_to_be_the_only_one_of_its_container_is_refused_where_it_is_not(
    served: Served,
) -> None:
    class Only(Container):
        def connect(self, *args: Any, **more: Any) -> Any:
            wanted = [symbol("sole-connection-for-container")]
            return super().connect(*args, desired_capabilities=wanted, **more)

    def connect(box: Container) -> Any:
        box.container_id = "shop-1"
        return BlockingConnection(served.url, 20, container=box, allowed_mechs="ANONYMOUS")

    first = connect(Only())
    second = connect(Container())
    with pytest.raises(ProtonException, match="container-id"):
        connect(Only())
    first.close()
    second.close()
    wait_until(lambda: not served.server.sessions)
    connect(Only()).close()
