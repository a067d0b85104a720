"""What waits for a destination at a broker leaves for it over AMQP, and its outcome counts."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from fairlead import Store, load_clusters
from fairlead.errors import ConfigError, UserError
from fairlead.forward.target import ForwardFile, check_file
from tests.forward.forwarding import forwarding, written
from tests.forward.services import Service, hanging, until
from tests.forward.test_http import dead, farm, is_empty
from tests.ports import free_port
from tests.stores import made_url

if find_spec("cproton_ffi") is None:
    pytest.skip("not here: python-qpid-proton (make amqp)", allow_module_level=True)

from proton import Message

from fairlead.balance.refusal import read
from fairlead.cli.serve import ServeOptions, serve
from fairlead.config.serving import ServingFile
from fairlead.serve import users
from fairlead.serve.access import Access
from fairlead.serve.passwords import HashCost
from tests.serve.running import Running
from tests.serve.serving import Served, serving
from tests.sockets.identity import new_identity

QUICK = ["[[queue]]", 'name = "A"', "[queue.retry]", "base = 0.05", "factor = 1"]


@pytest.fixture
def far(opened: Callable[..., Store]) -> Store:
    """The store of the broker."""
    return opened(made_url("sqlite"))


@pytest.fixture
def broker(far: Store) -> Iterator[Served]:
    with serving(far) as found:
        yield found


def taken(store: Store, queue: str) -> list[tuple[str, str, str | None, object]]:
    found = []
    while work := store.take(queue):
        with work:
            found += [(each.id, each.group, each.type, each.body) for each in work]
    return found


def test_messages_go_with_what_they_say_and_in_order(
    url: str, store: Store, far: Store, broker: Served, tmp_path: Path
) -> None:
    path = farm(tmp_path, f"amqp://{broker.url}/their%20orders", "readers = 5")
    store.load_clusters(path)
    for number in range(30):
        store.publish("farm", {"n": number}, group=f"g{number % 3}", id=f"o-{number}", type="Order")
    store.publish("farm", b"\x00", id="bytes")
    store.publish("farm", "text", id="text")
    with forwarding(url, path):
        until(lambda: is_empty(store))
    found = taken(far, "their orders")
    assert {key: body for key, group, _, body in found if not group} == {
        "bytes": b"\x00",
        "text": "text",
    }
    for group in range(3):
        own = [(key, type_, body) for key, name, type_, body in found if name == f"g{group}"]
        assert own == [(f"o-{n}", "Order", {"n": n}) for n in range(group, 30, 3)]


def test_what_it_refuses_is_a_dead_letter_with_its_reason(
    url: str, store: Store, far: Store, broker: Served, tmp_path: Path
) -> None:
    far.declare(written(tmp_path / "far.toml", ["[[queue]]", 'name = "q"', "max_waiting = 1"]))
    store.declare(written(tmp_path / "queues.toml", ["[[queue]]", 'name = "A"']))
    path = farm(tmp_path, f"amqp://{broker.url}/q")
    store.load_clusters(path)
    store.publish("farm", "one", group="g", id="one")
    store.publish("farm", "two", group="g", id="two")
    with forwarding(url, path):
        until(lambda: is_empty(store))
    assert taken(far, "q") == [("one", "g", None, "one")]
    ((key, reason),) = dead(store)
    assert key == "two"
    assert reason.startswith("amqp:resource-limit-exceeded: ")


def test_a_broker_that_hangs_up_is_connected_to_again(
    url: str, store: Store, far: Store, broker: Served, tmp_path: Path
) -> None:
    store.declare(written(tmp_path / "queues.toml", [*QUICK, "[[queue]]", 'name = "B"']))
    path = farm(tmp_path, f"amqp://{broker.url}/q", "readers = 3")
    with forwarding(url, path):
        for number in range(60):
            store.publish("farm", number, id=f"o-{number}")
            if number % 20 == 10:
                broker.hang_up()
        until(lambda: is_empty(store), 40)
    assert sorted(key for key, *_ in taken(far, "q")) == sorted(f"o-{n}" for n in range(60))
    assert dead(store) == []


@pytest.mark.parametrize("how", ["nobody", "hangs"])
def test_who_does_not_answer_is_a_failure(url: str, store: Store, tmp_path: Path, how: str) -> None:
    store.declare(
        written(tmp_path / "queues.toml", ["[[queue]]", 'name = "A"', "max_failures = 1"])
    )
    with hanging() as silent:
        port = {"nobody": free_port(), "hangs": silent}[how]
        path = farm(tmp_path, f"amqp://127.0.0.1:{port}/q", "[forward]", "timeout = 0.5")
        with forwarding(url, path):
            store.publish("farm", "x")
            until(lambda: bool(store.dead("A")))
    reason = dead(store)[0][1]
    assert {
        "nobody": "PeerError: found Connection refused" in reason,
        "hangs": "found no outcome within 0.5 s" in reason,
    }[how], reason


def test_health_counts_what_a_broker_says(
    url: str, store: Store, far: Store, tmp_path: Path
) -> None:
    lines = []
    for name in "AB":
        lines += ["[[queue]]", f'name = "{name}"', "max_failures = 0", *QUICK[2:]]
    store.declare(written(tmp_path / "queues.toml", lines))
    with serving(far) as broker:
        path = farm(
            tmp_path,
            f"amqp://127.0.0.1:{free_port()}/q",
            *("[[destination]]", 'name = "B"', f'address = "amqp://{broker.url}/q"'),
            *("[health]", "failures = 2", "cool_down = 60", 'probe = "/x"'),
        )
        with forwarding(url, path):
            for number in range(4):
                store.publish("farm", number)
            until(lambda: [unwell.name for unwell in store.unwell("farm")] == ["A"])
            assert {store.publish("farm", "x").destination for _ in range(3)} == {"B"}


@pytest.mark.parametrize(
    ("address", "more", "line"),
    [
        ("amqp://x/", [], "address: found 'amqp://x/', allowed: amqp://HOST[:PORT]/QUEUE"),
        ("amqp://127.0.0.1/q", ['reply_to = "r"'], "forward.reply_to: found it for 'amqp://127"),
        (
            "amqp://example.com/q",
            ['user = "u"', 'password_file = "farm.toml"'],
            "where a password could be read on its way, allowed: amqps://, or amqp:// at 127",
        ),
    ],
)
def test_what_has_no_effect_or_is_not_safe_is_refused(
    url: str, store: Store, tmp_path: Path, address: str, more: list[str], line: str
) -> None:
    path = farm(tmp_path, address, "[forward]", *more)
    assert check_file(ForwardFile(path, load_clusters(path))) == {"amqp"}
    with pytest.raises(ConfigError) as found, forwarding(url, path):
        pass
    assert line in str(found.value)


@pytest.mark.parametrize("word", ["secret", "guess"])
def test_a_password_is_said_under_tls_to_who_is_trusted(
    url: str, store: Store, far: Store, tmp_path: Path, word: str
) -> None:
    identity = new_identity(tmp_path)
    users.add(tmp_path / "users.toml", "anna", b"secret", HashCost(4, 1, 1))
    (tmp_path / "password").write_text(f"{word}\n")
    tls = {"certificate": identity.certificate.name, "key": identity.key.name}
    listen = ["amqps://127.0.0.1:0", "amqp://127.0.0.1:0"]
    settings = read({"listen": listen, "users": "users.toml", "tls": tls}, ServingFile)
    store.declare(
        written(tmp_path / "queues.toml", ["[[queue]]", 'name = "A"', "max_failures = 1"])
    )
    with serving(far, access=Access(settings, tmp_path)) as broker:
        _, (_, port) = broker.server.places
        path = farm(
            tmp_path,
            f"amqps://127.0.0.1:{port}/q",
            *("[forward]", f'ca = "{identity.certificate.name}"'),
            *('user = "anna"', 'password_file = "password"'),
        )
        with forwarding(url, path):
            store.publish("farm", "x", id="o-1")
            until(lambda: is_empty(store))
    if word == "secret":
        assert taken(far, "q") == [("o-1", "", None, "x")]
    else:
        assert "found no such name and password there" in dead(store)[0][1]


@pytest.mark.costly
def test_a_server_forwards_beside_what_it_serves(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    path = farm(tmp_path, service.url)
    running = Running(url, "-c", str(path), "--forward")
    try:
        connection = running.connect()
        connection.create_sender("farm").send(Message(body="hello", id="o-1"))
        until(lambda: service.bodies() == ["hello"] and is_empty(store))
        assert service.keys() == ["o-1"]
        connection.close()
    finally:
        assert running.end() == 0


def test_a_server_without_a_file_has_nothing_to_forward() -> None:
    with pytest.raises(UserError, match="--forward: found no file of --cluster"):
        serve(
            "sqlite:///none.db", ServeOptions((), (), None, 60, 5, once=True, name="", forward=True)
        )
