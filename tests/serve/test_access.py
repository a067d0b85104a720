"""Who is let in by a server that runs, and what the others are told."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from proton import SASL, Delivery, Endpoint, Message

from fairlead import Store
from fairlead.balance.refusal import read
from fairlead.config.serving import ServingFile
from fairlead.errors import UserError
from fairlead.serve import sasl, users
from fairlead.serve.access import Access, name_in
from fairlead.serve.passwords import HashCost
from tests.serve.dialer import Dialer
from tests.serve.serving import serving
from tests.sockets.identity import Identity, new_identity, openssl

FILE = {
    "listen": ["amqps://localhost:0"],
    "users": "users.toml",
    "tls": {"certificate": "certificate.pem", "key": "key.pem", "clients": "certificate.pem"},
    "limits": {"connections_each": 2, "unknown": 3, "introduction": 1},
}


class Place(NamedTuple):
    """A server with users and TLS, and one address without."""

    plain: tuple[str, int]
    secure: tuple[str, int]
    identity: Identity
    access: Access
    folder: Path
    tick: Callable[[float], None]

    def dial(self, **more: Any) -> Dialer:
        return Dialer(self.plain, **more)

    def dial_safely(self, *, shown: Identity | None = None, **more: Any) -> Dialer:
        context = self.identity.client
        if shown is not None:
            context.load_cert_chain(shown.certificate, shown.key)
        return Dialer(self.secure, tls=context, **more)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("access")
    identity = new_identity(folder)
    users.add(folder / "users.toml", "anna", b"secret", HashCost(4, 1, 1))
    access = Access(read(FILE, ServingFile), folder)
    with Store.open(f"sqlite:///{folder}/s.db") as store, serving(store, access=access) as served:
        plain, secure = served.server.places

        def tick(now: float) -> None:
            def every() -> None:
                for each in [*served.server.sessions]:
                    each.tick(now)

            served.call(every)

        yield Place(plain, secure, identity, access, folder, tick)


def signed(place: Place, name: str) -> Identity:
    """A client's certificate, signed by the server's own."""
    found = Identity(place.folder / f"{name}.pem", place.folder / f"{name}.key")
    request = place.folder / f"{name}.csr"
    openssl(
        *f"req -nodes -newkey rsa:2048 -keyout {found.key} -out {request}".split(),
        "-subj",
        f"/CN={name}",
    )
    openssl(
        *f"x509 -req -days 30 -in {request} -CA {place.identity.certificate}".split(),
        *f"-CAkey {place.identity.key} -CAcreateserial -out {found.certificate}".split(),
    )
    return found


def eventually(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("safely", [False, True])
def test_a_password_lets_in(place: Place, safely: bool) -> None:
    dial = place.dial_safely if safely else place.dial
    anna = partial(dial, mechanism="PLAIN")
    right, wrong = anna(login=("anna", "secret")), anna(login=("anna", "guess"))
    unknown = dial(login=("berta", "secret"), mechanism="PLAIN")
    assert right.opened()
    assert (wrong.outcome(), unknown.outcome()) == (SASL.AUTH, SASL.AUTH)
    assert not wrong.opened()
    for each in (right, wrong, unknown):
        each.close()


def test_nobody_comes_in_without_a_name(place: Place) -> None:
    for each in (place.dial(), place.dial_safely()):
        assert not each.opened()
        each.close()
    with socket.create_connection(place.plain, timeout=10) as bare:
        bare.sendall(sasl.AMQP)
        assert bare.recv(100) == sasl.HEADER
        assert bare.recv(100) == b""


def test_a_certificate_lets_in(place: Place) -> None:
    shown = signed(place, "carla")
    carla = place.dial_safely(shown=shown, mechanism="EXTERNAL")
    assert carla.opened()
    assert place.access.counts.known["carla"] == 1
    nobody = place.dial_safely(mechanism="EXTERNAL")
    assert not nobody.opened()
    carla.close()
    nobody.close()
    eventually(lambda: not place.access.counts.all)


def test_a_certificate_of_somebody_else_ends_the_connection(place: Place, tmp_path: Path) -> None:
    stranger = new_identity(tmp_path)
    refused = place.dial_safely(shown=stranger, mechanism="EXTERNAL")
    assert not refused.opened()
    refused.close()
    eventually(lambda: not place.access.counts.all)


def test_who_says_nothing_is_sent_away(place: Place) -> None:
    bytes_ = (b"", b"AMQP", sasl.HEADER)
    silent = [socket.create_connection(place.plain, timeout=10) for _ in bytes_]
    for each, said in zip(silent, bytes_, strict=True):
        each.sendall(said)
    eventually(lambda: place.access.counts.unknown_count == 3)
    for each in silent:
        _rest(each)
        each.close()
    eventually(lambda: not place.access.counts.all)


def test_the_oldest_that_says_nothing_makes_room(place: Place) -> None:
    silent = []
    for number in range(1, 6):
        silent.append(socket.create_connection(place.plain, timeout=10))
        eventually(lambda: place.access.counts.unknown_count == min(number, 3))  # noqa: B023
    for each in silent[:2]:
        each.settimeout(5)
        assert _rest(each) == b""
    anna = place.dial(login=("anna", "secret"), mechanism="PLAIN")
    assert anna.opened()
    anna.close()
    for each in silent:
        each.close()
    eventually(lambda: not place.access.counts.all)


def test_a_tick_sends_away_who_is_about_to_speak_tls(place: Place) -> None:
    with socket.create_connection(place.secure, timeout=10) as silent:
        eventually(lambda: place.access.counts.unknown_count == 1)
        place.tick(time.monotonic() + 1)  # before the handshake's own time is over
        _rest(silent)
    eventually(lambda: not place.access.counts.all)


def test_who_begins_no_tls_is_sent_away(place: Place) -> None:
    with socket.create_connection(place.secure, timeout=10) as silent:
        eventually(lambda: place.access.counts.unknown_count == 1)
        _rest(silent)
    with socket.create_connection(place.secure, timeout=10) as bare:
        bare.sendall(sasl.HEADER)
        _rest(bare)
    eventually(lambda: not place.access.counts.all)


def test_one_user_has_so_many_connections_and_not_more(place: Place) -> None:
    every = [place.dial(login=("anna", "secret"), mechanism="PLAIN") for _ in range(3)]
    assert [each.opened() for each in every[:2]] == [True, True]
    assert every[2].closed() == "amqp:resource-limit-exceeded"
    for each in every:
        each.close()
    eventually(lambda: not place.access.counts.all)


def test_links_are_ones_own(place: Place) -> None:
    login = ("anna", "secret")
    anna = place.dial(login=login, mechanism="PLAIN")
    receiver = anna.receiver(anna.session(), "pay")
    assert anna.attached(receiver) == ""
    others = [
        place.dial_safely(shown=signed(place, "carla"), mechanism="EXTERNAL"),
        place.dial(login=login, mechanism="PLAIN", host="elsewhere"),
    ]
    for other in others:  # of the same container, with a link of the same name
        assert other.attached(other.receiver(other.session(), "mine")) == ""
    assert anna.attached(anna.sender(anna.session(), "pay")) == ""
    assert not receiver.state & Endpoint.REMOTE_CLOSED
    for each in (anna, *others):
        each.close()
    eventually(lambda: not place.access.counts.all)


def test_no_secret_is_in_the_log(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    wrong = place.dial(login=("anna", "a-guess"), mechanism="PLAIN")
    assert wrong.outcome() == SASL.AUTH
    wrong.close()
    eventually(lambda: "event=refused" in caplog.text)
    assert "anna" in caplog.text
    assert "a-guess" not in caplog.text


def _rest(of: socket.socket) -> bytes:
    """What comes until the server hangs up."""
    found = b""
    try:
        while data := of.recv(1000):
            found += data
    except ConnectionResetError:
        pass
    return found


def test_whom_a_certificate_names() -> None:
    def subject(*names: str) -> dict[str, Any]:
        return {"subject": tuple((("commonName", each),) for each in names)}

    assert name_in(subject("anna")) == "anna"
    assert [name_in(each) for each in (None, {}, subject(), subject("a", "b"))] == [""] * 4
    assert name_in(subject("anonymous")) == ""
    assert name_in(subject("a\n")) == ""


def test_files_that_are_not_there_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"users\.toml: no such file"):
        Access(read(FILE, ServingFile), tmp_path)
    users.add(tmp_path / "users.toml", "anna", b"secret", HashCost(4, 1, 1))
    with pytest.raises(
        UserError, match=r"certificate\.pem: No such file .*, allowed: a file in PEM"
    ):
        Access(read(FILE, ServingFile), tmp_path)


RIGHTS = {
    "users": "users.toml",
    "anonymous": True,
    "hosts": ["shop"],
    "limits": {"links": 3},
    "right": [
        {"user": "anna", "address": "orders*", "may": ["send", "take"]},
        {"user": "*", "address": "news", "host": "shop", "may": ["send"]},
        {"user": "*", "address": "pool", "may": ["send"]},
    ],
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """A server on which not everybody may do everything."""
    folder = tmp_path_factory.mktemp("shop")
    users.add(folder / "users.toml", "anna", b"secret", HashCost(4, 1, 1))
    access = Access(read(RIGHTS, ServingFile), folder)
    file = folder / "pool.toml"
    file.write_text('name = "pool"\npolicy = "round-robin"\n[[destination]]\nname = "a"\n')
    with Store.open(f"sqlite:///{folder}/s.db") as store:
        store.load_clusters(file)
        with serving(store, access=access) as served:
            yield served.server.places[0]


NO_RIGHT = "amqp:unauthorized-access"


def test_a_link_is_attached_by_who_has_the_right(shop: tuple[str, int]) -> None:
    anna = Dialer(shop, login=("anna", "secret"), mechanism="PLAIN", host="shop")
    anybody = Dialer(shop, host="shop")
    for dialer, address, sends, why in (
        (anna, "orders.1", True, ""),
        (anna, "orders", False, ""),
        (anna, "news", False, NO_RIGHT),
        (anybody, "news", True, ""),
        (anybody, "news", False, NO_RIGHT),
        (anybody, "orders", True, NO_RIGHT),
        (anybody, "subject:news", False, NO_RIGHT),
    ):
        session = dialer.session()
        link = (dialer.sender if sends else dialer.receiver)(session, address)
        assert dialer.attached(link) == why, (address, sends)
        link.close()
        session.close()
    for dialer in (anna, anybody):
        dialer.close()


def test_each_message_is_looked_at_where_the_link_has_no_address(shop: tuple[str, int]) -> None:
    anybody = Dialer(shop, host="shop")
    link = anybody.sender(anybody.session(), None)
    assert anybody.attached(link) == ""
    assert anybody.sent(link, Message("n", address="news")).remote_state == Delivery.ACCEPTED
    refused = anybody.sent(link, Message("n", address="orders"))
    assert (refused.remote_state, refused.remote.condition.name) == (Delivery.REJECTED, NO_RIGHT)
    anybody.close()


def test_an_answer_goes_only_where_its_asker_may_send(shop: tuple[str, int]) -> None:
    anybody = Dialer(shop, host="shop")
    link = anybody.sender(anybody.session(), "pool")
    assert anybody.attached(link) == ""
    asks = {"x-opt-fairlead-destination": True}
    for reply, state in (("news", Delivery.ACCEPTED), ("orders", Delivery.REJECTED)):
        message = Message("m", reply_to=reply, annotations=asks)
        assert anybody.sent(link, message).remote_state == state
    anybody.close()


def test_a_virtual_host_that_is_not_there_is_not_opened(shop: tuple[str, int]) -> None:
    lost = Dialer(shop, host="elsewhere")
    assert lost.closed() == "amqp:not-found"
    lost.close()


def test_a_connection_has_so_many_links_and_not_more(shop: tuple[str, int]) -> None:
    anybody = Dialer(shop, host="shop")
    session = anybody.session()
    links = [anybody.sender(session, "news", name=str(k)) for k in range(5)]
    most = "amqp:resource-limit-exceeded"
    assert [anybody.attached(each) for each in links] == ["", "", "", most, most]
    links[0].close()
    anybody.until(lambda: bool(links[0].state & Endpoint.REMOTE_CLOSED))
    assert anybody.attached(anybody.sender(session, "news", name="another")) == ""
    anybody.close()
