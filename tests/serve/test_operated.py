"""A server as it is operated: users, certificates, a service manager, Prometheus."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families
from proton import SASL, Delivery, Endpoint, Message

from fairlead.cli.app import run as command
from fairlead.config.serving import load_serving
from fairlead.serve import users
from fairlead.serve.limits import network_of
from fairlead.serve.login_queue import LoginQueue
from fairlead.serve.passwords import HashCost
from tests.serve.dialer import Dialer
from tests.serve.running import Running
from tests.serve.serving import wait_until
from tests.sockets.identity import new_identity

MAIN = [sys.executable, "-c", "from fairlead.cli import main; main()"]
SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"


def run(folder: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return subprocess.run([*MAIN, *line], cwd=folder, capture_output=True, text=True, check=False)


def test_users_are_added_listed_tried_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(verb: str, *more: str, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(given.encode())))
        status = command(["users", verb, str(tmp_path / "users.toml"), *more])
        out, err = capsys.readouterr()
        assert "secret" not in out + err
        return status, out, err

    assert asked("add", "anna", given="secret\n") == (0, "anna: added\n", "")
    assert asked("check", "anna", given="secret") == (0, "anna: the password is right\n", "")
    wrong = 1, "", "anna: found no such name and password\n"
    assert asked("check", "anna", given="guess\n") == wrong
    again = asked("add", "anna", given="another secret\n")
    assert again == (0, "anna: has another password now\n", "")
    assert asked("check", "anna", given="secret\n")[0] == 1
    assert asked("list") == (0, "anna\n", "")
    nothing = "fairlead: password: found 0 bytes, allowed: 1 to 200, none zero\n"
    assert asked("add", "berta") == (2, "", nothing)
    assert asked("remove", "anna") == (0, "anna: removed\n", "")
    assert asked("list") == (0, "", "")


def test_a_server_tells_how_it_stands(tmp_path: Path) -> None:
    new_identity(tmp_path)
    (tmp_path / "serve.toml").write_text(
        'listen = ["amqp://127.0.0.1:0", "amqps://127.0.0.1:0"]\nusers = "users.toml"\n'
        '[tls]\ncertificate = "certificate.pem"\nkey = "key.pem"\n'
    )
    users.add(tmp_path / "users.toml", "anna", b"secret", HashCost(4, 1, 1))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        options = ["--store", f"sqlite:///{tmp_path}/s.db", "--metrics", "0"]
        process = subprocess.Popen(
            [*MAIN, "serve", *options, "--settings", str(tmp_path / "serve.toml")],
            env=os.environ | {"NOTIFY_SOCKET": f"{tmp_path}/notify", "WATCHDOG_USEC": "200000"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert manager.recv(100) == b"READY=1"
        assert manager.recv(100) == b"WATCHDOG=1"
        plain, _, metrics = (process.stdout.readline().split()[1] for _ in range(3))
        host, _, port = plain.removeprefix("amqp://").partition(":")
        right, wrong = (
            Dialer((host, int(port)), login=("anna", each), mechanism="PLAIN")
            for each in ("secret", "guess")
        )
        assert wrong.outcome() == SASL.AUTH
        link = right.sender(right.session(), "orders")
        assert right.attached(link) == ""
        assert right.sent(link, Message("one")).remote_state == Delivery.ACCEPTED
        with urlopen(metrics, timeout=10) as answer:  # noqa: S310
            families = [*text_string_to_metric_families(answer.read().decode())]
        found = {
            (each.name, *each.labels.values()): each.value
            for family in families
            for each in family.samples
        }
        assert found["fairlead_serve_connections", "known"] == 1
        assert found["fairlead_serve_received_total",] == 1
        assert found["fairlead_serve_guaranteed_open",] == 0
        assert found["fairlead_serve_answered_total", "accepted"] == 1
        assert found["fairlead_serve_refused_total", "amqp:unauthorized-access"] == 1
        process.send_signal(signal.SIGHUP)
        right.close()
        wrong.close()
        process.send_signal(signal.SIGTERM)
        while (said := manager.recv(100)) == b"WATCHDOG=1":
            pass
        assert said == b"STOPPING=1"
        _, log = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "event=renewed" in log
        assert "secret" not in log
        assert "guess" not in log


SETTINGS = """
listen = ["amqp://127.0.0.1:0"]
users = "users.toml"
[[right]]
user = "{user}"
address = "orders"
may = ["send"]
"""


def test_it_reads_its_file_again_and_connections_stay(tmp_path: Path) -> None:
    users.add(tmp_path / "users.toml", "anna", b"secret", HashCost(4, 1, 1))
    file, log = tmp_path / "serve.toml", tmp_path / "log"
    file.write_text(SETTINGS.format(user="anna"))
    running = Running(f"sqlite:///{tmp_path}/s.db", "--settings", str(file), port=0, log=log)
    host, _, port = running.url.partition(":")
    anna = Dialer((host, int(port)), login=("anna", "secret"), mechanism="PLAIN")
    session = anna.session()
    before = anna.sender(session, "orders", "before")
    assert anna.attached(before) == ""

    def told(text: str, line: str) -> None:
        size = len(log.read_text("utf-8"))
        file.write_text(text)
        running.process.send_signal(signal.SIGHUP)

        def said() -> list[str]:
            every = log.read_text("utf-8")[size:].splitlines(keepends=True)
            return [each for each in every if "event=link-" not in each]

        wait_until(lambda: bool(said()) and said()[-1].endswith("\n"))
        (only,) = said()
        assert line in only

    told("limits = 3", "all stays as it was: ")
    told("listen = ['amqps://localhost:0']", "without [tls], allowed: with a certificate")
    assert anna.sent(before, Message("stays")).remote_state == Delivery.ACCEPTED
    (tmp_path / "more.toml").write_bytes((tmp_path / "users.toml").read_bytes())
    (tmp_path / "more.toml").chmod(0o600)
    users.add(tmp_path / "more.toml", "berta", b"hers", HashCost(4, 1, 1))
    told(SETTINGS.format(user="berta").replace("users.toml", "more.toml"), "event=renewed")
    anna.until(lambda: bool(before.state & Endpoint.REMOTE_CLOSED))
    assert before.remote_condition.name == "amqp:unauthorized-access"
    assert anna.connection.state & Endpoint.REMOTE_ACTIVE
    assert anna.attached(anna.sender(session, "orders", "after")) == "amqp:unauthorized-access"
    berta = Dialer((host, int(port)), login=("berta", "hers"), mechanism="PLAIN")
    assert berta.attached(berta.sender(berta.session(), "orders")) == ""
    for each in (anna, berta):
        each.close()
    assert running.end() == 0


def order_of_turns(every: list[tuple[str, bool]]) -> list[str]:
    """The networks in the order of their turns. `every`: a network, and whether the name exists."""
    order: list[str] = []
    turns = LoginQueue()

    async def asks(network: str, is_user: bool) -> None:
        async with turns.turn(network, is_user=is_user):
            order.append(network)
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(asks(*each) for each in every))

    asyncio.run(main())
    return order


@pytest.mark.parametrize("is_user", [False, True])
def test_who_tries_passwords_keeps_nobody_waiting_who_is_elsewhere(is_user: bool) -> None:
    every = [(network, is_user) for network in (*["flood"] * 5, "anna", "flood", "berta")]
    assert order_of_turns(every) == ["flood", "flood", "anna", "berta", *["flood"] * 4]


def test_who_is_in_many_networks_keeps_no_user_waiting() -> None:
    flood = [(f"flood-{number}", False) for number in range(9)]
    order = order_of_turns([*flood, ("anna", True), ("berta", True)])
    assert [order.index(name) for name in ("anna", "berta")] == [1, 3]
    assert sorted(order) == sorted([*(name for name, _ in flood), "anna", "berta"])


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("127.0.1.9", "127.0.1.0/24"),
        ("::ffff:10.1.2.3", "10.1.2.0/24"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_who_has_one_address_has_its_network(host: str, network: str) -> None:
    assert network_of(host) == network


def test_what_cannot_be_served_is_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "serve", "--store", "sqlite:///s.db", "--listen", "amqp://0.0.0.0:0")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "where passwords could be read on their way" in done.stderr
    done = run(
        tmp_path,
        *["serve", "--store", "sqlite:///s.db", "--listen", "amqp://127.0.0.1:0"],
        *("--metrics", "x"),
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        *(2, "fairlead: metrics: found 'x', allowed: PORT or HOST:PORT"),
    )


def test_the_file_in_the_docs_is_one() -> None:
    found = load_serving(SNIPPETS / "serve.toml")
    assert found.rights
    assert found.tls is not None
