"""Brokers of others as destinations: RabbitMQ with its plugin for AMQP 1.0, and Artemis."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import pytest

from fairlead import Store
from fairlead.store.queues.bodies import Envelope
from tests import peers
from tests.forward.forwarding import forwarding, written
from tests.forward.services import until
from tests.forward.test_http import dead, farm, is_empty
from tests.ports import free_port
from tests.rabbitmq import RabbitMq
from tests.stores import made_url

if find_spec("cproton_ffi") is None:
    pytest.skip("not here: python-qpid-proton (make amqp)", allow_module_level=True)

from proton import Message, Timeout
from proton.utils import BlockingConnection

from fairlead.serve import message as messages

QUICK = ["[[queue]]", 'name = "A"', "[queue.retry]", "base = 0.2", "factor = 1"]
SILENT = 2.0
"""Seconds without a message, after which a queue is empty."""


class Broker(Protocol):
    """A broker that runs, with the durable queue `orders`."""

    port: int
    keeps_subject: bool

    def start(self) -> None:
        """Until it listens."""

    def kill(self) -> None:
        """It goes without a word; what it has accepted it finds again."""

    def stop(self) -> None:
        """It goes."""

    def address(self, queue: str) -> str:
        """Of a queue, as it names it."""

    @property
    def nowhere(self) -> str:
        """An address at which nothing is."""


class OurRabbitMq(RabbitMq):
    keeps_subject = False

    def address(self, queue: str) -> str:
        return f"/amq/queue/{queue}"

    @property
    def nowhere(self) -> str:
        return "/exchange/none/x"  # what is for a queue that is not there, it takes, and drops


class Artemis:
    keeps_subject = True

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.port = free_port()
        self._command = [*peers.artemis(folder), str(self.port), str(folder), "orders"]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "started\n"

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate(timeout=30)

    def stop(self) -> None:
        self.kill()

    def address(self, queue: str) -> str:
        return queue

    @property
    def nowhere(self) -> str:
        return "none"


@pytest.fixture(params=["RabbitMQ", "Artemis"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    folder = tmp_path / "broker"
    server: Broker
    if request.param == "Artemis":
        server = Artemis(folder)
    elif RabbitMq.is_there():
        server = OurRabbitMq(folder, ["orders"])
    else:
        peers.missing("rabbitmq-server")
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def near(opened: Callable[..., Store]) -> Store:
    """The store that forwards."""
    return opened(made_url("sqlite"))


def loaded(store: Store, broker: Broker, folder: Path, to: str | None = None) -> Path:
    """The file of a cluster with the broker as its destination, which the store has."""
    (folder / "password").write_text("guest\n")
    path = farm(
        *(folder, f"amqp://127.0.0.1:{broker.port}/{to or broker.address('orders')}"),
        *("readers = 20", "[forward]", 'user = "guest"', 'password_file = "password"'),
    )
    store.declare(written(folder / "queues.toml", QUICK))
    store.load_clusters(path)
    return path


def received(broker: Broker) -> list[Any]:
    """All that is in its queue, which is empty then."""
    connection = BlockingConnection(f"amqp://guest:guest@127.0.0.1:{broker.port}", timeout=60)
    receiver = connection.create_receiver(broker.address("orders"), credit=100)
    every = []
    with suppress(Timeout):
        while True:
            every.append(receiver.receive(timeout=SILENT))
            receiver.accept()
    connection.close()
    return every


def over_amqp(**fields: Any) -> Envelope:
    """A message as a program sends it over AMQP; it does not say that it is durable."""
    message = Message(body="from afar", **fields)
    message.properties = {"colour": "red", "count": 3}
    return messages.incoming(message.encode()).body  # type: ignore[return-value]


@pytest.mark.costly
def test_messages_arrive_once_and_say_what_they_are(
    near: Store, broker: Broker, tmp_path: Path
) -> None:
    path = loaded(near, broker, tmp_path)
    for number in range(40):
        near.publish("farm", {"n": number}, group=f"g{number % 4}", id=f"o-{number}", type="Order")
    near.publish("farm", b"\x00\xff", id="bytes")
    near.publish("farm", "ein Satz", id="text")
    near.publish("farm", over_amqp(id="far", correlation_id="c-1", group_id="g9"), group="g9")
    with forwarding(near.url, path):
        until(lambda: is_empty(near), 40)
    every = {str(message.id): message for message in received(broker)}
    assert set(every) == {*(f"o-{number}" for number in range(40)), "bytes", "text", "far"}
    for group in range(4):
        own = [message.body["n"] for message in every.values() if message.group_id == f"g{group}"]
        assert own == list(range(group, 40, 4))
    assert bytes(every["bytes"].body) == b"\x00\xff"
    assert every["text"].body == "ein Satz"
    far = every["far"]
    assert (far.properties, far.correlation_id) == ({"colour": "red", "count": 3}, "c-1")
    assert all(message.durable for message in every.values())
    if broker.keeps_subject:
        assert every["o-1"].subject == "Order"
    assert dead(near) == []


@pytest.mark.slow
def test_a_killed_broker_loses_nothing_and_repeats_have_the_same_id(
    near: Store, broker: Broker, tmp_path: Path
) -> None:
    path = loaded(near, broker, tmp_path)
    near.set_limits("A", max_failures=None)
    sent: dict[str, list[str]] = defaultdict(list)
    with forwarding(near.url, path):
        for number in range(600):
            key, group = f"o-{number}", f"g{number % 7}"
            body: object = over_amqp(id=key, group_id=group) if number % 2 else key
            near.publish("farm", body, id=key, group=group)
            sent[group].append(key)
            if number == 300:
                broker.kill()
        until(lambda: near.queues()[0].failures > 0 or near.queues()[0].working > 0, 40)
        broker.start()
        until(lambda: is_empty(near), 120)
    every = [str(message.id) for message in received(broker)]
    assert set(every) == {key for keys in sent.values() for key in keys}
    assert max(Counter(every).values()) <= 3
    for keys in sent.values():
        own = dict.fromkeys(key for key in every if key in keys)
        assert [*own] == keys
    assert dead(near) == []


@pytest.mark.slow
def test_an_address_that_is_not_there_is_a_failure_and_then_a_dead_letter(
    near: Store, broker: Broker, tmp_path: Path
) -> None:
    path = loaded(near, broker, tmp_path, broker.nowhere)
    near.set_limits("A", max_failures=2)
    near.publish("farm", "x", id="o-1")
    with forwarding(near.url, path):
        until(lambda: bool(near.dead("A")), 60)
    ((key, reason),) = dead(near)
    assert key == "o-1"
    assert "none" in reason, reason
    assert [event.kind for event in near.journal(queue="A")].count("released") == 1
