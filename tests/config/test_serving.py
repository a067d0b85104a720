"""The file of a server: what is read, and what each mistake is answered."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.config.serving import ListenAddress, ServingFile, is_loopback, load_serving, place_of
from fairlead.errors import ConfigError, UserError

ALL = """
listen = ["amqp://localhost", "amqp://[::1]:7000", "amqps://0.0.0.0:5671"]
users = "users.toml"
anonymous = true
hosts = ["shop", "lab-*"]

[tls]
certificate = "server.pem"
key = "server.key"
clients = "clients.pem"

[limits]
connections = 100
links = 10
memory = 1_000_000
message = 1_000_000
introduction = 2.5

[[right]]
user = "anna"
address = "orders.*"
host = "shop"
may = ["send", "browse"]

[[right]]
user = "*"
may = ["take"]
"""
OUTSIDE = 'listen = ["amqps://0.0.0.0"]\n'
TLS = '[tls]\ncertificate = "server.pem"\n'


def test_all_of_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(ALL)
    found = load_serving(file)
    assert found.places == [
        ListenAddress("localhost", 5672, secure=False),
        ListenAddress("::1", 7000, secure=False),
        ListenAddress("0.0.0.0", 5671, secure=True),  # noqa: S104
    ]
    assert [str(each) for each in found.places][1] == "amqp://[::1]:7000"
    assert [each.is_here for each in found.places] == [True, True, False]
    assert found.tls is not None
    assert (found.users, found.lets_anybody, found.hosts) == ("users.toml", True, ["shop", "lab-*"])
    assert (found.limits.links, found.limits.sessions) == (10, 256)
    assert found.limits.introduction == Decimal("2.5")
    assert [each.may for each in found.rights] == [["send", "browse"], ["take"]]


def test_nothing_said_is_this_machine_alone(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("")
    assert load_serving(file) == ServingFile()
    assert [str(each) for each in ServingFile().places] == ["amqp://127.0.0.1:5672"]
    assert ServingFile().lets_anybody
    assert not ServingFile(users="users.toml").lets_anybody


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('listen = ["http://a"]', "listen: found 'http://a', allowed: amqp://HOST:PORT or amqps"),
        ('listen = ["amqp://a:99999"]', "found 'amqp://a:99999', allowed: a port from 0 to 65535"),
        ("listen = []", "listen: found nothing, allowed: at least one address"),
        (
            'listen = ["amqp://0.0.0.0"]',
            (
                "listen: found amqp://0.0.0.0:5672, where passwords could be read on their way, "
                "allowed: amqps://, or amqp:// at 127.0.0.1, [::1] or localhost"
            ),
        ),
        (OUTSIDE, "listen: found amqps://0.0.0.0:5671 without [tls], allowed: with a certificate"),
        (
            OUTSIDE + TLS,
            (
                "users: found nothing, so that nobody could connect to amqps://0.0.0.0:5671, "
                "allowed: a file of users, or [tls] with clients"
            ),
        ),
        ("anonymous = false", "anonymous: found false, without users, allowed: with a file of"),
        ("[tls]", "tls.certificate: found nothing, allowed: "),
        ("[limits]\nlinks = 0", ":2: limits.links: found 0, allowed: "),
        ("[limits]\nlink = 5", "limits.link: found an unknown key, allowed: connections, "),
        ("[limits]\nidle = 0", "limits.idle: found 0, allowed: seconds, from 1 to 86400"),
        (
            "[limits]\nmemory = 1",
            "limits.memory: found 1, allowed: at least one message, 134217728",
        ),
        ("[[right]]\nuser = 'anna'", ":1: right[1].may: found nothing, allowed: "),
        ("[[right]]\nuser = 'anna'\nmay = []", "right[1].may: found nothing, allowed: send, take"),
        (
            "[[right]]\nuser = 'anna'\nmay = ['sned']",
            "may[1]: found 'sned', allowed: browse, send, take; did you mean 'send'?",
        ),
        ("[[right]]\nmay = ['send']", "right[1].user: found nothing, allowed: "),
    ],
)
def test_each_mistake_is_one_line(tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_serving(file)
    assert str(refused.value).startswith(str(file))
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)


def test_clients_certificates_are_enough(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(OUTSIDE + TLS + 'clients = "clients.pem"\n')
    assert load_serving(file).users is None


@given(st.text(max_size=30).map("amqp://".__add__))
def test_an_address_is_read_or_refused(text: str) -> None:
    try:
        found = place_of(text)
    except UserError:
        return
    assert place_of(str(found)) == found


def test_what_is_this_machine() -> None:
    here = ("127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1")
    assert all(is_loopback(each) for each in here)
    away = ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "::ffff:10.0.0.1", "")  # noqa: S104
    assert not any(is_loopback(each) for each in away)
