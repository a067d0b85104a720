"""The command: where it listens, what its file may say, and how it ends."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from fairlead import Store
from fairlead.cli.app import run
from fairlead.config.roles import Role
from fairlead.serve.users import add
from tests.console.running import CHEAP, seen
from tests.sockets.identity import new_identity
from tests.stores import made_url

BAD = {
    'listen = "0.0.0.0:8765"': "listen: found 0.0.0.0:8765, where passwords could be read",
    'listen = "0.0.0.0:8765"\n[tls]\ncertificate = "c"': "users: found nothing, so that nobody",
    'listen = "127.0.0.1"': "listen: found '127.0.0.1', allowed: HOST:PORT",
    'listen = "127.0.0.1:99999"': "allowed: a port from 0 to 65535",
    'user = "u"': "user: found an unknown key",
    '[proxy]\nheader = "a b"\npeers = ["::1"]\nviewers = ["*"]': "header: found 'a b'",
    '[proxy]\nheader = "a"\npeers = ["here"]\nviewers = ["*"]': "peers: found 'here'",
    '[proxy]\nheader = "a"\npeers = ["::1"]': "operators, viewers: found nothing",
    "[limits]\nhours = 0": "hours: found 0",
    "[limits]\nstreams = 0": "streams: found 0",
    'users = "none.toml"': "none.toml",
}


@contextmanager
def started(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A console in a process of its own, and the address that it has printed."""
    command = [sys.executable, "-m", "fairlead", "console", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("console: "), line
            yield process, line.removeprefix("console: ").strip()
        finally:
            process.kill()


@pytest.mark.costly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_told_to_stop(number: signal.Signals) -> None:
    url = made_url("sqlite")
    with Store.open(url) as store:
        store.send("orders", "o", group="kim")
    with started("--store", url) as (process, address):
        with httpx.Client(follow_redirects=True, timeout=30) as client:
            assert "orders" in seen(client.get(address).text)
            page = client.get(address.partition("/login")[0] + "/queue?name=orders")
            assert "kim" in seen(page.text)
        process.send_signal(number)
        assert process.wait(20) == 0


def test_an_open_page_does_not_keep_it_from_ending() -> None:
    url = made_url("sqlite")
    Store.open(url).close()
    with started("--store", url) as (process, address), httpx.Client(timeout=30) as client:
        client.get(address)
        with client.stream("GET", address.partition("/login")[0] + "/live/overview") as answer:
            next(answer.iter_bytes())
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0


def test_it_speaks_tls(tmp_path: Path) -> None:
    identity = new_identity(tmp_path)
    add(tmp_path / "users.toml", "dora", b"secret", CHEAP, Role.OPERATOR)
    settings = tmp_path / "console.toml"
    settings.write_text(
        f'users = "users.toml"\n[tls]\ncertificate = "{identity.certificate.name}"\n'
        f'key = "{identity.key.name}"\n'
    )
    url = made_url("sqlite")
    Store.open(url).close()
    trusted = ssl.create_default_context(cafile=str(identity.certificate))
    with started("--store", url, "--settings", str(settings)) as (_, address):
        assert address.startswith("https://127.0.0.1:")
        with httpx.Client(base_url=address, verify=trusted, timeout=30) as client:
            answer = client.post("/login", data={"name": "dora", "password": "secret"})
            cookie = answer.headers["set-cookie"]
            assert cookie.startswith("__Host-fairlead-console=")
            assert "secure" in cookie.lower()
            assert "dora operator" in seen(client.get("/jobs").text)


@pytest.mark.parametrize("text", BAD)
def test_what_a_file_may_not_say_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    settings = tmp_path / "console.toml"
    settings.write_text(text)
    url = made_url("sqlite")
    assert run(["console", "--store", url, "--settings", str(settings)]) == 2
    said = capsys.readouterr().err
    assert BAD[text] in said
    assert len(said.splitlines()) == 1


def test_a_place_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    url = made_url("sqlite")
    Store.open(url).close()
    with started("--store", url) as (_, address):
        place = address.removeprefix("http://").partition("/")[0]
        assert run(["console", "--store", url, "--listen", place]) == 2
    assert "Address already in use" in capsys.readouterr().err
    assert run(["console", "--store", url, "--listen", "0.0.0.0:8765"]) == 2
    assert "where passwords could be read" in capsys.readouterr().err


def test_a_role_is_given_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "users.toml"
    add(file, "dora", b"secret", CHEAP)
    assert run(["users", "role", str(file), "dora", "boss"]) == 2
    assert "found 'boss', allowed: viewer, operator" in capsys.readouterr().err
    assert run(["users", "role", str(file), "dora", "operator"]) == 0
    assert run(["users", "list", str(file)]) == 0
    assert capsys.readouterr().out == "dora: operator\ndora\toperator\n"
    assert run(["users", "role", str(file), "dora", "none"]) == 0
    assert run(["users", "list", str(file)]) == 0
    assert capsys.readouterr().out.endswith("\ndora\n")
