"""Contexts for `tls+tcp` from files: whom this machine is, and whom it trusts."""

from __future__ import annotations

import ssl
from pathlib import Path

from fairlead.errors import SocketError
from fairlead.sockets.options import refused


def identity(certificate: str | Path, key: str | Path | None = None) -> ssl.SSLContext:
    """For endpoints that bind: the certificate of this machine, with those above it, in PEM.

    `key`: its private key without a password, if it is not in the same file. Raises SocketError.
    """
    for each in (certificate, *([] if key is None else [key])):
        _check(each)
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        found.load_cert_chain(certificate, key, password="")  # else it asks at the terminal
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise SocketError(
                f"{key or certificate}: found the key of another certificate than that of "
                f"{certificate}, allowed: its own"
            ) from None
        where = f"{certificate} and {key}" if key else f"{certificate}"
        raise SocketError(
            f"{where}: found no certificate and key, allowed: both in PEM, without a password"
        ) from None
    return found


def authority(certificates: str | Path) -> ssl.SSLContext:
    """For endpoints that connect: trusts those whose certificate these have signed, nobody else.

    A file with one or more of them in PEM. Raises SocketError.
    """
    _check(certificates)
    try:
        return ssl.create_default_context(cafile=certificates)
    except ssl.SSLError:
        raise SocketError(
            f"{certificates}: found no certificate, allowed: one or more in PEM"
        ) from None


def _check(file: object) -> None:
    if not isinstance(file, str | Path):
        raise refused("tls", file, "the path of a file in PEM")
    try:
        Path(file).read_bytes()
    except OSError as error:
        raise SocketError(f"{file}: {error.strerror}, allowed: a file in PEM") from None
