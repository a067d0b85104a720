"""What an operator is told of clients, and by which names."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from proton import ProtonException
from proton.reactor import Container
from proton.utils import BlockingConnection, LinkDetached

from fairlead import Store
from fairlead.config.serving import Refusal, Right, ServingFile
from fairlead.serve.access import Access
from fairlead.serve.node import queue_consumers
from tests.serve.serving import Served, serving, wait_until
from tests.stores import made_url


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with Store.open(made_url(request.param)) as found:
        yield found


ACCESS = ServingFile(
    hosts=["shop"], rights=[Right(user="*", host="*", address="jobs", may=["send", "take"])]
)


@pytest.fixture
def served(store: Store, caplog: pytest.LogCaptureFixture) -> Iterator[Served]:
    caplog.set_level(logging.INFO, "fairlead.serve")
    with serving(store, access=Access(ACCESS)) as found:
        yield found


def named(served: Served, host: str = "shop", name: str = "the-client") -> Any:
    box = Container()
    box.container_id = name
    return BlockingConnection(
        served.url, 20, container=box, allowed_mechs="ANONYMOUS", virtual_host=host
    )


def lines(caplog: pytest.LogCaptureFixture, event: str) -> list[str]:
    return [each for each in caplog.messages if each.startswith(f"event={event} ")]


def test_a_lost_connection_is_told_with_what_it_had(
    store: Store, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    for n in range(3):
        store.send("jobs", n)
    connection = named(served)
    receiver = connection.create_receiver("jobs", credit=3)
    for _ in range(3):
        receiver.receive(timeout=10)
    served.hang_up()
    with suppress(ProtonException):
        connection.wait(lambda: connection.disconnected, timeout=5)
    wait_until(lambda: bool(lines(caplog, "lost")))
    (line,) = lines(caplog, "lost")
    assert 'peer="127.0.0.1:' in line
    assert 'user="anonymous" container="the-client" host="shop" in_hand=3 queues="jobs: 3"' in line
    connection = named(served)
    connection.create_receiver("jobs", credit=1).receive(timeout=10)
    connection.close()
    wait_until(lambda: not served.server.sessions)
    assert len(lines(caplog, "lost")) == 1


def test_a_link_and_a_virtual_host_that_are_refused_are_told(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    connection = named(served)
    with pytest.raises(LinkDetached):
        connection.create_sender("secret")
    connection.close()
    (line,) = lines(caplog, "link-refused")
    assert 'container="the-client"' in line
    assert 'address="secret" as=sender condition=amqp:unauthorized-access' in line
    with pytest.raises(ProtonException):
        named(served, "elsewhere")
    (line,) = lines(caplog, "open-refused")
    assert 'container="the-client" host="elsewhere" condition=amqp:not-found' in line


def test_of_one_connection_not_more_than_some_refused_links_are_told(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    connection = named(served)
    for n in range(25):
        with pytest.raises(LinkDetached):
            connection.create_sender("secret", name=f"s{n}")
    connection.close()
    told = lines(caplog, "link-refused")
    assert len(told) == 20
    assert told[-1].endswith("(more of this connection are not told)")


@pytest.mark.costly
def test_who_settles_nothing_is_told(
    store: Store, served: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_consumers, "STILL", 0.0)
    for n in range(3):
        store.send("jobs", n)
    connection = named(served)
    connection.create_receiver("jobs", credit=2).receive(timeout=10)
    wait_until(lambda: bool(lines(caplog, "settles-nothing")))
    assert 'container="the-client"' in lines(caplog, "settles-nothing")[0]
    assert 'queue="jobs" in_hand=' in lines(caplog, "settles-nothing")[0]
    connection.close()


def test_the_journal_names_the_client_for_whom_work_was_taken(store: Store, served: Served) -> None:
    store.send("jobs", "x")
    connection = named(served)
    connection.create_receiver("jobs", credit=1).receive(timeout=10)
    found = [each.actor for each in store.journal() if each.kind == "taken"]
    assert [each.endswith(" for the-client") for each in found] == [True]
    connection.close()


@pytest.mark.costly
def test_it_is_told_which_of_two_clients_holds_a_group(store: Store) -> None:
    """At once who may be; exactly, when the server has renewed its lease."""
    with serving(store, access=Access(ACCESS), lease=2) as served:
        idle, busy = named(served, name="idle"), named(served, name="busy")
        idle.create_receiver("jobs", credit=1)
        receiver = busy.create_receiver("jobs", credit=1)
        for group in ("a", "b"):
            store.send("jobs", group, group=group)
        wait_until(lambda: len(store.held()) == 2)
        assert {each.client.split()[0] for each in store.held()} <= {"busy", "idle"}

        def clients() -> list[str]:
            return sorted(each.client.partition("127.0.0.1:")[0] for each in store.held())

        wait_until(lambda: clients() == ["busy (anonymous@", "idle (anonymous@"])
        message = receiver.receive(timeout=10)
        assert [each.client[:4] for each in store.held() if each.group == message.body] == ["busy"]
        receiver.accept()
        busy.close()
        wait_until(lambda: clients() == ["idle (anonymous@"])
    assert store.held() == []
    assert store.take("jobs") is not None
    assert [each.client for each in store.held()] == [""]


def test_whom_the_file_refuses_ends_and_is_not_let_in_again(
    store: Store, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    for group in ("a", "b"):
        store.send("jobs", group, group=group)
    hung, other = named(served, name="hung"), named(served, name="other")
    hung.create_receiver("jobs", credit=2).receive(timeout=10)
    wait_until(lambda: len(store.held()) == 2)

    def govern(*refused: Refusal) -> None:
        serving_ = msgspec.structs.replace(ACCESS, refused=[*refused])
        served.call(lambda: served.server.govern(Access(serving_, None, served.server.access)))

    govern(Refusal(container="hu*", peer="10.*"), Refusal(container="hung", peer="127.0.0.1:*"))
    wait_until(lambda: bool(lines(caplog, "client-ended")))
    (line,) = lines(caplog, "client-ended")
    assert 'container="hung"' in line
    assert "amqp:unauthorized-access" in line
    wait_until(lambda: not store.held())
    with pytest.raises(ProtonException, match="refuses this client"):
        hung.wait(lambda: False, timeout=10)
    with pytest.raises(ProtonException, match="refuses this client"):
        named(served, name="hung")
    receiver = other.create_receiver("jobs", credit=2)
    messages = [receiver.receive(timeout=10) for _ in range(2)]
    assert sorted(each.body for each in messages) == ["a", "b"]
    assert sum(each.failures for each in store.queues()) == 0
    other.close()
    govern()
    wait_until(lambda: not served.server.access.serving.refused)
    named(served, name="hung").close()


def test_the_end_tells_how_many_were_connected(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "fairlead.serve")
    store.send("jobs", "x")
    with serving(store) as served:
        connection = served.connect()
        connection.create_receiver("jobs", credit=1).receive(timeout=10)
    assert lines(caplog, "stopping") == ["event=stopping connections=1 in_hand=1"]
