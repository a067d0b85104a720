"""The golden cases of the SmartSockets document, between real clients over AMQP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from proton import Delivery, Message, ProtonException, Timeout
from proton.utils import BlockingConnection, SendException

from fairlead import Balancer, Change, Cluster, Store
from tests.golden_cases import Case, cases
from tests.serve.serving import Served, serving
from tests.serve.test_queues import wait_until
from tests.serve.test_subjects import Client
from tests.stores import made_url

CASES = cases("smartsockets")
SERVERS = ("", "far")


class Stage:
    """Servers of one store, and a client for each subscriber of a case."""

    def __init__(self, case: Case, stack: ExitStack) -> None:
        self.now = 0.0
        subscribers = case.cluster["subscriber"]
        options = {**case.cluster.get("options", {}), "subscribers": "any"}
        self.cluster = Cluster.from_dict(
            {**case.cluster, "options": options, "subscriber": []}, default_name="news"
        )
        self.store = stack.enter_context(
            Store.open(made_url("sqlite"), clock=lambda: self.now + 1_000_000)
        )
        self.store.keep_clusters([self.cluster])
        names = {message.get("server", "") for message in case.messages}
        self.servers: dict[str, Served] = {
            name: stack.enter_context(serving(self.store, name=name)) for name in sorted(names)
        }
        first = next(iter(self.servers.values()))
        self.publishers = {name: Client(each, "S") for name, each in self.servers.items()}
        self.tables = {(each["name"], each["subject"]): dict(each) for each in subscribers}
        self.clients = {key: Client(first, key[0]) for key in self.tables}
        self.served = first
        for key, table in self.tables.items():
            if table.get("present", True):
                self.join(key)
                if table.get("connected", True) == "warm":
                    self.rest(key)

    def join(self, key: tuple[str, str]) -> None:
        table, client = self.tables[key], self.clients[key]
        _, subject = key
        more = {} if table.get("load_balanced", True) else {"load_balancing": False}
        client.subscribe(f"subject:{subject}", durable=self.durable(key), **more)

    def durable(self, key: tuple[str, str]) -> bool:
        table = self.tables[key]
        return table.get("disconnect_mode") == "warm" or table.get("connected") == "warm"

    def connected(self, key: tuple[str, str]) -> Any:
        for each in self.store.pool("news").machines:
            if (each.name, each.attributes["subject"]) == key and each.attributes["present"]:
                return each.attributes["connected"]
        return None

    def rest(self, key: tuple[str, str]) -> None:
        client = self.clients[key]
        client.receiver.detach()
        while self.connected(key) != "warm":
            with suppress(Timeout):
                client.connection.wait(lambda: False, timeout=0.05)

    def leave(self, key: tuple[str, str]) -> None:
        self.clients[key].receiver.close()
        wait_until(lambda: self.connected(key) is None)

    def lose(self, key: tuple[str, str]) -> None:
        """Its connection is lost; another one is there for when it comes back."""
        self.served.hang_up(key[0])
        wait_until(lambda: self.connected(key) is not True)
        self.clients[key] = Client(self.served, key[0])

    def change(self, change: dict[str, Any]) -> None:
        target, attribute, value = change["target"], change["attribute"], change["value"]
        keys = [key for key in self.tables if key[0] == target]
        if not keys:
            self.store.change("news", target, attribute, value)
            return
        (key,) = keys
        if attribute == "state" and value == "failed":
            self.lose(key)
        elif value in (True, "up"):
            self.join(key)
        elif value is False:
            self.leave(key)
        else:
            raise AssertionError(f"no client does this: {change}")

    def publish(self, number: int, message: dict[str, Any], subject: str) -> None:
        sender = self.publishers[message.get("server", "")].connection
        link = sender.create_sender(f"subject:{subject}", name=f"sender {number}")
        sent = Message(number, subject=message.get("type"))
        sent.annotations = {
            f"x-opt-fairlead-{key}": message[key] for key in ("mode", "delivery") if key in message
        }
        before = self.decided()
        delivery = link.link.send(sent)
        wait_until(lambda: self.is_answered(sender, delivery) or self.decided() > before)
        link.close()
        if delivery.remote_state == Delivery.REJECTED:
            raise SendException(delivery.remote_state)

    def decided(self) -> int:
        """How many messages were published; a guaranteed one is answered when it was received."""
        return sum(event.kind == "decided" for event in self.store.journal())

    @staticmethod
    def is_answered(sender: BlockingConnection, delivery: Delivery) -> bool:
        with suppress(Timeout):
            sender.wait(lambda: delivery.settled, timeout=0.02)
        return bool(delivery.settled)

    def received(self) -> dict[tuple[str, str], list[Any]]:
        """By subscriber: what it got of what was published, without acknowledging it."""
        found = {}
        for key, client in self.clients.items():
            bodies: list[Any] = []
            receiver = getattr(client, "receiver", None)
            with suppress(Timeout, ProtonException):
                while receiver is not None:
                    bodies.append(receiver.receive(timeout=0.3).body)
            found[key] = bodies
        return found


@pytest.fixture(
    params=[
        pytest.param(each, marks=pytest.mark.slow) if at % 7 else each
        for at, each in enumerate(CASES)
    ],
    ids=str,
)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def stage(case: Case) -> Iterator[Stage]:
    with ExitStack() as stack:
        found = Stage(case, stack)
        yield found
        for each in [*found.clients.values(), *found.publishers.values()]:
            with suppress(ProtonException):
                each.close()


@pytest.mark.costly
def test_the_clients_receive_what_the_document_says(case: Case, stage: Stage) -> None:
    """Each is asked after each message, as what a lost one had goes to others later."""
    live = Balancer([Cluster.from_dict(case.cluster, default_name="news")])
    waiting = sorted(case.changes, key=lambda change: change["time"])
    subjects = list(dict.fromkeys(each["subject"] for each in case.cluster["subscriber"]))
    for number, message in enumerate(case.messages):
        while waiting and waiting[0]["time"] <= message["time"]:
            change = waiting.pop(0)
            stage.now = float(change["time"])
            live.apply(Change(change["target"], change["attribute"], change["value"], stage.now))
            stage.change(change)
        stage.now = float(message["time"])
        subject = message.get("subject", subjects[0])
        said = {k: v for k, v in message.items() if k not in ("id", "time")}
        wanted = live.choose({**said, "subject": subject})
        if wanted.outcome == "refused":
            with pytest.raises(SendException):
                stage.publish(number, message, subject)
            continue
        stage.publish(number, message, subject)
        names = [each.destination for each in wanted.copies]
        kept = {key for key, bodies in stage.received().items() if number in bodies}
        away = {key for key in stage.tables if stage.connected(key) == "warm"}
        there = {name for name, own in kept if own == subject}
        assert there == set(names) - {name for name, own in away if own == subject}, number
