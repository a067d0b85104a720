"""Channels over TLS: who is trusted, who may send, and what is told of a certificate."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.channels.sites import Sites, sites_of, written
from tests.serve.running import Running
from tests.sockets.identity import Identity, new_identity

TO = "TO.QM2"
QUEUE = '\n[[queue]]\nname = "ORDERS"\nqueue_manager = "QM2"\nbind = "not-fixed"\n'
PASSWORD = "river-stone-lamp"  # noqa: S105 - of this test
SETTINGS = """
listen = ["amqps://127.0.0.1:{port}"]
users = "users.toml"

[tls]
certificate = "{certificate}"
key = "{key}"

[[right]]
user = "qm1"
address = "{address}"
may = ["send"]
"""


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return new_identity(tmp_path_factory.mktemp("identity"))


class Secure:
    """QM1, which sends over TLS, and QM2, which lets its user send to some address."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self.folder, self.identity = folder, identity
        self.sites: Sites | None = None

    def start(self, ca: Path, address: str = "channel:*", password: str = PASSWORD) -> Sites:
        (self.folder / "password").write_text(password + "\n")
        keys = {"user": "qm1", "password_file": "password", "ca": str(ca)}
        file = written(self.folder, QUEUE, of={"QM2": keys}, managers=("QM1", "QM2"))
        text = file.read_text()
        start = text.index('name = "TO.QM2"')
        text = text[:start] + text[start:].replace("amqp://", "amqps://", 1)
        file.write_text(text)
        self.sites = sites_of(self.folder, "sqlite", file)
        port = self.sites.sites.channel(TO).place.port  # type: ignore[union-attr]
        settings = self.folder / "serve.toml"
        certificate, key = self.identity
        settings.write_text(
            SETTINGS.format(port=port, certificate=certificate, key=key, address=address)
        )
        add_user(self.folder / "users.toml")
        options = ("-c", str(file), "--queue-manager", "QM2", "--settings", str(settings))
        self.sites.servers["QM2"] = Running(
            self.sites.urls["QM2"], *options, log=self.folder / "QM2.log"
        )
        self.sites.start("QM1")
        self.sites.stores["QM1"].put("ORDERS", "o")
        return self.sites

    def error(self) -> str:
        assert self.sites is not None
        self.sites.until_state("QM1", TO, "retrying")
        return next(row.error for row in self.sites.stores["QM1"].channels() if row.name == TO)


def add_user(file: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-c", "from fairlead.cli import main; main()"),
            *("users", "add", str(file), "qm1"),
        ],
        input=f"{PASSWORD}\n",
        text=True,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def secure(tmp_path: Path, identity: Identity) -> Iterator[Secure]:
    found = Secure(tmp_path, identity)
    yield found
    if found.sites is not None:
        found.sites.__exit__(None, None, None)


@pytest.mark.slow
def test_a_channel_runs_over_tls_and_a_certificate_that_ends_soon_is_told(secure: Secure) -> None:
    sites = secure.start(secure.identity.certificate)
    sites.until(lambda: sites.count("QM2", "ORDERS") == 1)
    sites.until(lambda: "event=certificate-expires" in (secure.folder / "QM1.log").read_text())
    assert PASSWORD not in (secure.folder / "QM1.log").read_text()


def test_a_certificate_of_somebody_else_is_not_trusted(secure: Secure, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    secure.start(new_identity(tmp_path / "other").certificate)
    assert "found a certificate that is not trusted" in secure.error()


def test_a_wrong_password(secure: Secure) -> None:
    secure.start(secure.identity.certificate, password="wrong")  # noqa: S106 - of this test
    assert "found no such name and password there" in secure.error()


def test_no_right_to_send_on_the_channel(secure: Secure) -> None:
    secure.start(secure.identity.certificate, address="orders*")
    assert "qm1" in secure.error()
