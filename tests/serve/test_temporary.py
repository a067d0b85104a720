"""Queues that live as long as a link: requests and replies of programs that know no Fairlead."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest
from proton import Message, Terminus
from proton.handlers import MessagingHandler
from proton.reactor import Container, LinkOption
from proton.utils import LinkDetached, SendException

from fairlead import Store
from fairlead.config.serving import Right
from fairlead.serve.loop import THREADS
from fairlead.serve.node.calls import MESSAGES
from fairlead.serve.rights import Rights
from fairlead.serve.temporary import THERE, Temporaries
from fairlead.serve.wire import events as r
from tests.peers import node_with_rhea
from tests.serve.raw import Raw, attaching, beginning, opening
from tests.serve.serving import Served, serving, wait_until
from tests.stores import made_url


class Place:
    """A store, a server at it, and another one on PostgreSQL."""

    def __init__(self, store: Store, one: Served, other: Served) -> None:
        self.store, self.one, self.other = store, one, other


@pytest.fixture(params=["sqlite", "postgresql"])
def at(request: pytest.FixtureRequest) -> Iterator[Place]:
    url = made_url(request.param)
    with Store.open(url) as store, serving(store, lease=4.0) as one:
        if request.param == "sqlite":
            yield Place(store, one, one)
            return
        with Store.open(url) as second, serving(second, lease=4.0) as other:
            yield Place(store, one, other)


class Client(MessagingHandler):  # type: ignore[misc]
    """Proton's own example of a program that asks, and waits for the answers."""

    def __init__(self, url: str, requests: list[str]) -> None:
        super().__init__()
        self.url, self.requests, self.replies = url, requests, list[str]()

    def on_start(self, event: Any) -> None:
        connection = event.container.connect(self.url, allowed_mechs="ANONYMOUS", reconnect=False)
        self.sender = event.container.create_sender(connection, "service")
        self.receiver = event.container.create_receiver(connection, None, dynamic=True)

    def on_link_opened(self, event: Any) -> None:
        if event.receiver == self.receiver:
            self.ask()

    def ask(self) -> None:
        body = self.requests[len(self.replies)]
        self.sender.send(Message(body, reply_to=self.receiver.remote_source.address))

    def on_message(self, event: Any) -> None:
        self.replies.append(event.message.body)
        if len(self.replies) < len(self.requests):
            self.ask()
        else:
            event.connection.close()


class Service(MessagingHandler):  # type: ignore[misc]
    """Its counterpart: it answers to where each request says."""

    def __init__(self, url: str, most: int) -> None:
        super().__init__()
        self.url, self.left = url, most

    def on_start(self, event: Any) -> None:
        connection = event.container.connect(self.url, allowed_mechs="ANONYMOUS", reconnect=False)
        event.container.create_receiver(connection, "service")
        self.sender = event.container.create_sender(connection, None)

    def on_message(self, event: Any) -> None:
        body = event.message.body.upper()
        self.sender.send(Message(body, address=event.message.reply_to))

    def on_accepted(self, event: Any) -> None:
        self.left -= 1
        if not self.left:
            event.connection.close()


def test_a_program_asks_and_another_one_answers(at: Place) -> None:
    requests = ["twas brillig", "and the slithy toves", "did gyre"]
    client, service = Client(at.one.url, requests), Service(at.other.url, len(requests))
    thread = Thread(target=Container(service).run, daemon=True)
    thread.start()
    Container(client).run()
    thread.join(20)
    assert client.replies == [each.upper() for each in requests]
    left = {each.queue: each.messages for each in at.store.queues()}
    wait_until(lambda: all(each.messages == 0 for each in at.store.queues()))
    assert {*left} <= {"service", MESSAGES, THERE}


def test_its_link_ends_and_so_does_the_queue(at: Place) -> None:
    asks, answers = at.one.connect(), at.other.connect()
    receiver = asks.create_receiver(None, dynamic=True, credit=0)
    address = receiver.link.remote_source.address
    sender = answers.create_sender(address)
    for n in range(3):
        sender.send(Message(n, group_id="its own"))
    with pytest.raises(LinkDetached, match="another connection's"):
        answers.create_receiver(address)
    receiver.link.flow(1)
    message = receiver.receive(timeout=10)
    assert (message.body, message.group_id) == (0, "its own")
    receiver.accept()
    receiver.close()
    wait_until(lambda: all(each.messages == 0 for each in at.store.queues()))
    with pytest.raises(SendException):
        sender.send(Message("late"))
    with pytest.raises(LinkDetached, match="is gone, or never was"):
        answers.create_sender(address, name="another")
    asks.close()
    answers.close()


class Making(LinkOption):  # type: ignore[misc]
    """A sender whose target is dynamic: so Qpid JMS makes a TemporaryQueue."""

    def apply(self, link: Any) -> None:
        link.target.dynamic = True
        link.target.type = Terminus.TARGET


def test_a_sender_makes_one_too_and_its_connection_receives(at: Place) -> None:
    connection, other = at.one.connect(), at.other.connect()
    maker = connection.create_sender(None, options=Making())
    address = maker.link.remote_target.address
    receiver = connection.create_receiver(address, credit=5)
    other.create_sender(address).send(Message("hello"))
    assert receiver.receive(timeout=10).body == "hello"
    receiver.accept()
    with pytest.raises(LinkDetached, match="for which it was made"):  # noqa: PT012 - either says it
        maker.close()
        receiver.receive(timeout=10)
    connection.close()
    other.close()


def test_those_of_a_server_that_is_gone_are_removed(at: Place) -> None:
    """As its work is taken back: here a store that is closed keeps it no longer."""
    work_of = "temporary:" + "x" * 22
    work = None
    while work is None:  # the server looks for what nobody keeps while this goes on
        at.store.send(THERE, None, group=work_of)
        at.store.send(MESSAGES, "left", group=work_of)
        work = at.store.take(THERE, group=work_of)
    work.release()
    wait_until(lambda: all(each.messages == 0 for each in at.store.queues()))


def test_who_may_take_something_may_have_one() -> None:
    rights = Rights(
        [Right(user="anna", address="a", may=["take"]), Right(user="*", address="b", may=["send"])]
    )
    link = r.Link(1, "l", True, r.Terminus(None, dynamic=True), r.Terminus(None), {}, False, 0)
    assert rights.refusal_of_link("anna", "", link) is None
    refusal = rights.refusal_of_link("berta", "", link)
    assert refusal is not None
    assert refusal.name == "amqp:unauthorized-access"
    assert rights.refusal("berta", "", "send", "temporary:known") is None


RHEA = """
const rhea = require("rhea"), port = Number(process.argv[1]);
rhea.on("message", ({ message, receiver, connection }) => {
  if (receiver.source.address === "service") {
    connection.open_sender(message.reply_to).once("sendable", ({ sender }) => {
      sender.send({ body: message.body.toUpperCase() });
    });
  } else { console.log(message.body); connection.close(); }
});
const connection = rhea.connect({ host: "127.0.0.1", port, reconnect: false });
connection.open_receiver("service");
const replies = connection.open_receiver({ source: { dynamic: true } });
replies.once("receiver_open", () => {
  const sender = connection.open_sender("service");
  sender.once("sendable", () => sender.send({ body: "hello", reply_to: replies.source.address }));
});
"""


def test_so_does_rhea(at: Place) -> None:
    node, environment = node_with_rhea()
    port = at.one.url.partition(":")[2]
    done = subprocess.run(
        [node, "-e", RHEA, port],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("HELLO\n", "")


def test_a_link_that_has_ended_is_made_no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast clients come and go, they keep neither a new one waiting nor memory."""
    made: list[str] = []
    make, go_on = Temporaries.make, Event()

    def slowly(self: Temporaries) -> str:
        go_on.wait(60)
        made.append(address := make(self))
        return address

    monkeypatch.setattr(Temporaries, "make", slowly)
    many = 5 * THREADS
    with Store.open(made_url("sqlite")) as store, serving(store) as served:
        for _ in range(many):
            gone = Raw(served.server.places[0])
            gone.say(opening(), beginning(), attaching(0, None, receives=True))
            wait_until(
                lambda: any(each.waiting for each in served.server.node.links.connections.values())
            )
            gone.close()
            wait_until(lambda: not served.server.sessions)
        go_on.set()
        connection = served.connect()
        assert connection.create_receiver(None, dynamic=True).link.remote_source.address in made
        connection.close()
    assert len(made) <= THREADS + 1
