"""A requester with a temporary queue asks at its own site, and is answered from another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from proton import Message
from proton.utils import LinkDetached

from fairlead.errors import MessageError
from fairlead.store.queues.temporary import MESSAGES, THERE
from tests.channels.sites import Sites, sites_of, written

QUEUES = '\n[[queue]]\nname = "ORDERS"\nqueue_manager = "QM2"\nbind = "not-fixed"\n'
BACK = "channel:TO.QM1"


@pytest.fixture(params=["sqlite", "postgresql"])
def sites(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sites]:
    file = written(tmp_path, QUEUES, managers=("QM1", "QM2"))
    with sites_of(tmp_path, request.param, file) as found:
        yield found.start()


class Asking:
    """A program at QM1 that has a temporary queue, and asks."""

    def __init__(self, sites: Sites) -> None:
        self.connection = sites.servers["QM1"].connect()
        self.replies = self.connection.create_receiver(None, dynamic=True)
        self.address = self.replies.link.remote_source.address

    def ask(self, body: str) -> None:
        message = Message(body=body, reply_to=self.address, correlation_id="c-1")
        self.connection.create_sender("ORDERS").send(message)


def asked(sites: Sites) -> tuple[Any, Any]:
    """A connection to QM2, and the question that came there."""
    connection = sites.servers["QM2"].connect()
    receiver = connection.create_receiver("ORDERS")
    message = receiver.receive(timeout=20)
    receiver.accept()
    return connection, message


@pytest.mark.costly
def test_the_answer_of_another_site_comes_to_the_temporary_queue(sites: Sites) -> None:
    asking = Asking(sites)
    asking.ask("how many?")
    answering, message = asked(sites)
    assert message.reply_to == f"{asking.address}@QM1"
    answer = Message(body="three", correlation_id=message.correlation_id)
    answering.create_sender(message.reply_to).send(answer)
    sites.stores["QM2"].put(message.reply_to, "from Python")
    anonymous = answering.create_sender(None)
    anonymous.send(Message(address=message.reply_to, body="by its address"))
    got = {}
    for _ in range(3):
        reply = asking.replies.receive(timeout=20)
        asking.replies.accept()
        got[reply.body] = reply.correlation_id
    assert got == {"three": "c-1", "from Python": None, "by its address": None}
    with pytest.raises(LinkDetached, match="one's own"):
        answering.create_receiver(message.reply_to)
    for connection in (asking.connection, answering):
        connection.close()
    sites.until(lambda: sites.count("QM1", MESSAGES) == 0)
    assert all(not row.dead for store in sites.stores.values() for row in store.queues())


@pytest.mark.costly
def test_an_answer_at_the_same_site_comes_there_too(sites: Sites) -> None:
    asking = Asking(sites)
    sites.stores["QM1"].put(f"{asking.address}@QM1", "from Python")
    asking.connection.create_sender(f"{asking.address}@QM1").send(Message(body="over AMQP"))
    bodies = set()
    for _ in range(2):
        bodies.add(asking.replies.receive(timeout=20).body)
        asking.replies.accept()
    assert bodies == {"from Python", "over AMQP"}
    asking.connection.close()
    with pytest.raises(MessageError, match="a temporary queue that is gone, or never was"):
        sites.until(lambda: not sites.stores["QM1"].put(f"{asking.address}@QM1", "late").messages)


@pytest.mark.slow
def test_the_answer_to_one_that_is_gone_is_a_dead_letter_at_its_site(sites: Sites) -> None:
    asking = Asking(sites)
    asking.ask("how many?")
    answering, message = asked(sites)
    asking.connection.close()
    sites.until(lambda: sites.count("QM1", THERE) == 0)
    sender = answering.create_sender(message.reply_to)
    sender.send(Message(body="too late"))
    store = sites.stores["QM1"]
    sites.until(lambda: bool(store.dead(BACK)))
    (letter,) = store.dead(BACK)
    assert letter.body == "too late"
    assert letter.reason == f"{asking.address}: found a temporary queue that is gone, or never was"
    assert store.requeue(BACK) == 1
    sites.until(lambda: len([*store.journal(kind="rejected", queue=BACK)]) == 2)
    assert len(store.dead(BACK)) == 1  # it stays at this site: nothing goes round
    assert all(row.under_way == 0 for each in sites.stores.values() for row in each.channels())
    answering.close()


@pytest.mark.costly
def test_a_killed_server_takes_its_temporary_queues_with_it(sites: Sites) -> None:
    asking = Asking(sites)
    asking.ask("how many?")
    answering, message = asked(sites)
    sites.kill("QM1")
    sites.start("QM1")
    sites.until(lambda: sites.count("QM1", THERE) == 0, 90)
    answering.create_sender(message.reply_to).send(Message(body="three"))
    sites.until(lambda: [letter.body for letter in sites.stores["QM1"].dead(BACK)] == ["three"])
    answering.close()
