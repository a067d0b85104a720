"""Certificates that tests make."""

import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests import peers


class Identity(NamedTuple):
    """A certificate for localhost that has signed itself."""

    certificate: Path
    key: Path

    @property
    def server(self) -> ssl.SSLContext:
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        found.load_cert_chain(self.certificate, self.key)
        return found

    @property
    def client(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))


def new_identity(folder: Path) -> Identity:
    found = Identity(folder / "certificate.pem", folder / "key.pem")
    options = ["req", "-x509", "-nodes", "-days", "30", "-newkey", "rsa:2048"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    openssl(*options, *names, "-keyout", str(found.key), "-out", str(found.certificate))
    return found


def with_password(key: Path, locked: Path) -> Path:
    """The same key, which needs a password."""
    openssl("rsa", "-aes256", "-passout", "pass:secret", "-in", str(key), "-out", str(locked))
    return locked


def openssl(*arguments: str) -> None:
    subprocess.run([peers.program("openssl"), *arguments], check=True, capture_output=True)
