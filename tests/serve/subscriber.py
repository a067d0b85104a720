"""Programs that publish and subscribe over AMQP, with proton's blocking client."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import Any

from proton import Delivery, Message, Timeout
from proton.reactor import Container, DurableSubscription, LinkOption

from tests.serve.serving import Served

NUMBERS = count()


class Having(LinkOption):  # type: ignore[misc]
    """Properties of a link."""

    def __init__(self, **properties: Any) -> None:
        self.properties = {key.replace("_", "-"): value for key, value in properties.items()}

    def apply(self, link: Any) -> None:
        link.properties = self.properties


class Client:
    """A program with a container id of its own."""

    def __init__(self, served: Served, name: str, host: str = "") -> None:
        self.name = name
        container = Container()
        container.container_id = name
        more = {"virtual_host": host} if host else {}
        self.connection = served.connect(container=container, **more)

    def subscribe(
        self, address: str, *, durable: bool = False, name: str = "", **properties: Any
    ) -> Any:
        options: list[Any] = [Having(**properties)] if properties else []
        if durable:
            options.append(DurableSubscription())
        self.receiver = self.connection.create_receiver(
            address, credit=100, name=name or f"{self.name} to {address}", options=options
        )
        return self.receiver

    def publish(self, address: str, *bodies: object, **annotations: str) -> None:
        """Wait until it is told of each what becomes of it."""
        sender = self.connection.create_sender(address, name=f"sender {next(NUMBERS)}")
        for body in bodies:
            sender.send(_published(body, annotations))
        sender.close()

    def offer(self, address: str, body: object, id: str = "", **annotations: str) -> Any:  # noqa: A002 - as AMQP has it
        """Send, and do not wait for what becomes of it: `told` does."""
        self.sender = self.connection.create_sender(address, name=f"sender {next(NUMBERS)}")
        message = _published(body, annotations)
        message.id = id or None
        delivery = self.sender.link.send(message)
        self.hear(0.2)
        return delivery

    def told(self, delivery: Any) -> str:
        """`accepted`, or the condition with which it was rejected."""
        self.connection.wait(lambda: delivery.settled, timeout=10)
        if delivery.remote_state == Delivery.ACCEPTED:
            return "accepted"
        assert delivery.remote_state == Delivery.REJECTED
        return str(delivery.remote.condition.name)

    def hear(self, seconds: float) -> None:
        """Let what comes come."""
        with suppress(Timeout):
            self.connection.wait(lambda: False, timeout=seconds)

    def printed(self, most: int | None = None) -> list[Any]:
        """What it receives, until nothing comes."""
        found: list[Any] = []
        with suppress(Timeout):
            while most is None or len(found) < most:
                found.append(self.receiver.receive(timeout=0.5 if most is None else 10).body)
                self.receiver.accept()
        return found

    def close(self) -> None:
        self.connection.timeout = 1  # the server may have hung up
        self.connection.close()


def _published(body: object, annotations: dict[str, str]) -> Message:
    message = Message(body)
    message.annotations = {f"x-opt-fairlead-{k}": v for k, v in annotations.items()}
    return message
