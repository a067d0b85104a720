"""A client made of proton's public API, without input or output: the oracle of the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proton import SASL, Collector, Connection, Event, Transport

from fairlead.serve.wire import connection, events

Answer = Callable[[events.Event], None]


class Peer:
    """A client, and the server's connection to which its bytes go."""

    def __init__(self, *, sasl: bool = False, max_frame: int = 0, **settings: Any) -> None:
        self.server = connection.Connection(connection.Settings(**settings))
        self.seen: list[events.Event] = []
        self.heard: list[Event] = []
        self.transport = Transport()
        if sasl:
            SASL(self.transport).allowed_mechs("ANONYMOUS")
        if max_frame:
            self.transport.max_frame_size = max_frame
        self.connection = Connection()
        self.connection.container = "client"
        self.connection.hostname = "shop"
        self.collector = Collector()
        self.connection.collect(self.collector)
        self.transport.bind(self.connection)
        self.connection.open()

    def pump(self, answer: Answer = lambda _: None) -> list[events.Event]:
        """Carry bytes to and fro until nobody says anything more; what the server saw."""
        found: list[events.Event] = []
        moved = True
        while moved:
            moved = False
            while (pending := self.transport.pending()) > 0:
                data = bytes(self.transport.peek(pending) or b"")
                self.transport.pop(len(data))
                moved = True
                for event in self.server.feed(data):
                    found.append(event)
                    answer(event)
            if data := self.server.output():
                moved = True
                while data:
                    size = min(self.transport.capacity(), len(data))
                    self.transport.push(data[:size])
                    data = data[size:]
            while (heard := self.collector.peek()) is not None:
                self.heard.append(heard)
                self.collector.pop()
        self.seen += found
        return found

    def session(self) -> Any:
        session = self.connection.session()
        session.open()
        return session

    def sender(self, session: Any, address: str = "orders", name: str = "s") -> Any:
        link = session.sender(name)
        link.target.address = address
        link.open()
        return link

    def receiver(self, session: Any, address: str = "orders", name: str = "r") -> Any:
        link = session.receiver(name)
        link.source.address = address
        link.open()
        return link
